"""Taking a decision: checked, stored once, told, and the turn set going again.

An edited input enters judgement again from its schema: the ask counts as satisfied, a deny still
holds, and a bad edit leaves the item open. Works for a session that nobody runs as for a live one.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import Protocol

from tui_agent.gate.judge import exact_rule, judge
from tui_agent.loop.review import check, digest_of, gate_call, subject_of
from tui_agent.loop.told import resolved_event, result_event
from tui_agent.loop.turn import Turn
from tui_agent.rules.syntax import parse_rule
from tui_agent.store import Store
from tui_agent.store.values import PendingEntry
from tui_agent.tools.base import ToolError
from tui_agent.vocabulary.blocks import TextBlock
from tui_agent.vocabulary.decisions import (
    Action,
    Choice,
    Decision,
    Grant,
    PendingItem,
    Scope,
    Source,
)
from tui_agent.vocabulary.errors import UsageError, UserError
from tui_agent.vocabulary.events import Event
from tui_agent.vocabulary.ids import Clock
from tui_agent.vocabulary.records import SessionRecord, ToolRun
from tui_agent.workspace.api import DecideResult
from tui_agent.workspace.runner import SessionRunner
from tui_agent.workspace.watching import Heard

log = logging.getLogger(__name__)

PLAIN_NO = "The person said no and stopped the turn."


class Desk(Protocol):
    """What deciding needs of the workspace."""

    store: Store
    clock: Clock

    def publish(self, event: Event) -> None:
        """Put an event on the bus."""
        ...

    def runner(self, session_id: str) -> SessionRunner | None:
        """The live side of a session, if it has one."""
        ...

    async def probe(self, record: SessionRecord) -> Turn:
        """A turn that is never run, to judge in."""
        ...

    async def try_resume(self, session_id: str) -> bool:
        """Go on with the session, or with the one above that waits for it; false when another
        process runs it. Raises `UserError` for what stands in the way."""
        ...


@dataclass(frozen=True, slots=True)
class Deciding:
    """Applies decisions to pending items."""

    desk: Desk
    in_hand: set[str] = field(default_factory=set)
    """Items that are being answered here: told when they are."""

    async def decide(self, pending_id: str, decision: Decision) -> DecideResult:
        """Answer an item. Raises `NotFoundError`, and `UserError` when the decision cannot be taken
        as it is (the item then stays open)."""
        entry = await self.desk.store.pending_item(pending_id)
        item = entry.item
        if pending_id in self.in_hand:
            return DecideResult(False, "This is already being answered.", item)
        self.in_hand.add(pending_id)
        try:
            return await self._decide(entry, decision)
        finally:
            self.in_hand.discard(pending_id)

    async def hear(self, heard: Heard) -> None:
        """Tell what another process decided and set the turn going again."""
        item, decision = heard.entry.item, heard.entry.decision
        if decision is None or item.pending_id in self.in_hand:
            return
        told = {
            each.tool_use_id: await self.desk.store.tool_run(item.session_id, each.tool_use_id)
            for each in (item, *heard.closed)
        }
        if item.pending_id in self.in_hand:
            return
        self._tell(item, decision, told[item.tool_use_id])
        for sibling in heard.closed:
            self._tell(sibling, None, told[sibling.tool_use_id])
        await self._go_on(item, bool(await self._outstanding(item)))

    async def _decide(self, entry: PendingEntry, decision: Decision) -> DecideResult:
        item, pending_id = entry.item, entry.item.pending_id
        digest, rule = None, item.rule
        if decision.edited_input is not None and entry.resolved is None:
            digest, rule = await self._judge_edit(item, decision)
        root_id = item.agent_path[0]
        siblings = {
            other.tool_use_id: other
            for other in await self.desk.store.pending(session_id=item.session_id)
        }
        decided = await self.desk.store.decide(
            pending_id,
            decision,
            at=self.desk.clock.wall(),
            digest=digest,
            content=(TextBlock(denial_text(decision)),),
            grants=_grants(item, decision, rule, root_id, self.desk.clock.wall()),
        )
        if not decided.applied:
            return DecideResult(False, decided.why, item)
        self._tell(item, decision, decided.run)
        for run in decided.settled:
            self._tell(siblings.get(run.tool_use_id, item), None, run)
        outstanding = await self._outstanding(item)
        goes_on, obstacle = await self._go_on(item, bool(outstanding))
        return DecideResult(True, _message(decision), item, outstanding, goes_on, obstacle)

    async def _judge_edit(self, item: PendingItem, decision: Decision) -> tuple[str, str | None]:
        """What the decision is bound to, and the exact rule of the call as it was edited."""
        record = await self.desk.store.session(item.session_id)
        turn = await self.desk.probe(record)
        run = await self.desk.store.tool_run(item.session_id, item.tool_use_id)
        edited = replace(run, input=decision.edited_input or {}, problem=None)
        try:
            checked = check(turn, edited)
        except ToolError as error:
            raise UsageError(f"the edited input cannot be used: {error}") from error
        verdict = judge(gate_call(turn, edited, checked), turn.rules)
        if verdict.action is Action.DENY:
            raise UsageError(f"the edited call is not allowed: {verdict.reason}")
        return digest_of(turn, edited, checked), exact_rule(subject_of(turn, edited, checked))

    def _tell(self, item: PendingItem, decision: Decision | None, run: ToolRun | None) -> None:
        """That an item is answered, or closed by the answer to another one, and what that made of
        its call."""
        choice = decision.choice.value if decision is not None else None
        comment = decision.comment if decision is not None else None
        if run is None or run.tool_use_id == item.tool_use_id:
            self.desk.publish(resolved_event(item, choice, comment))
        is_let_run = decision is not None and decision.choice is not Choice.DENY
        if run is not None and run.state.is_settled and not is_let_run:
            live = self.desk.runner(item.session_id)
            turn = live.turn if live is not None else None  # without one it is told outside of any
            self.desk.publish(
                replace(
                    result_event(run),
                    session_id=item.session_id,
                    agent_path=item.agent_path,
                    turn_id=turn.id if turn is not None else None,
                )
            )

    async def _outstanding(self, item: PendingItem) -> tuple[PendingItem, ...]:
        """The open items of the same batch, those of the batch's subagents included."""
        store = self.desk.store
        batch = await store.open_batch(item.session_id)
        if batch is None:
            return ()
        siblings = {run.tool_use_id for run in batch[1]}
        children = {run.child_id for run in batch[1] if run.child_id is not None}
        return tuple(
            other
            for other in await store.pending(root_id=item.agent_path[0])
            if (other.session_id == item.session_id and other.tool_use_id in siblings)
            or children.intersection(other.agent_path)
        )

    async def _go_on(self, item: PendingItem, is_waiting: bool) -> tuple[bool, str]:
        """Wake the turn that waits for this item, or resume the tree that nobody runs: whether it
        goes on here, and what stands in the way when it could. The answer is kept either way."""
        live = [self.desk.runner(session_id) for session_id in item.agent_path]
        takers = [runner for runner in live if runner is not None and runner.wake()]
        if takers:
            return True, ""
        if is_waiting:
            return False, ""
        try:
            return await self.desk.try_resume(item.session_id), ""
        except UserError as error:
            log.info("%s does not go on: %s", item.session_id, error)
            return False, str(error)


