"""The server around the scripts: what it records, what it refuses, which answer it chooses, how it
runs.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic, BadRequestError
from openai import AsyncOpenAI
from openai import BadRequestError as ChatBadRequestError

from tests.scripted.issued import signature_for
from tests.scripted.obedient import obedient
from tests.scripted.plugin import StartScripted
from tests.scripted.request import ParsedRequest
from tests.scripted.script import (
    Answer,
    Call,
    Cut,
    Fail,
    Hold,
    Redacted,
    Reply,
    Responder,
    Say,
    Script,
    ScriptExhaustedError,
    Step,
    Stop,
    StreamError,
    Think,
    by_prompt,
    in_order,
    leaves_a_message,
    per_conversation,
)
from tests.scripted.server import ScriptedServer, ThreadedServer

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
PROMPT = {"role": "user", "content": "go"}


async def ask(server: ScriptedServer, *messages: Json, **more: Any) -> list[Any]:
    """One Messages request; its events."""
    client: Any = AsyncAnthropic(base_url=server.url, api_key="k", max_retries=0)
    asked = {"model": "m", "max_tokens": 9, "stream": True, "messages": list(messages), **more}
    async with client, await client.messages.create(**asked) as stream:
        return [event async for event in stream]


async def ask_chat(server: ScriptedServer, *messages: Json, **more: Any) -> list[Any]:
    client: Any = AsyncOpenAI(base_url=server.chat_url, api_key="k", max_retries=0)
    asked = {"model": "m", "stream": True, "messages": list(messages), **more}
    async with client, await client.chat.completions.create(**asked) as stream:
        return [chunk async for chunk in stream]


async def text_for(server: ScriptedServer, *messages: Json) -> str:
    """The text of the answer to these messages."""
    deltas = [getattr(event, "delta", None) for event in await ask(server, *messages)]
    return "".join(getattr(delta, "text", "") for delta in deltas)


# ---------------------------------------------------------------- what it records


async def test_requests_are_recorded_as_they_came(scripted: StartScripted) -> None:
    server = await scripted(lambda _: Reply([Say("hi")]))
    await ask(server, PROMPT, system="be brief")
    await ask_chat(server, {"role": "system", "content": "be brief"}, PROMPT)
    first, second = server.requests
    assert (first.wire, second.wire) == ("anthropic", "chat")
    assert first.body["messages"] == [PROMPT]
    assert first.headers["authorization"] == "Bearer k"
    assert first.system_text == second.system_text == "be brief"
    assert first.arrival <= second.arrival
    assert first.finished
    assert not first.aborted
    assert server.violations == []


async def test_both_wires_have_one_view_of_a_conversation(scripted: StartScripted) -> None:
    server = await scripted(lambda _: Reply([Say("hi")]))
    schema = {"type": "object"}
    use = {"type": "tool_use", "id": "a", "name": "Read", "input": {"path": "é"}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "Error: x", "is_error": True}
    await ask(
        server,
        PROMPT,
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}, use]},
        {"role": "user", "content": [result, {"type": "text", "text": "and?"}]},
        tools=[{"name": "Read", "input_schema": schema}],
    )
    function = {"name": "Read", "arguments": '{"path": "é"}'}
    await ask_chat(
        server,
        PROMPT,
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "a", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "Error: x"},
        {"role": "user", "content": "and?"},
        tools=[{"type": "function", "function": {"name": "Read", "parameters": schema}}],
    )
    first, second = server.requests
    assert first.turns == second.turns
    assert [turn.role for turn in first.turns] == ["user", "assistant", "results", "user"]
    assert first.tool_names == second.tool_names == ["Read"]
    assert (first.first_user_text, first.last_user_text) == ("go", "and?")
    told = first.result_of("a")
    assert told is not None
    assert (told.text, told.is_error) == ("Error: x", True)
    assert first.latest_results == [told]


async def test_a_client_that_goes_away_is_recorded_as_aborted(scripted: StartScripted) -> None:
    server = await scripted([Reply([Say("half"), Hold("never"), Say("more")])])
    asking = asyncio.create_task(ask(server, PROMPT))
    await server.reached("never")
    asking.cancel()
    await server.until(lambda: server.requests[0].aborted)
    assert not server.requests[0].finished


async def test_stopping_ends_a_stream_that_hangs() -> None:
    async with ScriptedServer([Reply([Hold("never")])]) as server:
        asking = asyncio.create_task(ask(server, PROMPT))
        await server.reached("never")
    with pytest.raises(Exception, match=r"peer closed connection|incomplete chunked read"):
        await asking


async def test_blocks_of_the_messages_wire_follow_one_another(scripted: StartScripted) -> None:
    steps: list[Step] = [Think("hm"), Say("a"), Say("b"), Call("Read"), Say("c"), Redacted("x")]
    events = await ask(await scripted([Reply(steps)]), PROMPT)
    edges = ("content_block_start", "content_block_stop")
    told = [(event.type, event.index) for event in events if event.type in edges]
    assert told == [(edge, index) for index in range(5) for edge in edges]
    ends = [event.type for event in (events[0], *events[-2:])]
    assert ends == ["message_start", "message_delta", "message_stop"]


# ---------------------------------------------------------------- what it refuses


async def test_a_request_that_breaks_a_rule_gets_400_and_takes_no_answer(
    scripted: StartScripted,
) -> None:
    server = await scripted([Reply([Say("hi")])], violations_expected=True)
    with pytest.raises(BadRequestError, match="second user message in a row") as refused:
        await ask(server, PROMPT, PROMPT)
    assert refused.value.type == "invalid_request_error"
    with pytest.raises(ChatBadRequestError, match="second user message in a row"):
        await ask_chat(server, PROMPT, PROMPT)
    assert len(server.violations) == 2
    assert [request.violations for request in server.requests] == [[v] for v in server.violations]
    assert await text_for(server, PROMPT) == "hi"


async def test_a_lenient_server_records_and_answers(scripted: StartScripted) -> None:
    server = await scripted([Reply([Say("hi")])], strict=False, violations_expected=True)
    assert await text_for(server, PROMPT, PROMPT) == "hi"
    assert len(server.violations) == 1


async def test_a_request_without_streaming_is_refused(scripted: StartScripted) -> None:
    server = await scripted([Reply([Say("hi")])], violations_expected=True)
    async with AsyncAnthropic(base_url=server.url, api_key="k", max_retries=0) as client:
        with pytest.raises(BadRequestError, match="only streaming"):
            await client.messages.create(
                model="m", max_tokens=9, messages=[{"role": "user", "content": "go"}]
            )


async def test_half_a_pair_is_refused_and_told(scripted: StartScripted) -> None:
    server = await scripted([Reply([Say("hi")])], violations_expected=True)
    body = {"max_tokens": 1, "stream": True, "messages": [{"role": "user", "content": "\ud83d"}]}
    asked = urllib.request.Request(f"{server.url}/v1/messages", json.dumps(body).encode())
    with pytest.raises(urllib.error.HTTPError) as refused:
        await asyncio.to_thread(urllib.request.urlopen, asked)
    with refused.value as response:
        assert "lone surrogate" in json.load(response)["error"]["message"]


async def test_thinking_must_come_back_as_the_server_gave_it(scripted: StartScripted) -> None:
    script = in_order([Reply([Think("hm", "sig=="), Call("Read", id="a")]), Reply([Say("done")])])
    server = await scripted(script, violations_expected=True)
    await ask(server, PROMPT)
    use = {"type": "tool_use", "id": "a", "name": "Read", "input": {}}
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig=="}
    results = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}],
    }
    for content in ([use], [{**thought, "signature": "sig="}, use], [use, thought]):
        with pytest.raises(BadRequestError, match="thinking"):
            await ask(server, PROMPT, {"role": "assistant", "content": content}, results)
    kept = {"role": "assistant", "content": [thought, use]}
    assert await text_for(server, PROMPT, kept, results) == "done"


async def test_bound_thinking_is_refused_by_a_server_that_binds_it(scripted: StartScripted) -> None:
    script = in_order([Reply([Think("hm"), Call("Read", id="a")]), Reply([Say("done")])])
    server = await scripted(script, bind_thinking=True, violations_expected=True)
    await ask(server, PROMPT)
    thought = {"type": "thinking", "thinking": "hm", "signature": signature_for("hm")}
    use = {"type": "tool_use", "id": "a", "name": "Read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    loop: list[Json] = [
        {"role": "assistant", "content": [thought, use]},
        {"role": "user", "content": [result]},
    ]
    with pytest.raises(BadRequestError, match="the conversation before it has changed"):
        await ask(server, {"role": "user", "content": "a summary"}, *loop)
    assert await text_for(server, PROMPT, *loop) == "done"


async def test_reasoning_is_demanded_when_told_so(scripted: StartScripted) -> None:
    script = in_order([Reply([Think("hm"), Call("Read", id="a")]), Reply([Say("done")])])
    server = await scripted(script, demand_reasoning=True, violations_expected=True)
    await ask_chat(server, PROMPT)
    calls = [{"id": "a", "type": "function", "function": {"name": "Read", "arguments": "{}"}}]
    turn: Json = {"role": "assistant", "content": None, "tool_calls": calls}
    result = {"role": "tool", "tool_call_id": "a", "content": "x"}
    for more in ({}, {"reasoning_content": ""}):
        with pytest.raises(ChatBadRequestError, match="reasoning_content"):
            await ask_chat(server, PROMPT, {**turn, **more}, result)
    assert await ask_chat(server, PROMPT, {**turn, "reasoning_content": "hm"}, result)


async def test_a_session_goes_on_with_another_server(scripted: StartScripted) -> None:
    first = await scripted([Reply([Think("hm", "sig=="), Call("Read", id="a")])])
    await ask(first, PROMPT)
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig=="}
    use = {"type": "tool_use", "id": "a", "name": "Read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    said: list[Json] = [
        PROMPT,
        {"role": "assistant", "content": [thought, use]},
        {"role": "user", "content": [result]},
    ]
    stranger = await scripted([Reply([Say("done")])], violations_expected=True)
    with pytest.raises(BadRequestError, match="invalid signature"):
        await ask(stranger, *said)
    heir = await scripted([Reply([Say("done")])], issued=first.issued)
    assert await text_for(heir, *said) == "done"


@pytest.mark.parametrize("fault", ["exhausted", "raising"])
async def test_a_script_without_answer_is_a_violation(scripted: StartScripted, fault: str) -> None:
    def raising(_: ParsedRequest) -> Answer:
        raise KeyError("no such child")

    script: Script = [] if fault == "exhausted" else raising
    server = await scripted(script, violations_expected=True)
    with pytest.raises(BadRequestError, match=r"all 0 answers|no such child"):
        await ask(server, PROMPT)
    assert len(server.violations) == 1


# ---------------------------------------------------------------- which answer it chooses


def said_by(responder: Responder, *turns: str) -> str:
    """The answer's text to a conversation told as alternating user and assistant texts."""
    roles = ("user", "assistant")
    messages = [{"role": roles[i % 2], "content": text} for i, text in enumerate(turns)]
    body = {"messages": messages}
    answer = responder(ParsedRequest("anthropic", "/v1/messages", {}, body, 0.0))
    if isinstance(answer, Fail):
        return str(answer.status)
    return "".join(step.text for step in answer.steps if isinstance(step, Say))


