"""Long pastes as chips: one short label in the document for any amount of text.

Three forms of a text. The *document* is what the widget edits: a chip stands in it as a label
between two marks, an opened paste as its text between two others. The *draft* is what is kept and
put back: the same, with the text of every chip between marks, and nothing else needed to read it.
What is *sent* has no marks at all. The marks are private code points that no text from outside
brings in (`without_marks`), so a label cannot be forged. Pure: no Textual.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

FOLD_LINES = 8
FOLD_CHARACTERS = 1_000
"""A paste of more lines or characters than these is folded."""

_SPACE, _LABEL_END, _FOLDED, _OPENED, _END = (chr(0x10FF00 + at) for at in range(5))
_FIRST_CHIP = 0x10E000
_MOST_CHIPS = 0x1000
_CHIP = f"[{chr(_FIRST_CHIP)}-{chr(_FIRST_CHIP + _MOST_CHIPS - 1)}]"

_LABEL = re.compile(f"({_CHIP})[^{_LABEL_END}]*{_LABEL_END}")
_ANY_MARK = re.compile(f"{_CHIP}|[{_SPACE}-{_END}]")
_LABEL_OR_MARK = re.compile(f"{_LABEL.pattern}|{_ANY_MARK.pattern}")
_PAIR_MARK = re.compile(f"[{_FOLDED}-{_END}]")
_SHOWN = {
    ord(_SPACE): " ",
    ord(_LABEL_END): "]",
    ord(_OPENED): "[",
    ord(_END): "]",
    **{_FIRST_CHIP + at: "[" for at in range(_MOST_CHIPS)},
}


def without_marks(text: str) -> str:
    """`text` from outside, with the replacement character for code points that mean something
    here."""
    return _ANY_MARK.sub("\ufffd", text)


def has_marks(text: str) -> bool:
    """Whether there is a chip, or the edge of an opened paste, in a document or draft."""
    return not text.isascii() and _ANY_MARK.search(text) is not None


def is_long(text: str) -> bool:
    """Whether a paste is folded."""
    return len(text) > FOLD_CHARACTERS or text.count("\n") >= FOLD_LINES


def shown(line: str) -> str:
    """A line of the document as it is drawn: as many characters, none of them a mark."""
    return line.translate(_SHOWN) if has_marks(line) else line


def drawn_marks(line: str) -> Iterator[tuple[int, int]]:
    """From which column to which a label, or the edge of an opened paste, is drawn."""
    for found in re.finditer(f"{_LABEL.pattern}|[{_OPENED}{_END}]", line):
        yield found.span()


def labels(line: str) -> Iterator[tuple[int, int]]:
    """From which column to which a chip's label stands in a line of the document."""
    for found in _LABEL.finditer(line):
        yield found.span()


Place = tuple[int, int]
"""A row and a column of the document."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An opened paste: the places of its two marks in the document."""

    start: Place
    end: Place


Rows = tuple[tuple[int, str], ...]
"""Some lines of the document with their rows, in order."""


def marked_rows(lines: Sequence[str]) -> Rows:
    """The lines of a document that have marks; looking for them is cheap in ordinary text."""
    return tuple((row, line) for row, line in enumerate(lines) if has_marks(line))


def opened_pastes(rows: Rows) -> tuple[tuple[Opened, ...], tuple[Place, ...]]:
    """The opened pastes of a document's marked rows, inner ones first, and the places of marks that
    have lost their partner."""
    pastes: list[Opened] = []
    starts: list[Place] = []
    strays: list[Place] = []
    for row, line in rows:
        for found in re.finditer(f"[{_OPENED}{_END}]", line):
            place = (row, found.start())
            if found[0] == _OPENED:
                starts.append(place)
            elif starts:
                pastes.append(Opened(starts.pop(), place))
            else:
                strays.append(place)
    return tuple(pastes), tuple(sorted((*strays, *starts)))


class Chips:
    """The texts behind the chips of one document."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._texts)

    def clear(self) -> None:
        """Another document begins; the labels of the one before mean nothing any more."""
        self._texts.clear()

    def fold(self, text: str) -> str:
        """A label for `text`, which has no marks. When there are more chips than marks to tell them
        apart the paste stays open instead."""
        number = len(self._texts)
        if number == _MOST_CHIPS:
            return self.open(text)
        self._texts.append(text)
        lines = text.count("\n") + (not text.endswith("\n"))
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        return f"{chr(_FIRST_CHIP + number)}pasted {size}{_LABEL_END}".replace(" ", _SPACE)

    def open(self, text: str) -> str:
        """`text` as an opened paste."""
        return f"{_OPENED}{text}{_END}"

    def behind(self, label: str) -> str:
        """The text behind a label of this document."""
        return self._texts[ord(label[0]) - _FIRST_CHIP]

    def sent(self, lines: Sequence[str]) -> str:
        """What is sent for the lines of a document, or of a part of one."""
        return "\n".join(line if line.isascii() else self._sent_line(line) for line in lines)

    def draft(self, lines: Sequence[str]) -> str:
        """The draft of a document, or of a part of one."""
        return "\n".join(line if line.isascii() else self._draft_line(line) for line in lines)

    def _sent_line(self, line: str) -> str:
        return _LABEL_OR_MARK.sub(lambda found: self.behind(found[0]) if found[1] else "", line)

    def _draft_line(self, line: str) -> str:
        return _LABEL.sub(lambda found: f"{_FOLDED}{self.behind(found[0])}{_END}", line)

    def document(self, draft: str) -> str:
        """The document of a draft, with a new chip for each that is folded in it. Marks that have
        no partner are left out: then a draft was cut, or it never was one."""
        if not has_marks(draft):
            return draft
        parts: list[str] = [""]
        kinds: list[str] = []
        at = 0
        for found in _PAIR_MARK.finditer(draft):
            parts[-1] += draft[at : found.start()]
            at = found.end()
            if found[0] != _END:
                kinds.append(found[0])
                parts.append("")
            elif kinds:
                inner = parts.pop()
                is_folded = kinds.pop() == _FOLDED
                text = self.sent(inner.split("\n"))
                parts[-1] += self.fold(text) if is_folded else self.open(inner)
        parts[-1] += draft[at:]
        return "".join(parts)

    def refold(self, lines: Sequence[str], text: str) -> str:
        """The draft of `text`, which came back from elsewhere as `lines` were sent there: what is
        still in it of their chips is folded again."""
        parts: list[str] = []
        at = 0
        for line in lines:
            for found in _LABEL.finditer(line):
                folded = self.behind(found[0])
                begin = text.find(folded, at)
                if begin >= 0:
                    parts.extend((text[at:begin], _FOLDED, folded, _END))
                    at = begin + len(folded)
        return "".join((*parts, text[at:]))
