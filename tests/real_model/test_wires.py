"""A real model over both wires: it talks, reads, asks, is denied, overflows, fails, and goes on.

What it says is its own affair; what is checked is what the program made of it, and that the server
takes every request. After each odd end the same session has to go on.
"""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from tests.cli.conftest import Command, Ended, Wire, stopped_by
from tests.real_model.conftest import GROUP, PATIENCE, TOLD, Served, story

pytestmark = [pytest.mark.live, pytest.mark.timeout(PATIENCE), GROUP]

PARTS = 4
"""Prompts of some 200 tokens, together more than the small window holds."""

Story = dict[str, list[dict[str, Any]]]
Json = dict[str, Any]


async def run(command: Command, *arguments: str, code: int = 0) -> Story:
    """Run a prompt to its end, which must be this one; its events by type."""
    return told(await command("run", "--output", "stream-json", *arguments), code)


async def resolve(command: Command, pending: str, *answer: str, code: int = 0) -> Story:
    """Answer an ask in a process of its own, and run the turn to its end."""
    arguments = ("approvals", "resolve", pending, *answer, "--output", "stream-json")
    return told(await command(*arguments), code)


def told(ended: Ended, code: int) -> Story:
    assert ended.code == code, ended.err + brief(ended)
    return story(ended)


def brief(ended: Ended) -> str:
    """What went on, for the message of a failure."""
    shown = ("message", "reason", "content", "tool", "input", "stop_reason", "text")
    lines = [
        f"{event['type']}: { {name: event[name] for name in shown if name in event} }"
        for event in ended.events
        if event["type"] not in ("state", "session:phase", "text:delta", "tool:input_delta")
    ]
    return "\n".join(lines)


def answer(events: Story) -> str:
    """The text of a turn that ended well."""
    (done,) = events["done"]
    assert done["reason"] == "model_stop", done
    assert done["text"]
    return str(done["text"])


def prompt_tokens(events: Story) -> int:
    """Tokens of the first request's prompt, as the server counted them."""
    usage = events["provider:complete"][0]["usage"]
    return sum(usage[kind] or 0 for kind in ("input", "cache_read", "cache_write"))


async def stored(command: Command) -> Json:
    """The only session, as it was kept."""
    (session,) = json.loads((await command("sessions", "list", "--json")).out)
    shown: Json = json.loads((await command("sessions", "show", session["id"], "--json")).out)
    return shown


async def goes_on(command: Command, wire: Wire, talkative: Served) -> None:
    """The server takes the whole history of what happened, and the session has its next answer."""
    there = talkative.environ(wire)
    flags = [
        *("--provider", there["TUI_AGENT_PROVIDER"], "--model", there["TUI_AGENT_MODEL"]),
        *("--base-url", there["TUI_AGENT_BASE_URL"]),
    ]
    events = await run(command, "--continue", *flags, "Say hello.")
    assert answer(events)
    assert "error" not in events


# --- what goes well ------------------------------------------------------------------------------


async def test_it_talks_and_the_next_process_sends_what_was_said(
    command: Command, talkative: Served, wire: Wire
) -> None:
    command.environ = talkative.environ(wire)
    first = await run(command, "My name is Ada. Say hello to me.")
    deltas = [event["text"] for event in first["text:delta"]]
    assert "".join(deltas) == answer(first)
    assert len(deltas) > 1
    second = await run(command, "--continue", "What is my name?")
    assert answer(second)
    output = first["provider:complete"][0]["usage"]["output"]
    assert prompt_tokens(second) > prompt_tokens(first) + output > output > 1
    kept = await stored(command)
    assert [message["role"] for message in kept["messages"]] == ["user", "assistant"] * 2


async def test_it_reads_a_file(command: Command, obedient: Served, wire: Wire) -> None:
    command.environ = obedient.environ(wire)
    events = await run(command, "Read notes.txt")
    (result,) = events["tool:result"]
    assert (result["tool"], result["outcome"]) == ("Read", "ok")
    assert TOLD in result["content"]
    assert "Minka" in answer(events)
    assert events["done"][0]["rounds"] == 2


async def test_a_failed_call_is_told_to_it(command: Command, obedient: Served, wire: Wire) -> None:
    command.environ = obedient.environ(wire)
    events = await run(command, "Read missing.txt")
    assert [result["outcome"] for result in events["tool:result"]] == ["error"]
    answer(events)


