"""Showing, making, naming and ending sessions; the one that is left goes on."""

from __future__ import annotations

from collections.abc import Callable

from tui_agent.ui.desk.around import Around
from tui_agent.ui.dialogs.ask_text import AskText, Confirm
from tui_agent.ui.dialogs.picker import Picker
from tui_agent.ui.lines import Piece, Row, Tone, line
from tui_agent.ui.projection.session import SessionView
from tui_agent.ui.projection.sessions import matching, switcher_rows


class Sessions:
    """Which session is on screen. `when_shown` is called whenever one comes there."""

    def __init__(self, around: Around, when_shown: Callable[[], None]) -> None:
        self._around = around
        self._when_shown = when_shown
        self._followed = 0

    def new(self) -> None:
        """Begin a new session."""
        self._around.stage.start(self._new())

    def fork(self) -> None:
        """Fork the shown session."""
        if (session := self._around.shown()) is not None:
            self._around.stage.start(self._fork(session))

    def switch_to(self, session_id: str) -> None:
        """Show another session; the one shown now goes on."""
        self._around.stage.start(self._switch(session_id))

    def show_switcher(self) -> None:
        """Open the session switcher."""
        self._around.stage.start(self._switcher())

    def rename(self, title: str) -> None:
        """Rename the shown session; without a title, ask for one."""
        session = self._around.shown()
        if session is None:
            return
        if title:
            self._around.stage.start(self._rename(session, title))
            return

        def named(text: str | None) -> None:
            if text:
                self._around.stage.start(self._rename(session, text))

        self._around.stage.open_screen(AskText("Title of this session", session.title), named)

    def delete(self) -> None:
        """Delete the shown session, after asking."""
        session = self._around.shown()
        if session is None:
            return

        def answered(is_yes: bool | None) -> None:
            if is_yes:
                self._around.stage.start(self._delete(session))

        name = session.title or "this session"
        self._around.stage.open_screen(
            Confirm(
                line(Piece(f"Delete {name}?", Tone.STRONG)),
                line("Its messages and its agents' are gone for good."),
                yes="deletes",
            ),
            answered,
        )

    async def show(self, session: SessionView) -> None:
        """Show a session that is open."""
        await self.keep_place()
        screen, state = self._around.screen, self._around.state
        early = screen.composer.draft if state.shown_id is None else ""
        state.shown_id = session.id
        screen.show_session(session)
        if early:  # typed while the first session was still opening
            kept = f"{session.draft}\n{early}" if session.draft else early
            screen.composer.set_text(kept)
        screen.go_to_composer()
        self._when_shown()
        if session.is_followed:
            self._around.stage.start(self._follow(session.id))

    async def load_anew(self, session_id: str) -> None:
        """What is shown of the session cannot be right: take it from the store."""
        self._around.screen.say("Something could not be shown and was loaded anew; see the log")
        await self._around.reload(session_id, is_broken=True)

    async def keep_place(self) -> None:
        """Save draft, scroll place and folds of the shown session."""
        session, operations = self._around.state.shown, self._around.operations
        if session is not None and operations.is_ready:
            await operations.save_draft(session, self._around.screen.composer.draft)
            await operations.save_view(session, self._around.screen.place_values())

    async def _follow(self, session_id: str) -> None:
        """Show what another window commits in the session, until another one is shown or this
        window owns it."""
        self._followed += 1
        mine, seen = self._followed, None
        while mine == self._followed:
            view = self._around.state.shown
            if view is None or view.id != session_id or not view.is_followed:
                return
            newest = await self._around.operations.commits_elsewhere(seen)
            if newest != seen and mine == self._followed:
                seen = newest
                await self._around.reload(session_id)

    async def _new(self) -> None:
        await self.show(await self._around.operations.new_session())

    async def _fork(self, session: SessionView) -> None:
        await self.show(await self._around.operations.fork(session.id))

    async def _switch(self, session_id: str) -> None:
        if session_id != self._around.state.shown_id:
            await self.show(await self._around.operations.open(session_id))
        else:
            self._around.screen.go_to_composer()

    async def _rename(self, session: SessionView, title: str) -> None:
        await self._around.operations.rename(session, title)
        self._around.screen.redraw()

    async def _delete(self, session: SessionView) -> None:
        await self._around.operations.delete(session.id)
        self._around.state.shown_id = None
        await self._new()

    async def _switcher(self) -> None:
        state = self._around.state
        await self._around.operations.learn_of_sessions()

        def rows(text: str) -> tuple[Row, ...]:
            listed = matching(state.sessions.all(), text)
            return switcher_rows(
                listed, state.shown_id, self._around.screen.marks, self._around.clock.wall()
            )

        def picked(key: str | None) -> None:
            if key is not None:
                self.switch_to(key)

        self._around.stage.open_screen(
            Picker(
                "Sessions",
                rows,
                empty="No session matches.",
                does="switches, the other goes on",
            ),
            picked,
        )