def replies(*texts: str) -> list[Answer]:
    return [Reply([Say(text)]) for text in texts]


def test_in_order_serves_by_arrival() -> None:
    script = in_order(replies("1", "2"))
    assert [said_by(script, "one"), said_by(script, "two")] == ["1", "2"]
    with pytest.raises(ScriptExhaustedError):
        said_by(script, "one")


def test_a_list_is_served_to_each_conversation() -> None:
    script = per_conversation(replies("1", "2"))
    assert [said_by(script, "one"), said_by(script, "two")] == ["1", "1"]
    assert said_by(script, "one", "1", "more") == "2"
    with pytest.raises(ScriptExhaustedError):
        said_by(script, "one", "1", "more", "2", "more")


def test_by_prompt_chooses_by_text_and_place() -> None:
    script = by_prompt({"parent": replies("p1", "p2"), "child": replies("c1")})
    assert said_by(script, "the parent") == "p1"
    assert said_by(script, "the child") == "c1"
    assert said_by(script, "the parent", "p1", "on") == "p2"
    assert said_by(script, "the parent", "p1", "on") == "p2", "a resumed session asks again"
    assert said_by(script, "the parent", "p1", "on", "p2", "now like a child") == "c1"
    assert said_by(script, "parent", "p1", "I said parent") == "p2", "repeating is no new start"
    with pytest.raises(ScriptExhaustedError):
        said_by(script, "a stranger")
    with pytest.raises(ScriptExhaustedError):
        said_by(script, "the parent", "p1", "on", "p2", "on")


