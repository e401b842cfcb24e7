"""Picking for the shown session: its mode and its model."""

from __future__ import annotations

from tui_agent.ui.desk.around import Around
from tui_agent.ui.dialogs.picker import Picker
from tui_agent.ui.lines import Piece, Row, Tone, line
from tui_agent.ui.operations import MODES
from tui_agent.ui.projection.session import SessionView
from tui_agent.vocabulary.states import Mode
from tui_agent.workspace.api import OfferedModel

MODE_WORDS = {
    Mode.ASK: "reading inside the folder runs, everything else asks",
    Mode.ACCEPT_EDITS: "edits inside the folder run as well",
    Mode.PLAN: "nothing is changed, nothing that could change something runs",
}
"""What a mode lets run unasked."""


class Choices:
    """Changes what the shown session works with."""

    def __init__(self, around: Around) -> None:
        self._around = around

    def cycle_mode(self) -> None:
        """The next permission mode."""
        session = self._around.shown()
        if session is not None:
            at = MODES.index(session.mode) if session.mode in MODES else -1
            self._change_mode(session, MODES[(at + 1) % len(MODES)])

    def set_mode(self, name: str) -> None:
        """The permission mode of that name; without one, from a list."""
        session = self._around.shown()
        if session is None:
            return
        if not name:
            self._pick_mode(session)
            return
        known = next((mode for mode in MODES if mode.value == name.strip()), None)
        if known is None:
            there_are = ", ".join(mode.value for mode in MODES)
            self._around.screen.say(f"No mode {name}; there are {there_are}")
        else:
            self._change_mode(session, known)

    def pick_model(self, name: str) -> None:
        """Choose the model; without a name, from a list."""
        if (session := self._around.shown()) is not None:
            self._around.stage.start(self._pick_model(session, name))

    def _pick_mode(self, session: SessionView) -> None:
        def rows(text: str) -> tuple[Row, ...]:
            return tuple(
                _choice_row(mode.value, mode.value, MODE_WORDS[mode], is_used=mode is session.mode)
                for mode in MODES
                if text.casefold() in f"{mode.value} {MODE_WORDS[mode]}".casefold()
            )

        def picked(key: str | None) -> None:
            if key is not None:
                self._change_mode(session, Mode(key))

        self._around.stage.open_screen(
            Picker("What runs without asking", rows, empty="No mode matches."), picked
        )

    def _change_mode(self, session: SessionView, mode: Mode) -> None:
        self._around.stage.start(self._set_mode(session, mode))

    async def _set_mode(self, session: SessionView, mode: Mode) -> None:
        await self._around.operations.set_mode(session, mode)
        self._around.screen.redraw()

    async def _pick_model(self, session: SessionView, name: str) -> None:
        offered = await self._around.operations.models()
        if name:
            found = [each for each in offered if name in (each.choice.model, each.title)]
            if not found:
                self._around.screen.say(f"No model {name} is offered; /model lists them")
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
                self._around.stage.start(self._choose_model(session, offered[int(key)]))

        self._around.stage.open_screen(
            Picker("Model from the next call on", rows, empty="No model is offered."), picked
        )

    async def _choose_model(self, session: SessionView, offered: OfferedModel) -> None:
        if offered.problem:
            self._around.screen.say(offered.problem)
            return
        await self._around.operations.set_model(session, offered.choice)
        self._around.screen.redraw()


def _model_row(key: str, offered: OfferedModel, *, is_used: bool) -> Row:
    facts = [offered.choice.provider]
    if offered.window:
        facts.append(f"{offered.window // 1000}k window")
    if offered.price:
        facts.append(offered.price)
    tone = Tone.MUTED if offered.problem else Tone.TEXT
    said = offered.problem or " · ".join(facts)
    return _choice_row(key, offered.title, said, is_used=is_used, tone=tone)


def _choice_row(key: str, name: str, said: str, *, is_used: bool, tone: Tone = Tone.TEXT) -> Row:
    """A thing to pick: its name, whether it is the one now, and a line about it."""
    head = line(
        Piece(name, Tone.STRONG if is_used else tone),
        right=(Piece("used now" if is_used else "", Tone.ACCENT),),
    )
    return Row(key, (head, line(Piece(f"  {said}", Tone.MUTED))))
