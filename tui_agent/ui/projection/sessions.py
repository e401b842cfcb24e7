"""The list of sessions with their live state: the open ones first, the saved ones below."""

from __future__ import annotations

from dataclasses import replace

from tui_agent.ui.lines import Line, Piece, Row, Tone
from tui_agent.ui.marks import PHASE_WORDS, Mark, Marks, of_phase, tone_of
from tui_agent.ui.projection.lamps import CUT_TURNS
from tui_agent.ui.projection.words import ago, done_words, plural
from tui_agent.vocabulary.blocks import text_of
from tui_agent.vocabulary.events import (
    ApprovalPending,
    ApprovalResolved,
    DoneEvent,
    Event,
    MessageStored,
    QuestionPending,
    QuestionResolved,
    SessionEvent,
    SessionPhase,
)
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.records import SessionRecord, SessionSummary
from tui_agent.vocabulary.states import Phase
from tui_agent.vocabulary.usage import Usage


class SessionList:
    """Summaries of root sessions, kept live by events."""

    def __init__(self) -> None:
        self._sessions: dict[str, SessionSummary] = {}

    def all(self) -> tuple[SessionSummary, ...]:
        """Those that are alive first, then by last use."""
        return tuple(
            sorted(
                self._sessions.values(),
                key=lambda each: (each.phase is Phase.IDLE, -each.updated, each.id),
            )
        )

    def get(self, session_id: str) -> SessionSummary | None:
        """The session of that id."""
        return self._sessions.get(session_id)

    def titles(self) -> dict[str, str]:
        """Titles by session id."""
        return {each.id: each.title for each in self._sessions.values()}

    def load(self, sessions: tuple[SessionSummary, ...]) -> None:
        """What the store lists now. A new session without a message is not in it; it stays."""
        unsaved = {key: each for key, each in self._sessions.items() if each.messages == 0}
        listed = {each.id: each for each in sessions}
        self._sessions = {**unsaved, **listed}

    def add(self, record: SessionRecord) -> None:
        """A session that was just created."""
        self._sessions.setdefault(
            record.id,
            SessionSummary(
                id=record.id,
                title=record.title,
                folder=record.folder,
                phase=Phase.IDLE,
                created=record.created,
                updated=record.updated,
                messages=0,
                usage=Usage(),
                pending=0,
                model=record.model.model,
                provider=record.model.provider,
                agent=record.agent,
            ),
        )

    def rename(self, session_id: str, title: str) -> None:
        """The session has another title."""
        known = self._sessions.get(session_id)
        if known is not None:
            self._sessions[session_id] = replace(known, title=title)

    def drop(self, session_id: str) -> None:
        """The session is deleted."""
        self._sessions.pop(session_id, None)

    def apply(self, event: Event) -> bool:
        """Fold one event of any session; whether the list changed."""
        root = event.agent_path[0] if event.agent_path else event.session_id
        known = self._sessions.get(root)
        if known is None:
            return False
        match event:
            case SessionPhase() if event.session_id == root:
                changed = replace(known, phase=event.phase, updated=max(known.updated, event.time))
            case MessageStored() if event.session_id == root:
                changed = _with_message(known, event.message)
            case ApprovalPending() | QuestionPending():
                changed = replace(known, pending=known.pending + 1)
            case ApprovalResolved() | QuestionResolved():
                changed = replace(known, pending=max(0, known.pending - 1))
            case DoneEvent() if event.session_id == root:
                changed = replace(known, last_reason=event.reason)
            case SessionEvent() if event.session_id == root:
                changed = replace(known, last_reason=None)
            case _:
                return False
        self._sessions[root] = changed
        return True


def _with_message(known: SessionSummary, message: Message) -> SessionSummary:
    """One message more; the first prompt names an unnamed session, as it does in the store."""
    title = known.title
    if not title and message.origin is Origin.USER:
        title = text_of(message.blocks).strip().split("\n")[0]
    return replace(known, title=title, messages=known.messages + 1, updated=message.created)


def state_of(session: SessionSummary) -> tuple[Mark, str]:
    """The mark of a session and its state in words; one whose last turn failed does not pass for
    one that is through."""
    if session.phase is Phase.IDLE and session.last_reason in CUT_TURNS:
        return Mark.FAILED, done_words(session.last_reason)
    return of_phase(session.phase), PHASE_WORDS[session.phase]


def session_rows(
    sessions: tuple[SessionSummary, ...], shown: str | None, marks: Marks, now: float
) -> tuple[Row, ...]:
    """One line a session for the side pane; the shown one stands out."""
    rows = []
    for each in sessions:
        tone = Tone.STRONG if each.id == shown else Tone.TEXT
        if each.phase is Phase.IDLE and each.id != shown:
            tone = Tone.MUTED
        left = (marks.piece(state_of(each)[0]), Piece(f" {each.title or 'New session'}", tone))
        rows.append(Row(each.id, (Line(left, (Piece(ago(now - each.updated), Tone.MUTED),)),)))
    return tuple(rows)


def switcher_rows(
    sessions: tuple[SessionSummary, ...], shown: str | None, marks: Marks, now: float
) -> tuple[Row, ...]:
    """Two lines a session for the switcher: title and state, then model and size."""
    rows = []
    for each in sessions:
        mark, words = state_of(each)
        tone = Tone.STRONG if each.id == shown else Tone.TEXT
        if each.id == shown:
            words = f"shown, {words}"
        head = Line(
            (marks.piece(mark), Piece(f" {each.title or 'New session'}", tone)),
            (Piece(words, tone_of(mark)), Piece(f"  {ago(now - each.updated):>4}", Tone.MUTED)),
        )
        facts = [plural(each.messages, "message"), each.model]
        if each.pending:
            facts.append(f"{each.pending} open")
        said = " · ".join(fact for fact in facts if fact)
        rows.append(Row(each.id, (head, Line((Piece(f"  {said}", Tone.MUTED),)))))
    return tuple(rows)


def matching(sessions: tuple[SessionSummary, ...], text: str) -> tuple[SessionSummary, ...]:
    """The sessions whose title has every word of `text`."""
    words = text.casefold().split()
    return tuple(each for each in sessions if all(word in each.title.casefold() for word in words))
