"""Every role can be read on every theme."""

import pytest
from rich.style import Style
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from tui_agent.ui.themes import DARK, LIGHT
from tui_agent.ui.transcript.theme import _ATTRIBUTES, _BANDS, _COLOURS, CONTRAST, Palette, contrast

THEMES = [DARK, LIGHT, *(theme for theme in BUILTIN_THEMES.values() if not theme.ansi)]


def palette_of(theme: Theme) -> Palette:
    variables = theme.to_color_system().generate()
    background = Color.parse(variables["background"])
    foreground = Color.parse(variables["foreground"])
    return Palette(
        Style(color=foreground.rich_color, bgcolor=background.rich_color),
        {**variables, **theme.variables},
    )


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_every_role_is_readable(theme: Theme) -> None:
    palette = palette_of(theme)
    roles = {"", *_COLOURS, *_ATTRIBUTES, "fg:0", "fg:4", "fg:15", "fg:244", "fg:#000000"}
    names = roles | {f"{band} {role}" for band in _BANDS for role in roles}
    for name in names - {"reverse"}:
        style = palette.style(name)
        assert style.color is not None
        assert style.bgcolor is not None
        ratio = contrast(Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor))
        assert ratio >= CONTRAST - 0.05 or name == "", (name, ratio)


def test_roles_add_up() -> None:
    style = palette_of(DARK).style("heading em link")
    assert style.bold
    assert style.italic
    assert style.underline


def test_an_unknown_role_is_plain_text() -> None:
    palette = palette_of(DARK)
    assert palette.style("nosuch").bgcolor == palette.base.bgcolor
