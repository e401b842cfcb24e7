"""Task: work handed to a subagent, whose final text is the result."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from tui_agent.tools.base import (
    NO_EFFECTS,
    ChildOutcome,
    ChildPaused,
    ChildRequest,
    Effects,
    ToolContext,
    ToolError,
    ToolInterrupted,
)
from tui_agent.tools.results import clip, one_line
from tui_agent.vocabulary.blocks import JsonObject, Outcome, TextBlock, ToolResult
from tui_agent.vocabulary.states import DoneReason

_REASONS = {
    DoneReason.MAX_TURNS: "reached its limit of turns",
    DoneReason.BUDGET_EXCEEDED: "used up its tokens",
    DoneReason.LOOP_DETECTED: "was stopped because it repeated itself",
    DoneReason.HOOK_STOPPED: "was stopped by a hook",
    DoneReason.ERROR: "failed",
    DoneReason.DENIED: "was stopped: a person denied what it wanted to do",
    DoneReason.USER_ABORT: "was interrupted",
}
_OUTCOMES = {
    DoneReason.MODEL_STOP: Outcome.OK,
    DoneReason.DENIED: Outcome.DENIED,
    DoneReason.USER_ABORT: Outcome.INTERRUPTED,
}


class TaskInput(BaseModel):
    """Input of Task."""

    model_config = ConfigDict(extra="forbid")

    description: str = Field(min_length=1, description="The task in three to five words")
    prompt: str = Field(min_length=1, description="All that the agent has to know and to do")
    subagent_type: str = Field(min_length=1, description="Which agent does it")


class Task:
    """Runs a subagent to the end of its turn."""

    name: ClassVar[str] = "Task"
    description: ClassVar[str] = (
        "Hand a task to a subagent. It starts fresh and sees nothing of this conversation: the"
        " prompt must say everything, also what to report back. Its final text is the result."
        " Several calls in one message run at the same time."
    )
    input_model: ClassVar[type[TaskInput]] = TaskInput
    is_read_only: ClassVar[bool] = False

    def effects(self, args: TaskInput, context: ToolContext) -> Effects:  # noqa: ARG002 - the contract
        """None of its own: the subagent's calls have theirs."""
        return NO_EFFECTS

    def subject(self, args: TaskInput) -> str:
        """Who does what."""
        return f"{args.subagent_type}: {one_line(args.description)}"

    def preview(self, args: TaskInput, context: ToolContext) -> JsonObject:  # noqa: ARG002 - the contract
        """Agent and prompt."""
        return {
            "kind": "text",
            "text": f"{args.subagent_type}: {args.description}\n\n{args.prompt}",
        }

    async def run(self, args: TaskInput, context: ToolContext) -> ToolResult:
        """Start the child, or go on with `context.child_id`, and wait for the end of its turn."""
        spawner = context.spawner
        if spawner is None:
            raise ToolError("Subagents cannot be used here. Do the work yourself.")
        names = [agent.name for agent in spawner.agents()]
        if args.subagent_type not in names:
            raise ToolError(
                f"There is no agent named {args.subagent_type[:80]!r}."
                f" The agents are: {', '.join(names) or 'none'}."
            )
        request = ChildRequest(
            tool_use_id=context.tool_use_id,
            agent=args.subagent_type,
            description=args.description,
            prompt=args.prompt,
            child_id=context.child_id,
        )
        try:
            child = await spawner.run_child(request)
        except asyncio.CancelledError:
            text = TextBlock("The subagent was interrupted before it had finished.")
            details: JsonObject = {"kind": "agent", "agent": args.subagent_type}
            raise ToolInterrupted(ToolResult((text,), details, Outcome.INTERRUPTED)) from None
        if child.is_paused:
            raise ChildPaused(child.child_id)
        return child_result(args.subagent_type, child)


def child_result(agent: str, child: ChildOutcome) -> ToolResult:
    """What a Task call returns for a child whose turn has ended, with whatever the child had."""
    text = clip(child.text.strip(), lambda count: f"[... {count:,} characters left out ...]")
    if child.reason is not DoneReason.MODEL_STOP:
        said = _REASONS.get(child.reason, child.reason.value)
        head = f"The subagent {said} after {child.rounds} rounds."
        text = f"{head} It had said:\n{text}" if text else f"{head} It had said nothing."
    details: JsonObject = {
        "kind": "agent",
        "agent": agent,
        "child_id": child.child_id,
        "reason": child.reason.value,
        "rounds": child.rounds,
        "tokens": child.usage.total,
    }
    outcome = _OUTCOMES.get(child.reason, Outcome.ERROR)
    return ToolResult((TextBlock(text or "(the subagent said nothing)"),), details, outcome)
