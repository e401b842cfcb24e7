"""Completion of a command's name: what is offered, which one is chosen, when it is closed. Pure."""

from __future__ import annotations

from tui_agent.ui.commands import Command, completions
from tui_agent.ui.lines import Line, Piece, Tone

WIDE = 60
"""Columns from which arguments and longer names have room."""


class Completion:
    """Follows the text: `follow` at every change, then `offered` and `chosen` are right."""

    def __init__(self) -> None:
        self.offered: tuple[Command, ...] = ()
        self.chosen = 0
        self.is_moved = False
        """Whether a choice was made: then Enter takes it instead of sending what is typed."""
        self._closed_at: str | None = None

    def follow(self, text: str) -> None:
        """The text is this now. What was closed stays closed until the text is another."""
        if text == self._closed_at:
            return
        self._closed_at = None
        offered = completions(text)
        if offered != self.offered:
            self.offered, self.chosen, self.is_moved = offered, 0, False

    def move(self, by: int) -> None:
        """Choose another one, round and round."""
        if self.offered:
            self.chosen = (self.chosen + by) % len(self.offered)
            self.is_moved = True

    def close(self, text: str) -> None:
        """Offer nothing more for `text`."""
        self._closed_at = text
        self.offered, self.chosen, self.is_moved = (), 0, False

    @property
    def command(self) -> Command | None:
        """The chosen command."""
        return self.offered[self.chosen] if self.offered else None


def taken(command: Command) -> str:
    """The text that takes a command; what follows it can be typed at once."""
    return f"/{command.slash} " if command.arguments else f"/{command.slash}"


def completion_lines(completion: Completion, width: int, height: int) -> tuple[Line, ...]:
    """What is offered, around the one that is chosen, for a screen of that size."""
    most = max(2, min(6, height // 4))
    column = 28 if width >= WIDE else 12
    first = max(0, min(completion.chosen - most // 2, len(completion.offered) - most))
    lines = []
    for at, command in enumerate(completion.offered[first : first + most], first):
        arguments = command.arguments if width >= WIDE else ""
        name = f" /{command.slash} {arguments}".rstrip()
        is_chosen = at == completion.chosen
        lines.append(
            Line(
                (
                    Piece(name.ljust(column), Tone.ACCENT if is_chosen else Tone.TEXT),
                    Piece(f" {command.title}", Tone.MUTED),
                ),
                (Piece("Tab ", Tone.ACCENT),) if is_chosen else (),
            )
        )
    return tuple(lines)
