"""What every dialog that answers something has in common: it takes no key typed for something else.

A dialog comes up without being asked for, while a person may be writing. So for its first moments
it takes no key; a key that decides counts only after a rest in which nothing was typed; and what it
decides is held back for a moment, in which any other typed key takes it back. A first letter of a
sentence, a held key and a paste therefore decide nothing. What was typed into a dialog without
being meant for it is told to the application, so that no word is lost.

The answer is given by a worker of the application: no key waits for the engine, and an answer that
could not be taken is told even when the dialog has gone. Closing a dialog is never an answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.screen import ModalScreen
from textual.timer import Timer

from tui_agent.text import exact, wrap
from tui_agent.ui.dialogs.keystrokes import is_prose, is_typed, with_key
from tui_agent.ui.lines import Line, Piece, Tone, line, note, wrapped
from tui_agent.vocabulary.decisions import Decision, PendingItem

GUARD_SECONDS = 0.4
"""How long a dialog ignores keys after it opened, and how long typing must rest before it opens and
before a key decides."""
SETTLE_SECONDS = 0.3
"""How long a decision is held back, so that a key typed after it takes it back."""
NOTICE_SECONDS = 1.5
"""How long a notice stands in the place of the keys."""

TOO_SOON = "Too soon to be sure you meant it: nothing was decided. Press it again."
TYPING = "You are typing: nothing was decided, your words go into the draft."

Decide = Callable[[PendingItem, Decision], Awaitable[str]]
"""Takes an answer; returns why it could not be taken, whatever broke, or an empty text."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a key would do. `words` say so while it is held back. `text` is what was written in a
    field of the dialog and ends with it: such a key comes after typing that was meant, and nobody
    may have written on when it is carried out."""

    words: str
    act: Callable[[], None]
    text: str | None = None


class GuardedDialog(ModalScreen[None]):
    """A modal dialog about one pending item, which Esc closes. A subclass says what a key would do,
    what its own keys are, and draws its choices. With `guard_seconds` of 0 every key counts at
    once."""

    BINDINGS: ClassVar[list[BindingType]] = []
    OWN_KEYS: ClassVar[frozenset[str]] = frozenset()

    class Typed(Message):
        """Something was typed into the dialog that it did not ask for; `text` once the typing
        rests, and only when it reads as words for somebody else."""

        def __init__(self, text: str = "") -> None:
            super().__init__()
            self.text = text

    def __init__(
        self, item: PendingItem, decide: Decide, *, guard_seconds: float = GUARD_SECONDS
    ) -> None:
        super().__init__()
        self.item = item
        self.is_readable = True
        """Whether what is asked can be seen; nothing is decided while it cannot."""
        self.problem = ""
        """Why the last answer could not be taken."""
        self._decide = decide
        self._guard_seconds = guard_seconds
        self._opened: float | None = None
        self._has_left = False
        self._is_taking = False
        self._last_typed = float("-inf")
        self._proposal: Proposal | None = None
        self._proposed_by: events.Key | None = None
        self._settling: Timer | None = None
        self._strays = ""
        self._straying: Timer | None = None
        self._notice = ""
        self._noticing: Timer | None = None

    # --- what a subclass says ----------------------------------------------------------------

    def proposal_for(self, key: str) -> Proposal | None:
        """What the key would decide or begin, if anything. Changes nothing."""
        raise NotImplementedError

    def take_key(self, key: str) -> bool:
        """Act on a key that decides nothing; whether it meant something."""
        raise NotImplementedError

    def written(self) -> str:
        """What stands in the field that is written in."""
        raise NotImplementedError

    def redraw_choices(self) -> None:
        """Draw the lines with the keys anew."""
        raise NotImplementedError

    def on_escape(self) -> None:
        """Close; whatever was asked stays open."""
        self.leave()

    # --- keys --------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """From here on it can be seen."""
        self._opened = monotonic()

    def on_unmount(self) -> None:
        """What was typed is handed on, however the dialog went."""
        self._hand_on()

    def is_early(self, event: Message) -> bool:
        """Whether it happened before a person can have read the dialog, counted from when a key
        was pressed and not from when it is handled."""
        return self._opened is None or event.time - self._opened < self._guard_seconds

    def on_key(self, event: events.Key) -> None:
        """Keys that no focused field took."""
        rest = event.time - self._last_typed
        if is_typed(event):
            self._last_typed = event.time
            self.app.post_message(self.Typed())
        if self.is_early(event):
            _swallow(event)
            if self.proposal_for(event.key) is not None:
                self._tell(TOO_SOON)
            self._stray(event)
        elif event.key == "escape":
            _swallow(event)
            self._withdraw()
            self.on_escape()
        elif self._proposal is not None:
            if is_typed(event):
                _swallow(event)
                self._interrupted_by(event)
        elif (proposal := self.proposal_for(event.key)) is not None:
            _swallow(event)
            if proposal.text is not None or rest >= self._guard_seconds:
                self._proposed_by = event
                self.propose(proposal)
            else:
                self._stray(event)
                self._tell(TOO_SOON)
        elif self.take_key(event.key):
            _swallow(event)
        else:
            self._stray(event)

    def on_paste(self, event: events.Paste) -> None:
        """A paste that no field took."""
        event.stop()
        self._last_typed = event.time
        self._withdraw()
        self._hand_on()
        self.app.post_message(self.Typed(event.text))
        self._tell(TYPING)

    # --- deciding ----------------------------------------------------------------------------

    def propose(self, proposal: Proposal) -> None:
        """Hold the decision back for a moment, then take it, unless something is typed."""
        if not self.is_readable or self._proposal is not None:
            return
        self._proposal = proposal
        self.problem = self._notice = ""
        if self._guard_seconds:
            self._settling = self.set_timer(SETTLE_SECONDS, self._let_keys_pass)
            self.redraw_choices()
        else:
            self._settle()

    def answer(self, decision: Decision) -> None:
        """Give the answer; the dialog closes when it was taken."""
        self._is_taking = True
        self.app.run_worker(self._take(decision))

    def leave(self) -> None:
        """Close, once: the answer and the news that the item is resolved may both ask for it, and
        Textual would pop whatever screen is on top then."""
        if not self._has_left and self.is_current:
            self._has_left = True
            self._hand_on()
            _ = self.dismiss(None)

    def _let_keys_pass(self) -> None:
        """Settle after every key that was pressed before this moment: on a busy screen some may
        still be on their way, from the application to what has the focus, and from there to here.
        """
        proposal = self._proposal

        def settle() -> None:
            if self._proposal is proposal:
                self._settle()

        def after_the_focused() -> None:
            (self.focused or self).call_later(self.call_later, settle)

        self.app.call_later(after_the_focused)

    def _settle(self) -> None:
        """Nothing took it back: do it."""
        proposal = self._proposal
        if proposal is None or self._has_left:
            return
        is_ended = proposal.text is None or proposal.text == self.written()
        if not (self.is_readable and self.is_current and is_ended):
            self._withdraw()
            if not is_ended:
                self._tell(TOO_SOON)
            return
        self._settling = self._proposed_by = None
        proposal.act()
        if not self._is_taking:
            self._proposal = None
        self.redraw_choices()

    def _withdraw(self, *, is_typing: bool = False) -> None:
        """Take back what is held back; with `is_typing` its key was part of a text."""
        if self._settling is None or self._proposal is None:
            return
        self._settling.stop()
        proposed_by, is_end = self._proposed_by, self._proposal.text is not None
        self._settling = self._proposal = self._proposed_by = None
        if is_typing and proposed_by is not None and not is_end:
            self._stray(proposed_by)
        self.redraw_choices()

    def _interrupted_by(self, event: events.Key) -> None:
        self._withdraw(is_typing=True)
        self._stray(event)
        if not self._is_taking:
            self._tell(TOO_SOON)

    async def _take(self, decision: Decision) -> None:
        problem = await self._decide(self.item, decision)
        self._is_taking = False
        self._proposal = None
        if not problem:
            self.leave()
        elif self._has_left or not self.is_current:
            self.app.notify(exact(problem), severity="error", markup=False)
        else:
            self.problem = problem
            self.redraw_choices()

    # --- what was typed for something else ---------------------------------------------------

    def _stray(self, event: events.Key) -> None:
        """Keep what the key would have written until the typing rests."""
        text = with_key(self._strays, event)
        if text == self._strays:
            return
        self._strays = text
        if is_prose(text, self.OWN_KEYS):
            self._tell(TYPING)
        if self._straying is not None:
            self._straying.stop()
        self._straying = self.set_timer(GUARD_SECONDS, self._hand_on)

    def _hand_on(self) -> None:
        text, self._strays = self._strays, ""
        if is_prose(text, self.OWN_KEYS):
            self.app.post_message(self.Typed(text))

    def _tell(self, notice: str) -> None:
        """Say something in the place of the keys for a moment."""
        if self._noticing is not None:
            self._noticing.stop()
        self._noticing = self.set_timer(NOTICE_SECONDS, self._told)
        if notice != self._notice and not (notice == TOO_SOON and self._notice == TYPING):
            self._notice = notice
            self.redraw_choices()

    def _told(self) -> None:
        self._notice = ""
        self.redraw_choices()

    # --- drawing -----------------------------------------------------------------------------

    def with_state(self, usual: list[Line], width: int) -> list[Line]:
        """The lines with the keys, or what stands in their place for a moment: as many rows, so
        that nothing moves."""
        if self._proposal is not None:
            said = wrapped(line(Piece(f"{self._proposal.words} …", Tone.WAITING)), width)
        elif self._notice:
            said = [note(part) for part in wrap(self._notice, width)]
        elif self.problem:
            return [*wrapped(line(Piece(self.problem, Tone.FAILED)), width), *usual]
        else:
            return usual
        return [*said, *(line() for _ in usual[len(said) :])]


def _swallow(event: events.Key) -> None:
    event.stop()
    event.prevent_default()
