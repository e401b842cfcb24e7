"""State thinking: limits, the size of the context, and the request of the next model call."""

from __future__ import annotations

from tui_agent.context.budget import compaction_threshold, context_tokens, overhead_tokens
from tui_agent.context.projection import project
from tui_agent.context.prompt import prompt_layers, system_prompt
from tui_agent.loop.turn import Turn, TurnFailed
from tui_agent.loop.validator import violations
from tui_agent.providers.base import ModelRequest
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
    boundary, history = await turn.store.history(turn.session.id)
    system = system_prompt(prompt_layers(turn.session, turn.agent))
    tools = turn.tool_schemas()
    boundary_seq = history[0].seq if boundary is not None and history else 0
    used = context_tokens(history, overhead_tokens(system, tools), counted_after=boundary_seq)
    turn.emit(
        BudgetCheck(
            spent=spent,
            limit=limits.max_session_tokens,
            context_used=used,
            window=access.facts.window,
            rounds=turn.chain_rounds,
            max_turns=limits.max_turns,
        )
    )
    if turn.compact_focus is not None and turn.may_compact():
        turn.compaction_trigger = "manual"
        return LoopState.COMPACTING
    if used >= compaction_threshold(access.facts) and turn.may_compact():
        turn.compaction_trigger = "auto"
        return LoopState.COMPACTING

    projection = project(history, boundary_seq=boundary_seq)
    request = ModelRequest(access.model, system, projection.messages, tools, access.facts)
    if wrong := violations(request):
        raise TurnFailed(
            f"the stored conversation cannot be sent: {wrong[0]}",
            "Start a new session, or fork this one from an earlier point.",
        )
    turn.request = request
    return LoopState.STREAMING
