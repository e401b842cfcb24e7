"""What the model of a soak answers: a seeded mixture of work, odd calls and failures.

The answer depends on the seed and on how many requests came before, so a run can be repeated; when
a turn has gone on for a while it is brought to an end.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from tests.scripted.request import ParsedRequest
from tests.scripted.script import (
    Answer,
    Call,
    Cut,
    CutKind,
    Fail,
    Reply,
    Say,
    Step,
    Stop,
    StreamError,
    Think,
    Usage,
)

LONGEST_TURN = 4
"""Answers of the model since the last prompt after which it comes to an end."""
FAULTS = 0.25
AT_ONCE = {"retry-after": "0"}
ODD_IDS = ("same", "functions.Bash:0", "x" * 60, "", "call 1", "ü")


class Model:
    """A `Responder` with a memory of its own dice."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)

    def __call__(self, request: ParsedRequest) -> Answer:
        if not request.body.get("tools"):
            return self._summary()
        if self._dice.random() < FAULTS:
            return self._fault()
        if _answers_so_far(request) >= LONGEST_TURN or self._dice.random() < 0.3:
            return Reply([*self._thought(), Say(self._words()), *self._usage()])
        return self._work()

    def _summary(self) -> Answer:
        texts = ("The gist of it.", "", "far too long " * 5_000)
        return Reply([Say(self._dice.choices(texts, (8, 1, 1))[0])])

    def _fault(self) -> Answer:
        half = [*self._thought(), Say(self._words())]
        kind: CutKind = self._dice.choice(("clean", "cut", "rst"))
        call = Call("Read", {"file_path": "notes"})
        answers: list[Answer] = [
            Fail(429, headers=AT_ONCE),
            Fail(500, headers=AT_ONCE),
            Fail(529, headers=AT_ONCE),
            Reply([*half, Cut(kind)]),
            Reply([*half, call, Cut(kind)]),
            Reply([Cut(kind)]),
            Reply([*half, call, StreamError()]),
            Reply([Stop("end_turn")]),
            Reply([Think("to no end")]),
            Reply([*half, Stop("max_tokens")]),
            Reply([*half, Call("Bash", '{"command": "touch nev'), Stop("max_tokens")]),
            Reply([*half, call, Stop("refusal")]),
            Reply([Say(self._words(), chunk=3, delay=0.001)], body_chunk=7),
        ]
        return self._dice.choice(answers)

    def _work(self) -> Answer:
        calls = [self._call() for _ in range(self._dice.choice((1, 1, 2, 3, 6)))]
        blank = self._dice.choice(([], [Say("")], [Say("\n")], [Say("I look.")]))
        return Reply([*self._thought(), *blank, *calls, *self._usage()])

    def _call(self) -> Call:
        number = self._dice.randrange(3)
        call_id = self._dice.choice(ODD_IDS) if self._dice.random() < 0.2 else None
        made: list[tuple[str, Mapping[str, Any] | str]] = [
            ("Read", {"file_path": "notes"}),
            ("Read", {"file_path": f"large{number}"}),
            ("Read", {"file_path": "missing"}),
            ("Glob", {"pattern": "*"}),
            ("Grep", {"pattern": "milk", "output_mode": "content"}),
            ("Write", {"file_path": f"new{number}", "content": self._words()}),
            ("Bash", {"command": "echo hi"}),
            ("Bash", {"command": "seq 1 3000"}),
            ("Bash", {"command": "rm -f nothing"}),
            ("Nothing", {"x": 1}),
            ("bash سرعت", {}),
            ("Read", {}),
            ("Read", '{"file_path": '),
            ("Grep", '["milk"]'),
            ("Glob", '{"pattern": "a\nb"}'),
        ]
        name, arguments = self._dice.choice(made)
        return Call(name, arguments, id=call_id)

    def _thought(self) -> list[Step]:
        return [Think(f"I think: {self._words()}")] if self._dice.random() < 0.5 else []

    def _usage(self) -> list[Step]:
        return [Usage(400, 40, cache_read=100)] if self._dice.random() < 0.5 else []

    def _words(self) -> str:
        return "a few words 日本 😀 " * self._dice.randrange(1, 30)


def _answers_so_far(request: ParsedRequest) -> int:
    """Answers of the model since a person said something."""
    count = 0
    for turn in reversed(request.turns):
        if turn.role == "assistant":
            count += 1
        elif turn.text.strip():
            break
    return count
