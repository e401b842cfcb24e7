"""People do things in any order. Whatever they do, and however often the program is closed and
opened in between: every request is one that a strict provider accepts, no command runs twice, none
runs that nobody approved, every trace is honest, and in the end the session comes to rest and takes
a prompt.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

from tests.scripted.plugin import StartScripted
from tests.scripted.request import ParsedRequest
from tests.scripted.script import Answer, Call, Fail, Pause, Reply, Say, Step, Think
from tests.workspace.kit import APPROVE, PLAIN_NO, Desk, Place, bash, no_because
from tui_agent.vocabulary.decisions import Choice, Decision, PendingItem, PendingKind
from tui_agent.vocabulary.errors import UserError
from tui_agent.vocabulary.states import Phase

QUESTION = {"question": "Which?", "options": [{"label": "one"}, {"label": "two"}]}
MOST_REPLIES = 60


@dataclass
class Whims:
    """A model and a person without plan or memory, but the same for the same seed."""

    chance: random.Random
    tokens: int = 0
    replies: int = 0
    approved: set[str] = field(default_factory=set)

    def reply(self, request: ParsedRequest) -> Answer:
        self.replies += 1
        roll = self.chance.random()
        if self.replies > MOST_REPLIES or "finish" in request.last_user_text:
            return Reply([Say("The end.")])
        if roll < 0.05:
            return Fail(529, headers={"retry-after": "0"})
        steps: list[Step] = []
        if roll < 0.5:
            steps.append(Think("Hm."))
        if roll > 0.3:
            steps.append(Say("I say something. ", chunk=4, delay=self.chance.choice([0, 0.002])))
        if self.chance.random() < 0.65:
            steps += [self.call(request) for _ in range(self.chance.randint(1, 3))]
        if self.chance.random() < 0.2:
            steps.insert(0, Pause(0.03))
        return Reply(steps or [Say("Nothing.")])

    def call(self, request: ParsedRequest) -> Call:
        self.tokens += 1
        token = f"t{self.tokens}"
        kinds = ["bash", "bash", "slow", "glob", "write", "unknown"]
        if "Task" in request.tool_names:
            kinds.append("task")
        if "AskUserQuestion" in request.tool_names:
            kinds.append("ask")
        match self.chance.choice(kinds):
            case "bash":
                return Call("Bash", bash(f"echo {token} >> log.txt"))
            case "slow":
                return Call("Bash", bash(f"echo {token} >> log.txt; sleep 0.05"))
            case "glob":
                return Call("Glob", {"pattern": f"*{token}*"})
            case "write":
                return Call("Write", {"file_path": f"{token}.txt", "content": token})
            case "task":
                given = {
                    "description": token,
                    "prompt": f"child {token}",
                    "subagent_type": self.chance.choice(["general-purpose", "explore"]),
                }
                return Call("Task", given)
            case "ask":
                return Call("AskUserQuestion", {"questions": [QUESTION]})
            case _:
                return Call("Nonsense", {"x": token})

    def decision(self, item: PendingItem) -> Decision:
        roll = self.chance.random()
        if roll < 0.12:
            return PLAIN_NO
        if roll < 0.3:
            return no_because("no")
        if item.kind is PendingKind.QUESTION:
            return Decision(Choice.ANSWER, answers={"Which?": "two"})
        return APPROVE


async def decide_one(desk: Desk, whims: Whims) -> None:
    items = await desk.workspace.pending()
    if not items:
        return
    item = whims.chance.choice(items)
    decision = whims.decision(item)
    if decision.choice is Choice.APPROVE and item.tool == "Bash":
        whims.approved.add(str(item.input["command"]).split()[1])
    await desk.decide(item, decision)


async def do_something(desk: Desk, session: str, whims: Whims) -> None:
    """One thing that a person may do now; being told that it cannot be done is fine."""
    workspace, chance = desk.workspace, whims.chance
    what = chance.choices(
        ["decide", "wait", "prompt", "later", "interrupt", "resume", "discard", "look", "compact"],
        [40, 20, 8, 5, 4, 6, 2, 5, 2],
    )[0]
    try:
        match what:
            case "decide":
                await decide_one(desk, whims)
            case "wait":
                await asyncio.sleep(chance.choice([0, 0.005, 0.05]))
            case "prompt" | "later":
                await workspace.submit(session, f"do {what}", after_turn=what == "later")
            case "interrupt":
                await workspace.interrupt(session)
            case "resume":
                await workspace.resume(session)
            case "discard":
                await workspace.discard_open(session)
            case "compact":
                await workspace.compact(session)
            case _:
                await desk.snapshot(session)
    except UserError:
        pass  # one line for the person, and nothing has changed


async def come_to_rest(desk: Desk, session: str, whims: Whims) -> None:
    """Answer and go on until nothing is left."""
    async with asyncio.timeout(60):
        while True:
            shot = await desk.snapshot(session)
            if shot.phase is Phase.IDLE and not shot.pending:
                return
            if shot.pending:
                await decide_one(desk, whims)
            elif shot.phase is Phase.REQUIRES_ACTION:
                try:
                    await desk.workspace.resume(session)
                except UserError:
                    pass  # it began to run by itself in between
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_people_do_in_any_order(
    place: Place, scripted: StartScripted, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    whims = Whims(random.Random(seed))
    server = await scripted(whims.reply)
    place.speak(server, ["anthropic", "chat"][seed % 2])
    log = place.folder / "log.txt"
    session = ""
    for _ in range(3):
        async with place.opened() as desk:
            if session:
                await desk.snapshot(session)
            else:
                session = await desk.begin("do as you like")
            for _ in range(25):
                await do_something(desk, session, whims)
    async with place.opened() as desk:
        whims.replies = MOST_REPLIES
        await come_to_rest(desk, session, whims)
        await desk.workspace.submit(session, "finish")
        await come_to_rest(desk, session, whims)
        shot = await desk.snapshot(session)
        assert shot.messages[-1].role == "assistant"
        assert shot.queue == ()
        assert shot.turns[-1].reason is not None
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
    ran = Counter(log.read_text().split()) if log.exists() else Counter()
    assert [token for token, times in ran.items() if times > 1] == []
    assert set(ran) <= whims.approved
