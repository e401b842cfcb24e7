"""The desk: the parts that commands act on, and what belongs to the screen as a whole."""

from __future__ import annotations

from tui_agent.ui.arrangement import Pane
from tui_agent.ui.desk.around import Around
from tui_agent.ui.desk.choices import Choices
from tui_agent.ui.desk.overviews import Overviews
from tui_agent.ui.desk.pages import Pages
from tui_agent.ui.desk.queue import Queue
from tui_agent.ui.desk.second_press import SecondPress
from tui_agent.ui.desk.sessions import Sessions
from tui_agent.ui.desk.turns import Turns


class Desk:
    """What the commands of the table are done with."""

    pages: Pages
    turns: Turns
    queue: Queue
    sessions: Sessions
    choices: Choices
    overviews: Overviews

    def __init__(self, around: Around, second_press: SecondPress) -> None:
        self._around = around
        self._second_press = second_press
        self.pages = Pages(around)
        self.turns = Turns(around, second_press)
        self.queue = Queue(around)
        self.sessions = Sessions(around, self.turns.outbox.send)
        self.choices = Choices(around)
        self.overviews = Overviews(around)

    def go_to_sessions(self) -> None:
        """Focus the sessions pane, or open the switcher where it is hidden."""
        if not self._around.screen.focus_pane(Pane.SESSIONS):
            self.sessions.show_switcher()

    def go_to_activity(self) -> None:
        """Focus the activity pane."""
        self._around.screen.focus_pane(Pane.ACTIVITY)

    def go_to_agents(self) -> None:
        """Focus the agents pane."""
        self._around.screen.focus_pane(Pane.AGENTS)

    def next_pane(self) -> None:
        """Focus the next pane, or show it where only one fits."""
        self._around.screen.next_pane()

    def go_to_composer(self) -> None:
        """Focus the composer, from wherever."""
        self._around.screen.go_to_composer()

    def copy_or_leave(self) -> None:
        """Copy, else close what is open, else interrupt, else clear the draft, else quit."""
        session = self._around.state.shown
        screen, stage = self._around.screen, self._around.stage
        if stage.copy_selection() or stage.close_top():
            return
        if session is not None and session.is_running:
            self.turns.interrupt()
        elif screen.composer.text:
            screen.composer.set_text("")
            screen.say("Draft cleared")
        elif self._second_press.is_here("quit"):
            self.quit_app()
        else:
            screen.say("Ctrl+C again quits; what is open stays open")

    def switch_theme(self) -> None:
        """Dark to light and back."""
        self._around.stage.toggle_theme()

    def quit_app(self) -> None:
        """Leave; what is open stays open."""
        self._around.stage.leave()
