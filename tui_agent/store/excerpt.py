"""The piece of a text around what was searched for.

In: a stored text and the words that were typed. Out: one line of it, and where in that line the
words stand. The words are looked for as the index does: case and accents make no difference.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

BEFORE: Final = 40
"""Characters of context before the first match."""
LENGTH: Final = 160
"""Characters of one excerpt, at most."""
_REACH: Final = 50_000
"""Characters from the start in which matches are looked for; the excerpt is from there."""
_TABLE_LIMIT: Final = 4096
_BLANKS: Final = re.compile(r"\s+")

Places = tuple[tuple[int, int], ...]


def excerpt(text: str, words: Iterable[str]) -> tuple[str, Places]:
    """At most `LENGTH` characters of `text` on one line, with the (start, end) of each match in it.
    Without a match it is the beginning."""
    line = _BLANKS.sub(" ", text[:_REACH]).strip()
    needles = _needles(words)
    found = _occurrences(fold(line), needles)
    start = max(0, found[0][0] - BEFORE) if found else 0
    if start:
        # from a word on, where one begins in time
        blank = line.find(" ", start, found[0][0])
        start = blank + 1 if blank >= 0 else start
    end = min(len(line), start + LENGTH)
    left, right = "…" if start else "", "…" if end < len(line) or len(text) > _REACH else ""
    shift = len(left) - start
    places = tuple((a + shift, b + shift) for a, b in found if b <= end)
    return f"{left}{line[start:end]}{right}", places


def _needles(words: Iterable[str]) -> list[str]:
    """What to look for: each word, and its parts when symbols divide it, as the index does."""
    found: dict[str, None] = {}
    for word in map(fold, words):
        found[word] = None
        found.update(dict.fromkeys(part for part in re.split(r"[\W_]+", word) if len(part) > 1))
    return sorted(found, key=len, reverse=True)


def _occurrences(folded: str, needles: list[str]) -> list[tuple[int, int]]:
    """Where any of the needles stands, longer ones before those inside them. A word is meant from
    its beginning, unless nothing begins with it."""
    if not needles:
        return []
    any_of = "|".join(map(re.escape, needles))
    for pattern in (rf"(?<![^\W_])(?:{any_of})", any_of):
        if found := [match.span() for match in re.finditer(pattern, folded)]:
            return found
    return []


class _Folded(dict[int, str]):
    """Each character as one lower-case character without accents, worked out on first sight."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        base = unicodedata.normalize("NFD", character)[0]
        # some capitals have a lower case of two characters; places must stay what they are
        folded = base.lower()[0]
        if len(self) < _TABLE_LIMIT:
            self[code] = folded
        return folded


_FOLDED: Final = _Folded()


def fold(text: str) -> str:
    """`text` in lower case and without accents, as long as before."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)
