"""A prompt, a pause and its answer in another process, over both wires and the real engine."""

from __future__ import annotations

import asyncio
import json
import os
import signal

import pytest

from tests.cli.conftest import Command, Wire, stopped_by
from tests.scripted.plugin import StartScripted
from tests.scripted.script import Call, Hold, Reply, Say
from tui_agent.headless.schema import event_adapter

WIRES: tuple[Wire, ...] = ("anthropic", "chat")
both_wires = pytest.mark.parametrize("wire", WIRES)


def asks_then(text: str) -> list[Reply]:
    """A model that writes a file and then says `text`."""
    call = Call("Write", {"file_path": "made.txt", "content": "by the model\n"})
    return [Reply([Say("I will write."), call]), Reply([Say(text)])]


@both_wires
async def test_a_prompt_is_answered(command: Command, scripted: StartScripted, wire: Wire) -> None:
    command.connect(await scripted([Reply([Say("It is four.")])]), wire)
    done = await command("run", "2 and 2?")
    assert (done.code, done.out, done.err) == (0, "It is four.\n", "")


@both_wires
async def test_a_pause_is_answered_in_another_process(
    command: Command, scripted: StartScripted, wire: Wire
) -> None:
    command.connect(await scripted(asks_then("Written.")), wire)
    made = command.folder / "made.txt"

    paused = await command("run", "write it", "--output", "json")
    assert paused.code == 3
    result = json.loads(paused.out)
    assert result["reason"] == "pending_approval"
    (item,) = result["pending"]
    assert not made.exists()

    listed = json.loads((await command("approvals", "list", "--json")).out)
    place = {"session_title": "write it", "folder": str(command.folder)}
    assert listed == [{**item, **place}]
    (session,) = json.loads((await command("sessions", "list", "--json")).out)
    assert (session["state"], session["pending"]) == ("requires_action", 1)

    resolved = await command("approvals", "resolve", item["pending_id"], "approve")
    assert (resolved.code, resolved.out) == (0, "Written.\n"), resolved.err
    assert made.read_text() == "by the model\n"

    again = await command("approvals", "resolve", item["pending_id"], "approve")
    assert (again.code, again.out) == (1, "")
    assert "already answered" in again.one_line
    (session,) = json.loads((await command("sessions", "list", "--json")).out)
    assert (session["state"], session["pending"]) == ("idle", 0)


async def test_an_answer_without_a_key_is_kept_and_gone_on_with_later(
    command: Command, scripted: StartScripted
) -> None:
    command.connect(await scripted(asks_then("Written.")), "anthropic")
    item = json.loads((await command("run", "x", "--output", "json")).out)["pending"][0]
    key = command.environ.pop("TUI_AGENT_API_KEY")
    kept = await command("approvals", "resolve", item["pending_id"], "approve")
    assert (kept.code, kept.out) == (0, "recorded\n")
    assert "ANTHROPIC_API_KEY" in kept.one_line
    assert not (command.folder / "made.txt").exists()
    go_on = kept.one_line.rpartition("tui-agent ")[2].split()
    assert go_on[:2] == ["run", "--resume"]
    command.environ["TUI_AGENT_API_KEY"] = key
    done = await command(*go_on)
    assert (done.code, done.out) == (0, "Written.\n"), done.err


async def test_an_answer_whose_model_is_gone_says_how_to_go_on(
    command: Command, scripted: StartScripted
) -> None:
    server = await scripted(asks_then("Written."))
    command.connect(server, "anthropic")
    item = json.loads((await command("run", "x", "--output", "json")).out)["pending"][0]
    await server.stop()
    failed = await command("approvals", "resolve", item["pending_id"], "approve")
    assert failed.code == 1
    assert (command.folder / "made.txt").exists()
    last = failed.err.splitlines()[-1]
    assert last.startswith("the answer is kept")
    assert f"run --resume {item['session_id']}" in last
    other = await scripted([Reply([Say("Back again.")])])
    go_on = ["run", "--resume", item["session_id"], "--base-url", other.url]
    done = await command(*go_on, "--provider", "anthropic")
    assert (done.code, done.out) == (0, "Back again.\n"), done.err


