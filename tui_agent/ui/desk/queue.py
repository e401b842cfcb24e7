"""What waits in the shown session: its order, when each message is delivered, taking one back."""

from __future__ import annotations

from tui_agent.ui.composer.queue_screen import QueueScreen
from tui_agent.ui.desk.around import Around
from tui_agent.ui.projection.session import SessionView
from tui_agent.vocabulary.errors import UserError
from tui_agent.vocabulary.events import QueuedMessage


class Queue:
    """Changes the queue of the shown session."""

    def __init__(self, around: Around) -> None:
        self._around = around

    def show(self) -> None:
        """Open the list of what is queued."""
        session = self._around.shown()
        if session is None:
            return

        async def changed(messages: tuple[QueuedMessage, ...], dropped: tuple[str, ...]) -> None:
            try:
                await self._around.operations.edit_queue(session.id, messages, dropped=dropped)
            except UserError:
                screen.take_anew()
                raise

        def take_back(message: QueuedMessage | None) -> None:
            if message is not None:
                self._around.stage.start(self._take_back(session, message))

        screen = QueueScreen(
            lambda: self._around.newest(session).queue,
            lambda messages, dropped: self._around.stage.start(changed(messages, dropped)),
            lambda: self._around.screen.marks,
        )
        self._around.stage.open_screen(screen, take_back)

    def take_back_last(self) -> None:
        """The message that was queued last returns to the composer."""
        session = self._around.shown()
        if session is not None and session.queue:
            self._around.stage.start(self._take_back(session, session.queue[-1]))

    async def _take_back(self, session: SessionView, message: QueuedMessage) -> None:
        """It is given back once it is out of the queue, and only if it was still there: else it has
        been delivered meanwhile."""
        operations = self._around.operations
        gone = await operations.edit_queue(session.id, (), dropped=(message.id,))
        for each in gone:
            if session.id == self._around.state.shown_id:
                self._around.give_back(each.text)
            else:
                await operations.save_draft(session, f"{each.text}\n{session.draft}".rstrip("\n"))
        if not gone:
            self._around.screen.say("That message has been delivered meanwhile")
