"""What commands do: the operations of a person on the workspace screen.

Each command either calls the engine (in a worker, so that no key waits for it) or opens a screen.
The desk holds no state of the conversation; it knows what is shown and whom to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from time import monotonic
from typing import Any, Protocol

from textual.screen import Screen

from tui_agent.ui.arrangement import Pane
from tui_agent.ui.dialogs.approval import ApprovalDialog
from tui_agent.ui.dialogs.ask_text import AskText, Confirm
from tui_agent.ui.dialogs.guarded import GuardedDialog
from tui_agent.ui.dialogs.picker import Picker
from tui_agent.ui.dialogs.previews import call_lines
from tui_agent.ui.dialogs.question import QuestionDialog
from tui_agent.ui.lines import Line, Piece, Row, Tone, line
from tui_agent.ui.marks import Mark
from tui_agent.ui.operations import MODES, Operations
from tui_agent.ui.projection.inbox import inbox_rows
from tui_agent.ui.projection.session import SessionView
from tui_agent.ui.projection.sessions import matching, switcher_rows
from tui_agent.ui.projection.words import plural
from tui_agent.ui.screens.agent import AgentScreen
from tui_agent.ui.screens.help import HelpScreen
from tui_agent.ui.screens.reading import ReadingScreen
from tui_agent.ui.screens.workspace import WorkspaceScreen
from tui_agent.ui.state import WorkspaceState
from tui_agent.vocabulary.decisions import PendingItem, PendingKind
from tui_agent.vocabulary.events import QueuedMessage
from tui_agent.vocabulary.ids import Clock
from tui_agent.vocabulary.states import Mode
from tui_agent.workspace.api import Check, OfferedModel

CONFIRM_SECONDS = 3.0
"""How long "press again" holds."""


class Stage(Protocol):
    """What the desk needs of the application."""

    @property
    def guard_seconds(self) -> float:
        """How long dialogs ignore keys."""
        ...

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` in a worker; a `UserError` is told to the person."""
        ...

    def open_screen(self, screen: Screen[Any], then: Callable[[Any], None] | None = None) -> None:
        """Show a screen over the others."""
        ...

    def put_aside(self, item: PendingItem) -> None:
        """The item was brought up; it does not come up by itself again."""
        ...

    def copy_selection(self) -> bool:
        """Copy what is selected; whether something was."""
        ...

    def close_top(self) -> bool:
        """Close the screen over the workspace; whether there was one."""
        ...

    def toggle_theme(self) -> None:
        """Dark to light and back."""
        ...

    def leave(self) -> None:
        """Quit."""
        ...


