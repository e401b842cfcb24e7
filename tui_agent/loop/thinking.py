"""State thinking: limits, the size of the context, and the request of the next model call."""

from __future__ import annotations

from tui_agent.context.budget import compaction_threshold
from tui_agent.context.request import next_request
from tui_agent.loop.clearing import cleared_history
from tui_agent.loop.turn import Turn, TurnFailed
from tui_agent.loop.validator import violations
from tui_agent.vocabulary.events import BudgetCheck, LoopBudgetExceeded, LoopMaxTurns
from tui_agent.vocabulary.states import DoneReason, LoopState


async def think(turn: Turn) -> LoopState:
    """Check the limits, decide about compaction, prepare the request. The call itself is opened by
    the state that streams it."""
    await turn.refresh()
    limits = turn.session.limits
    if limits.max_turns is not None and turn.chain_rounds >= limits.max_turns:
        turn.ended_by = LoopMaxTurns(limit=limits.max_turns)
        return turn.end(DoneReason.MAX_TURNS)
    spent = (await turn.store.tree_usage(turn.session.root_id)).total
    if limits.max_session_tokens is not None and spent >= limits.max_session_tokens:
        turn.ended_by = LoopBudgetExceeded(spent=spent, limit=limits.max_session_tokens)
        return turn.end(DoneReason.BUDGET_EXCEEDED)

    turn.access = access = await turn.services.models.access(turn.session)
    if turn.session.model.model != access.model:
        await turn.refresh()  # none was named, and the first one served was chosen just now
    prepared = next_request(
        turn.session,
        turn.agent,
        turn.tool_schemas(),
        await cleared_history(turn),
        model=access.model,
        facts=access.facts,
    )
    turn.overhead = prepared.overhead
    turn.emit(
        BudgetCheck(
            spent=spent,
            limit=limits.max_session_tokens,
            context_used=prepared.tokens,
            window=access.facts.window,
            rounds=turn.chain_rounds,
            max_turns=limits.max_turns,
        )
    )
    if turn.compact_focus is not None and turn.may_compact():
        turn.compaction_trigger = "manual"
        return LoopState.COMPACTING
    if prepared.overhead > access.facts.window:
        raise TurnFailed(
            f"the system prompt and the tools alone take about {prepared.overhead} tokens, and the "
            f"window of {access.model} has {access.facts.window}",
            "Pick a model with a larger window, or shorten the prompt.",
        )
    if prepared.tokens >= compaction_threshold(access.facts) and turn.may_compact():
        turn.compaction_trigger = "auto"
        return LoopState.COMPACTING

    if wrong := violations(prepared.request):
        raise TurnFailed(
            f"the stored conversation cannot be sent: {wrong[0]}",
            "Start a new session, or fork this one from an earlier point.",
        )
    turn.request = prepared.request
    turn.services.requests.sent(turn.session, access.client, prepared)
    return LoopState.STREAMING
