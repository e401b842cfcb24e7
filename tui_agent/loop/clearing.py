"""Clearing within a turn: older results leave the requests, stored first and then told."""

from __future__ import annotations

from tui_agent.context.budget import message_tokens
from tui_agent.context.clearing import choose_trimming
from tui_agent.context.history import History, load_history
from tui_agent.loop.turn import Turn, to_its_end
from tui_agent.vocabulary.agents import ModelFacts
from tui_agent.vocabulary.events import ContextCleared
from tui_agent.vocabulary.records import Clearing


async def cleared_history(turn: Turn) -> History:
    """The history of the next request, after what is due has been cleared."""
    history = await load_history(turn.store, turn.session.id)
    due = history.due()
    if due is not None:
        await to_its_end(_clear(turn, due))
    return history.plus(due)


async def trim_results(turn: Turn, facts: ModelFacts, *, refused: bool) -> bool:
    """What can be done without a model: clear all but the newest results. Tells whether any went;
    each can go only once, so that whoever tries again comes to an end. `refused`: the request as it
    was did not fit, whatever is believed of the window."""
    history = await load_history(turn.store, turn.session.id)
    messages = history.messages
    window = facts.window
    if refused:
        window = min(window, turn.overhead + sum(map(message_tokens, messages)))
    clearing = choose_trimming(messages, window)
    if clearing is not None:
        await to_its_end(_clear(turn, clearing))
    return clearing is not None


async def _clear(turn: Turn, clearing: Clearing) -> None:
    await turn.store.clear_results(turn.session.id, clearing)
    turn.emit(ContextCleared(tool_use_ids=clearing.tool_use_ids))
