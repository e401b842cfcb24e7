"""What a scripted model says: replies as data.

A `Reply` is a list of steps that the server turns into one streamed response; a `Fail` is an HTTP
error in its place. A script is a list of answers, or a function from the request to the answer, so
the same script can play a parent and its children. Everything here is a frozen value that knows
neither wire; `wires.py` encodes it and `server.py` sends it.

Answers that leave no message with the client (`Fail`, a reply that ends in `Cut` or `StreamError`)
are served once: the retry that follows gets the next one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.scripted.request import ParsedRequest

CutKind = Literal["clean", "cut", "rst"]


@dataclass(frozen=True, slots=True)
class Say:
    """Text, in deltas of `chunk` characters with `delay` seconds after each. Adjacent `Say`s share
    one text block.
    """

    text: str
    chunk: int = 8
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Think:
    """One thinking block. Without a `signature` the server makes one that belongs to this text."""

    text: str
    signature: str | None = None
    chunk: int = 16
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Redacted:
    """A redacted thinking block; the Chat Completions wire has none and leaves it out."""

    data: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. `input` as text goes out as it is (broken JSON too); `split` is the number of
    characters per fragment.

    Without an `id` the server makes one that no other call has, not even one of another server.
    """

    name: str
    input: Mapping[str, Any] | str = field(default_factory=dict)
    id: str | None = None
    split: int = 12
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is sent for so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Nothing is sent until `server.release(name)`; `server.reached(name)` tells when the stream
    has come this far.

    A gate opens once and stays open. Prefer it to `Pause` where a test must act in the middle of a
    stream.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Cut:
    """The response ends here: `clean` (the body is well ended, the message is not), `cut` (closed),
    `rst` (TCP reset).
    """

    kind: CutKind = "cut"


@dataclass(frozen=True, slots=True)
class StreamError:
    """An error inside the stream of a response that began with 200; the stream ends after it."""

    type: str = "overloaded_error"
    message: str = "Overloaded"


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of the message. `reason` in the words of the Messages wire; others pass through as
    they are.
    """

    reason: str | None = None
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts to report in place of the estimate. `input` is what was neither read from nor
    written to the cache.
    """

    input: int
    output: int
    cache_read: int = 0
    cache_write: int = 0
    thinking: int = 0


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes put into the body as they are."""

    data: bytes


Step = Say | Think | Redacted | Call | Pause | Hold | Cut | StreamError | Stop | Usage | Raw


@dataclass(frozen=True, slots=True)
class Reply:
    """One streamed response. `body_chunk` splits the whole body every so many bytes, across events
    and characters.
    """

    steps: Sequence[Step]
    body_chunk: int = 0
    body_delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Fail:
    """An HTTP error. A mapping goes out as JSON; without a `body` the wire's usual error shape is
    sent.
    """

    status: int
    body: Mapping[str, Any] | Sequence[Any] | str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


Answer = Reply | Fail
Responder = Callable[[ParsedRequest], Answer]
Script = Sequence[Answer] | Responder


class ScriptExhaustedError(Exception):
    """The script has no answer for this request; the server refuses it and records that as a
    violation.
    """


def leaves_a_message(answer: Answer) -> bool:
    """Whether a client that got this answer has an assistant message afterwards."""
    if isinstance(answer, Fail):
        return False
    if any(isinstance(step, Stop) for step in answer.steps):
        return True
    return not any(isinstance(step, Cut | StreamError) for step in answer.steps)


def responder_of(script: Script) -> Responder:
    """The function behind a script; a list is served per conversation."""
    return script if callable(script) else per_conversation(script)


def in_order(answers: Sequence[Answer]) -> Responder:
    """Serve the answers in the order in which requests arrive, whoever asks.

    The simplest choice for one session, and the right one when its history is compacted on the way.
    """
    served = iter(answers)

    def respond(request: ParsedRequest) -> Answer:
        answer = next(served, None)
        if answer is None:
            raise ScriptExhaustedError(f"all {len(answers)} answers are served")
        return answer

    return respond


def per_conversation(answers: Sequence[Answer]) -> Responder:
    """Serve the answers in order to each conversation; two requests share one when their first user
    texts are equal.

    A compacted history starts with another text and so begins the list anew: use `in_order` or
    `by_prompt` there.
    """
    served: Counter[str] = Counter()

    def respond(request: ParsedRequest) -> Answer:
        key = request.first_user_text
        place = served[key]
        if place >= len(answers):
            raise ScriptExhaustedError(f"all {len(answers)} answers are served to {key[:60]!r}")
        served[key] += 1
        return answers[place]

    return respond


def by_prompt(answers: Mapping[str, Sequence[Answer]]) -> Responder:
    """Choose the list by what a person wrote, and the answer by how far the conversation has come
    since.

    A needle stands where the first user text that contains it stands. The needle that stands last
    selects the list (of two in one text, the one named first); the number of assistant messages
    after it is the place, counting only answers that leave a message. So the choice depends on the
    request alone and a resumed session goes on where it was, except that failing answers before a
    place are served once to each conversation.
    """
    failed: Counter[tuple[str, str, int]] = Counter()

    def respond(request: ParsedRequest) -> Answer:
        users = [(i, turn.text) for i, turn in enumerate(request.turns) if turn.role == "user"]
        found = [
            (next((i for i, text in users if needle in text), -1), needle) for needle in answers
        ]
        position, needle = max(found, key=lambda pair: pair[0], default=(-1, ""))
        if position < 0:
            raise ScriptExhaustedError(
                f"none of {sorted(answers)} in the user texts, last {request.last_user_text[:60]!r}"
            )
        place = sum(1 for turn in request.turns[position:] if turn.role == "assistant")
        attempts = _attempts(needle, answers[needle], place)
        key = (request.first_user_text, needle, place)
        attempt = min(failed[key], len(attempts) - 1)
        failed[key] += 1
        return attempts[attempt]

    return respond


def _attempts(needle: str, answers: Sequence[Answer], place: int) -> list[Answer]:
    """The failing answers before the `place`-th good one, and that one."""
    attempts: list[Answer] = []
    for answer in answers:
        attempts.append(answer)
        if leaves_a_message(answer):
            if place == 0:
                return attempts
            place -= 1
            attempts = []
    if place == 0 and attempts:
        return attempts
    raise ScriptExhaustedError(f"the list of {needle!r} has no answer for this place")
