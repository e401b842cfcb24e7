"""Rows as the events that tell of them; pure functions, shared by everyone who stores one."""

from __future__ import annotations

from collections.abc import Mapping

from tui_agent.tools.todo import TODOS
from tui_agent.vocabulary.blocks import Outcome, text_of
from tui_agent.vocabulary.decisions import PendingItem, PendingKind
from tui_agent.vocabulary.events import (
    ApprovalResolved,
    Event,
    QuestionResolved,
    TodoChanged,
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


def todo_event(run: ToolRun) -> Event | None:
    """The event that the todo list is another one, when this result holds a list."""
    items = run.details.get("items")
    if run.details.get("kind") != TODOS or not isinstance(items, list | tuple):
        return None
    return TodoChanged(items=tuple(item for item in items if isinstance(item, Mapping)))


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
