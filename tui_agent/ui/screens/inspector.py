"""The request inspector: what the model gets next, and what it got last, part by part."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from tui_agent.ui.dialogs.sizes import ROOMY
from tui_agent.ui.marks import Marks
from tui_agent.ui.projection.inspection import body_lines, layer_lines, request_title
from tui_agent.ui.screens.closing import ClosesOnce
from tui_agent.ui.widgets.keys_bar import KeysBar
from tui_agent.ui.widgets.line_bar import LineBar
from tui_agent.ui.widgets.pager import Pager
from tui_agent.vocabulary.inspection import InspectedRequest


class InspectorScreen(ModalScreen[None], ClosesOnce[None]):
    """Steps through `requests` (at least one, the newest first) and between parts and body."""

    def __init__(self, requests: Sequence[InspectedRequest], marks: Marks) -> None:
        super().__init__()
        self._requests = requests
        self._marks = marks
        self._place = 0
        self._shows_body = False
        self._head = LineBar(id="dialog-head")
        self._pager = Pager(id="dialog-body")

    def compose(self) -> ComposeResult:
        """Which one, its parts or its body, the keys."""
        with Vertical(id="dialog", classes="wide tall"):
            yield self._head
            yield self._pager
            yield KeysBar(
                ("Left Right", "newer, older"),
                ("Tab", "parts or exact body"),
                ("Up Down", "scroll"),
                ("Esc", "closes"),
                id="dialog-choices",
            )

    def on_mount(self) -> None:
        """Show the newest."""
        self._show()
        self._pager.focus()

    def on_resize(self) -> None:
        """Without blank lines where the screen is low."""
        self.query_one("#dialog").set_class(self.app.size.height < ROOMY, "tight")

    def on_key(self, event: events.Key) -> None:
        """Step, turn over, close."""
        match event.key:
            case "left" | "right":
                step = 1 if event.key == "right" else -1
                self._place = min(max(0, self._place + step), len(self._requests) - 1)
                self._show()
            case "tab":
                self._shows_body = not self._shows_body
                self._show()
            case "escape" | "q":
                _ = self.dismiss(None)
            case _:
                return
        event.stop()
        event.prevent_default()

    def _show(self) -> None:
        request = self._requests[self._place]
        self._head.set_lines(request_title(request, self._place, len(self._requests)))
        lines = body_lines(request) if self._shows_body else layer_lines(request, self._marks)
        self._pager.set_lines(lines)
        self._pager.scroll_home(animate=False)