def test_by_prompt_serves_failing_answers_once_before_the_good_one() -> None:
    broken = Reply([Say("half"), Cut()])
    script = by_prompt({"go": [Fail(529), broken, *replies("1"), Fail(500), *replies("2")]})
    assert [said_by(script, "go") for _ in range(4)] == ["529", "half", "1", "1"]
    assert [said_by(script, "go", "1", "on") for _ in range(3)] == ["500", "2", "2"]
    assert said_by(script, "go on") == "529", "another conversation"


def test_what_leaves_a_message() -> None:
    assert leaves_a_message(Reply([Say("x")]))
    assert leaves_a_message(Reply([Say("x"), Stop(), Cut()]))
    assert not leaves_a_message(Reply([Say("x"), Cut()]))
    assert not leaves_a_message(Reply([Say("x"), StreamError()]))
    assert not leaves_a_message(Fail(500))


def test_latest_results_are_those_since_the_last_answer() -> None:
    def result(id_: str) -> Json:
        return {"type": "tool_result", "tool_use_id": id_, "content": "x"}

    said = [
        {"role": "user", "content": [result("old")]},
        {"role": "assistant", "content": "on"},
        {"role": "user", "content": [result("a"), result("b")]},
    ]
    request = ParsedRequest("anthropic", "/v1/messages", {}, {"messages": said}, 0.0)
    assert [told.tool_use_id for told in request.latest_results] == ["a", "b"]
    assert [told.tool_use_id for told in request.results] == ["old", "a", "b"]