def denial_text(decision: Decision) -> str:
    """What the model reads about a denial."""
    comment = (decision.comment or "").strip()
    if comment:
        return f"The person denied this call and said: {comment}"
    return PLAIN_NO if decision.stops_turn else "The person denied this call."


def _grants(
    item: PendingItem, decision: Decision, exact: str | None, root_id: str, now: float
) -> tuple[Grant, ...]:
    """What the answer allows from now on; without a rule of its own, the `exact` call. Raises
    `UserError` for a rule that cannot be read, and `UsageError` when there is no exact rule to
    store."""
    if decision.choice is not Choice.APPROVE or decision.scope is Scope.ONCE:
        return ()
    rule = decision.rule or exact
    if rule is None:
        raise UsageError(
            "no exact rule can be written for this call: allow it once, or name a rule"
        )
    parse_rule(rule)
    session_id = root_id if decision.scope is Scope.SESSION else None
    return (Grant(session_id, item.folder, rule, decision.scope, now),)


def _message(decision: Decision) -> str:
    who = "" if decision.source is Source.PERSON else f" by {decision.source}"
    match decision.choice:
        case Choice.APPROVE:
            return f"approved{who}"
        case Choice.DENY:
            return f"denied{who}, and the turn stops" if decision.stops_turn else f"denied{who}"
        case Choice.ANSWER:
            return f"answered{who}"
