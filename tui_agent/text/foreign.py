"""The rule for tool output and prose: text only, with colours where they are wanted.

In: text as it came from a command, a file, the web or a model, whole or in chunks. Out: text whose
only control characters are line feed and tab, with the colours as spans. It never passes on
a control sequence, never reorders, and never reads markup.

One engine serves both ways of feeding: the whole text at once is a stream of one chunk. A lone
carriage return and a backspace change what the current line already shows; a stream says so
through `StreamSanitizer.retracted`.
"""

import re
import unicodedata
from collections.abc import Iterable
from itertools import groupby
from typing import Final

from tui_agent.text.characters import (
    CONTROL,
    UNDECIDED_TAIL,
    UNDECIDED_TAIL_LENGTH,
    UNSEEN,
    is_safe,
    spelled,
)
from tui_agent.text.sequences import BEGUN, COMPLETE, INTRODUCERS, LONGEST_SEQUENCE, VOID_ESCAPES
from tui_agent.text.styles import PLAIN, Span, StyledText, TextStyle, restyle
from tui_agent.text.surrogates import join_pairs

Part = tuple[str, TextStyle]
_CONTEXT: Final = 2
_JOINERS: Final = "\u200c\u200d"
_LONGEST_TO_ERASE_FROM: Final = 32
MOST_MARKS: Final = 8
"""Combining marks on one letter. No script needs as many; more only pile up over other lines."""
# Marks are neither word characters nor ASCII; this skips the letters of every script.
_MAYBE_MARKS: Final = re.compile(r"[^\w\s\x00-\x7f]+")
_MAYBE_TOO_MANY: Final = re.compile(rf"[^\w\s\x00-\x7f]{{{MOST_MARKS + 1}}}")


def output(text: str) -> StyledText:
    """Safe text of a tool's output, a file or a diff, with its colours."""
    if (safe := _as_it_stands(text)) is not None:
        return StyledText(safe)
    engine = _Engine()
    engine.feed(text, is_last=True)
    shown, spans = _join(engine.take_all())
    return StyledText(shown, spans, engine.removed, engine.invisible)


def plain(text: str) -> str:
    """`output` without the colours."""
    if (safe := _as_it_stands(text)) is not None:
        return safe
    engine = _Engine()
    engine.feed(text, is_last=True)
    return "".join(part for part, _ in engine.take_all())


def prose(text: str) -> str:
    """Safe text of a model or a person. Markdown in it is still Markdown; no markup is read."""
    return plain(text)


def _as_it_stands(text: str) -> str | None:
    """The quick way for ordinary text, which may have the line ends of Windows."""
    if not text.isascii() and _MAYBE_TOO_MANY.search(text) is not None:
        return None
    if is_safe(text):
        return text
    if "\r\n" in text and is_safe(lines := text.replace("\r\n", "\n")):
        return lines
    return None


class StreamSanitizer:
    """`plain` for text that comes in chunks.

    What `feed` and `flush` return, put together, is what `plain` makes of the whole text, wherever
    the chunks were cut. When a carriage return or a backspace took back text of the current line
    that was returned earlier, `retracted` is the number of characters to cut from the end before
    the returned text is appended; it is 0 otherwise and never reaches past a line feed.
    """

    def __init__(self) -> None:
        self._engine = _Engine()
        self.retracted = 0

    @property
    def removed(self) -> int:
        """Control sequences and control characters taken out so far."""
        return self._engine.removed

    @property
    def invisible(self) -> int:
        """Code points taken out so far that draw nothing of their own."""
        return self._engine.invisible

    def feed(self, chunk: str) -> str:
        """The safe text that `chunk` adds; the undecided end is kept for the next call."""
        return self._advance(chunk, is_last=False)

    def flush(self) -> str:
        """The rest, taking the text as ended."""
        return self._advance("", is_last=True)

    def _advance(self, chunk: str, *, is_last: bool) -> str:
        self._engine.feed(chunk, is_last=is_last)
        self.retracted, added = self._engine.take_new()
        return added


