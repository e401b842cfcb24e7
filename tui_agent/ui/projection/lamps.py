"""The three lamps and the waiting line.

The provider lamp follows `provider:*`, the turn lamp `session`, `state` and `done`, the session
lamp `session:phase`; none is ever inferred from another. One thing has no event of its own: a wait
before the next attempt that was given up ends with the turn or the compaction that waited. The
waiting line says in words what is
waited for, since when, and which key changes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from tui_agent.ui.lamp import Lamp, ThreeLamps
from tui_agent.ui.lines import Piece, Tone
from tui_agent.ui.marks import PHASE_WORDS, Mark, of_phase
from tui_agent.ui.projection.words import done_words, elapsed, plural, stop_words
from tui_agent.vocabulary.events import (
    DoneEvent,
    Event,
    PromptCompaction,
    ProviderComplete,
    ProviderRetry,
    ProviderStarted,
    SessionEvent,
    SessionPhase,
    StateEvent,
)
from tui_agent.vocabulary.messages import StopReason
from tui_agent.vocabulary.records import SessionSnapshot
from tui_agent.vocabulary.states import DoneReason, LoopState, Phase, PhaseLabel

FAILED_STOPS = frozenset({StopReason.ERROR, StopReason.REFUSAL, StopReason.CONTENT_FILTER})
CUT_TURNS = frozenset({DoneReason.ERROR, DoneReason.LOOP_DETECTED})
PAUSED_TURNS = frozenset({DoneReason.PENDING_APPROVAL, DoneReason.PENDING_QUESTION})


class Lamps:
    """What provider, turn and session say of themselves."""

    def __init__(self) -> None:
        before = ThreeLamps()
        self.provider, self.turn, self.session = before.provider, before.turn, before.session
        self.phase = Phase.IDLE
        self.label = PhaseLabel.IDLE
        self.waiting_for = ""
        self.background_agents = 0
        self.phase_since: float | None = None
        self.retry_at: float | None = None
        self.retry_why = ""
        self.retry_count = ""
        self.model = ""
        self.has_live_turn = False
        """Whether a turn has begun and not ended; it may be waiting for a person."""

    def load(self, snapshot: SessionSnapshot) -> None:
        """Where the three stand in a snapshot."""
        self._set_phase(snapshot.phase, None, snapshot.waiting_for, 0)
        running = snapshot.phase is Phase.RUNNING
        self.label = PhaseLabel.REQUESTING if running else PhaseLabel.IDLE
        if snapshot.turns:
            last = snapshot.turns[-1]
            self.has_live_turn = last.reason is None
            if last.reason is not None:
                self.turn = Lamp(_mark_of_end(last.reason), done_words(last.reason), last.ended)
            elif running:
                self.turn = Lamp(Mark.RUNNING, PHASE_WORDS[Phase.RUNNING], last.started)
            else:
                self.turn = Lamp(Mark.UNKNOWN, "cut", last.started)
        stops = [each.stop_reason for each in snapshot.messages if each.stop_reason is not None]
        if snapshot.partial is not None and running:
            self.provider = Lamp(Mark.RUNNING, "streaming", snapshot.partial.updated)
        elif stops:
            self.provider = _complete(stops[-1], None)

    def apply(self, event: Event) -> None:
        """Fold one event of the session."""
        match event:
            case ProviderStarted():
                self.model = event.model
                self.retry_at = None
                self.provider = Lamp(Mark.RUNNING, "streaming", event.time)
            case ProviderRetry():
                self.retry_at = event.time + event.delay
                self.retry_why = event.message
                self.retry_count = (
                    f", attempt {event.attempt + 1} of {event.attempts}" if event.attempts else ""
                )
                self.provider = Lamp(Mark.WAITING, "retrying", event.time)
            case ProviderComplete():
                self.retry_at = None
                self.provider = _complete(event.stop_reason, event.time)
            case SessionEvent():
                self.has_live_turn = True
                self.turn = Lamp(Mark.RUNNING, LoopState.THINKING.value, event.time)
            case StateEvent():
                if event.to is not LoopState.DONE:
                    mark = Mark.WAITING if event.to is LoopState.CONFIRMING else Mark.RUNNING
                    self.turn = Lamp(mark, event.to.value, event.time)
            case PromptCompaction():
                if event.phase == "failed":
                    self._give_up_retry(event.time)
            case DoneEvent():
                self._give_up_retry(event.time)
                self.has_live_turn = False
                self.turn = Lamp(_mark_of_end(event.reason), _end_words(event), event.time)
            case SessionPhase():
                if event.label is not self.label or event.phase is not self.phase:
                    self.phase_since = event.time
                self.label = event.label
                self._set_phase(event.phase, event.time, event.waiting_for, event.background_agents)
            case _:
                pass  # no lamp follows it

    def _give_up_retry(self, time: float) -> None:
        if self.retry_at is not None:
            self.retry_at = None
            self.provider = _complete(StopReason.ABORTED, time)

    def now(self) -> ThreeLamps:
        """The three as they are."""
        return ThreeLamps(self.provider, self.turn, self.session)

    def _set_phase(
        self, phase: Phase, since: float | None, waiting_for: str, background: int
    ) -> None:
        self.phase = phase
        self.waiting_for = waiting_for
        self.background_agents = background
        words = PHASE_WORDS[phase]
        if phase is Phase.DRAINING and background:
            words = f"{words} {background}"
        self.session = Lamp(of_phase(phase), words, since)


@dataclass(frozen=True, slots=True)
class WaitingFor:
    """A thing that is waited for: in words, since when, and the keys that change it."""

    text: str
    tone: Tone
    since: float | None = None
    keys: tuple[tuple[str, str], ...] = ()
    """Each with what it does."""


def waiting_for(
    lamps: Lamps, *, asked: str | None, asked_since: float | None, running: str, now: float
) -> WaitingFor:
    """What the session waits for. `asked` is the oldest open ask in words, `running` the oldest
    call that runs."""
    if asked is not None:
        return WaitingFor(
            f"waiting for you: {asked}", Tone.WAITING, asked_since, (("F2", "decide"),)
        )
    if lamps.retry_at is not None:
        left = max(0, round(lamps.retry_at - now))
        text = f"{lamps.retry_why.rstrip('.')} · trying again in {left} s{lamps.retry_count}"
        keys = (("F9", "tries now"), ("Esc", "interrupt"))
        return WaitingFor(text, Tone.WAITING, None, keys)
    match lamps.phase:
        case Phase.REQUIRES_ACTION:
            text = f"waiting for you: {lamps.waiting_for or 'go on or send a message'}"
            return WaitingFor(text, Tone.WAITING, lamps.phase_since, (("Ctrl+R", "go on"),))
        case Phase.RUNNING:
            return _running(lamps, running)
        case Phase.DRAINING:
            text = f"{plural(max(1, lamps.background_agents), 'agent')} in the background"
            return WaitingFor(text, Tone.RUNNING, lamps.phase_since)
        case Phase.IDLE:
            return WaitingFor("ready", Tone.MUTED, None, (("F1", "help"),))
        case _:
            assert_never(lamps.phase)


def followed(lamps: Lamps) -> WaitingFor:
    """Of a session that another window owns: what happens there."""
    words = PHASE_WORDS[lamps.phase]
    tone = Tone.RUNNING if lamps.phase is Phase.RUNNING else Tone.MUTED
    return WaitingFor(f"open in another window, {words} there; followed here", tone)


def waiting_line(what: WaitingFor, now: float) -> tuple[Piece, ...]:
    """The waiting line, drawn."""
    pieces = [Piece(what.text, what.tone)]
    if what.since is not None:
        pieces.append(Piece(f" · {elapsed(now - what.since)}", Tone.MUTED))
    for key, does in what.keys:
        pieces.append(Piece(" · ", Tone.MUTED))
        pieces.append(Piece(key, Tone.ACCENT))
        pieces.append(Piece(f" {does}", Tone.MUTED))
    return tuple(pieces)


def _running(lamps: Lamps, running: str) -> WaitingFor:
    since = lamps.phase_since
    match lamps.label:
        case PhaseLabel.TOOL_RUNNING if running:
            text = f"running {running}"
        case PhaseLabel.COMPACTING:
            text = "summarising older messages"
        case PhaseLabel.REQUESTING | PhaseLabel.PREPARING:
            writing = lamps.provider.mark is Mark.RUNNING
            text = f"{lamps.model or 'the model'} is {'answering' if writing else 'asked'}"
            since = lamps.provider.since if writing else since
        case _:
            text = f"running {running}" if running else lamps.label.value
    return WaitingFor(text, Tone.RUNNING, since, (("Esc", "interrupt"),))


def _complete(reason: StopReason, time: float | None) -> Lamp:
    if reason in FAILED_STOPS:
        mark = Mark.FAILED
    elif reason is StopReason.ABORTED:
        mark = Mark.DENIED
    else:
        mark = Mark.DONE
    return Lamp(mark, stop_words(reason), time)


def _mark_of_end(reason: DoneReason) -> Mark:
    if reason is DoneReason.MODEL_STOP:
        return Mark.DONE
    if reason in PAUSED_TURNS:
        return Mark.WAITING
    return Mark.FAILED if reason in CUT_TURNS else Mark.DENIED


def _end_words(event: DoneEvent) -> str:
    pending = event.pending_approvals + event.pending_questions
    words = done_words(event.reason)
    if pending and event.reason not in PAUSED_TURNS:
        return f"{words}, {pending} pending"
    if event.queued:
        return f"{words}, {event.queued} queued"
    return f"{words} ({pending})" if pending > 1 else words