# ---------------------------------------------------------------- beside the model calls


async def test_models_are_listed_and_described_on_both_wires(scripted: StartScripted) -> None:
    server = await scripted([], models=["one", "two"], window=1000, max_output=10)
    async with AsyncAnthropic(base_url=server.url, api_key="k", max_retries=0) as client:
        listed = [model async for model in client.models.list()]
        one = await client.models.retrieve("one")
    assert [model.id for model in listed] == ["one", "two"]
    assert (one.max_input_tokens, one.max_tokens) == (1000, 10)
    async with AsyncOpenAI(base_url=server.chat_url, api_key="k", max_retries=0) as chat:
        assert [model.id async for model in chat.models.list()] == ["one", "two"]
        assert (await chat.models.retrieve("two")).object == "model"


async def test_tokens_are_counted_and_no_model_call_is_recorded(scripted: StartScripted) -> None:
    server = await scripted([])
    async with AsyncAnthropic(base_url=server.url, api_key="k", max_retries=0) as client:
        counts = [
            await client.messages.count_tokens(
                model="m", messages=[{"role": "user", "content": "word " * n}]
            )
            for n in (1, 1000)
        ]
    assert counts[1].input_tokens > counts[0].input_tokens + 1000
    assert server.requests == []
    assert [other.path for other in server.other_requests] == ["/v1/messages/count_tokens"] * 2


