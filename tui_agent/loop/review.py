"""Looking up, checking and judging the calls of a batch before any of them runs.

An unknown tool or a bad input is an error result and never reaches the gate. Verdicts and asks are
one transaction; only then is anyone told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tui_agent.gate.digest import call_digest
from tui_agent.gate.judge import Call, exact_rule, judge
from tui_agent.loop.batch import Batch
from tui_agent.loop.told import result_event
from tui_agent.loop.turn import Turn, to_its_end
from tui_agent.rules.syntax import Rule, Subject, forbidden_reads
from tui_agent.tools.base import NO_EFFECTS, Effects, Tool, ToolContext, ToolError
from tui_agent.tools.names import ASK_USER_QUESTION, BASH, TASK
from tui_agent.vocabulary.blocks import Outcome, TextBlock
from tui_agent.vocabulary.decisions import Action, PendingItem, PendingKind, Source, Verdict
from tui_agent.vocabulary.events import (
    ActAuthDecision,
    ApprovalPending,
    QuestionPending,
)
from tui_agent.vocabulary.ids import new_id
from tui_agent.vocabulary.records import ToolRun
from tui_agent.vocabulary.states import CallState

NOBODY_APPROVES = "Denied: this run has nobody to approve the call."
NOBODY_ANSWERS = (
    "Nobody is there to answer questions. Decide for yourself, and say what you assumed."
)
CHANGED = "what it would touch has changed since you approved it"


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """A call with its tool, its validated input and what it touches."""

    tool: Tool[Any]
    args: Any
    effects: Effects


async def review(turn: Turn, batch: Batch) -> frozenset[str]:
    """Judge every call of `batch` that has not met the gate, store it all, then announce it; the
    ids of those calls."""
    planned = batch.planned
    if not planned:
        return frozenset()
    grants: Sequence[Rule] = ()
    if any(run.tool_use_id not in turn.early for run in planned):
        await turn.refresh()
        grants = await turn.services.grants.granted(turn.session)
    reviewed: list[ToolRun] = []
    asks: list[PendingItem] = []
    for run in planned:
        outcome, ask = _review_call(turn, run, grants)
        reviewed.append(outcome)
        if ask is not None:
            asks.append(ask)
    await to_its_end(_record(turn, reviewed, asks))
    return frozenset(run.tool_use_id for run in planned)


async def review_again(turn: Turn, approved: Sequence[ToolRun]) -> bool:
    """Judge calls that were approved a while ago and are about to run, by what holds now: rules,
    the mode and what a path leads to may have changed. A Yes of a person satisfies an ask and
    outweighs no denial, and it counts for what was shown. Tells whether any call is affected."""
    await turn.refresh()
    grants = await turn.services.grants.granted(turn.session)
    changed: list[ToolRun] = []
    asks: list[PendingItem] = []
    for run in approved:
        if (judged := _judged_again(turn, run, grants)) is None:
            continue
        changed.append(judged[0])
        if judged[1] is not None:
            asks.append(judged[1])
    if changed:
        await to_its_end(_record(turn, changed, asks))
    return bool(changed)


def _judged_again(
    turn: Turn, run: ToolRun, grants: Sequence[Rule]
) -> tuple[ToolRun, PendingItem | None] | None:
    try:
        checked = check(turn, run)
    except ToolError:
        return None  # whoever runs it says what is wrong
    verdict = judge(gate_call(turn, run, checked), turn.rules, grants)
    digest = digest_of(turn, run, checked)
    is_same = digest == run.digest
    by_person = run.verdict is not None and run.verdict.source is Source.PERSON
    if verdict.action is not Action.DENY:
        if is_same and (by_person or verdict.action is Action.ALLOW):
            return None
        if by_person:
            verdict = Verdict(Action.ASK, Source.DEFAULT, CHANGED)
    return _with_verdict(turn, replace(run, digest=digest, comment=None), checked, verdict)


async def _record(turn: Turn, reviewed: list[ToolRun], asks: list[PendingItem]) -> None:
    stored = await turn.store.record_review(turn.session.id, reviewed, asks)
    _announce(turn, stored, {ask.tool_use_id: ask for ask in asks})


def check(turn: Turn, run: ToolRun) -> CheckedCall:
    """Look up and validate one call. Raises `ToolError` whose text is for the model."""
    if run.problem is not None:
        raise ToolError(run.problem)
    tools = turn.services.tools
    tool = tools.get(run.name)
    offered = {schema.name for schema in turn.tool_schemas()}
    if tool.name not in offered:
        raise ToolError(
            f"{run.name} is not available here. The tools are: {', '.join(sorted(offered))}"
        )
    args = tools.validate(run.name, run.input)
    return CheckedCall(tool, args, tool.effects(args, context_for(turn, run)))


def effects_of(turn: Turn, run: ToolRun) -> Effects:
    """What a call touches; a call that cannot be checked will not run and touches nothing."""
    try:
        return check(turn, run).effects
    except ToolError:
        return NO_EFFECTS


def context_for(turn: Turn, run: ToolRun) -> ToolContext:
    """Where and for whom a call runs."""
    return ToolContext(
        session_id=turn.session.id,
        tool_use_id=run.tool_use_id,
        folder=turn.folder,
        extra_folders=tuple(map(Path, turn.session.extra_folders)),
        spill_folder=turn.services.spill_folder,
        ledger=turn.ledger,
        environment=turn.services.environment,
        answers=run.answers,
        spawner=turn.spawner,
        child_id=run.child_id,
        hidden=forbidden_reads(turn.rules, turn.folder),
    )


def digest_of(turn: Turn, run: ToolRun, checked: CheckedCall) -> str:
    """What a decision on this call is bound to."""
    touched = checked.effects.reads | checked.effects.writes
    return call_digest(run.name, run.input, turn.session.folder, touched)


def subject_of(turn: Turn, run: ToolRun, checked: CheckedCall) -> Subject:
    """What rules are held against."""
    command = run.input.get("command") if checked.tool.name == BASH else None
    return Subject(
        checked.tool.name,
        turn.folder,
        command if isinstance(command, str) else None,
        checked.effects.reads,
        checked.effects.writes,
    )


def gate_call(turn: Turn, run: ToolRun, checked: CheckedCall) -> Call:
    """What the gate needs to know of a call."""
    return Call(
        subject=subject_of(turn, run, checked),
        folders=(turn.folder, *map(Path, turn.session.extra_folders)),
        mode=turn.session.mode,
        is_read_only=checked.tool.is_read_only,
        asks_person=checked.tool.name == ASK_USER_QUESTION,
        spawns_agent=checked.tool.name == TASK,
    )


def verdict_event(run: ToolRun) -> ActAuthDecision:
    """What is told of the judgement on a call that has met the gate."""
    if run.verdict is None:
        raise RuntimeError(f"the call {run.tool_use_id} was not judged")
    return ActAuthDecision(
        tool_use_id=run.tool_use_id,
        tool=run.name,
        action=run.verdict.action,
        source=run.verdict.source,
        reason=run.verdict.reason,
        rule=run.verdict.rule,
        stop=run.verdict.stop,
    )


def _review_call(
    turn: Turn, run: ToolRun, grants: Sequence[Rule]
) -> tuple[ToolRun, PendingItem | None]:
    if (early := turn.early.get(run.tool_use_id)) is not None:
        started = replace(run, digest=early.run.digest, verdict=early.run.verdict)
        return replace(started, state=CallState.APPROVED), None
    try:
        checked = check(turn, run)
    except ToolError as error:
        return _settled(turn, run, CallState.FAILED, Outcome.ERROR, str(error)), None
    verdict = judge(gate_call(turn, run, checked), turn.rules, grants)
    run = replace(run, digest=digest_of(turn, run, checked))
    return _with_verdict(turn, run, checked, verdict)


def _with_verdict(
    turn: Turn, run: ToolRun, checked: CheckedCall, verdict: Verdict
) -> tuple[ToolRun, PendingItem | None]:
    """The call as the verdict leaves it, and the ask that follows from it."""
    run = replace(run, verdict=verdict)
    match verdict.action:
        case Action.ALLOW:
            return replace(run, state=CallState.APPROVED), None
        case Action.DENY:
            text = f"Denied: {verdict.reason}."
            return _settled(turn, run, CallState.DENIED, Outcome.DENIED, text), None
        case Action.ASK | Action.PENDING:
            return _asked(turn, run, checked, verdict)


def _asked(
    turn: Turn, run: ToolRun, checked: CheckedCall, verdict: Verdict
) -> tuple[ToolRun, PendingItem | None]:
    is_question = checked.tool.name == ASK_USER_QUESTION
    if turn.policy_denies:
        policy = Verdict(Action.DENY, Source.POLICY, "nobody is there to decide")
        text = NOBODY_ANSWERS if is_question else NOBODY_APPROVES
        denied = replace(run, verdict=policy)
        return _settled(turn, denied, CallState.DENIED, Outcome.DENIED, text), None
    if not turn.services.presence.is_attended:
        run = replace(run, verdict=replace(verdict, action=Action.PENDING))
    try:
        preview = checked.tool.preview(checked.args, context_for(turn, run))
    except ToolError as error:
        return _settled(turn, run, CallState.FAILED, Outcome.ERROR, str(error)), None
    item = PendingItem(
        pending_id=new_id("ask"),
        session_id=turn.session.id,
        agent_path=turn.agent_path,
        kind=PendingKind.QUESTION if is_question else PendingKind.APPROVAL,
        tool=checked.tool.name,
        tool_use_id=run.tool_use_id,
        input=run.input,
        preview=preview,
        reason=verdict.reason,
        digest=run.digest or "",
        rule=None if is_question else exact_rule(subject_of(turn, run, checked)),
        folder=turn.session.folder,
        created=turn.now(),
        agent=turn.agent.name,
    )
    return replace(run, state=CallState.ASKED), item


def _settled(turn: Turn, run: ToolRun, state: CallState, outcome: Outcome, text: str) -> ToolRun:
    return replace(run, state=state, outcome=outcome, content=(TextBlock(text),), ended=turn.now())


def _announce(turn: Turn, runs: Sequence[ToolRun], asks: dict[str, PendingItem]) -> None:
    for run in runs:
        if run.verdict is not None and run.tool_use_id not in turn.early:
            turn.emit(verdict_event(run))
        item = asks.get(run.tool_use_id)
        if item is not None and run.state is CallState.ASKED:
            if item.kind is PendingKind.QUESTION:
                turn.emit(QuestionPending(pending_id=item.pending_id, item=item))
            else:
                turn.emit(ApprovalPending(pending_id=item.pending_id, item=item))
        if run.state.is_settled:
            turn.emit(result_event(run))
