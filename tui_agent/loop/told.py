"""Rows as the events that tell of them; pure functions, shared by everyone who stores one."""

from __future__ import annotations

from tui_agent.vocabulary.blocks import Outcome, text_of
from tui_agent.vocabulary.decisions import PendingItem, PendingKind
from tui_agent.vocabulary.events import (
    ApprovalResolved,
    Event,
    QuestionResolved,
    ToolResultEvent,
)
from tui_agent.vocabulary.records import ToolRun


def result_event(run: ToolRun) -> Event:
    """The event that a call has its outcome."""
    started = run.started if run.attempt else None
    return ToolResultEvent(
        tool_use_id=run.tool_use_id,
        tool=run.name,
        outcome=run.outcome or Outcome.UNKNOWN,
        content=text_of(run.content),
        details=run.details,
        duration=None if started is None or run.ended is None else run.ended - started,
    )


def resolved_event(item: PendingItem, choice: str | None, comment: str | None) -> Event:
    """The event that an item is no longer open; without a choice it was closed unanswered."""
    kind = QuestionResolved if item.kind is PendingKind.QUESTION else ApprovalResolved
    return kind(
        pending_id=item.pending_id,
        tool_use_id=item.tool_use_id,
        choice=choice,
        comment=comment,
        session_id=item.session_id,
        agent_path=item.agent_path,
    )
