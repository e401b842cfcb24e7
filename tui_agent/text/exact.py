"""The strongest rule: every odd character becomes visible, nothing is removed.

For what a person decides upon or what names a thing: commands, arguments, file names, titles,
URLs, log lines. In: any text. Out: text that has no control, invisible or reordering character and
whose padding cannot push its end out of view. It never drops a character and never looks at what
the text means.
"""

import re
import unicodedata
from itertools import groupby
from typing import Final

from tui_agent.text.characters import UNSEEN_MARKS_AND_LETTERS, spelled

MOST_BLANKS: Final = 32
MOST_LINE_BREAKS: Final = 3
MOST_MARKS: Final = 4
_TABLE_LIMIT: Final = 4096
_TOO_MANY_SPACES: Final = " " * (MOST_BLANKS + 1)

_UNSEEN: Final = re.compile(f"[{UNSEEN_MARKS_AND_LETTERS}]")
_BLANKS: Final = re.compile(f"[ \\t]{{{MOST_BLANKS + 1},}}")
# Lines of blanks only are part of the run: they push the rest out of view just as well.
_LINE_BREAKS: Final = re.compile(f"\\n(?:[ \\t]*+\\n){{{MOST_LINE_BREAKS},}}")
# Combining marks are neither word characters nor ASCII; this skips letters of every script.
_MAYBE_MARKS: Final = re.compile(f"[^\\w\\s\\x00-\\x7f]{{{MOST_MARKS + 1},}}")


class _Visible(dict[int, str]):
    """A translation table that works out each code point on first sight."""

    def __init__(self, line_break: str) -> None:
        super().__init__({0x09: "\\t", 0x0A: line_break})

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if code < 0x20 or 0x7F <= code <= 0x9F:
            shown = f"\\x{code:02x}"
        elif character.isprintable() and not _UNSEEN.match(character):
            shown = character
        else:
            shown = spelled(character)
        if len(self) < _TABLE_LIMIT:
            self[code] = shown
        return shown


_IN_ONE_LINE: Final = _Visible("\\n")
_IN_A_BODY: Final = _Visible("\n")


def exact(text: str, *, one_line: bool = True) -> str:
    """`text` with every odd character spelled out.

    Controls become `\\xNN` (`\\n` and `\\t` for line feed and tab), other unseen characters
    `<U+XXXX>`, long runs of blanks, line breaks or combining marks a count in `⟨⟩`. With
    `one_line=False` a line feed stays a line break.
    """
    if text.isascii():
        if text.isprintable() and _TOO_MANY_SPACES not in text:
            return text
    else:
        text = _MAYBE_MARKS.sub(_count_marks, text)
    text = _LINE_BREAKS.sub(_count_line_breaks, _BLANKS.sub(_count_blanks, text))
    if text.isprintable() and (text.isascii() or _UNSEEN.search(text) is None):
        return text
    return text.translate(_IN_ONE_LINE if one_line else _IN_A_BODY)


def _count_blanks(run: re.Match[str]) -> str:
    blanks = run.group()
    kind = "blanks" if "\t" in blanks else "spaces"
    return f"⟨{len(blanks)} {kind}⟩"


def _count_line_breaks(run: re.Match[str]) -> str:
    breaks = run.group().count("\n")
    blanks = len(run.group()) - breaks
    return f"⟨{breaks} line breaks{f', {blanks} blanks' if blanks else ''}⟩"


def _count_marks(run: re.Match[str]) -> str:
    shown = []
    for is_mark, characters in groupby(run.group(), _is_stacking_mark):
        group = "".join(characters)
        hidden = len(group) - MOST_MARKS
        if is_mark and hidden > 0:
            group = f"{group[:MOST_MARKS]}⟨{hidden} mark{'s' if hidden > 1 else ''}⟩"
        shown.append(group)
    return "".join(shown)


def _is_stacking_mark(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Me") and not _UNSEEN.match(character)
