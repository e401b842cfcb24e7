"""Scripts with a name, for trying the program by hand.

`obedient` does what each line of the prompt says, so a person can play a model without writing a
script: `read notes.txt`, `bash ls -la`, `write a.txt some text`, `task bash date`, `think`, `talk
500`, `slow 50`, `wait 5`, `fail 529`, `cut`, `break`. Lines that say nothing of the kind are
answered with an echo, and tool results with what they were. `greeting` only greets.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.scripted.request import ParsedRequest
from tests.scripted.script import (
    Answer,
    Call,
    Cut,
    Fail,
    Pause,
    Reply,
    Responder,
    Say,
    Step,
    StreamError,
    Think,
)


def greeting(request: ParsedRequest) -> Answer:
    return Reply([Say(f"Hello. You said: {request.last_user_text}", delay=0.02)])


def obedient(request: ParsedRequest) -> Answer:
    """One answer for the whole prompt: every line it understands is a step, in order."""
    if request.latest_results:
        told = [f"- {'failed: ' if r.is_error else ''}{r.text}" for r in request.latest_results]
        return Reply([Say("The tools said:\n" + "\n".join(told))])
    lines = [line.strip() for line in request.last_user_text.splitlines() if line.strip()]
    for line in lines:
        verb, _, rest = line.partition(" ")
        if verb == "fail" and rest.isdigit():
            return Fail(int(rest))
    steps = [step for line in lines for step in _obey(line)]
    return Reply(steps or [Say(f"You said: {request.last_user_text}")])


NAMED: dict[str, Responder] = {"obedient": obedient, "greeting": greeting}


def _obey(line: str) -> list[Step]:
    verb, _, rest = line.partition(" ")
    does = _VERBS.get(verb)
    return does(rest) if does else []


def _write(rest: str) -> list[Step]:
    path, _, content = rest.partition(" ")
    return [Call("Write", {"file_path": path, "content": content + "\n"})]


def _talk(rest: str, delay: float = 0.0) -> list[Step]:
    words = int(rest) if rest.isdigit() else 100
    text = " ".join("paragraph.\n\n" if n % 40 == 0 else f"word{n}" for n in range(1, words + 1))
    return [Say(text, chunk=12, delay=delay)]


def _task(rest: str) -> list[Step]:
    given = {"description": rest[:40], "prompt": rest, "subagent_type": "general-purpose"}
    return [Call("Task", given)]


_VERBS: dict[str, Callable[[str], list[Step]]] = {
    "read": lambda rest: [Call("Read", {"file_path": rest})],
    "bash": lambda rest: [Call("Bash", {"command": rest, "description": "as you said"})],
    "write": _write,
    "task": _task,
    "think": lambda rest: [Think(rest or "I think about this for a while.", delay=0.05)],
    "talk": _talk,
    "slow": lambda rest: _talk(rest, delay=0.1),
    "wait": lambda rest: [Pause(float(rest or 1))],
    "cut": lambda rest: [Say("This ends too "), Cut("cut")],
    "break": lambda rest: [Say("This ends in an "), StreamError()],
}
