"""The tree of subagents of one session: state, age, work done, cost, last line.

Fed with every event whose path leads through the session. An agent is known from its parent's
`agent:started` or from the snapshot's children, and keeps what its own events say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tui_agent.ui.lines import Line, Piece, Row, Tone
from tui_agent.ui.marks import PHASE_WORDS, Mark, Marks
from tui_agent.ui.projection.words import done_words, duration, money, plural, tokens
from tui_agent.vocabulary.events import (
    AgentFinished,
    AgentProgress,
    AgentStarted,
    Event,
    ProviderComplete,
    SessionPhase,
    TextDelta,
    ToolStarted,
)
from tui_agent.vocabulary.records import SessionSummary
from tui_agent.vocabulary.states import DoneReason, Phase

LONGEST_LAST_LINE = 200


@dataclass(frozen=True, slots=True)
class AgentView:
    """One subagent. Times are wall-clock seconds; `cost` in USD, `None` unknown."""

    session_id: str
    agent: str
    description: str
    parent_id: str
    depth: int = 0
    phase: Phase = Phase.RUNNING
    reason: DoneReason | None = None
    started: float = 0.0
    ended: float | None = None
    tool_calls: int = 0
    tokens: int = 0
    cost: float | None = None
    last_line: str = ""
    is_background: bool = False

    @property
    def mark(self) -> Mark:
        """The mark of its state."""
        if self.phase is Phase.REQUIRES_ACTION or self.reason in _PAUSES:
            return Mark.WAITING
        match self.reason:
            case None:
                return Mark.IDLE if self.phase is Phase.IDLE else Mark.RUNNING
            case DoneReason.MODEL_STOP:
                return Mark.DONE
            case DoneReason.DENIED | DoneReason.USER_ABORT:
                return Mark.DENIED
            case _:
                return Mark.FAILED


_PAUSES = frozenset({DoneReason.PENDING_APPROVAL, DoneReason.PENDING_QUESTION})


class AgentTree:
    """The subagents below one session, each after its parent."""

    def __init__(self, root_id: str) -> None:
        self._root_id = root_id
        self._agents: dict[str, AgentView] = {}

    def __len__(self) -> int:
        return len(self._agents)

    def get(self, session_id: str) -> AgentView | None:
        """The agent with that session."""
        return self._agents.get(session_id)

    def all(self) -> tuple[AgentView, ...]:
        """Every agent, children after their parent, siblings by age."""
        ordered: list[AgentView] = []
        self._walk(self._root_id, ordered)
        seen = {agent.session_id for agent in ordered}
        return (*ordered, *(each for each in self._agents.values() if each.session_id not in seen))

    def is_any_running(self) -> bool:
        """Whether something in the tree moves."""
        return any(agent.mark is Mark.RUNNING for agent in self._agents.values())

    def load(self, children: tuple[SessionSummary, ...]) -> None:
        """The agents that the store knows."""
        for child in children:
            is_over = child.phase is Phase.IDLE
            self._agents[child.id] = AgentView(
                session_id=child.id,
                agent=child.agent,
                description=child.title,
                parent_id=child.parent_id or self._root_id,
                depth=self._depth_below(child.parent_id),
                phase=child.phase,
                reason=child.last_reason if is_over else None,
                started=child.created,
                ended=child.updated if is_over else None,
                tokens=child.usage.total,
            )

    def apply(self, event: Event) -> bool:
        """Fold one event from anywhere in the tree; whether something changed."""
        match event:
            case AgentStarted():
                known = self._agents.get(event.child_id)
                fresh = AgentView(
                    session_id=event.child_id,
                    agent=event.agent,
                    description=event.description,
                    parent_id=event.session_id,
                    depth=self._depth_below(event.session_id),
                    started=event.time,
                    is_background=event.background,
                )
                self._agents[event.child_id] = (
                    replace(known, phase=Phase.RUNNING, reason=None, ended=None) if known else fresh
                )
                return True
            case AgentProgress():
                return self._change(
                    event.child_id, tool_calls=event.tool_calls, tokens=event.usage.total
                )
            case AgentFinished():
                return self._change(
                    event.child_id,
                    reason=event.reason,
                    phase=Phase.IDLE,
                    ended=event.time,
                    tokens=event.usage.total,
                )
            case _:
                return self._own(event)

    def _own(self, event: Event) -> bool:
        """What an agent's own session says."""
        agent = self._agents.get(event.session_id)
        if agent is None:
            return False
        match event:
            case TextDelta():
                return self._change(agent.session_id, last_line=_last_line(agent, event.text))
            case ToolStarted():
                said = f"{event.tool} {event.subject}".strip()
                return self._change(agent.session_id, last_line=said)
            case SessionPhase():
                return self._change(agent.session_id, phase=event.phase)
            case ProviderComplete() if event.cost is not None:
                return self._change(agent.session_id, cost=(agent.cost or 0) + event.cost)
            case _:
                return False

    def _change(self, session_id: str, **values: object) -> bool:
        agent = self._agents.get(session_id)
        if agent is None:
            return False
        self._agents[session_id] = replace(agent, **values)  # type: ignore[arg-type]
        return True

    def _depth_below(self, parent_id: str | None) -> int:
        parent = self._agents.get(parent_id or "")
        return parent.depth + 1 if parent else 0

    def _walk(self, parent_id: str, into: list[AgentView]) -> None:
        for agent in self._agents.values():
            if agent.parent_id == parent_id:
                into.append(agent)
                self._walk(agent.session_id, into)


def agent_rows(agents: tuple[AgentView, ...], marks: Marks, now: float) -> tuple[Row, ...]:
    """Two lines for an agent that is alive, one for one that is over."""
    return tuple(_agent_row(agent, marks, now) for agent in agents)


def _agent_row(agent: AgentView, marks: Marks, now: float) -> Row:
    indent = "  " * agent.depth
    left = (
        Piece(indent),
        marks.piece(agent.mark),
        Piece(f" {agent.agent}", Tone.STRONG),
        Piece(f"  {agent.description}", Tone.MUTED),
    )
    figures = [duration((agent.ended or now) - agent.started)]
    if agent.tool_calls:
        figures.append(plural(agent.tool_calls, "tool"))
    if agent.tokens:
        figures.append(tokens(agent.tokens))
    if agent.cost:
        figures.append(money(agent.cost))
    first = Line(left, (Piece("  ".join(figures), Tone.MUTED),))
    words = _second_line(agent)
    if not words:
        return Row(agent.session_id, (first,))
    tone = Tone.WAITING if agent.mark is Mark.WAITING else Tone.MUTED
    return Row(agent.session_id, (first, Line((Piece(f"{indent}  "), Piece(words, tone)))))


def _second_line(agent: AgentView) -> str:
    if agent.mark is Mark.WAITING:
        return PHASE_WORDS[Phase.REQUIRES_ACTION]
    if agent.mark is Mark.RUNNING:
        return agent.last_line.strip()
    if agent.reason not in (None, DoneReason.MODEL_STOP):
        return done_words(agent.reason)
    return ""


def _last_line(agent: AgentView, text: str) -> str:
    """The line that is being written, bounded. A line that is over stays until the next begins."""
    lines = (agent.last_line + text).split("\n")
    return next((each for each in reversed(lines) if each.strip()), "")[-LONGEST_LAST_LINE:]
