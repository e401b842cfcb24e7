"""Taking an answer, once: the item, its call and, after a plain No, the call's siblings move in one
unit, whichever process decides."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from tui_agent.store import batches, desk, pending
from tui_agent.store.rows import dump, update
from tui_agent.store.values import Decided
from tui_agent.vocabulary.blocks import ContentPart, Outcome, TextBlock
from tui_agent.vocabulary.decisions import (
    Action,
    Choice,
    Decision,
    Grant,
    PendingItem,
    PendingKind,
    Verdict,
)
from tui_agent.vocabulary.errors import UsageError
from tui_agent.vocabulary.records import ToolRun
from tui_agent.vocabulary.states import CallState

_ANSWERS = {Choice.APPROVE: "approved", Choice.DENY: "denied", Choice.ANSWER: "answered"}
NOT_RUN = (TextBlock("Not run: another call of the same reply was denied."),)


def decide(
    connection: sqlite3.Connection,
    pending_id: str,
    decision: Decision,
    *,
    at: float,
    settle_siblings: bool,
    digest: str | None,
    content: Sequence[ContentPart],
    sibling_content: Sequence[ContentPart],
    grants: Sequence[Grant],
) -> Decided:
    """Apply `decision` if the item is still open and its call still asked.

    `digest` is that of the edited input; `content` what the model reads about a denial. Raises
    `NotFoundError`, and `UsageError` for an answer of the wrong kind (the item then stays open).
    """
    entry = pending.entry(connection, pending_id)
    item = entry.item
    _check_kind(item, decision)
    run = batches.get(connection, item.session_id, item.tool_use_id)
    if entry.resolved is not None:
        answer = entry.decision
        how = f"answered: {_ANSWERS[answer.choice]}" if answer else f"closed: {entry.why}"
        return Decided(False, item, f"This is already {how}.", run)
    if run.state is not CallState.ASKED:
        return Decided(
            False, item, f"Nobody waits for this any more: its call is {run.state}.", run
        )
    row = {"resolved": at, "decision": dump(decision)}
    update(connection, "pending", row, "pending_id = ? AND resolved IS NULL", pending_id)
    verdict = Verdict(
        Action.DENY if decision.choice is Choice.DENY else Action.ALLOW,
        decision.source,
        decision.comment or "",
        decision.rule,
        decision.stops_turn,
    )
    settled: tuple[ToolRun, ...] = ()
    if decision.choice is Choice.DENY:
        _deny(connection, replace(run, verdict=verdict), decision, content, at)
        if settle_siblings and decision.stops_turn:
            settled = _settle_siblings(connection, run, sibling_content or NOT_RUN, at)
    else:
        _approve(connection, run, verdict, decision, digest)
    for grant in grants:
        desk.add_grant(connection, grant)
    run = batches.get(connection, item.session_id, item.tool_use_id)
    return Decided(True, item, "", run, settled)


def _check_kind(item: PendingItem, decision: Decision) -> None:
    if decision.choice is Choice.DENY:
        return
    if (item.kind is PendingKind.QUESTION) != (decision.choice is Choice.ANSWER):
        expected = "answered" if item.kind is PendingKind.QUESTION else "approved"
        raise UsageError(f"This can be {expected} or denied.")


def _approve(
    connection: sqlite3.Connection,
    run: ToolRun,
    verdict: Verdict,
    decision: Decision,
    digest: str | None,
) -> None:
    row: dict[str, object] = {
        "state": CallState.APPROVED.value,
        "verdict": dump(verdict),
        "comment": decision.comment,
    }
    if decision.edited_input is not None:
        row["input"] = dump(decision.edited_input)
    if digest is not None:
        row["digest"] = digest
    if decision.answers is not None:
        row["answers"] = dump(decision.answers)
    batches.move(connection, run.session_id, run.tool_use_id, row, [CallState.ASKED])


def _deny(
    connection: sqlite3.Connection,
    run: ToolRun,
    decision: Decision,
    content: Sequence[ContentPart],
    at: float,
) -> None:
    denied = replace(
        run,
        state=CallState.DENIED,
        outcome=Outcome.DENIED,
        content=tuple(content) or (TextBlock("Denied."),),
        comment=decision.comment,
        ended=at,
    )
    batches.settle(connection, denied, [CallState.ASKED], "denied")


def _settle_siblings(
    connection: sqlite3.Connection, denied: ToolRun, content: Sequence[ContentPart], at: float
) -> tuple[ToolRun, ...]:
    settled = []
    for run in batches.runs(connection, denied.session_id, (denied.message_id,)):
        if run.state not in batches.UNDECIDED or run.tool_use_id == denied.tool_use_id:
            continue
        ended = replace(
            run,
            state=CallState.CANCELLED,
            outcome=Outcome.NOT_RUN,
            content=tuple(content),
            ended=at,
        )
        batches.settle(connection, ended, batches.UNDECIDED, "a call beside it was denied")
        settled.append(batches.get(connection, run.session_id, run.tool_use_id))
    return tuple(settled)
