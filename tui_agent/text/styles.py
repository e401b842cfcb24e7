"""Styles of foreign text: what an SGR sequence may set, and the palette it points into.

In: SGR parameters and the style so far. Out: the next `TextStyle`. Conceal and blink are ignored,
because text that cannot be read is not shown text. Colours stay indexes where the sender used
indexes, so that the theme decides what they look like.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

Colour = int | tuple[int, int, int]
"""0-15: the theme's sixteen colours; 16-255: the fixed cube and greys; or red, green, blue."""

PALETTE_NAMES: Final = (
    *("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"),
    *("bright-black", "bright-red", "bright-green", "bright-yellow"),
    *("bright-blue", "bright-magenta", "bright-cyan", "bright-white"),
)
"""Names of the indexes 0-15, for a theme to map."""

CUBE_LEVELS: Final = (0, 95, 135, 175, 215, 255)
"""Brightness steps of the 6x6x6 cube at the indexes 16-231."""

_LONGEST_PARAMETER: Final = 4
_FLAGS_ON: Final = {
    1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike", 21: "underline",
}  # fmt: skip
_FLAGS_OFF: Final = {
    22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 29: ("strike",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TextStyle:
    """How a stretch of foreign text wants to look; the default wants nothing."""

    fg: Colour | None = None
    bg: Colour | None = None
    bold: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    reverse: bool = False
    dim: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """`style` holds for the characters from `start` up to, not including, `end`."""

    start: int
    end: int
    style: TextStyle


@dataclass(frozen=True, slots=True)
class StyledText:
    """Safe text with its styles, and how much was taken out of it.

    `spans` are in order, do not overlap, and never carry the default style. `removed` counts
    control sequences and control characters, `invisible` code points that draw nothing.
    """

    text: str
    spans: tuple[Span, ...] = ()
    removed: int = 0
    invisible: int = 0


PLAIN: Final = TextStyle()


def palette_rgb(index: int) -> tuple[int, int, int]:
    """Red, green and blue of a fixed palette index, 16 to 255."""
    if not 16 <= index <= 255:
        raise ValueError(f"palette index {index} has no fixed colour")
    if index >= 232:
        grey = 8 + 10 * (index - 232)
        return grey, grey, grey
    red, green, blue = (index - 16) // 36, (index - 16) // 6 % 6, (index - 16) % 6
    return CUBE_LEVELS[red], CUBE_LEVELS[green], CUBE_LEVELS[blue]


@lru_cache(maxsize=512)
def restyle(style: TextStyle, parameters: str) -> TextStyle:
    """The style after an SGR sequence with these parameters (digits, `;` and `:` only)."""
    fields = parameters.split(";")
    at = 0
    while at < len(fields):
        head, *details = fields[at].split(":")
        code = _number(head)
        at += 1
        if code in (38, 48, 58):
            if details:
                colour = _colour(details)
            else:
                used = 2 if fields[at : at + 1] == ["5"] else 4
                colour = _colour(fields[at : at + used])
                at += used
            if colour is not None and code != 58:
                style = replace(style, fg=colour) if code == 38 else replace(style, bg=colour)
        elif code == 4 and details:
            style = replace(style, underline=_number(details[0]) != 0)
        else:
            style = _single(style, code)
    return style


def _single(style: TextStyle, code: int) -> TextStyle:
    if code == 0:
        return PLAIN
    if code in _FLAGS_ON:
        return replace(style, **{_FLAGS_ON[code]: True})
    if code in _FLAGS_OFF:
        return replace(style, **dict.fromkeys(_FLAGS_OFF[code], False))
    if 30 <= code <= 37:
        return replace(style, fg=code - 30)
    if 40 <= code <= 47:
        return replace(style, bg=code - 40)
    if 90 <= code <= 97:
        return replace(style, fg=code - 82)
    if 100 <= code <= 107:
        return replace(style, bg=code - 92)
    if code == 39:
        return replace(style, fg=None)
    if code == 49:
        return replace(style, bg=None)
    return style


def _colour(details: list[str]) -> Colour | None:
    """`5:n`, `2:r:g:b` or `2:space:r:g:b`; None when it is none of these."""
    kind, *numbers = [_number(field) for field in details] or [0]
    if kind == 5 and numbers and 0 <= numbers[0] <= 255:
        return numbers[0]
    if kind == 2 and len(numbers) >= 3:
        red, green, blue = numbers[1:4] if len(numbers) >= 4 else numbers[:3]
        if max(red, green, blue) <= 255 and min(red, green, blue) >= 0:
            return red, green, blue
    return None


def _number(field: str) -> int:
    """An empty field is zero; one too long to mean anything is minus one."""
    if not field:
        return 0
    return int(field) if len(field) <= _LONGEST_PARAMETER else -1
