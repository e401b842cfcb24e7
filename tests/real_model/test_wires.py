"""A real model over both wires: it talks, reads, asks, is denied, overflows, fails, and goes on.

What it says is its own affair; what is checked is what the program made of it, and that the server
takes every request. So small a model, told a call's result, may call again or write what its server
cannot read: several prompts are then tried, and one of them has to come to a text.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from typing import Any

import pytest

from tests.cli.conftest import Command, Ended, Wire, stopped_by
from tests.real_model.conftest import GROUP, PATIENCE, TOLD, Served, story

pytestmark = [pytest.mark.live, pytest.mark.timeout(PATIENCE), GROUP]

PARTS = 4
"""Prompts of some 200 tokens, together more than the small window holds."""

AFTER_A_RESULT = (0, 1, 3)
"""Codes of a turn in which the model had a result: it said something, or it failed, or it calls
again and waits."""

Story = dict[str, list[dict[str, Any]]]
Json = dict[str, Any]


async def run(command: Command, *arguments: str, codes: Sequence[int] = (0,)) -> Story:
    """Run a prompt to its end, which must be one of these; its events by type."""
    return told(await command("run", "--output", "stream-json", *arguments), codes)


async def resolve(command: Command, ask: str, *said: str, codes: Sequence[int] = (0,)) -> Story:
    """Answer an ask in a process of its own, and run the turn to its end."""
    arguments = ("approvals", "resolve", ask, *said, "--output", "stream-json")
    return told(await command(*arguments), codes)


def told(ended: Ended, codes: Sequence[int]) -> Story:
    assert ended.code in codes, ended.err + brief(ended)
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
    """The server takes the whole history of what happened, whatever the model answers."""
    there = talkative.environ(wire)
    flags = [
        *("--provider", there["TUI_AGENT_PROVIDER"], "--model", there["TUI_AGENT_MODEL"]),
        *("--base-url", there["TUI_AGENT_BASE_URL"]),
    ]
    events = await run(command, "--continue", *flags, "Say hello.", codes=(0, 1))
    assert {end["stop_reason"] for end in events["provider:complete"]} <= {"end_turn", "max_tokens"}


def is_answered(events: Story) -> bool:
    (done,) = events["done"]
    return bool(done["reason"] == "model_stop" and done["text"])


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


async def test_it_reads_a_file_and_tells(command: Command, obedient: Served, wire: Wire) -> None:
    command.environ = obedient.environ(wire)
    answers = []
    for prompt in ("Read notes.txt", "Please Read notes.txt", "Use Read on notes.txt"):
        events = await run(command, prompt, codes=AFTER_A_RESULT)
        result = events["tool:result"][0]
        assert (result["tool"], result["outcome"]) == ("Read", "ok")
        assert TOLD in result["content"]
        answers.append(is_answered(events))
        if answers[-1]:
            break
    assert any(answers)


async def test_a_failed_call_is_told_to_it(command: Command, obedient: Served, wire: Wire) -> None:
    command.environ = obedient.environ(wire)
    events = await run(command, "Read missing.txt", codes=AFTER_A_RESULT)
    assert events["tool:result"][0]["outcome"] == "error"
    assert len(events["provider:complete"]) > 1


# --- decisions -----------------------------------------------------------------------------------


async def asked(command: Command, wire: Wire, obedient: Served, prompt: str) -> str:
    """Run a prompt until it waits for a decision, which has to be about Bash; the ask's id."""
    command.environ = obedient.environ(wire)
    events = await run(command, prompt, codes=[3])
    (ask,) = events["approval:pending"]
    assert ask["item"]["tool"] == "Bash"
    assert "tool:started" not in events
    return str(ask["pending_id"])


async def test_a_command_runs_once_it_is_approved_and_is_told(
    command: Command, obedient: Served, wire: Wire
) -> None:
    answers = []
    for words in ("hello", "good morning", "42"):
        ask = await asked(command, wire, obedient, f"Bash echo {words}")
        events = await resolve(command, ask, "approve", codes=AFTER_A_RESULT)
        result = events["tool:result"][0]
        assert (result["outcome"], result["content"].strip()) == ("ok", words)
        answers.append(is_answered(events))
        if answers[-1]:
            break
    assert any(answers)


async def test_a_plain_no_stops_and_the_session_goes_on(
    command: Command, obedient: Served, talkative: Served, wire: Wire
) -> None:
    ask = await asked(command, wire, obedient, "Bash rm -f notes.txt")
    events = await resolve(command, ask, "deny", codes=[5])
    assert "provider:started" not in events
    assert (command.folder / "notes.txt").exists()
    await goes_on(command, wire, talkative)


async def test_a_no_with_words_goes_to_the_model(
    command: Command, obedient: Served, wire: Wire
) -> None:
    ask = await asked(command, wire, obedient, "Bash rm -f notes.txt")
    denial = ("deny", "--message", "We still need that file.")
    events = await resolve(command, ask, *denial, codes=AFTER_A_RESULT)
    assert events["provider:complete"]
    assert "tool:started" not in events
    assert (command.folder / "notes.txt").exists()


# --- what goes wrong -----------------------------------------------------------------------------


async def test_a_call_cut_by_the_output_limit_never_runs_and_is_taken_back(
    command: Command, obedient: Served, talkative: Served, wire: Wire
) -> None:
    """A call sent back with its broken arguments would be refused by this server."""
    command.environ = obedient.environ(wire, "curt")
    # the second time it may try the call again, or talk
    events = await run(command, "--max-turns", "2", "Bash echo hello", codes=[0, 4])
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
    events = await run(command, "Hello, how are you?", codes=[1])
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