async def test_what_is_always_allowed_can_be_taken_back(
    command: Command, scripted: StartScripted
) -> None:
    command.connect(await scripted(asks_then("Written.")), "anthropic")
    item = json.loads((await command("run", "x", "--output", "json")).out)["pending"][0]
    await command("approvals", "resolve", item["pending_id"], "approve", "--scope", "always")
    (grant,) = json.loads((await command("permissions", "list", "--json")).out)
    assert grant["scope"] == "always"
    assert grant["rule"] in (await command("permissions", "list")).out
    removed = await command("permissions", "remove", str(grant["id"]))
    assert (removed.code, removed.err) == (0, "")
    assert json.loads((await command("permissions", "list", "--json")).out) == []


@both_wires
async def test_a_plain_no_stops_and_a_no_with_words_goes_back(
    command: Command, scripted: StartScripted, wire: Wire
) -> None:
    command.connect(await scripted([*asks_then("unused")[:1], *asks_then("As you wish.")]), wire)
    first = json.loads((await command("run", "write it", "--output", "json")).out)["pending"][0]
    denied = await command("approvals", "resolve", first["pending_id"], "deny")
    assert (denied.code, denied.out) == (5, ""), denied.err

    second = await command("run", "--continue", "again", "--output", "json")
    item = json.loads(second.out)["pending"][0]
    talked = await command(
        "approvals", "resolve", item["pending_id"], "deny", "--message", "not here"
    )
    assert (talked.code, talked.out) == (0, "As you wish.\n"), talked.err
    assert not (command.folder / "made.txt").exists()


@both_wires
async def test_unattended_deny_lets_the_model_go_on(
    command: Command, scripted: StartScripted, wire: Wire
) -> None:
    command.connect(await scripted(asks_then("Then not.")), wire)
    done = await command("run", "write it", "--unattended", "deny")
    assert (done.code, done.out) == (0, "Then not.\n")
    assert not (command.folder / "made.txt").exists()


async def test_an_edit_is_judged_again_and_runs_as_edited(
    command: Command, scripted: StartScripted
) -> None:
    command.connect(await scripted(asks_then("Written.")), "anthropic")
    item = json.loads((await command("run", "x", "--output", "json")).out)["pending"][0]
    bad = await command(
        "approvals", "resolve", item["pending_id"], "approve", "--input", '{"nothing": 1}'
    )
    assert bad.code == 2
    assert json.loads((await command("approvals", "list", "--json")).out)
    edited = json.dumps({"file_path": "other.txt", "content": "mine\n"})
    done = await command("approvals", "resolve", item["pending_id"], "approve", "--input", edited)
    assert (done.code, done.out) == (0, "Written.\n"), done.err
    assert (command.folder / "other.txt").read_text() == "mine\n"
    assert not (command.folder / "made.txt").exists()


@both_wires
async def test_stream_json_is_valid_events_and_ends_at_rest(
    command: Command, scripted: StartScripted, wire: Wire
) -> None:
    command.connect(await scripted(asks_then("Written.")), wire)
    done = await command("run", "x", "--output", "stream-json", "--unattended", "deny")
    assert done.code == 0, done.err
    for line in done.out.splitlines():
        event_adapter().validate_json(line)
    types = [event["type"] for event in done.events]
    assert types.count("done") == 1
    assert types.count("provider:started") == types.count("provider:complete") == 2
    assert types[-1] == "session:phase"
    assert done.events[-1]["phase"] == "idle"
    numbers = [event["seq"] for event in done.events]
    assert numbers == sorted(set(numbers))


async def test_a_prompt_does_not_pass_over_what_is_open(
    command: Command, scripted: StartScripted
) -> None:
    script = [*asks_then("unused")[:1], Reply([Say("Something else.")])]
    command.connect(await scripted(script), "anthropic")
    await command("run", "write it")
    refused = await command("run", "--continue", "something else")
    assert (refused.code, refused.out) == (3, "")
    assert "made.txt" in refused.err
    followed = await command("run", "--continue", "something else", "--unattended", "deny")
    assert (followed.code, followed.out) == (0, "Something else.\n"), followed.err