class _Engine:
    """Reads foreign text in chunks and keeps the current line open to changes."""

    __slots__ = (
        "_at_line_start",
        "_before",
        "_finished",
        "_intact",
        "_left_the_line",
        "_line",
        "_line_length",
        "_marks",
        "_pending",
        "_shown_of_line",
        "_style",
        "invisible",
        "removed",
    )

    def __init__(self) -> None:
        self.removed = 0
        self.invisible = 0
        self._pending = ""  # undecided input
        self._before = ""  # the last characters of the run of text that may go on
        self._marks = 0  # combining marks at the end of what was written
        self._style = PLAIN
        self._at_line_start = False  # a carriage return came: the next text replaces the line
        self._finished: list[Part] = []
        self._line: list[Part] = []
        self._line_length = 0
        self._shown_of_line = 0  # characters of the current line that were taken already
        self._intact = 0  # of these, how many still stand
        self._left_the_line = False  # a line feed came since the last taking

    def feed(self, chunk: str, *, is_last: bool) -> None:
        text = self._pending + chunk
        self._pending = ""
        if not text.isascii():
            half = "" if is_last or not "\ud800" <= text[-1] <= "\udbff" else text[-1]
            text = join_pairs(text[: len(text) - len(half)])
            self._read(text, half, is_last=is_last)
        else:
            self._read(text, "", is_last=is_last)

    def take_all(self) -> list[Part]:
        """Everything that was read; for a whole text."""
        return self._finished + self._line

    def take_new(self) -> tuple[int, str]:
        """How many taken characters no longer stand, and the text since then."""
        retracted = self._shown_of_line - self._intact
        if self._left_the_line:
            added = "".join(part for part, _ in self._finished + self._line)[self._intact :]
        else:
            added = self._end_of_line(self._line_length - self._intact)
        self._finished.clear()
        self._left_the_line = False
        self._shown_of_line = self._intact = self._line_length
        return retracted, added

    def _end_of_line(self, length: int) -> str:
        parts = []
        for part, _ in reversed(self._line):
            if length <= 0:
                break
            parts.append(part[-length:])
            length -= len(part)
        return "".join(reversed(parts))

    def _read(self, text: str, half: str, *, is_last: bool) -> None:
        at = 0
        while (control := CONTROL.search(text, at)) is not None:
            begin = control.start()
            if begin > at:
                self._write_run(text[at:begin])
            if text[begin] in INTRODUCERS:
                end = self._read_sequence(text, begin, is_last=is_last)
                if end is None:
                    self._before = ""
                    self._pending = text[begin:] + half
                    return
            else:
                end = self._read_control(text, begin)
            self._before = ""
            at = end
        self._read_tail(text[at:], half, is_last=is_last)

    def _read_tail(self, run: str, half: str, *, is_last: bool) -> None:
        undecided = None if is_last else UNDECIDED_TAIL.search(run[-UNDECIDED_TAIL_LENGTH:])
        held = undecided.group() if undecided else ""
        if len(held) < len(run):
            self._write_run(run[: len(run) - len(held)])
        self._pending = held + half

    def _read_sequence(self, text: str, begin: int, *, is_last: bool) -> int | None:
        """The end of what stands at an introducer; None when only more input can tell."""
        escapes = VOID_ESCAPES.match(text, begin)
        if escapes is not None:
            self._write("\\x1b" * len(escapes.group()))
            return escapes.end()
        sequence = COMPLETE.match(text, begin)
        if sequence is not None and sequence.end() - begin <= LONGEST_SEQUENCE:
            colours = sequence["colours"]
            if colours is None:
                self.removed += 1
            else:
                self._style = restyle(self._style, colours)
            return sequence.end()
        may_go_on = not is_last and len(text) - begin <= LONGEST_SEQUENCE
        if may_go_on and BEGUN.fullmatch(text, begin):
            return None
        self._write(f"\\x{ord(text[begin]):02x}")
        return begin + 1

    def _read_control(self, text: str, begin: int) -> int:
        match text[begin]:
            case "\r":
                self._at_line_start = True
            case "\b":
                self._erase()
            case "\v" | "\f" as feed:
                self._write(f"\\x{ord(feed):02x}")
            case _:
                end = begin + 1
                while end < len(text) and text[end] == text[begin]:
                    end += 1
                self.removed += end - begin
                return end
        return begin + 1

    def _write_run(self, run: str) -> None:
        """A stretch of text without control characters."""
        before, self._before = self._before, (self._before + run)[-_CONTEXT:]
        if not run.isascii() and UNSEEN.search(run) is not None:
            run = self._without_unseen(before + run, len(before))
        if run:
            run = self._without_piles(run)
        if run:
            self._write(run)

    def _without_unseen(self, text: str, at: int) -> str:
        parts = []
        for unseen in UNSEEN.finditer(text, at):
            parts.append(text[at : unseen.start()])
            at = unseen.end()
            match unseen.lastgroup:
                case "flag" | "emoji":
                    parts.append(unseen.group())
                case "joiner" if _is_letter(text[unseen.start() - 1]) and _is_letter(text[at]):
                    parts.append(unseen.group())
                case "spelled":
                    parts.append(spelled(unseen.group()))
                case _:
                    self.invisible += 1
        parts.append(text[at:])
        return "".join(parts)

    def _without_piles(self, run: str) -> str:
        """`run` with at most so many marks on a letter, also where chunks divide them."""
        parts = []
        at = 0
        marks = self._marks
        for maybe in () if run.isascii() else _MAYBE_MARKS.finditer(run):
            if maybe.start() > at:
                marks = 0
            parts.append(run[at : maybe.start()])
            at = maybe.end()
            for is_mark, characters in groupby(maybe.group(), _is_mark):
                group = "".join(characters)
                kept = group[: max(0, MOST_MARKS - marks)] if is_mark else group
                self.invisible += len(group) - len(kept)
                marks = marks + len(kept) if is_mark else 0
                parts.append(kept)
        self._marks = 0 if at < len(run) else marks
        parts.append(run[at:])
        return "".join(parts)

    def _write(self, text: str) -> None:
        if self._at_line_start:
            self._at_line_start = False
            if text[0] != "\n":
                self._line.clear()
                self._shorten_line(0)
        line_end = text.rfind("\n") + 1
        if line_end:
            self._finished += self._line
            self._finished.append((text[:line_end], self._style))
            self._line.clear()
            self._line_length = 0
            self._left_the_line = True
            text = text[line_end:]
        if text:
            self._line.append((text, self._style))
            self._line_length += len(text)

    def _erase(self) -> None:
        """Take back the last character of the line with all that hangs on it."""
        if self._at_line_start:
            return
        while self._line and _hangs_on(self._pop()):
            pass
        while self._line and self._line[-1][0][-1] in _JOINERS:
            self._pop()

    def _pop(self) -> str:
        part, style = self._line.pop()
        # Halving keeps a long row of erasures from copying a long part each time.
        while len(part) > _LONGEST_TO_ERASE_FROM:
            half = len(part) // 2
            self._line.append((part[:half], style))
            part = part[half:]
        if len(part) > 1:
            self._line.append((part[:-1], style))
        self._shorten_line(self._line_length - 1)
        return part[-1]

    def _shorten_line(self, length: int) -> None:
        self._line_length = length
        if not self._left_the_line:
            self._intact = min(self._intact, length)


def _hangs_on(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Me", "Cf")


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Me")


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM"


def _join(parts: Iterable[Part]) -> tuple[str, tuple[Span, ...]]:
    texts: list[str] = []
    spans: list[Span] = []
    begin, end, style = 0, 0, PLAIN
    for text, next_style in parts:
        if next_style != style:
            if style != PLAIN and end > begin:
                spans.append(Span(begin, end, style))
            begin, style = end, next_style
        texts.append(text)
        end += len(text)
    if style != PLAIN and end > begin:
        spans.append(Span(begin, end, style))
    return "".join(texts), tuple(spans)
