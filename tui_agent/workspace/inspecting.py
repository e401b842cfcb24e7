"""What goes to the models, kept for whoever wants to look: the next request and the last ones."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from tui_agent.context.history import load_history
from tui_agent.context.request import NextRequest, next_request
from tui_agent.loop.turn import Turn
from tui_agent.providers.base import ModelClient
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.blocks import TextBlock
from tui_agent.vocabulary.ids import Clock
from tui_agent.vocabulary.inspection import InspectedRequest
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.records import SessionRecord

KEPT = 3
"""Requests kept of a session: each holds a whole history in memory."""
MOST_SESSIONS = 8


@dataclass(frozen=True, slots=True)
class _Sent:
    when: float
    model: ModelChoice
    client: ModelClient
    prepared: NextRequest


class SentRequests:
    """The last requests of the sessions that were last active; gone with the process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._of_session: dict[str, deque[_Sent]] = {}

    def sent(self, session: SessionRecord, client: ModelClient, prepared: NextRequest) -> None:
        """`prepared` goes out now."""
        kept = self._of_session.pop(session.id, deque(maxlen=KEPT))
        kept.appendleft(_Sent(self._clock.wall(), session.model, client, prepared))
        self._of_session[session.id] = kept
        while len(self._of_session) > MOST_SESSIONS:
            del self._of_session[next(iter(self._of_session))]

    def last(self, session_id: str) -> tuple[InspectedRequest, ...]:
        """Those of a session, the newest first."""
        return tuple(
            _inspected(each.model, each.client, each.prepared, each.when)
            for each in self._of_session.get(session_id, ())
        )


async def next_one(turn: Turn, prompt: str) -> InspectedRequest:
    """What `turn` would send first, were it begun now with `prompt`; nothing is sent or stored.
    Raises `UserError` when the provider cannot be used."""
    access = await turn.services.models.access(turn.session)
    history = await load_history(turn.store, turn.session.id)
    if prompt.strip():
        seq = history.stored[-1].seq + 1 if history.stored else 1
        blocks = (TextBlock(prompt),)
        asked = Message("", "user", blocks, Origin.USER, turn.now(), seq=seq)
        history = history.followed_by((asked,))
    prepared = next_request(
        turn.session,
        turn.agent,
        turn.tool_schemas(),
        history.plus(history.due()),
        model=access.model,
        facts=access.facts,
    )
    return _inspected(turn.session.model, access.client, prepared, None)


def _inspected(
    model: ModelChoice, client: ModelClient, prepared: NextRequest, sent: float | None
) -> InspectedRequest:
    wire = client.request_body(prepared.request)
    return InspectedRequest(
        model=model,
        sent=sent,
        layers=prepared.layers,
        tokens=prepared.tokens,
        window=prepared.request.facts.window,
        body=wire.body,
        notes=(*prepared.notes, *wire.notes),
    )
