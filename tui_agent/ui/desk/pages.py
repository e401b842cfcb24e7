"""Opening what lies over the workspace: help, inbox, a call, an agent, an open item, a check."""

from __future__ import annotations

from tui_agent.ui.desk.around import Around
from tui_agent.ui.dialogs.approval import ApprovalDialog
from tui_agent.ui.dialogs.guarded import GuardedDialog
from tui_agent.ui.dialogs.picker import Picker
from tui_agent.ui.dialogs.previews import call_lines
from tui_agent.ui.dialogs.question import QuestionDialog
from tui_agent.ui.lines import Line, Piece, Row, Tone, line
from tui_agent.ui.marks import Mark, Marks
from tui_agent.ui.projection.inbox import inbox_rows
from tui_agent.ui.projection.session import SessionView
from tui_agent.ui.screens.agent import AgentScreen
from tui_agent.ui.screens.help import HelpScreen
from tui_agent.ui.screens.reading import ReadingScreen
from tui_agent.vocabulary.decisions import PendingItem, PendingKind
from tui_agent.vocabulary.errors import UserError
from tui_agent.workspace.api import Check


class Pages:
    """Opens screens and dialogs; also keeps the agents whose screen is open."""

    def __init__(self, around: Around) -> None:
        self._around = around

    def show_help(self) -> None:
        """Open the help screen."""
        self._around.stage.open_screen(HelpScreen(self._marks()))

    def show_inbox(self) -> None:
        """Open the inbox."""
        state = self._around.state

        def rows(text: str) -> tuple[Row, ...]:
            items = tuple(
                item
                for item in state.inbox.all()
                if text.casefold() in f"{item.tool} {item.input}".casefold()
            )
            return inbox_rows(
                items, state.sessions.titles(), self._marks(), self._around.clock.wall()
            )

        def chosen(pending_id: str | None) -> None:
            item = state.inbox.get(pending_id or "")
            if item is not None:
                self.open_item(item)

        self._around.stage.open_screen(
            Picker("Inbox", rows, empty="Nothing needs you.", does="decides"), chosen
        )

    def show_call(self, tool_use_id: str, session: SessionView | None = None) -> None:
        """Open everything about a call."""
        view = session or self._around.state.shown
        call = view.calls.get(tool_use_id) if view else None
        if view is None or call is None:
            return
        title = line(Piece(call.tool, Tone.STRONG), Piece(f"  {call.subject}", Tone.MUTED))

        def lines() -> list[Line]:
            now = self._around.newest(view).calls.get(tool_use_id)
            return call_lines(now or call, self._marks())

        self._around.stage.open_screen(ReadingScreen(title, lines))

    def open_item(self, item: PendingItem) -> None:
        """Bring up an open item."""
        self._around.stage.put_aside(item)
        self._around.stage.open_screen(self._dialog_for(item))

    def run_doctor(self) -> None:
        """Check keys, servers, folders and the database."""
        self._around.stage.start(self._doctor())

    def show_agent(self, session_id: str) -> None:
        """Open a subagent's conversation, live."""
        self._around.stage.start(self._open_agent(session_id))

    def interrupt_agent(self, session_id: str) -> None:
        """End the turn of one agent."""
        self._around.stage.start(self._around.operations.interrupt(session_id))

    def message_agent(self, session_id: str, text: str) -> None:
        """Send a message to an agent."""
        self._around.stage.start(self._message_agent(session_id, text))

    def _marks(self) -> Marks:
        return self._around.screen.marks

    async def _message_agent(self, session_id: str, text: str) -> None:
        """A refused message is not lost: it is in the composer again."""
        try:
            await self._around.operations.submit(session_id, text, after_turn=False)
        except UserError:
            self._around.give_back(text)
            raise

    async def _open_agent(self, session_id: str) -> None:
        view = await self._around.operations.open(session_id)
        self._around.stage.open_screen(AgentScreen(view, self._around.state, self, self._marks))

    async def _doctor(self) -> None:
        checks = await self._around.operations.doctor()
        lines = [part for check in checks for part in _check_lines(check, self._marks())]
        self._around.stage.open_screen(
            ReadingScreen(line(Piece("Doctor", Tone.STRONG)), lambda: lines)
        )

    def _dialog_for(self, item: PendingItem) -> GuardedDialog:
        state, operations = self._around.state, self._around.operations
        root = item.agent_path[0] if item.agent_path else item.session_id
        title = state.sessions.titles().get(root, "")
        view = state.view(root)
        where = (view.title if view else title) or "this session"
        from_words = f"{where} › {item.agent}" if len(item.agent_path) > 1 else where
        guard = self._around.stage.guard_seconds
        if item.kind is PendingKind.QUESTION:
            return QuestionDialog(
                item, operations.decide, from_words=from_words, guard_seconds=guard
            )
        return ApprovalDialog(
            item, operations.decide, from_words=from_words, teaches=True, guard_seconds=guard
        )


def _check_lines(check: Check, marks: Marks) -> list[Line]:
    of_result = {True: Mark.DONE, False: Mark.FAILED, None: Mark.UNKNOWN}
    lines = [
        line(
            marks.piece(of_result[check.ok]),
            Piece(f" {check.name}  ", Tone.STRONG),
            Piece(check.text),
        )
    ]
    if check.advice:
        lines.append(line(Piece(f"    {check.advice}", Tone.MUTED)))
    return lines
