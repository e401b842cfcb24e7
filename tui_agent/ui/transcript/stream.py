"""Markdown in parts: whole messages cut at their blocks, streamed ones at what is settled.

A part is one block of the outermost level (a long fence is several): the unit that is rendered,
measured and cached. A message that streams has settled parts, which stay as they are, and an open
tail, which is rendered anew at every flush. What is settled is decided on complete lines only: the
meaning of a line that is still being written may change, and with it that of the block above it.
Link definitions hold for the whole message, so a new one changes settled text too; `version` tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tui_agent.ui.transcript.markdown import References, block_parser

if TYPE_CHECKING:
    from markdown_it.token import Token

FENCE_PART: Final = 200
"""Lines of a fence in one part."""


class Part(NamedTuple):
    """Markdown that is rendered by itself. `is_joined`: it goes on from the part before it."""

    source: str
    is_joined: bool = False
    is_tail: bool = False


def split_parts(text: str, references: References) -> list[Part]:
    """The parts of a finished message; its link definitions are added to `references`."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    tokens = _parsed(text, references)
    return list(_cut(_lines(text), _outermost(tokens)))


class MarkdownStream:
    """A message as it is written. `feed` is cheap; `settle` once a frame does the work."""

    def __init__(self, text: str = "") -> None:
        self.settled: list[Part] = []
        self.version = 0
        self.references: References = {}
        """Definitions in the settled parts and, for as long as it holds them, in the tail."""
        self._of_settled: References = {}
        self._tail = ""
        self._held = ""
        self._tail_goes_on = False
        self._is_fresh = False
        self.feed(text)

    def feed(self, text: str) -> None:
        """Adds text; nothing is parsed."""
        text = self._held + text
        # Half of a CRLF looks like a line end of its own.
        self._held = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")
        self._tail += text
        self._is_fresh = self._is_fresh or bool(text)

    @property
    def tail(self) -> Part:
        """What is still open."""
        return Part(self._tail, self._tail_goes_on, is_tail=True)

    @property
    def parts(self) -> list[Part]:
        """All of it."""
        return [*self.settled, self.tail] if self._tail.strip("\n") else self.settled

    def settle(self) -> None:
        """Moves the blocks that cannot change any more from the tail to the settled parts."""
        if not self._is_fresh:
            return
        self._is_fresh = False
        complete, feed, partial = self._tail.rpartition("\n")
        if feed:
            self._settle_lines(complete + feed, partial)
        seen = dict(self._of_settled)
        _parsed(self._tail, seen)
        if seen != self.references:
            self.references.clear()
            self.references.update(seen)
            self.version += 1

    def _settle_lines(self, complete: str, partial: str) -> None:
        """Takes what is settled off the complete lines of the tail."""
        definitions = dict(self._of_settled)
        blocks = _outermost(_parsed(complete, definitions))
        if not blocks:
            return
        lines = _lines(complete)
        *finished, last = blocks
        first_open = last.map[0] if last.map else 0
        if finished:
            self.settled.extend(
                _joined_first(_cut(lines[:first_open], finished), self._tail_goes_on)
            )
            _parsed("".join(lines[:first_open]), self._of_settled)
            lines = lines[first_open:]
            self._tail_goes_on = False
        if last.type == "fence" and not (first_open and not finished):
            lines = self._settle_fence(last, lines)
        self._tail = "".join(lines) + partial

    def _settle_fence(self, fence: Token, lines: list[str]) -> list[str]:
        """Takes full parts off a long fence; its complete lines never change."""
        body = fence.content.split("\n")[:-1]
        while len(body) > FENCE_PART:
            self.settled.append(_fence_part(fence, body[:FENCE_PART], is_joined=self._tail_goes_on))
            body = body[FENCE_PART:]
            # The opening line is written again, before the lines that are left.
            lines = [lines[0], *lines[1 + FENCE_PART :]]
            self._tail_goes_on = True
        return lines


def _parsed(text: str, references: References) -> list[Token]:
    env: dict[str, Any] = {"references": references}
    return block_parser().parse(text, env)


def _outermost(tokens: list[Token]) -> list[Token]:
    return [token for token in tokens if token.level == 0 and token.nesting >= 0 and token.map]


def _lines(text: str) -> list[str]:
    """Lines with their ends: a part keeps the end of its last line, which matters to a fence."""
    *finished, last = text.split("\n")
    return [*(f"{line}\n" for line in finished), *([last] if last else [])]


def _cut(lines: list[str], blocks: list[Token]) -> Iterator[Part]:
    """`lines` cut before each block but the first."""
    if not blocks:
        return
    starts = [block.map[0] for block in blocks if block.map]
    starts[:1] = [0]
    for block, start, end in zip(blocks, starts, [*starts[1:], len(lines)], strict=True):
        body = block.content.split("\n")[:-1] if block.type == "fence" else []
        if len(body) <= FENCE_PART:
            yield Part("".join(lines[start:end]))
            continue
        for at in range(0, len(body), FENCE_PART):
            yield _fence_part(block, body[at : at + FENCE_PART], is_joined=at > 0)


def _fence_part(fence: Token, body: list[str], *, is_joined: bool) -> Part:
    source = "\n".join([f"{fence.markup}{fence.info}", *body, fence.markup])
    return Part(source, is_joined)


def _joined_first(parts: Iterator[Part], is_joined: bool) -> Iterator[Part]:
    for part in parts:
        yield part._replace(is_joined=part.is_joined or is_joined)
        is_joined = False
