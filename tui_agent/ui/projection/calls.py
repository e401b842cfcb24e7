"""The tool calls of one session, by id: where each stands, what it was given and what it gave.

Cards in the conversation, rows of the activity pane and the detail screen are views of the same
`CallItem`. Comes from stored runs and blocks, and from events; both end in the same item.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from tui_agent.ui.projection.items import CallItem
from tui_agent.ui.projection.words import subject_of
from tui_agent.vocabulary.blocks import Outcome, ToolResultBlock, ToolUseBlock, text_of
from tui_agent.vocabulary.decisions import Action, PendingItem, Verdict
from tui_agent.vocabulary.events import (
    ActAuthDecision,
    AgentStarted,
    ApprovalPending,
    ApprovalResolved,
    Event,
    QuestionPending,
    QuestionResolved,
    ToolInputDelta,
    ToolProgress,
    ToolResultEvent,
    ToolStarted,
)
from tui_agent.vocabulary.records import ToolRun
from tui_agent.vocabulary.states import CallState

LONGEST_TAIL = 4000
"""Characters of a running call's output that are kept for its card."""

_OF_OUTCOME = {
    Outcome.OK: CallState.DONE,
    Outcome.ERROR: CallState.FAILED,
    Outcome.DENIED: CallState.DENIED,
    Outcome.NOT_RUN: CallState.CANCELLED,
    Outcome.INTERRUPTED: CallState.CANCELLED,
    Outcome.UNKNOWN: CallState.UNKNOWN,
    Outcome.DISCARDED: CallState.CANCELLED,
}


def call_state_of(outcome: Outcome) -> CallState:
    """Where a call stands that ended so."""
    return _OF_OUTCOME[outcome]


class CallBook:
    """Every call of a session in the order in which it was made."""

    def __init__(self) -> None:
        self._calls: dict[str, CallItem] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def get(self, tool_use_id: str) -> CallItem | None:
        """The call of that id."""
        return self._calls.get(tool_use_id)

    def all(self) -> tuple[CallItem, ...]:
        """Every call, oldest first."""
        return tuple(self._calls.values())

    def running(self) -> tuple[CallItem, ...]:
        """The calls that run now."""
        return tuple(call for call in self._calls.values() if call.state is CallState.STARTED)

    def add_block(self, block: ToolUseBlock) -> CallItem:
        """The model asked for a call."""
        known = self._calls.get(block.id)
        call = CallItem(
            key=block.id,
            tool=block.name,
            subject=subject_of(block.input) or block.problem or "",
            state=known.state if known else CallState.PLANNED,
            input=block.input,
        )
        if known:
            call = replace(
                known,
                tool=call.tool,
                subject=known.subject or call.subject,
                input=known.input or call.input,
            )
        return self._put(call)

    def add_result(self, block: ToolResultBlock) -> CallItem | None:
        """The history answers a call; says nothing new when its outcome is known already."""
        call = self._calls.get(block.tool_use_id)
        if call is None or call.state.is_settled:
            return None
        return self._put(
            replace(call, state=call_state_of(block.outcome), output=text_of(block.content))
        )

    def add_run(self, run: ToolRun) -> CallItem:
        """A stored call."""
        is_over = run.started is not None and run.ended is not None
        return self._put(
            CallItem(
                key=run.tool_use_id,
                tool=run.name,
                subject=subject_of(run.input) or run.problem or "",
                state=run.state,
                input=run.input,
                output=text_of(run.content),
                details=run.details,
                verdict=run.verdict,
                comment=run.comment,
                child_id=run.child_id,
                started=run.started,
                duration=run.ended - run.started
                if is_over and run.ended is not None and run.started is not None
                else None,
            )
        )

    def add_pending(self, item: PendingItem) -> CallItem | None:
        """A stored ask."""
        call = self._calls.get(item.tool_use_id)
        if call is None or call.state.is_settled:
            return None
        return self._put(replace(call, state=CallState.ASKED, pending_id=item.pending_id))

    def drop(self, tool_use_id: str) -> None:
        """The call was withdrawn before it was made."""
        self._calls.pop(tool_use_id, None)

    def apply(self, event: Event) -> CallItem | None:
        """Fold one event of the session; the call that it changed, if any."""
        match event:
            case ToolInputDelta():
                known = self._calls.get(event.tool_use_id)
                if known is not None:
                    return None
                return self._put(CallItem(event.tool_use_id, event.name, "", CallState.PLANNED))
            case ActAuthDecision():
                return self._judged(event)
            case ApprovalPending() | QuestionPending():
                return self.add_pending(event.item)
            case ApprovalResolved() | QuestionResolved():
                return self._resolved(event)
            case ToolStarted():
                return self._started(event)
            case ToolProgress():
                return self._progressed(event)
            case ToolResultEvent():
                return self._ended(event)
            case AgentStarted():
                call = self._calls.get(event.tool_use_id)
                return self._put(replace(call, child_id=event.child_id)) if call else None
            case _:
                return None

    def _put(self, call: CallItem) -> CallItem:
        self._calls[call.key] = call
        return call

    def _judged(self, event: ActAuthDecision) -> CallItem | None:
        call = self._calls.get(event.tool_use_id)
        if call is None:
            return None
        verdict = Verdict(event.action, event.source, event.reason, event.rule, event.stop)
        match event.action:
            case Action.ALLOW:
                state = CallState.APPROVED
            case Action.DENY:
                state = CallState.DENIED
            case Action.ASK | Action.PENDING:
                state = CallState.ASKED
            case _:
                assert_never(event.action)
        return self._put(replace(call, verdict=verdict, state=state))

    def _resolved(self, event: ApprovalResolved | QuestionResolved) -> CallItem | None:
        call = self._calls.get(event.tool_use_id)
        if call is None:
            return None
        state = call.state
        if state is CallState.ASKED and event.choice == "approve":
            state = CallState.APPROVED
        elif state is CallState.ASKED and event.choice == "deny":
            state = CallState.DENIED
        return self._put(replace(call, state=state, pending_id=None, comment=event.comment))

    def _started(self, event: ToolStarted) -> CallItem:
        call = self._calls.get(event.tool_use_id) or CallItem(
            event.tool_use_id, event.tool, "", CallState.PLANNED
        )
        return self._put(
            replace(
                call,
                tool=event.tool,
                subject=subject_of(event.input) or event.subject or call.subject,
                state=CallState.STARTED,
                input=event.input,
                started=event.time,
                pending_id=None,
            )
        )

    def _progressed(self, event: ToolProgress) -> CallItem | None:
        call = self._calls.get(event.tool_use_id)
        if call is None or call.state.is_settled:
            return None
        tail = (call.output + event.text)[-LONGEST_TAIL:]
        return self._put(replace(call, output=tail, total_bytes=event.total_bytes))

    def _ended(self, event: ToolResultEvent) -> CallItem:
        call = self._calls.get(event.tool_use_id) or CallItem(
            event.tool_use_id, event.tool, "", CallState.PLANNED
        )
        return self._put(
            replace(
                call,
                state=call_state_of(event.outcome),
                output=event.content,
                details=event.details,
                duration=event.duration,
                pending_id=None,
            )
        )
