"""A composer alone in an application, and what it told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tui_agent.ui.panes.composer import Composer

LINES = "\n".join(f"line {at} of what was pasted" for at in range(1, 1235))
"""A long paste: 1,234 lines."""


class Stage(App[None]):
    """Holds the composer and keeps its messages."""

    CSS = """
    #composer { height: auto; min-height: 1; max-height: 33vh; border: none; padding: 0 2; }
    #composer .prompt-area--chip { color: red; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.composer = Composer(id="composer")
        self.sent: list[Composer.Sent] = []
        self.queue_wanted = 0

    def compose(self) -> ComposeResult:
        yield self.composer

    def on_mount(self) -> None:
        self.composer.cursor_blink = False
        self.composer.focus()

    def on_composer_sent(self, event: Composer.Sent) -> None:
        self.sent.append(event)

    def on_composer_queue_wanted(self) -> None:
        self.queue_wanted += 1

    def paste(self, text: str) -> None:
        """As the terminal brings it."""
        self.post_message(events.Paste(text))

    @property
    def notices(self) -> list[str]:
        return [each.message for each in self._notifications]

    @property
    def rows(self) -> list[str]:
        """What is drawn, from the first row in view."""
        height = self.composer.content_size.height
        return [self.composer.render_line(y).text.rstrip() for y in range(height)]


@asynccontextmanager
async def composing(
    *, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[Stage, Composer, Pilot[None]]]:
    """A composer with the focus."""
    stage = Stage()
    async with stage.run_test(size=size) as pilot:
        await pilot.pause()
        yield stage, stage.composer, pilot


def script(path: Path, *lines: str) -> str:
    """An executable shell script; its path."""
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(0o755)
    return str(path)