# --- decisions -----------------------------------------------------------------------------------


async def asked(command: Command, wire: Wire, obedient: Served, prompt: str) -> str:
    """Run a prompt until it waits for a decision, which has to be about Bash; the ask's id."""
    command.environ = obedient.environ(wire)
    events = await run(command, prompt, code=3)
    (ask,) = events["approval:pending"]
    assert ask["item"]["tool"] == "Bash"
    assert "tool:started" not in events
    return str(ask["pending_id"])


async def test_a_command_runs_once_it_is_approved(
    command: Command, obedient: Served, wire: Wire
) -> None:
    ask = await asked(command, wire, obedient, "Bash echo hello")
    events = await resolve(command, ask, "approve")
    (result,) = events["tool:result"]
    assert (result["outcome"], result["content"].strip()) == ("ok", "hello")
    answer(events)


async def test_a_plain_no_stops_and_the_session_goes_on(
    command: Command, obedient: Served, talkative: Served, wire: Wire
) -> None:
    ask = await asked(command, wire, obedient, "Bash rm -f notes.txt")
    events = await resolve(command, ask, "deny", code=5)
    assert "provider:started" not in events
    assert (command.folder / "notes.txt").exists()
    await goes_on(command, wire, talkative)


async def test_a_no_with_words_is_answered(command: Command, obedient: Served, wire: Wire) -> None:
    ask = await asked(command, wire, obedient, "Bash rm -f notes.txt")
    answer(await resolve(command, ask, "deny", "--message", "We still need that file."))
    assert (command.folder / "notes.txt").exists()


# --- what goes wrong -----------------------------------------------------------------------------


async def test_a_call_cut_by_the_output_limit_never_runs_and_is_taken_back(
    command: Command, obedient: Served, talkative: Served, wire: Wire
) -> None:
    """A call sent back with its broken arguments would be refused by this server."""
    command.environ = obedient.environ(wire, "curt")
    arguments = ("run", "--output", "stream-json", "--max-turns", "2", "Bash echo hello")
    ended = await command(*arguments)
    assert ended.code in (0, 4), ended.err + brief(ended)  # it may try the call again, or talk
    events = story(ended)
    assert "tool:started" not in events
    assert [end["stop_reason"] for end in events["provider:complete"]] == ["max_tokens"] * 2
    calls = [
        block
        for message in (await stored(command))["messages"]
        for block in message["blocks"]
        if block["type"] == "tool_use"
    ]
    assert calls
    assert all(call["input"] == {} for call in calls)
    await goes_on(command, wire, talkative)


async def test_output_that_the_server_cannot_read_ends_the_turn(
    command: Command, obedient: Served, talkative: Served, wire: Wire
) -> None:
    """Offered tools and asked for none, it writes half a call; the server then fails in the middle
    of the stream, at temperature 0 every time."""
    command.environ = obedient.environ(wire)
    events = await run(command, "Hello, how are you?", code=1)
    assert events["provider:retry"]
    assert [done["reason"] for done in events["done"]] == ["error"]
    assert "does not match the expected" in events["error"][0]["message"]
    await goes_on(command, wire, talkative)


async def test_an_interrupted_answer_is_kept_and_goes_on(
    command: Command, talkative: Served, wire: Wire
) -> None:
    command.environ = talkative.environ(wire, "verbose")
    process = await command.start("run", "Tell me a long story.", "--output", "stream-json")
    assert process.stdout is not None
    while b"text:delta" not in (line := await process.stdout.readline()):
        assert line, "it ended before it said anything"
    ended = await stopped_by(process, signal.SIGINT)
    assert ended.code == 130, ended.err
    last = (await stored(command))["messages"][-1]
    assert last["cut"]
    assert last["blocks"][0]["text"]
    await goes_on(command, wire, talkative)


async def test_a_prompt_too_large_for_the_servers_window_is_compacted_and_sent_again(
    command: Command, forgetful: Served, wire: Wire
) -> None:
    """The program believes in a larger window than the server has, so only the refusal tells."""
    command.environ = forgetful.environ(wire, "curt")
    told = "The garden has apples, pears and plums. " * 20
    trigger = None
    for number in range(PARTS):
        names_session = ["--continue"] if number else []
        events = await run(command, *names_session, f"Part {number}. {told} Say yes.")
        assert answer(events)
        for event in events.get("prompt:compaction", []):
            trigger = event["trigger"]
    assert trigger == "overflow"
