"""Bash tells the model what happened and the screen what to draw."""

import asyncio
from pathlib import Path

import pytest

from tests.tools.kit import Workshop
from tui_agent.tools.base import EXCLUSIVE, ToolError, ToolInterrupted
from tui_agent.vocabulary.blocks import Outcome, text_of


async def test_output_and_exit_code(shop: Workshop) -> None:
    result = await shop.run("Bash", {"command": "pwd; echo err >&2; exit 2"})
    assert text_of(result.content) == f"{shop.folder}\nerr\n[exit code 2]"
    assert result.outcome is Outcome.ERROR
    assert result.details["kind"] == "shell"
    assert result.details["exit_code"] == 2
    assert result.details["output"] == f"{shop.folder}\nerr\n"
    assert result.details["truncated"] is False


async def test_no_output_is_said(shop: Workshop) -> None:
    result = await shop.run("Bash", {"command": "true"})
    assert text_of(result.content) == "(no output)"
    assert result.outcome is Outcome.OK


async def test_the_time_limit_is_said(shop: Workshop) -> None:
    result = await shop.run("Bash", {"command": "echo begun; sleep 60", "timeout": 300})
    assert text_of(result.content) == "begun\n[timed out after 0.3 s; its processes were ended]"
    assert result.outcome is Outcome.ERROR


async def test_what_ran_on_in_the_background_is_said(shop: Workshop) -> None:
    text = await shop.text("Bash", command="sleep 60 & echo x")
    assert "1 process still ran in the background and had to end" in text


async def test_long_output_is_cut_and_the_whole_is_in_a_file(shop: Workshop) -> None:
    result = await shop.run("Bash", {"command": "seq 1 100000"})
    text = text_of(result.content)
    assert len(text) <= 30_000
    assert text.startswith("1\n2\n")
    assert text.endswith("99999\n100000")
    spill = Path(result.details["spill_path"])
    assert str(spill) in text
    assert spill.read_text().count("\n") == 100_000
    assert result.details["truncated"] is True
    assert len(result.details["output"]) <= 30_000


async def test_output_between_the_two_bounds_is_in_the_file_too(shop: Workshop) -> None:
    result = await shop.run("Bash", {"command": "seq 1 9000"})
    assert Path(result.details["spill_path"]).read_text().endswith("9000\n")


async def test_a_strange_call_id_stays_in_its_folder(shop: Workshop) -> None:
    context = shop.context(tool_use_id="../../x/\0y")
    result = await shop.run("Bash", {"command": "seq 1 9000"}, context=context)
    spill = Path(result.details["spill_path"])
    assert spill.parent == shop.folder.parent / "spill" / "ses_1"
    assert spill.exists()


async def test_an_interrupted_command_keeps_what_it_printed(shop: Workshop) -> None:
    seen = asyncio.Event()
    context = shop.context(progress=lambda _text, _total: seen.set())
    script = "for i in 1 2 3 4 5; do echo line $i; done; sleep 60"
    task = asyncio.create_task(shop.run("Bash", {"command": script}, context=context))
    await asyncio.wait_for(seen.wait(), 20)
    task.cancel()
    with pytest.raises(ToolInterrupted) as caught:
        await task
    result = caught.value.result
    text = text_of(result.content)
    assert text.startswith("line 1\nline 2\nline 3\nline 4\nline 5\n[cancelled after")
    assert result.outcome is Outcome.INTERRUPTED


async def test_the_pid_is_told(shop: Workshop) -> None:
    pids: list[int] = []
    result = await shop.run(
        "Bash", {"command": "echo $$"}, context=shop.context(note_pid=pids.append)
    )
    assert result.details["output"] == f"{pids[0]}\n"


async def test_a_folder_that_is_gone_is_an_error(shop: Workshop) -> None:
    with pytest.raises(ToolError, match="could not be started"):
        await shop.run("Bash", {"command": "true"}, context=shop.context(folder=Path("/nowhere/x")))


def test_what_a_person_sees_and_what_it_touches(shop: Workshop) -> None:
    command = "echo one\necho two"
    assert shop.preview("Bash", command=command, description="Say", timeout=5000) == {
        "kind": "command",
        "command": command,
        "description": "Say",
        "timeout_seconds": 5.0,
    }
    assert shop.effects("Bash", command=command) == EXCLUSIVE
    tool = shop.registry.get("Bash")
    assert tool.subject(shop.registry.validate("Bash", {"command": command})) == "echo one echo two"