async def test_an_unknown_path_is_not_found(scripted: StartScripted) -> None:
    server = await scripted([])
    with pytest.raises(urllib.error.HTTPError) as refused:
        await asyncio.to_thread(urllib.request.urlopen, f"{server.url}/v2/else")
    with refused.value as response:
        assert response.status == 404


# ---------------------------------------------------------------- how it runs


def test_a_threaded_server_serves_a_test_that_is_not_async() -> None:
    script = [Reply([Say("half"), Hold("gate"), Say(" whole")])]
    with ThreadedServer(script) as server:
        body = {"max_tokens": 1, "stream": True, "messages": [PROMPT]}
        asked = urllib.request.Request(f"{server.url}/v1/messages", json.dumps(body).encode())
        with urllib.request.urlopen(asked) as response:
            server.reached("gate")
            server.release("gate")
            assert b"whole" in response.read()
        server.until(lambda: server.requests[0].finished)
        assert server.violations == []


@pytest.mark.parametrize(("options", "outcome"), [("", 1), (", violations_expected=True", 0)])
def test_the_fixture_fails_a_test_whose_requests_break_a_rule(
    tmp_path: Path, options: str, outcome: int
) -> None:
    module = tmp_path / "test_inner.py"
    module.write_text(
        "import asyncio, json, urllib.request\n"
        "import pytest\n"
        "from tests.scripted.plugin import scripted\n"
        "async def test_it(scripted):\n"
        f"    server = await scripted([]{options})\n"
        "    url = server.url + '/v1/messages'\n"
        "    with pytest.raises(urllib.error.HTTPError) as refused:\n"
        "        await asyncio.to_thread(urllib.request.urlopen, url, b'{}')\n"
        "    refused.value.close()\n"
    )
    settings = tmp_path / "pytest.ini"
    settings.write_text("[pytest]\nasyncio_mode = auto\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(settings)]
    ran = subprocess.run(
        [*command, "-p", "no:textual-snapshot", str(module)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == outcome, ran.stdout
    assert ("a strict provider refuses" in ran.stdout) == bool(outcome)


def test_it_runs_by_hand(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(
        "from tests.scripted.script import Reply, Say\nscript = [Reply([Say('from my file')])]\n"
    )
    command = [sys.executable, "-m", "tests.scripted", str(script), "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            told = [process.stdout.readline() for _ in range(5)]
            url = told[1].rsplit("TUI_AGENT_BASE_URL=")[1].strip()
            body = {"max_tokens": 1, "stream": True, "messages": [PROMPT]}
            asked = urllib.request.Request(f"{url}/v1/messages", json.dumps(body).encode())
            with urllib.request.urlopen(asked) as response:
                answer = response.read()
            assert b"from my" in answer
            assert "last 'go'" in process.stdout.readline()
        finally:
            process.terminate()


def test_the_obedient_model_does_what_the_lines_say() -> None:
    def answer(text: str) -> Answer:
        body = {"messages": [{"role": "user", "content": text}]}
        return obedient(ParsedRequest("anthropic", "/v1/messages", {}, body, 0.0))

    both = Reply([Call("Read", {"file_path": "a"}), *_bash("date")])
    assert answer("read a\nbash date") == both
    assert answer("hello") == Reply([Say("You said: hello")])
    assert answer("fail 529") == Fail(529)


def _bash(command: str) -> list[Call]:
    return [Call("Bash", {"command": command, "description": "as you said"})]