class Desk:
    """Implements every command of the table."""

    def __init__(
        self,
        state: WorkspaceState,
        operations: Operations,
        screen: WorkspaceScreen,
        stage: Stage,
        clock: Clock,
    ) -> None:
        self._state = state
        self._operations = operations
        self._screen = screen
        self._stage = stage
        self._clock = clock
        self._armed: tuple[str, float] = ("", 0.0)

    # --- looking -----------------------------------------------------------------------------

    def show_help(self) -> None:
        """Open the help screen."""
        self._stage.open_screen(HelpScreen(self._screen.marks))

    def show_inbox(self) -> None:
        """Open the inbox."""

        def rows(text: str) -> tuple[Row, ...]:
            items = tuple(
                item
                for item in self._state.inbox.all()
                if text.casefold() in f"{item.tool} {item.input}".casefold()
            )
            return inbox_rows(
                items, self._state.sessions.titles(), self._screen.marks, self._clock.wall()
            )

        self._stage.open_screen(
            Picker("Inbox", rows, empty="Nothing needs you.", does="decides"),
            self._open_item_by_id,
        )

    def go_to_sessions(self) -> None:
        """Focus the sessions pane, or open the switcher where it is hidden."""
        if not self._screen.focus_pane(Pane.SESSIONS):
            self.show_switcher()

    def show_switcher(self) -> None:
        """Open the session switcher."""
        self._work(self._switcher())

    def go_to_activity(self) -> None:
        """Focus the activity pane."""
        self._screen.focus_pane(Pane.ACTIVITY)

    def go_to_agents(self) -> None:
        """Focus the agents pane."""
        self._screen.focus_pane(Pane.AGENTS)

    def next_pane(self) -> None:
        """Focus the next pane."""
        self._screen.next_pane()

    def go_to_composer(self) -> None:
        """Focus the composer, from wherever."""
        if self._screen.has_tabs and self._screen.tab is Pane.SESSIONS:
            self._screen.show_tab(Pane.CONVERSATION)
        self._screen.composer.focus()

    def show_call(self, tool_use_id: str, session: SessionView | None = None) -> None:
        """Open everything about a call."""
        view = session or self._state.shown
        call = view.calls.get(tool_use_id) if view else None
        if view is None or call is None:
            return
        title = line(Piece(call.tool, Tone.STRONG), Piece(f"  {call.subject}", Tone.MUTED))

        def lines() -> list[Line]:
            return call_lines(view.calls.get(tool_use_id) or call, self._screen.marks)

        self._stage.open_screen(ReadingScreen(title, lines))

    def show_agent(self, session_id: str) -> None:
        """Open a subagent's conversation, live."""
        self._work(self._open_agent(session_id))

    def open_item(self, item: PendingItem) -> None:
        """Bring up an open item."""
        self._stage.put_aside(item)
        self._stage.open_screen(self._dialog_for(item))

    # --- sessions ----------------------------------------------------------------------------

    def new_session(self) -> None:
        """Begin a new session."""
        self._work(self._new())

    def fork_session(self) -> None:
        """Fork the shown session."""
        if (session := self._shown()) is not None:
            self._work(self._fork(session))

    def switch_to(self, session_id: str) -> None:
        """Show another session; the one shown now goes on."""
        self._work(self._switch(session_id))

    def rename_session(self, title: str) -> None:
        """Rename the shown session; without a title, ask for one."""
        session = self._shown()
        if session is None:
            return
        if title:
            self._work(self._rename(session, title))
            return

        def named(text: str | None) -> None:
            if text:
                self._work(self._rename(session, text))

        self._stage.open_screen(AskText("Title of this session", session.title), named)

    def delete_session(self) -> None:
        """Delete the shown session, after asking."""
        session = self._shown()
        if session is None:
            return

        def answered(is_yes: bool | None) -> None:
            if is_yes:
                self._work(self._delete(session))

        name = session.title or "this session"
        self._stage.open_screen(
            Confirm(
                line(Piece(f"Delete {name}?", Tone.STRONG)),
                line("Its messages and its agents' are gone for good."),
                yes="deletes",
            ),
            answered,
        )

    # --- the turn ----------------------------------------------------------------------------

    def submit(self, text: str, *, after_turn: bool) -> None:
        """Send what was typed; what cannot be sent goes back into the composer."""
        if (session := self._shown()) is not None:
            self._work(self._submit(session, text, after_turn=after_turn))
        else:
            self._give_back(text)

    def resume(self) -> None:
        """Go on with what is open, cut or queued."""
        if (session := self._shown()) is not None:
            self._work(self._operations.resume(session.id))

    def discard_open(self) -> None:
        """Close the open batch without running it."""
        if (session := self._shown()) is not None:
            self._work(self._operations.discard_open(session.id))

    def interrupt(self) -> None:
        """End the foreground turn; with open asks, only at the second key."""
        session = self._shown()
        if session is None or not session.can_be_interrupted:
            self.go_to_composer()
            return
        asks = len(self._state.inbox.of_tree(session.id))
        if asks and not self._is_confirmed("interrupt"):
            self._screen.say(f"{plural(asks, 'open ask')} will be cancelled · Esc again interrupts")
            return
        self._work(self._operations.interrupt(session.id))

    def copy_or_leave(self) -> None:
        """Copy, else close what is open, else interrupt, else clear the draft, else quit."""
        session = self._state.shown
        composer = self._screen.composer
        if self._stage.copy_selection() or self._stage.close_top():
            return
        if session is not None and session.is_running:
            self.interrupt()
        elif composer.text:
            composer.set_text("")
            self._screen.say("Draft cleared")
        elif self._is_confirmed("quit"):
            self.quit_app()
        else:
            self._screen.say("Ctrl+C again quits; what is open stays open")

    def cycle_mode(self) -> None:
        """The next permission mode."""
        session = self._shown()
        if session is not None:
            at = MODES.index(session.mode) if session.mode in MODES else -1
            self._work(self._set_mode(session, MODES[(at + 1) % len(MODES)]))

    def set_mode(self, name: str) -> None:
        """The permission mode of that name; without one, the next."""
        session = self._shown()
        if not name:
            self.cycle_mode()
        elif session is not None:
            known = next((mode for mode in Mode if mode.value == name.strip()), None)
            if known is None:
                self._screen.say(f"No mode {name}; there are {', '.join(m.value for m in MODES)}")
            else:
                self._work(self._set_mode(session, known))

    def pick_model(self, name: str) -> None:
        """Choose the model; without a name, from a list."""
        if (session := self._shown()) is not None:
            self._work(self._pick_model(session, name))

    def compact(self, focus: str) -> None:
        """Summarise older messages."""
        if (session := self._shown()) is not None:
            self._work(self._operations.compact(session.id, focus))

    def edit_queue(self) -> None:
        """Take a queued message back into the composer."""
        session = self._shown()
        if session is None:
            return

        def rows(text: str) -> tuple[Row, ...]:
            return tuple(
                Row(each.id, (line(Piece(" ".join(each.text.split()))),))
                for each in session.queue
                if text.casefold() in each.text.casefold()
            )

        def taken(key: str | None) -> None:
            message = next((each for each in session.queue if each.id == key), None)
            if message is not None:
                self._work(self._take_back(session, message))

        self._stage.open_screen(
            Picker(
                "Queued messages",
                rows,
                empty="Nothing is queued.",
                does="takes it back into the composer",
            ),
            taken,
        )

    # --- the application ---------------------------------------------------------------------

    def switch_theme(self) -> None:
        """Dark to light and back."""
        self._stage.toggle_theme()

    def run_doctor(self) -> None:
        """Check keys, servers, folders and the database."""
        self._work(self._doctor())

    def quit_app(self) -> None:
        """Leave."""
        self._stage.leave()

    # --- work --------------------------------------------------------------------------------

    def _shown(self) -> SessionView | None:
        if self._state.shown is None:
            self._screen.say("Still starting; try again in a moment")
        return self._state.shown

    def _work(self, work: Coroutine[Any, Any, None]) -> None:
        self._stage.start(work)

    def _is_confirmed(self, what: str) -> bool:
        armed, since = self._armed
        if armed == what and monotonic() - since < CONFIRM_SECONDS:
            self._armed = ("", 0.0)
            return True
        self._arm(what)
        return False

    def _arm(self, what: str) -> None:
        self._armed = (what, monotonic())

    def disarm(self) -> None:
        """Something else was done: "press again" no longer holds."""
        self._armed = ("", 0.0)

    async def keep_place(self) -> None:
        """Save draft, scroll place and folds of the shown session."""
        session = self._state.shown
        if session is not None and self._operations.is_ready:
            await self._operations.save_draft(session, self._screen.composer.text)
            await self._operations.save_view(session, self._screen.place_values())

    async def show(self, session: SessionView) -> None:
        """Show a session that is open."""
        await self.keep_place()
        early = self._screen.composer.text if self._state.shown_id is None else ""
        self._state.shown_id = session.id
        self._screen.show_session(session)
        if early:  # typed while the first session was still opening
            kept = f"{session.draft}\n{early}" if session.draft else early
            self._screen.composer.set_text(kept)
        self.go_to_composer()

    async def _new(self) -> None:
        await self.show(await self._operations.new_session())

    async def _fork(self, session: SessionView) -> None:
        await self.show(await self._operations.fork(session.id))

    async def _switch(self, session_id: str) -> None:
        if session_id != self._state.shown_id:
            await self.show(await self._operations.open(session_id))
        else:
            self.go_to_composer()

    async def _rename(self, session: SessionView, title: str) -> None:
        await self._operations.rename(session, title)
        self._screen.redraw()

    async def _delete(self, session: SessionView) -> None:
        await self._operations.delete(session.id)
        self._state.shown_id = None
        await self._new()

    async def _submit(self, session: SessionView, text: str, *, after_turn: bool) -> None:
        try:
            await self._operations.submit(session.id, text, after_turn=after_turn)
        except BaseException:
            if session.id == self._state.shown_id:
                self._give_back(text)
            else:
                await self._operations.save_draft(session, text)
            raise
        if session.id == self._state.shown_id:
            await self._operations.save_draft(session, self._screen.composer.text)
        else:
            await self._operations.save_draft(session, "")

    async def _take_back(self, session: SessionView, message: QueuedMessage) -> None:
        """A queued message returns to the composer once it is out of the queue."""
        kept = tuple(each.id for each in session.queue if each.id != message.id)
        await self._operations.keep_in_queue(session.id, kept)
        if session.id == self._state.shown_id:
            self._give_back(message.text)
        else:
            await self._operations.save_draft(session, message.text)

    def _give_back(self, text: str) -> None:
        """Nothing typed is ever lost, and what was typed since comes after it."""
        composer = self._screen.composer
        composer.set_text(f"{text}\n{composer.text}" if composer.text else text)

    async def _set_mode(self, session: SessionView, mode: Mode) -> None:
        await self._operations.set_mode(session, mode)
        self._screen.redraw()

    async def _pick_model(self, session: SessionView, name: str) -> None:
        offered = await self._operations.models()
        if name:
            found = [each for each in offered if name in (each.choice.model, each.title)]
            if not found:
                self._screen.say(f"No model {name} is offered; /model lists them")
            else:
                await self._choose_model(session, found[0])
            return

        def rows(text: str) -> tuple[Row, ...]:
            words = text.casefold().split()
            return tuple(
                _model_row(str(at), each, is_used=each.choice == session.model)
                for at, each in enumerate(offered)
                if all(word in f"{each.title} {each.choice}".casefold() for word in words)
            )

        def picked(key: str | None) -> None:
            if key is not None:
                self._work(self._choose_model(session, offered[int(key)]))

        self._stage.open_screen(
            Picker("Model from the next call on", rows, empty="No model is offered."), picked
        )

    async def _choose_model(self, session: SessionView, offered: OfferedModel) -> None:
        if offered.problem:
            self._screen.say(offered.problem)
            return
        await self._operations.set_model(session, offered.choice)
        self._screen.redraw()

    async def _switcher(self) -> None:
        await self._operations.learn_of_sessions()

        def rows(text: str) -> tuple[Row, ...]:
            listed = matching(self._state.sessions.all(), text)
            return switcher_rows(
                listed, self._state.shown_id, self._screen.marks, self._clock.wall()
            )

        def picked(key: str | None) -> None:
            if key is not None:
                self.switch_to(key)

        self._stage.open_screen(
            Picker(
                "Sessions",
                rows,
                empty="No session matches.",
                does="switches, the other goes on",
            ),
            picked,
        )

    async def _open_agent(self, session_id: str) -> None:
        view = await self._operations.open(session_id)
        self._stage.open_screen(AgentScreen(view, self._state, self, lambda: self._screen.marks))

    async def _doctor(self) -> None:
        checks = await self._operations.doctor()
        lines = [part for check in checks for part in _check_lines(check, self._screen)]
        self._stage.open_screen(ReadingScreen(line(Piece("Doctor", Tone.STRONG)), lambda: lines))

    def interrupt_agent(self, session_id: str) -> None:
        """End the turn of one agent."""
        self._work(self._operations.interrupt(session_id))

    def message_agent(self, session_id: str, text: str) -> None:
        """Send a message to an agent."""
        self._work(self._operations.submit(session_id, text, after_turn=False))

    def _open_item_by_id(self, pending_id: str | None) -> None:
        item = self._state.inbox.get(pending_id or "")
        if item is not None:
            self.open_item(item)

    def _dialog_for(self, item: PendingItem) -> GuardedDialog:
        root = item.agent_path[0] if item.agent_path else item.session_id
        title = self._state.sessions.titles().get(root, "")
        view = self._state.view(root)
        where = (view.title if view else title) or "this session"
        from_words = f"{where} › {item.agent}" if len(item.agent_path) > 1 else where
        guard = self._stage.guard_seconds
        if item.kind is PendingKind.QUESTION:
            return QuestionDialog(
                item, self._operations.decide, from_words=from_words, guard_seconds=guard
            )
        return ApprovalDialog(
            item, self._operations.decide, from_words=from_words, teaches=True, guard_seconds=guard
        )


def _model_row(key: str, offered: OfferedModel, *, is_used: bool) -> Row:
    facts = [offered.choice.provider]
    if offered.window:
        facts.append(f"{offered.window // 1000}k window")
    if offered.price:
        facts.append(offered.price)
    tone = Tone.MUTED if offered.problem else Tone.TEXT
    head = line(
        Piece(offered.title, Tone.STRONG if is_used else tone),
        right=(Piece("used now" if is_used else "", Tone.ACCENT),),
    )
    said = offered.problem or " · ".join(facts)
    return Row(key, (head, line(Piece(f"  {said}", Tone.MUTED))))


def _check_lines(check: Check, screen: WorkspaceScreen) -> list[Line]:
    marks = {True: Mark.DONE, False: Mark.FAILED, None: Mark.UNKNOWN}
    lines = [
        line(
            screen.marks.piece(marks[check.ok]),
            Piece(f" {check.name}  ", Tone.STRONG),
            Piece(check.text),
        )
    ]
    if check.advice:
        lines.append(line(Piece(f"    {check.advice}", Tone.MUTED)))
    return lines
