"""A lamp and how the three are drawn; what switches them is known elsewhere. Pure data."""

from __future__ import annotations

from dataclasses import dataclass

from tui_agent.ui.lines import Piece, Tone
from tui_agent.ui.marks import PHASE_WORDS, Mark, Marks, tone_of
from tui_agent.vocabulary.states import Phase


@dataclass(frozen=True, slots=True)
class Lamp:
    """One lamp: its mark, and what it says after its name."""

    mark: Mark
    words: str
    since: float | None = None


@dataclass(frozen=True, slots=True)
class ThreeLamps:
    """The lamps at one moment; as they are before anything happened."""

    provider: Lamp = Lamp(Mark.IDLE, "off")
    turn: Lamp = Lamp(Mark.IDLE, "none")
    session: Lamp = Lamp(Mark.IDLE, PHASE_WORDS[Phase.IDLE])

    def pieces(self, marks: Marks, *, with_words: bool) -> tuple[Piece, ...]:
        """The three in a row; their names are always there, what they say when there is room."""
        pieces: list[Piece] = []
        named = (("provider", self.provider), ("turn", self.turn), ("session", self.session))
        for name, lamp in named:
            if pieces:
                pieces.append(Piece("   " if with_words else " "))
            pieces.append(marks.piece(lamp.mark))
            pieces.append(Piece(f" {name}", Tone.MUTED))
            if with_words:
                pieces.append(Piece(f" {lamp.words}", tone_of(lamp.mark)))
        return tuple(pieces)
