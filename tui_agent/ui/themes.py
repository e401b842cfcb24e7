"""The two themes, and what each tone of text looks like in them.

A theme says what a state looks like; the stylesheets and the line drawing use only its variables.
State colours keep a contrast of at least 4.5 on every surface of their theme.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rich.style import Style
from textual.theme import Theme

from tui_agent.ui.lines import Tone

if TYPE_CHECKING:
    from collections.abc import Mapping

DARK = Theme(
    name="tui-agent-dark",
    dark=True,
    primary="#8ab4f8",
    secondary="#9aa7b8",
    accent="#8ab4f8",
    warning="#e8b866",
    error="#f28b82",
    success="#8fce9b",
    foreground="#d9dee6",
    background="#11151b",
    surface="#171c24",
    panel="#1e2530",
    variables={
        "state-running": "#8ab4f8",
        "state-waiting": "#f0bd68",
        "state-done": "#8fce9b",
        "state-failed": "#f4918a",
        "state-unknown": "#cfa6f5",
        "strong": "#f3f6fa",
        "quiet": "#97a3b3",
        "edge": "#323c4a",
        "edge-focus": "#7f9cc7",
        "selected": "#263448",
        "input-cursor-background": "#d9dee6",
        "input-selection-background": "#34507a",
        "block-cursor-background": "#263448",
        "block-cursor-foreground": "#f3f6fa",
        "block-cursor-text-style": "none",
        "scrollbar": "#323c4a",
        "scrollbar-hover": "#4a586b",
        "scrollbar-active": "#7f9cc7",
        "scrollbar-background": "#171c24",
        "scrollbar-background-hover": "#171c24",
        "scrollbar-background-active": "#171c24",
        "scrollbar-corner-color": "#171c24",
    },
)

LIGHT = Theme(
    name="tui-agent-light",
    dark=False,
    primary="#1f5fbf",
    secondary="#55606e",
    accent="#1f5fbf",
    warning="#8a5a00",
    error="#b3261e",
    success="#22693a",
    foreground="#262c34",
    background="#fcfbf8",
    surface="#f5f3ee",
    panel="#ece9e2",
    variables={
        "state-running": "#1f5fbf",
        "state-waiting": "#855500",
        "state-done": "#22693a",
        "state-failed": "#b3261e",
        "state-unknown": "#6b3fa0",
        "strong": "#0d1117",
        "quiet": "#5b6572",
        "edge": "#d3cec3",
        "edge-focus": "#6f8fbf",
        "selected": "#dde6f3",
        "input-cursor-background": "#262c34",
        "input-selection-background": "#bcd2f0",
        "block-cursor-background": "#dde6f3",
        "block-cursor-foreground": "#0d1117",
        "block-cursor-text-style": "none",
        "scrollbar": "#d3cec3",
        "scrollbar-hover": "#b5ae9f",
        "scrollbar-active": "#6f8fbf",
        "scrollbar-background": "#f5f3ee",
        "scrollbar-background-hover": "#f5f3ee",
        "scrollbar-background-active": "#f5f3ee",
        "scrollbar-corner-color": "#f5f3ee",
    },
)

THEMES = (DARK, LIGHT)

SURFACES = ("background", "surface", "panel", "selected")
"""The variables that text stands on."""

_VARIABLE_OF_TONE = {
    Tone.TEXT: "foreground",
    Tone.STRONG: "strong",
    Tone.MUTED: "quiet",
    Tone.ACCENT: "accent",
    Tone.RUNNING: "state-running",
    Tone.WAITING: "state-waiting",
    Tone.DONE: "state-done",
    Tone.FAILED: "state-failed",
    Tone.UNKNOWN: "state-unknown",
    Tone.ADDED: "state-done",
    Tone.REMOVED: "state-failed",
}


def colour_of(tone: Tone, variables: Mapping[str, str]) -> str:
    """The colour of `tone` among the variables of a theme."""
    return variables[_VARIABLE_OF_TONE[tone]]


@lru_cache(maxsize=256)
def _style(colour: str, background: str | None, bold: bool) -> Style:
    return Style(color=colour, bgcolor=background, bold=bold or None)


def style_of(tone: Tone, variables: Mapping[str, str], background: str | None = None) -> Style:
    """How `tone` is drawn with the variables of the current theme."""
    return _style(colour_of(tone, variables), background, tone is Tone.STRONG)
