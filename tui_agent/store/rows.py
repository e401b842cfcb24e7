"""Between rows and records, in both directions.

Structured columns are JSON text. Text that cannot be stored as UTF-8 is made storable on the way
in: two surrogate halves that belong together become the character they mean, a lone one becomes the
six visible characters of its escape (a backslash, `u`, four hexadecimal digits). What is read back
is then always valid text; nothing is dropped. A row that cannot be read raises `StoreError`.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TypeVar

from tui_agent.text.surrogates import safe_surrogates
from tui_agent.vocabulary.agents import Limits, ModelChoice
from tui_agent.vocabulary.blocks import Json, Outcome, text_of, tool_uses
from tui_agent.vocabulary.codec import (
    blocks_from_json,
    parts_from_json,
    to_json,
    usage_from_json,
)
from tui_agent.vocabulary.decisions import (
    Action,
    Choice,
    Decision,
    PendingItem,
    PendingKind,
    Scope,
    Source,
    Verdict,
)
from tui_agent.vocabulary.errors import StoreError
from tui_agent.vocabulary.messages import Message, Origin, StopReason
from tui_agent.vocabulary.records import (
    Boundary,
    Clearing,
    Partial,
    SessionRecord,
    ToolRun,
    TurnRecord,
)
from tui_agent.vocabulary.rules import Rules
from tui_agent.vocabulary.states import CallState, DoneReason, Mode, Trigger
from tui_agent.vocabulary.usage import Usage

T = TypeVar("T")

_SURROGATES = re.compile(r"[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")
_SEARCHED = frozenset({Origin.USER, Origin.ASSISTANT, Origin.SUMMARY})


def dump(value: object) -> str:
    """Any value of the vocabulary as JSON text, without surrogates even when it is read back."""
    text = json.dumps(to_json(value), ensure_ascii=False, separators=(",", ":"))
    if text.isascii():
        return text
    # a doubled backslash, so that reading gives the visible escape and not the surrogate again
    return _SURROGATES.sub(_escape_in_json, text)


def _escape_in_json(match: re.Match[str]) -> str:
    found = safe_surrogates(match[0])
    return found.replace("\\", "\\\\")


def insert(
    connection: sqlite3.Connection, table: str, row: Mapping[str, object], *, or_else: str = ""
) -> None:
    """Insert `row`; `or_else` may be `OR REPLACE`. Table and columns are names from our code."""
    columns = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join("?" * len(row))
    statement = f"INSERT {or_else} INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608 - our names
    connection.execute(statement, _storable(row))


def update(
    connection: sqlite3.Connection, table: str, row: Mapping[str, object], where: str, *keys: object
) -> int:
    """Update the rows that `where` (SQL of ours) selects; returns how many there were."""
    columns = ", ".join(f'"{name}" = ?' for name in row)
    statement = f"UPDATE {table} SET {columns} WHERE {where}"  # noqa: S608 - our names
    return connection.execute(statement, (*_storable(row), *keys)).rowcount


def _storable(row: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(safe_surrogates(v) if isinstance(v, str) else v for v in row.values())


def marks(count: int) -> str:
    """Place holders for a list of `count` values."""
    return ", ".join("?" * count)


def _reads(what: str) -> Callable[[Callable[[sqlite3.Row], T]], Callable[[sqlite3.Row], T]]:
    def decorate(function: Callable[[sqlite3.Row], T]) -> Callable[[sqlite3.Row], T]:
        @wraps(function)
        def read(row: sqlite3.Row) -> T:
            try:
                return function(row)
            except (ValueError, KeyError, TypeError) as error:
                raise StoreError(f"A stored {what} is damaged: {error}.") from error

        return read

    return decorate


def _load(text: str | None) -> Json:
    return None if text is None else json.loads(text)


# --- usage ---------------------------------------------------------------------------------------

USAGE_SUMS = """
    SUM(input_tokens) AS input_tokens, SUM(output_tokens) AS output_tokens,
    SUM(cache_read_tokens) AS cache_read_tokens, SUM(cache_write_tokens) AS cache_write_tokens,
    SUM(reasoning_tokens) AS reasoning_tokens"""
"""SQL that adds usage up as `Usage.__add__` does: what nobody reported stays unknown."""


def usage_row(usage: Usage | None) -> dict[str, object]:
    """The five columns of a usage."""
    usage = usage or Usage()
    return {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
        "reasoning_tokens": usage.reasoning,
    }


def usage_of(row: sqlite3.Row) -> Usage:
    """Usage from its five columns."""
    return Usage(
        row["input_tokens"],
        row["output_tokens"],
        row["cache_read_tokens"],
        row["cache_write_tokens"],
        row["reasoning_tokens"],
    )


# --- sessions and turns ---------------------------------------------------------------------------


def session_row(record: SessionRecord) -> dict[str, object]:
    """A session as columns."""
    return {
        "id": record.id,
        "folder": record.folder,
        "root_id": record.root_id,
        "parent_id": record.parent_id,
        "parent_tool_use_id": record.parent_tool_use_id,
        "forked_from": record.forked_from,
        "title": record.title,
        "agent": record.agent,
        "mode": record.mode.value,
        "provider": record.model.provider,
        "model": record.model.model,
        "base_url": record.model.base_url,
        "extra_folders": dump(record.extra_folders),
        "system_prompt": record.system_prompt,
        "append_system_prompt": record.append_system_prompt,
        "limits": dump(record.limits),
        "rules": dump(record.rules),
        "created": record.created,
        "updated": record.updated,
    }


@_reads("session")
def session_of(row: sqlite3.Row) -> SessionRecord:
    """A session from its row."""
    rules = _load(row["rules"])
    return SessionRecord(
        id=row["id"],
        folder=row["folder"],
        model=ModelChoice(row["provider"], row["model"], row["base_url"]),
        root_id=row["root_id"],
        created=row["created"],
        updated=row["updated"],
        title=row["title"],
        agent=row["agent"],
        mode=Mode(row["mode"]),
        parent_id=row["parent_id"],
        parent_tool_use_id=row["parent_tool_use_id"],
        forked_from=row["forked_from"],
        extra_folders=tuple(_load(row["extra_folders"])),
        system_prompt=row["system_prompt"],
        append_system_prompt=row["append_system_prompt"],
        limits=Limits(**_load(row["limits"])),
        rules=Rules(**{name: tuple(listed) for name, listed in rules.items()}),
    )


def turn_row(turn: TurnRecord) -> dict[str, object]:
    """A turn as columns."""
    return {
        "id": turn.id,
        "session_id": turn.session_id,
        "trigger": turn.trigger.value,
        "resumes": turn.resumes,
        "started": turn.started,
        "ended": turn.ended,
        "reason": None if turn.reason is None else turn.reason.value,
        "cause": turn.cause,
        "rounds": turn.rounds,
        **usage_row(turn.usage),
    }


@_reads("turn")
def turn_of(row: sqlite3.Row) -> TurnRecord:
    """A turn from its row."""
    return TurnRecord(
        id=row["id"],
        session_id=row["session_id"],
        trigger=Trigger(row["trigger"]),
        started=row["started"],
        resumes=row["resumes"],
        ended=row["ended"],
        reason=None if row["reason"] is None else DoneReason(row["reason"]),
        cause=row["cause"],
        usage=usage_of(row),
        rounds=row["rounds"],
    )


# --- messages -------------------------------------------------------------------------------------


def message_row(session_id: str, message: Message) -> dict[str, object]:
    """A message as columns."""
    visible = text_of(message.blocks) if message.origin in _SEARCHED else ""
    return {
        "session_id": session_id,
        "seq": message.seq,
        "id": message.id,
        "role": message.role,
        "origin": message.origin.value,
        "created": message.created,
        "turn_id": message.turn_id,
        "provider": message.provider,
        "model": message.model,
        "usage": None if message.usage is None else dump(message.usage),
        "stop_reason": None if message.stop_reason is None else message.stop_reason.value,
        "cut": message.cut,
        "calls": len(tool_uses(message.blocks)),
        "text": visible,
        "blocks": dump(message.blocks),
    }


@_reads("message")
def message_of(row: sqlite3.Row) -> Message:
    """A message from its row."""
    return Message(
        id=row["id"],
        role=row["role"],
        blocks=blocks_from_json(_load(row["blocks"])),
        origin=Origin(row["origin"]),
        created=row["created"],
        seq=row["seq"],
        turn_id=row["turn_id"],
        provider=row["provider"],
        model=row["model"],
        usage=usage_from_json(_load(row["usage"])),
        stop_reason=None if row["stop_reason"] is None else StopReason(row["stop_reason"]),
        cut=bool(row["cut"]),
    )


def boundary_row(boundary: Boundary, usage: Usage | None) -> dict[str, object]:
    """A compaction boundary as columns."""
    return {
        "session_id": boundary.session_id,
        "summary_message_id": boundary.summary_message_id,
        "kept_from": boundary.kept_from,
        "trigger": boundary.trigger,
        "tokens_before": boundary.tokens_before,
        "tokens_after": boundary.tokens_after,
        "created": boundary.created,
        **usage_row(usage),
    }


def clearing_row(session_id: str, clearing: Clearing) -> dict[str, object]:
    """A clearing as columns."""
    return {
        "session_id": session_id,
        "tool_use_ids": dump(list(clearing.tool_use_ids)),
        "first_seq": clearing.first_seq,
        "newest_seq": clearing.newest_seq,
    }


@_reads("clearing")
def clearing_of(row: sqlite3.Row) -> Clearing:
    """A clearing from its row."""
    ids = tuple(map(str, _load(row["tool_use_ids"])))
    return Clearing(ids, row["first_seq"], row["newest_seq"])


@_reads("compaction boundary")
def boundary_of(row: sqlite3.Row) -> Boundary:
    """A compaction boundary from its row."""
    return Boundary(
        session_id=row["session_id"],
        summary_message_id=row["summary_message_id"],
        kept_from=row["kept_from"],
        trigger=row["trigger"],
        tokens_before=row["tokens_before"],
        tokens_after=row["tokens_after"],
        created=row["created"],
    )


@_reads("partial reply")
def partial_of(row: sqlite3.Row) -> Partial:
    """A partial reply from its row."""
    return Partial(
        session_id=row["session_id"],
        turn_id=row["turn_id"],
        model_call_id=row["model_call_id"],
        text=row["text"],
        thinking=row["thinking"],
        updated=row["updated"],
    )


# --- calls and decisions --------------------------------------------------------------------------


def run_row(run: ToolRun) -> dict[str, object]:
    """A call of a batch as columns."""
    return {
        "session_id": run.session_id,
        "tool_use_id": run.tool_use_id,
        "message_id": run.message_id,
        "position": run.position,
        "name": run.name,
        "input": dump(run.input),
        "state": run.state.value,
        "problem": run.problem,
        "verdict": None if run.verdict is None else dump(run.verdict),
        "comment": run.comment,
        "answers": None if run.answers is None else dump(run.answers),
        "digest": run.digest,
        "attempt": run.attempt,
        "started": run.started,
        "ended": run.ended,
        "outcome": None if run.outcome is None else run.outcome.value,
        "content": dump(run.content),
        "details": dump(run.details),
        "ends_turn": run.ends_turn,
        "child_id": run.child_id,
        "turn_id": run.turn_id,
    }


@_reads("tool call")
def run_of(row: sqlite3.Row) -> ToolRun:
    """A call of a batch from its row."""
    return ToolRun(
        session_id=row["session_id"],
        tool_use_id=row["tool_use_id"],
        message_id=row["message_id"],
        position=row["position"],
        name=row["name"],
        input=_load(row["input"]),
        state=CallState(row["state"]),
        problem=row["problem"],
        verdict=_verdict_of(_load(row["verdict"])),
        comment=row["comment"],
        answers=_load(row["answers"]),
        digest=row["digest"],
        attempt=row["attempt"],
        started=row["started"],
        ended=row["ended"],
        outcome=None if row["outcome"] is None else Outcome(row["outcome"]),
        content=parts_from_json(_load(row["content"])),
        details=_load(row["details"]),
        ends_turn=bool(row["ends_turn"]),
        child_id=row["child_id"],
        turn_id=row["turn_id"],
    )


def _verdict_of(data: Json) -> Verdict | None:
    if data is None:
        return None
    return Verdict(
        Action(data["action"]), Source(data["source"]), data["reason"], data["rule"], data["stop"]
    )


def pending_row(item: PendingItem) -> dict[str, object]:
    """An open item as columns."""
    return {
        "pending_id": item.pending_id,
        "session_id": item.session_id,
        "tool_use_id": item.tool_use_id,
        "agent_path": dump(item.agent_path),
        "kind": item.kind.value,
        "tool": item.tool,
        "input": dump(item.input),
        "preview": dump(item.preview),
        "reason": item.reason,
        "digest": item.digest,
        "rule": item.rule,
        "folder": item.folder,
        "created": item.created,
        "agent": item.agent,
        "details": dump(item.details),
    }


@_reads("pending item")
def pending_of(row: sqlite3.Row) -> PendingItem:
    """A pending item from its row."""
    return PendingItem(
        pending_id=row["pending_id"],
        session_id=row["session_id"],
        agent_path=tuple(_load(row["agent_path"])),
        kind=PendingKind(row["kind"]),
        tool=row["tool"],
        tool_use_id=row["tool_use_id"],
        input=_load(row["input"]),
        preview=_load(row["preview"]),
        reason=row["reason"],
        digest=row["digest"],
        rule=row["rule"],
        folder=row["folder"],
        created=row["created"],
        agent=row["agent"],
        details=_load(row["details"]),
    )


@_reads("decision")
def decision_of(row: sqlite3.Row) -> Decision | None:
    """The decision in the row of a pending item; `None` when it has none."""
    data = _load(row["decision"])
    if data is None:
        return None
    return Decision(
        choice=Choice(data["choice"]),
        comment=data["comment"],
        stop=data["stop"],
        scope=Scope(data["scope"]),
        edited_input=data["edited_input"],
        answers=data["answers"],
        rule=data["rule"],
        source=Source(data["source"]),
    )
