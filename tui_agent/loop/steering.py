"""Delivering a message that was typed while the turn ran."""

from __future__ import annotations

from tui_agent.loop.turn import Turn, to_its_end
from tui_agent.vocabulary.blocks import TextBlock
from tui_agent.vocabulary.errors import ConflictError
from tui_agent.vocabulary.events import QueuedMessage
from tui_agent.vocabulary.ids import new_id
from tui_agent.vocabulary.messages import Message, Origin


async def deliver_steering(turn: Turn) -> bool:
    """Append every steering message that waits, each as a user message of its own; tells whether
    there was one. Taking it off the queue and appending it is one transaction."""
    delivered = False
    while (queued := await turn.services.steering.next_steering(turn.session.id)) is not None:
        try:
            await to_its_end(_deliver(turn, queued))
        except ConflictError:
            continue  # it was taken back between the look and the append
        delivered = True
    return delivered


async def _deliver(turn: Turn, queued: QueuedMessage) -> None:
    message = Message(
        id=new_id("msg"),
        role="user",
        blocks=(TextBlock(queued.text),),
        origin=Origin.USER,
        created=turn.now(),
        turn_id=turn.id,
    )
    stored = await turn.store.append_message(turn.session.id, message, dequeue=queued.id)
    await turn.announce(stored)
    await turn.services.steering.queue_changed(turn.session.id)
