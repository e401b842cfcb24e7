"""Calls that were approved a while before they run: what holds by then decides, and a Yes counts
for what was shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.loop.kit import APPROVE, Engine, call, calls, say
from tui_agent.rules.syntax import parse_rules
from tui_agent.vocabulary.blocks import Outcome
from tui_agent.vocabulary.decisions import Choice, Decision, PendingItem
from tui_agent.vocabulary.events import ToolResultEvent
from tui_agent.vocabulary.states import DoneReason, Mode

WRITE = call("w", "Write", file_path="here/file", content="new")


def outcomes(engine: Engine) -> dict[str, Outcome]:
    return {event.tool_use_id: event.outcome for event in engine.all(ToolResultEvent)}


async def items(engine: Engine) -> dict[str, PendingItem]:
    return {item.tool_use_id: item for item in await engine.workspace.pending()}


def folders(engine: Engine) -> tuple[Path, Path, Path]:
    """Two folders and a link that leads to the first."""
    root = Path(engine.workspace.folder)
    first, second, link = root / "first", root / "second", root / "here"
    first.mkdir()
    second.mkdir()
    link.symlink_to(first)
    return first, second, link


async def test_a_path_that_leads_elsewhere_by_now_is_asked_about_anew(tmp_path: Path) -> None:
    replies = [calls(WRITE, call("b", "Append", line="x")), say("done")]
    async with Engine.opened(tmp_path, replies, attended=False) as engine:
        first, second, link = folders(engine)
        session = await engine.run()
        asked = await items(engine)
        await engine.decide(asked["w"], replace(APPROVE, comment="go on"))
        link.unlink()
        link.symlink_to(second)
        await engine.decide(asked["b"])
        await engine.rest(session)
        again = (await items(engine))["w"]
        assert again.pending_id != asked["w"].pending_id
        assert again.digest != asked["w"].digest
        assert "changed since you approved it" in again.reason
        assert "w" not in outcomes(engine)
        await engine.decide(again)
        await engine.rest(session)
        assert list(first.iterdir()) == []
        assert (second / "file").read_text() == "new"
    assert outcomes(engine) == {"w": Outcome.OK, "b": Outcome.OK}
    assert engine.reasons() == [DoneReason.PENDING_APPROVAL] * 2 + [DoneReason.MODEL_STOP]


async def test_a_rule_that_denies_by_now_outweighs_the_yes(tmp_path: Path) -> None:
    replies = [calls(call("a", "Bash", command="touch x"), call("b", "Append", line="x"))]
    async with Engine.opened(tmp_path, [*replies, say("I see")], attended=False) as engine:
        session = await engine.run()
        asked = await items(engine)
        await engine.decide(asked["a"])
        services = engine.workspace.services
        tightened = services.rules + parse_rules(deny=("Bash(touch x)",))
        engine.workspace.services = replace(services, rules=tightened)
        await engine.decide(asked["b"])
        await engine.rest(session)
        assert not Path(engine.workspace.folder, "x").exists()
    assert outcomes(engine) == {"a": Outcome.DENIED, "b": Outcome.OK}
    assert engine.reasons()[-1] is DoneReason.MODEL_STOP


async def test_a_yes_does_not_hold_in_plan_mode(tmp_path: Path) -> None:
    replies = [calls(call("a", "Append", line="a"), call("b", "Append", line="b")), say("I see")]
    async with Engine.opened(tmp_path, replies, attended=False) as engine:
        session = await engine.run()
        asked = await items(engine)
        await engine.decide(asked["a"])
        await engine.workspace.set_mode(session, Mode.PLAN)
        await engine.decide(asked["b"], Decision(Choice.DENY, comment="no"))
        await engine.rest(session)
    assert outcomes(engine) == {"a": Outcome.DENIED, "b": Outcome.DENIED}
    assert engine.marks_kept == []


async def test_what_the_mode_allowed_is_asked_once_the_mode_is_another(tmp_path: Path) -> None:
    """The second write waits for the first, which asks: by the time of its turn the mode is gone
    that had allowed it."""
    first = call("a", "Bash", command="true")
    replies = [calls(first, call("w", "Write", file_path="file", content="new")), say("done")]
    async with Engine.opened(tmp_path, replies) as engine:
        session = await engine.begin(mode=Mode.ACCEPT_EDITS)
        item = await engine.asked()
        assert item.tool_use_id == "a"
        await engine.workspace.set_mode(session, Mode.ASK)
        await engine.decide(item)
        second = await engine.asked()
        assert second.tool_use_id == "w"
        assert not Path(engine.workspace.folder, "file").exists()
        await engine.decide(second)
        await engine.rest(session)
    assert outcomes(engine) == {"a": Outcome.OK, "w": Outcome.OK}
