"""What happens in the shown session: prompts, going on, ending, summarising."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tui_agent.ui.desk.around import Around
from tui_agent.ui.desk.outbox import Outbox
from tui_agent.ui.desk.second_press import SecondPress
from tui_agent.ui.projection.session import SessionView
from tui_agent.ui.projection.words import plural


class Turns:
    """Acts on the turn of the shown session."""

    def __init__(self, around: Around, second_press: SecondPress) -> None:
        self._around = around
        self._second_press = second_press
        self.outbox = Outbox(around)

    def submit(self, text: str, *, after_turn: bool, draft: str | None = None) -> None:
        """Send what was typed; what cannot be sent goes back into the composer, as `draft` if that
        is not the text itself."""
        self.outbox.put(text, text if draft is None else draft, after_turn=after_turn)

    def resume(self) -> None:
        """Go on with what is open, cut or queued."""
        if (session := self._around.shown()) is not None:
            self._act(session, self._around.operations.resume)

    def discard_open(self) -> None:
        """Close the open batch without running it."""
        if (session := self._around.shown()) is not None:
            self._act(session, self._around.operations.discard_open)

    def interrupt(self) -> None:
        """End the foreground turn; with open asks, only at the second key."""
        session = self._around.shown()
        if session is None or not session.can_be_interrupted:
            self._around.screen.go_to_composer()
            return
        asks = len(self._around.state.inbox.of_tree(session.id))
        if asks and not self._second_press.is_here("interrupt"):
            said = f"{plural(asks, 'open ask')} will be cancelled · Esc again interrupts"
            self._around.screen.say(said)
            return
        self._around.screen.say("")  # not "again" any more
        self._around.stage.start(self._around.operations.interrupt(session.id))

    def retry_now(self) -> None:
        """End the wait before a failed model call is tried again."""
        if (session := self._around.shown()) is not None:
            self._around.stage.start(self._around.operations.retry_now(session.id))

    def compact(self, focus: str) -> None:
        """Summarise older messages."""
        if (session := self._around.shown()) is not None:
            compact = self._around.operations.compact
            self._act(session, lambda session_id: compact(session_id, focus))

    def _act(self, session: SessionView, work: Callable[[str], Awaitable[None]]) -> None:
        async def own_and_do() -> None:
            await self._around.take_over(session.id)
            await work(session.id)

        self._around.stage.start(own_and_do())
