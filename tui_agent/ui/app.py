"""The application: puts state, operations and screens together and drives them.

Commands come from keys, the palette and the composer and go to the desk; events come from the
bridge and go to what follows it. The application itself knows neither what a command does nor what
a pane shows. Its first screen is painted before anything is loaded that works with sessions.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.timer import Timer

from tui_agent.ui.commands import BY_ID, COMMANDS, Command, mistyped, parse_slash
from tui_agent.ui.desk.second_press import SecondPress
from tui_agent.ui.palette import TableProvider
from tui_agent.ui.panes.composer import Composer
from tui_agent.ui.screens.workspace import WorkspaceScreen
from tui_agent.ui.startup import Behaviour, Start
from tui_agent.ui.stylesheets import stylesheets
from tui_agent.ui.themes import DARK, LIGHT, THEMES
from tui_agent.ui.ticker import Ticker
from tui_agent.ui.transcript.view import TranscriptView
from tui_agent.ui.widgets.row_list import RowList
from tui_agent.vocabulary.errors import UserError

if TYPE_CHECKING:
    from tui_agent.ui.asking import Asker
    from tui_agent.ui.bridge import Bridge
    from tui_agent.ui.desk.desk import Desk
    from tui_agent.ui.dialogs.guarded import GuardedDialog
    from tui_agent.ui.live import Live
    from tui_agent.ui.operations import Operations
    from tui_agent.ui.state import WorkspaceState
    from tui_agent.vocabulary.decisions import PendingItem
    from tui_agent.vocabulary.events import Event

SAVE_DRAFT_AFTER = 1.0
COUNT_EVERY = 1.0
"""Seconds between two drawings while all that moves is how long the person is waited for."""
KEEP_PLACE_SECONDS = 1.0
"""How long leaving waits for draft and place to be stored."""

log = logging.getLogger(__name__)

_PRIORITY_KEYS = frozenset({"ctrl+c", "shift+tab", "f6", "f7"})
"""Keys that fields would take for something else."""


def _bindings() -> list[BindingType]:
    return [
        Binding(
            key,
            f"command('{command.id}')",
            command.title,
            show=False,
            priority=key in _PRIORITY_KEYS,
            id=f"{command.id}.{at}" if at else command.id,
        )
        for command in COMMANDS
        for at, key in enumerate(command.keys)
    ]


class TuiAgentApp(App[int]):
    """The full-screen workspace. `bridge_factory` opens the engine; its result is closed at the
    end."""

    TITLE = "tui-agent"
    COMMANDS: ClassVar[set[Any]] = {TableProvider}
    CSS_PATH: ClassVar[Any] = stylesheets()
    BINDINGS: ClassVar[list[BindingType]] = _bindings()
    ENABLE_COMMAND_PALETTE = True

    def __init__(
        self,
        bridge_factory: Callable[[], Awaitable[Bridge]],
        *,
        start: Start | None = None,
        behaviour: Behaviour | None = None,
    ) -> None:
        super().__init__()
        self._bridge_factory = bridge_factory
        self._start = start or Start()
        self.behaviour = behaviour or Behaviour()
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = self.behaviour.theme
        self.ticker = self.behaviour.ticker or Ticker()
        self.workspace = WorkspaceScreen(ascii_only=self.behaviour.ascii_only)
        self.failure: UserError | None = None
        """Why there is nothing to show."""
        self._second_press = SecondPress()
        self._live: Live | None = None
        self._bridge: Bridge | None = None
        self._unfollow: Callable[[], None] | None = None
        self._draft_timer: Timer | None = None
        self._count_timer: Timer | None = None

    # What works with sessions is made when the first screen stands, or when a key needs it sooner:
    # loading it takes as long as painting that screen.

    @cached_property
    def state(self) -> WorkspaceState:
        """What is known of sessions and open items."""
        from tui_agent.ui.state import WorkspaceState

        return WorkspaceState()

    @cached_property
    def desk(self) -> Desk:
        """What commands act on."""
        from tui_agent.ui.desk.around import Around
        from tui_agent.ui.desk.desk import Desk

        clock = self.behaviour.clock
        around = Around(self.state, self._operations, self.workspace, self, clock)
        desk = Desk(around, self._second_press)
        if self._start.prompt:
            desk.turns.submit(self._start.prompt, after_turn=False)
        return desk

    @cached_property
    def _operations(self) -> Operations:
        from tui_agent.ui.operations import Operations

        return Operations(self.state, self._say, self._start.options)

    @cached_property
    def _asker(self) -> Asker:
        from tui_agent.ui.asking import Asker

        return Asker(self.state, self.behaviour.typing_pause)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our variables for themes that do not have them."""
        return dict(DARK.variables)

    def get_default_screen(self) -> Screen[Any]:
        """The workspace, below every other screen."""
        return self.workspace

    def on_mount(self) -> None:
        """The workspace is shown at once; the engine opens after it."""
        self.workspace.composer.cursor_blink = self.behaviour.blinks
        self.ticker.listen(self._tick)
        if self.behaviour.ticker is None:
            self.ticker.attach(self)
        self.call_after_refresh(lambda: self.start(self._open()))

    @property
    def left_session(self) -> str | None:
        """The session on screen, if there is something in it to come back to."""
        shown = self.state.shown
        return shown.id if shown is not None and shown.conversation.items else None

    @property
    def guard_seconds(self) -> float:
        """How long dialogs ignore keys."""
        return self.behaviour.guard

    @property
    def is_turn_running(self) -> bool:
        """Whether the shown session is in a turn."""
        return self.state.shown is not None and self.state.shown.is_running

    # --- commands ----------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While something lies over the workspace its keys belong to that; only Ctrl+C leaves."""
        if action == "command" and self.screen is not self.workspace:
            return parameters == ("copy-or-leave",)
        return super().check_action(action, parameters)

    def action_command(self, command_id: str) -> None:
        """A key of the table was pressed."""
        self.run_command(BY_ID[command_id], "")

    def run_command(self, command: Command, arguments: str) -> None:
        """Run a command, if it makes sense now."""
        if command.id not in ("interrupt", "copy-or-leave"):
            self._second_press.disarm()
            self.workspace.say("")
        if command.id != "interrupt" and not command.may_run(is_running=self.is_turn_running):
            self.workspace.say(f"Not while a turn runs: {command.title}")
            return
        command.handler(self.desk, arguments)

    def on_composer_sent(self, event: Composer.Sent) -> None:
        """A prompt, or a command by its name."""
        event.stop()
        self.workspace.say("")
        named = parse_slash(event.text)
        if (name := mistyped(event.text)) is not None:
            self.workspace.composer.put_back(event.draft)
            self._say(f"No command /{name} · / lists them", True)
            return
        if named is None:
            self.desk.turns.submit(event.text, after_turn=event.after_turn, draft=event.draft)
            return
        self.run_command(*named)

    def on_composer_queue_wanted(self, event: Composer.QueueWanted) -> None:
        """What was queued last is to be changed."""
        event.stop()
        self.desk.queue.take_back_last()

    def on_composer_typed(self, event: Composer.Typed) -> None:
        """Typing keeps dialogs away and is kept as the draft."""
        event.stop()
        if self._live is not None:
            self._asker.typed()
        self._second_press.disarm()
        self.workspace.say("")
        self.ticker.wake()
        self._save_draft_soon()

    def on_composer_loaded(self, event: Composer.Loaded) -> None:
        """What is said stays: nobody typed. The draft is another one."""
        event.stop()
        self.workspace.redraw()
        self.ticker.wake()
        self._save_draft_soon()

    def on_guarded_dialog_typed(self, event: GuardedDialog.Typed) -> None:
        """So does typing into a dialog that did not ask for it; what was meant for the composer
        gets there."""
        event.stop()
        self._asker.typed()
        if event.text:
            self.workspace.composer.take_down(event.text)

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """A row of a pane was opened."""
        match event.rows.id:
            case "sessions":
                self.desk.sessions.switch_to(event.key)
            case "activity":
                self.desk.pages.show_call(event.key)
            case "agents":
                self.desk.pages.show_agent(event.key)
            case _:
                pass

    def on_transcript_view_card_opened(self, event: TranscriptView.CardOpened) -> None:
        """A card of the conversation was opened."""
        self.desk.pages.show_call(event.tool_use_id)

    @on(TranscriptView.NearTop)
    def reach_back(self) -> None:
        """The person reads towards older messages."""
        session = self.state.shown
        if session is not None and session.conversation.has_older:
            self.start(self._load_older())

    # --- what the desk needs -----------------------------------------------------------------

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` in a worker; what goes wrong in it is told to the person."""
        self.run_worker(self._told(work), exit_on_error=False)

    def open_screen(self, screen: Screen[Any], then: Callable[[Any], None] | None = None) -> None:
        """Show a screen over the others."""
        _ = self.push_screen(screen, then)

    def put_aside(self, item: PendingItem) -> None:
        """The item does not come up by itself again."""
        self._asker.put_aside(item)

    def copy_selection(self) -> bool:
        """Copy what is selected; whether something was."""
        composer = self.workspace.composer
        text = self.screen.get_selected_text()
        if not text and self.focused is composer:
            text = composer.selected_text
        if not text:
            return False
        self.copy_to_clipboard(text)
        self.screen.clear_selection()
        self.workspace.say("Copied")
        return True

    def close_top(self) -> bool:
        """Close what lies over the workspace; whether there was something."""
        if self.screen is self.workspace:
            return False
        _ = self.pop_screen()
        return True

    def toggle_theme(self) -> None:
        """Dark to light and back."""
        self.theme = LIGHT.name if self.theme == DARK.name else DARK.name

    def leave(self, code: int = 0) -> None:
        """Save the place, close the engine, quit with this exit code."""
        self.start(self._leave(code))

    # --- events and drawing ------------------------------------------------------------------

    def deliver(self, batch: tuple[Event, ...]) -> None:
        """A batch of events, at most one a frame."""
        if self._live is None or not self.is_running:
            return  # the last events of an engine that is closing find no screen any more
        self._live.take(batch)
        self.ticker.wake()

    def draw(self) -> bool:
        """Draw everything that changed now; whether there is more to draw."""
        return self._live is not None and self._live.draw()

    def _tick(self, count: int) -> bool:
        if self._live is None or not self.is_running:
            return False  # woken again when there is something
        is_needed = self._live.tick(count)
        if not is_needed and self._live.is_counting and self._count_timer is None:
            # all that moves is a clock of seconds: between two of them the ticker may sleep
            self._count_timer = self.set_timer(COUNT_EVERY, self._count_on)
        return is_needed

    def _count_on(self) -> None:
        self._count_timer = None
        if self._live is not None:
            self._live.draw_soon()
            self.ticker.wake()

    def _say(self, text: str, is_failure: bool) -> None:
        if is_failure:
            self.notify(text, severity="error", markup=False, timeout=8)
        else:
            self.workspace.say(text)

    def _save_draft_soon(self) -> None:
        """At most once in a while, also when somebody types without a pause."""
        if self._draft_timer is None:
            self._draft_timer = self.set_timer(SAVE_DRAFT_AFTER, self._save_draft)

    # --- work --------------------------------------------------------------------------------

    async def _told(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except UserError as error:
            self._say(str(error), True)
        except Exception as error:  # whatever it is, the person hears of it and the log keeps it
            log.exception("what was asked for on the screen failed")
            self._say(f"That failed: {type(error).__name__} (details are in the log)", True)

    async def _open(self) -> None:
        # the engine's imports would compete with the first paint and the first keys
        await asyncio.sleep(self.behaviour.alone)
        try:
            self._bridge = await self._bridge_factory()
            await self._show_first(self._bridge)
        except UserError as error:
            if self._start.named_session is not None:
                self.failure = error
                self.leave(1)
                return
            self.desk.turns.outbox.give_back()
            self._say(str(error), True)
            self.workspace.say(str(error))

    async def _show_first(self, bridge: Bridge) -> None:
        from tui_agent.ui.live import Live
        from tui_agent.ui.screens.contents import PaneContents

        self._operations.connect(bridge)
        self._live = Live(
            self.state,
            self,
            self.workspace,
            self._asker,
            learn_of_sessions=lambda: self.start(self._operations.learn_of_sessions()),
            open_item=self.desk.pages.open_item,
            reload=lambda session_id: self.start(self.desk.sessions.load_anew(session_id)),
        )
        self.workspace.contents = PaneContents(self.state, self.behaviour.clock)
        self._unfollow = bridge.follow(self.deliver)
        await self._operations.refresh_lists()
        named = self._start.named_session
        session_id = named() if named is not None else self._start.session_id
        if session_id is not None:
            session = await self._operations.open(session_id)
        else:
            session = await self._operations.new_session()
        await self.desk.sessions.show(session)
        self.ticker.wake()
        self.workspace.composer.sent_elsewhere = await self._operations.sent_prompts()

    async def _load_older(self) -> None:
        session = self.state.shown
        if session is not None:
            items = await self._operations.older(session)
            if session is self.state.shown:
                self.workspace.conversation.prepend(items)
                self.ticker.wake()

    async def _save_draft(self) -> None:
        self._draft_timer = None
        session = self.state.shown
        if session is not None and self._operations.is_ready:
            await self._told(self._operations.save_draft(session, self.workspace.composer.draft))

    async def _leave(self, code: int) -> None:
        self.desk.turns.outbox.give_back()
        try:
            async with asyncio.timeout(KEEP_PLACE_SECONDS):
                await self.desk.sessions.keep_place()
        except TimeoutError:
            log.warning("the place was not saved: the engine did not answer in time")
        finally:
            if self._unfollow is not None:
                self._unfollow()
            if self._bridge is not None:
                await self._bridge.close()
            self.exit(code)
