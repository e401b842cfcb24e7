"""The JSON that listings and runs print: stable names for scripts.

In come values of the vocabulary, out go JSON values. `dumps` writes ASCII only, so that no text of
a model reaches a terminal as a control sequence.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from tui_agent.vocabulary.blocks import Json
from tui_agent.vocabulary.codec import to_json
from tui_agent.vocabulary.decisions import PendingItem
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.records import SessionSnapshot, SessionSummary
from tui_agent.vocabulary.states import Phase


def dumps(value: Json, *, indent: int | None = None) -> str:
    """`value` as JSON text in ASCII, on one line unless `indent` says otherwise."""
    return json.dumps(value, ensure_ascii=True, indent=indent)


def session_shape(summary: SessionSummary) -> dict[str, Json]:
    """One session of `sessions list` and `sessions search`."""
    return {
        "id": summary.id,
        "title": summary.title,
        "folder": summary.folder,
        "state": summary.phase.value,
        "created": summary.created,
        "updated": summary.updated,
        "messages": summary.messages,
        "usage": to_json(summary.usage),
        "pending": summary.pending,
        "parent_id": summary.parent_id,
    }


def pending_shape(item: PendingItem) -> dict[str, Json]:
    """One open item of `approvals list`."""
    return {
        "pending_id": item.pending_id,
        "session_id": item.session_id,
        "agent_path": list(item.agent_path),
        "kind": item.kind.value,
        "tool": item.tool,
        "input": to_json(item.input),
        "preview": to_json(item.preview),
        "created": item.created,
    }


def pending_shapes(items: Iterable[PendingItem]) -> list[Json]:
    """Several open items."""
    return [pending_shape(item) for item in items]


def snapshot_shape(snapshot: SessionSnapshot, messages: Iterable[Message]) -> dict[str, Json]:
    """`sessions show`: the session with all of its `messages`."""
    session = to_json(snapshot.session)
    session["state"] = snapshot.phase.value
    if snapshot.phase is Phase.REQUIRES_ACTION:
        session["waiting_for"] = snapshot.waiting_for
    return {
        "session": session,
        "turns": to_json(snapshot.turns),
        "messages": to_json(messages),
        "tool_runs": to_json(snapshot.tool_runs),
        "pending": pending_shapes(snapshot.pending),
    }