async def test_the_prompt_can_come_from_standard_input(
    command: Command, scripted: StartScripted
) -> None:
    server = await scripted([Reply([Say("Read.")]), Reply([Say("Read.")])])
    command.connect(server, "anthropic")
    for arguments in (("run", "-"), ("run",)):
        assert (await command(*arguments, text="from a pipe ünï")).out == "Read.\n"
    assert server.requests[0].last_user_text.startswith("from a pipe ünï")


async def test_a_session_belongs_to_its_folder_wherever_it_is_gone_on_with(
    command: Command, scripted: StartScripted
) -> None:
    command.connect(await scripted(asks_then("Written.")), "anthropic")
    home = command.folder
    item = json.loads((await command("run", "x", "--output", "json")).out)["pending"][0]
    elsewhere = home.parent / "elsewhere"
    elsewhere.mkdir()
    command.folder = elsewhere
    done = await command("approvals", "resolve", item["pending_id"], "approve")
    assert done.code == 0, done.err
    assert (home / "made.txt").exists()
    assert not list(elsewhere.iterdir())


# --- ends ----------------------------------------------------------------------------------------


@both_wires
async def test_an_interrupt_is_committed_and_told(
    command: Command, scripted: StartScripted, wire: Wire
) -> None:
    server = await scripted([Reply([Say("Half of"), Hold("rest"), Say(" it")])])
    command.connect(server, wire)
    process = await command.start("run", "go", "--output", "stream-json")
    assert process.stdout is not None
    while b"text:delta" not in await process.stdout.readline():
        pass
    done = await stopped_by(process, signal.SIGINT)
    assert done.code == 130, done.err
    assert [event["reason"] for event in done.events if event["type"] == "done"] == ["user_abort"]
    (session,) = json.loads((await command("sessions", "list", "--json")).out)
    shown = json.loads((await command("sessions", "show", session["id"], "--json")).out)
    assert shown["turns"][0]["reason"] == "user_abort"
    assert shown["messages"][-1]["cut"]
    server.release("rest")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_it_with_everything_kept(
    command: Command, scripted: StartScripted, number: signal.Signals
) -> None:
    server = await scripted([Reply([Say("Half of"), Hold("rest"), Say(" it")])])
    command.connect(server, "anthropic")
    process = await command.start("run", "go")
    await server.reached("rest")
    async with asyncio.timeout(10):
        done = await stopped_by(process, number)
    assert done.code == 128 + number
    assert "Traceback" not in done.err
    (session,) = json.loads((await command("sessions", "list", "--json")).out)
    shown = json.loads((await command("sessions", "show", session["id"], "--json")).out)
    assert shown["turns"][0]["reason"] is not None
    server.release("rest")


async def test_a_reader_that_leaves_ends_it_without_a_word(
    command: Command, scripted: StartScripted
) -> None:
    command.connect(await scripted([Reply([Say("y" * 100_000)])]), "anthropic")
    reading, writing = os.pipe()
    process = await command.start("run", "go", "--output", "stream-json", stdout=writing)
    os.close(writing)
    os.read(reading, 1)
    os.close(reading)
    _, err = await process.communicate()
    assert (process.returncode, err) == (128 + signal.SIGPIPE, b"")


async def test_a_limit_is_exit_code_4(command: Command, scripted: StartScripted) -> None:
    script = [Reply([Call("Glob", {"pattern": "*"})]) for _ in range(3)]
    command.connect(await scripted(script), "anthropic")
    done = await command("run", "go", "--max-turns", "2")
    assert done.code == 4
    assert "stopped after 2 model responses" in done.err


async def test_a_server_that_is_not_there_is_one_error(command: Command) -> None:
    done = await command("run", "hi", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    assert (done.code, done.out) == (1, "")
    lines = [line for line in done.err.splitlines() if not line.startswith("trying again")]
    assert len(lines) == 1
    assert "127.0.0.1" in lines[0]
