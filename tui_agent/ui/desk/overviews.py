"""Looking at what a session works with: its todo list, its requests, its standing permissions."""

from __future__ import annotations

from tui_agent.ui.desk.around import Around
from tui_agent.ui.dialogs.picker import Picker
from tui_agent.ui.lines import Line, Piece, Row, Tone, line
from tui_agent.ui.projection.session import SessionView
from tui_agent.ui.projection.todo import todo_lines
from tui_agent.ui.projection.words import ago
from tui_agent.ui.screens.inspector import InspectorScreen
from tui_agent.ui.screens.reading import ReadingScreen
from tui_agent.vocabulary.decisions import Grant


class Overviews:
    """Opens what is only read, or read and taken back."""

    def __init__(self, around: Around) -> None:
        self._around = around

    def todo(self) -> None:
        """The model's list, as it changes."""
        session = self._around.shown()
        if session is None:
            return

        def lines() -> list[Line]:
            return todo_lines(self._around.newest(session).todo, self._around.screen.marks)

        title = line(Piece("To do", Tone.STRONG), Piece(f"  {session.title}", Tone.MUTED))
        self._around.stage.open_screen(ReadingScreen(title, lines))

    def requests(self) -> None:
        """The request that what is typed would cause, and those that were sent last."""
        if (session := self._around.shown()) is not None:
            self._around.stage.start(self._requests(session))

    def permissions(self) -> None:
        """What runs without asking because a person said so; Enter takes it back."""
        self._around.stage.start(self._permissions())

    async def _requests(self, session: SessionView) -> None:
        prompt = self._around.screen.composer.text
        found = await self._around.operations.requests(session.id, prompt)
        self._around.stage.open_screen(InspectorScreen(found, self._around.screen.marks))

    async def _permissions(self) -> None:
        grants = await self._around.operations.grants()
        now = self._around.clock.wall()

        def rows(text: str) -> tuple[Row, ...]:
            return tuple(
                self._grant_row(grant, now)
                for grant in grants
                if text.casefold() in grant.rule.casefold()
            )

        def chosen(key: str | None) -> None:
            if key is not None:
                self._around.stage.start(self._take_back(int(key)))

        self._around.stage.open_screen(
            Picker(
                "Standing permissions",
                rows,
                empty="Nothing runs unasked by your permission.",
                does="takes it back",
            ),
            chosen,
        )

    async def _take_back(self, grant_id: int) -> None:
        await self._around.operations.take_back(grant_id)
        self._around.screen.say("Taken back: it is asked again from the next call on")

    def _grant_row(self, grant: Grant, now: float) -> Row:
        titles = self._around.state.sessions.titles()
        if grant.session_id is None:
            where = "every session of this folder"
        else:
            where = f"only in {titles.get(grant.session_id) or 'one session'}"
        said = f"  {where} · {ago(now - grant.at)}"
        return Row(str(grant.id), (line(Piece(grant.rule)), line(Piece(said, Tone.MUTED))))
