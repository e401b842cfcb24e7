"""What each role looks like, from the variables of the current theme.

The only place of this package that knows colours. A style name is one or more roles; they are laid
over each other in order. Every text colour is held to a contrast of 4.5 against its background,
whatever the theme says. Roles `fg:N`, `bg:N`, `fg:#rrggbb` and `bg:#rrggbb` are colours that a
program's output asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.color import Color as RichColor
from rich.style import Style
from textual.color import Color, ColorParseError

from tui_agent.text import palette_rgb

CONTRAST: Final = 4.5

_BOLD: Final = Style(bold=True)
_ITALIC: Final = Style(italic=True)
_UNDERLINE: Final = Style(underline=True)
_STRIKE: Final = Style(strike=True)
_ATTRIBUTES: Final[Mapping[str, Style]] = {
    "strong": _BOLD,
    "bold": _BOLD,
    "em": _ITALIC,
    "italic": _ITALIC,
    "strike": _STRIKE,
    "underline": _UNDERLINE,
    "reverse": Style(reverse=True),
    "heading": _BOLD,
    "heading-1": _UNDERLINE,
    "table-head": _BOLD,
    "tool": _BOLD,
    "user-label": _BOLD,
    "assistant-label": _BOLD,
    "link": _UNDERLINE,
    "thinking": _ITALIC,
    "syntax-comment": _ITALIC,
    "syntax-keyword": _BOLD,
}
# role: the theme's variables that may hold its colour, the first one known wins
_COLOURS: Final[Mapping[str, tuple[str, ...]]] = {
    "heading": ("strong", "foreground"),
    "table-head": ("strong", "foreground"),
    "tool": ("strong", "foreground"),
    "user": ("strong", "foreground"),
    "user-label": ("accent", "primary"),
    "user-bar": ("accent", "primary"),
    "assistant-label": ("quiet", "muted"),
    "muted": ("quiet", "muted"),
    "marker": ("quiet", "muted"),
    "quote": ("quiet", "muted"),
    "image": ("quiet", "muted"),
    "thinking": ("quiet", "muted"),
    "thinking-label": ("quiet", "muted"),
    "output": ("quiet", "muted"),
    "link": ("accent", "primary"),
    "code": ("text-warning", "warning"),
    "added": ("state-done", "success"),
    "removed": ("state-failed", "error"),
    "state-running": ("state-running", "primary"),
    "state-waiting": ("state-waiting", "warning"),
    "state-done": ("state-done", "success"),
    "state-failed": ("state-failed", "error"),
    "state-unknown": ("state-unknown", "secondary"),
    "new": ("accent", "primary"),
    "syntax-comment": ("quiet", "muted"),
    "syntax-keyword": ("accent", "primary"),
    "syntax-string": ("success",),
    "syntax-number": ("warning",),
    "syntax-name": ("state-unknown", "secondary"),
    "syntax-builtin": ("state-unknown", "secondary"),
}
_BLENDS: Final[Mapping[str, float]] = {"muted": 0.62, "faint": 0.25}
"""Names that no theme needs to have: so much of the foreground on the background."""
# Lines, not text: they need no contrast of their own.
_LINES: Final[Mapping[str, tuple[str, ...]]] = {
    "gutter": ("edge", "faint"),
    "rule": ("edge", "faint"),
    "thumb": ("edge", "faint"),
}
_BANDS: Final[Mapping[str, tuple[str, float]]] = {
    "code-block": ("panel", 0.75),
    "added-line": ("success", 0.10),
    "removed-line": ("error", 0.10),
}
"""Backgrounds: a variable, and how much of it is laid over the background."""


class Palette:
    """Styles for one theme on one background. `style` is cheap to ask again."""

    def __init__(self, base: Style, variables: Mapping[str, str]) -> None:
        self.base = base
        self._variables = variables
        self._background = _rich_colour(base.bgcolor) or Color.parse("#000000")
        self._foreground = _rich_colour(base.color) or Color.parse("#e0e0e0")
        self._is_native = base.bgcolor is None or base.bgcolor.is_default
        self._styles: dict[str, Style] = {"": base}

    @property
    def background(self) -> Color:
        """What everything stands on."""
        return self._background

    def style(self, name: str) -> Style:
        """The Rich style of a style name; unknown roles look like plain text."""
        style = self._styles.get(name)
        if style is None:
            style = self._styles[name] = self._resolved(name)
        return style

    def _resolved(self, name: str) -> Style:
        style = self.base
        colour: Color | None = None
        background = self._background
        for role in name.split():
            if (attributes := _ATTRIBUTES.get(role)) is not None:
                style += attributes
            colour = self._colour(role) or colour
            background = self._band(role) or background
        if self._is_native and background is self._background:
            # The terminal's own background is not ours to set, nor to measure against.
            return style + Style(color=colour.rich_color) if colour else style
        colour = readable(colour or self._foreground, background)
        if any(role in _LINES for role in name.split()):
            colour = self._line(name.split(maxsplit=1)[0])
        return style + Style(color=colour.rich_color, bgcolor=background.rich_color)

    def _colour(self, role: str) -> Color | None:
        if role.startswith("fg:"):
            return self._foreign(role[3:])
        if role in _LINES:
            return self._line(role)
        return self._variable(_COLOURS[role]) if role in _COLOURS else None

    def _line(self, role: str) -> Color:
        return self._variable(_LINES[role]) or self._foreground

    def _band(self, role: str) -> Color | None:
        if role.startswith("bg:"):
            return self._foreign(role[3:])
        if role not in _BANDS or self._is_native:
            return None
        variable, amount = _BANDS[role]
        colour = self._variable((variable,))
        return self._background.blend(colour, amount) if colour else None

    def _variable(self, names: tuple[str, ...]) -> Color | None:
        for name in names:
            if name in _BLENDS:
                return self._background.blend(self._foreground, _BLENDS[name])
            try:
                colour = Color.parse(self._variables[name])
            except (KeyError, ColorParseError):
                continue
            return (
                colour if colour.a == 1 else self._background.blend(colour.with_alpha(1), colour.a)
            )
        return None

    def _foreign(self, name: str) -> Color | None:
        if name.startswith("#"):
            return Color.parse(name)
        index = int(name)
        if index >= 16:
            return Color(*palette_rgb(index))
        return self._variable(_SIXTEEN[index % 8])


_SIXTEEN: Final[tuple[tuple[str, ...], ...]] = (
    ("faint",),
    ("state-failed", "error"),
    ("state-done", "success"),
    ("state-waiting", "warning"),
    ("primary",),
    ("state-unknown", "secondary"),
    ("accent", "primary"),
    ("foreground",),
)
"""The eight names of terminal colours, as this theme has them."""


def readable(colour: Color, background: Color) -> Color:
    """`colour`, moved towards white or black as far as its contrast needs it."""
    towards = Color(255, 255, 255) if background.brightness < 0.5 else Color(0, 0, 0)
    for step in range(11):
        candidate = colour.blend(towards, step / 10)
        if contrast(candidate, background) >= CONTRAST:
            return candidate
    return towards


def contrast(one: Color, other: Color) -> float:
    """The contrast of two colours, from 1 to 21, as the web's accessibility rules measure it."""
    first, second = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (first + 0.05) / (second + 0.05)


def _luminance(colour: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
        for part in colour.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _rich_colour(colour: RichColor | None) -> Color | None:
    return None if colour is None or colour.is_default else Color.from_rich_color(colour)
