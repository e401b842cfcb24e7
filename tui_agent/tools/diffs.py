"""The difference between two texts, for a person to look at.

Only the part between the first and the last changed line is compared, so that one edit in a large
file is cheap; where even that part is too large, it is shown as taken out and put in as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

CONTEXT = 3
_COMPARED_LINES = 4000
_SHOWN_LINES = 5000


@dataclass(frozen=True, slots=True)
class Diff:
    """A unified diff without file header; `added` and `removed` count lines."""

    text: str
    added: int
    removed: int


_Opcode = tuple[str, int, int, int, int]


def unified(old: str, new: str) -> Diff:
    """What has to change in `old` to get `new`. A carriage return at a line's end is shown as `\\r`
    where it differs."""
    before, after = _lines(old), _lines(new)
    start = common_start(before, after)
    end = common_start(before[start:][::-1], after[start:][::-1])
    opcodes = _opcodes(before[start : len(before) - end], after[start : len(after) - end], start)
    added = sum(j2 - j1 for tag, _, _, j1, j2 in opcodes if tag != "equal")
    removed = sum(i2 - i1 for tag, i1, i2, _, _ in opcodes if tag != "equal")
    lines: list[str] = []
    for group in _grouped(opcodes, len(before), len(after)):
        lines.append(_header(group))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [" " + line for line in before[i1:i2]]
            else:
                lines += ["-" + line for line in before[i1:i2]]
                lines += ["+" + line for line in after[j1:j2]]
    if len(lines) > _SHOWN_LINES:
        left_out = len(lines) - _SHOWN_LINES
        lines = [*lines[:_SHOWN_LINES], f"\\ {left_out:,} more lines of this change are not shown"]
    return Diff("\n".join(lines), added, removed)


def common_start(left: Sequence[str], right: Sequence[str]) -> int:
    """How many items, or characters, both start with."""
    for index, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return index
    return min(len(left), len(right))


def _lines(text: str) -> list[str]:
    if not text:
        return []
    lines = [line[:-1] + "\\r" if line.endswith("\r") else line for line in text.split("\n")]
    if lines[-1] == "":
        lines.pop()
    else:
        lines[-1] += "\n\\ No newline at end of file"
    return lines


def _opcodes(before: Sequence[str], after: Sequence[str], start: int) -> list[_Opcode]:
    if not before and not after:
        return []
    if len(before) + len(after) > _COMPARED_LINES or not before or not after:
        return [("replace", start, start + len(before), start, start + len(after))]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return [
        (tag, i1 + start, i2 + start, j1 + start, j2 + start)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
    ]


def _grouped(opcodes: list[_Opcode], before: int, after: int) -> Iterator[list[_Opcode]]:
    """Splits changes that are far apart and puts lines of context around each group."""
    group: list[_Opcode] = []
    for tag, i1, i2, j1, j2 in opcodes:
        if tag == "equal" and i2 - i1 > 2 * CONTEXT and group:
            group.append((tag, i1, i1 + CONTEXT, j1, j1 + CONTEXT))
            yield group
            group = [(tag, i2 - CONTEXT, i2, j2 - CONTEXT, j2)]
            continue
        if not group:
            lead = min(CONTEXT, i1, j1)
            group.append(("equal", i1 - lead, i1, j1 - lead, j1))
        group.append((tag, i1, i2, j1, j2))
    if group:
        _, _, i2, _, j2 = group[-1]
        trail = min(CONTEXT, before - i2, after - j2)
        group.append(("equal", i2, i2 + trail, j2, j2 + trail))
        yield group


def _header(group: list[_Opcode]) -> str:
    i1, i2 = group[0][1], group[-1][2]
    j1, j2 = group[0][3], group[-1][4]
    return f"@@ -{_range(i1, i2)} +{_range(j1, j2)} @@"


def _range(start: int, stop: int) -> str:
    count = stop - start
    return f"{start + 1 if count else start},{count}"
