"""The JSON that listings and runs print: stable names for scripts.

In come values of the vocabulary, out go JSON values. `dumps` writes ASCII only, so that no text of
a model reaches a terminal as a control sequence.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Final

from tui_agent.vocabulary.blocks import Json
from tui_agent.vocabulary.codec import to_json
from tui_agent.vocabulary.decisions import Grant, PendingItem
from tui_agent.vocabulary.records import SessionSnapshot, SessionSummary
from tui_agent.vocabulary.states import Phase
from tui_agent.workspace.api import Match, SessionUsage

EXPORT_FORMAT: Final = "tui-agent session"
EXPORT_VERSION: Final = 1
"""Raised when a reader of the last version would misread the next."""


def dumps(value: Json, *, indent: int | None = None) -> str:
    """`value` as JSON text in ASCII, on one line unless `indent` says otherwise. JSON has no number
    that is not finite: such a one, from a damaged row or a model, becomes its name as text."""
    try:
        return json.dumps(value, ensure_ascii=True, indent=indent, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=True, indent=indent, allow_nan=False)


def _finite(value: Json) -> Json:
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case Mapping():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case _:
            return value


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
    """One open item."""
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


def approval_shape(item: PendingItem, title: str) -> dict[str, Json]:
    """One open item with the session that it belongs to and its folder."""
    return {**pending_shape(item), "session_title": title, "folder": item.folder}


def pending_shapes(items: Iterable[PendingItem]) -> list[Json]:
    """Several open items."""
    return [pending_shape(item) for item in items]


def match_shape(match: Match) -> dict[str, Json]:
    """One session of `sessions search`: as in a listing, with the messages that fit."""
    hits = [
        {
            "session_id": hit.session_id,
            "message_id": hit.message_id,
            "seq": hit.seq,
            "created": hit.created,
            "snippet": hit.snippet,
            "matches": [list(place) for place in hit.matches],
        }
        for hit in match.hits
    ]
    return {**session_shape(match.session), "hits": hits}


def show_shape(snapshot: SessionSnapshot, usage: SessionUsage) -> dict[str, Json]:
    """`sessions show`: a snapshot that has the whole history."""
    session = to_json(snapshot.session)
    session["state"] = snapshot.phase.value
    if snapshot.phase is Phase.REQUIRES_ACTION:
        session["waiting_for"] = snapshot.waiting_for
    session["usage"] = to_json(usage.own)
    session["tree_usage"] = to_json(usage.tree)
    session["subagents"] = [session_shape(child) for child in snapshot.children]
    return {
        "session": session,
        "turns": to_json(snapshot.turns),
        "messages": to_json(snapshot.messages),
        "tool_runs": to_json(snapshot.tool_runs),
        "pending": pending_shapes(snapshot.pending),
    }


def export_shape(
    snapshot: SessionSnapshot, usage: SessionUsage, agents: list[Json]
) -> dict[str, Json]:
    """`sessions export --format json`: everything that is kept of a session. `agents` are its
    subagents, in the same shape."""
    return {
        "format": EXPORT_FORMAT,
        "schema_version": EXPORT_VERSION,
        **show_shape(snapshot, usage),
        "boundaries": to_json(snapshot.boundaries),
        "queue": to_json(snapshot.queue),
        "draft": snapshot.draft,
        "agents": agents,
    }


def grant_shape(grant: Grant, title: str | None) -> dict[str, Json]:
    """One standing permission of `permissions list`."""
    return {
        "id": grant.id,
        "rule": grant.rule,
        "scope": grant.scope.value,
        "folder": grant.folder,
        "session_id": grant.session_id,
        "session_title": title,
        "granted": grant.at,
    }
