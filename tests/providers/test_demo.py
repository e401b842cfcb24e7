"""The demo's tour goes on to its end whatever is decided, and says what it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from tui_agent.providers.base import (
    ModelRequest,
    RequestMessage,
    StreamEnd,
    TextPiece,
    ToolInputPiece,
    ToolSchema,
)
from tui_agent.providers.demo import DemoClient
from tui_agent.providers.demo_tour import CHILD_MARK, DEMO_FILE, file_to_read
from tui_agent.vocabulary.blocks import (
    Outcome,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    text_of,
    tool_uses,
)
from tui_agent.vocabulary.messages import StopReason

TOOLS = ("Glob", "Grep", "Read", "Write", "Bash", "AskUserQuestion", "Task", "Edit")
ORDER = ["Glob", "Read", "AskUserQuestion", "Write", "Task", "Task", "Bash"]
LISTING = "Makefile\nREADME.md\nsrc\n(3 files)"

Decide = Callable[[ToolUseBlock], ToolResultBlock]


def ok(call: ToolUseBlock) -> ToolResultBlock:
    text = LISTING if call.name == "Glob" else f"result of {call.name}\nsecond line"
    return ToolResultBlock(call.id, (TextBlock(text),))


def refuse(outcome: Outcome) -> Decide:
    def decide(call: ToolUseBlock) -> ToolResultBlock:
        return ToolResultBlock(call.id, (TextBlock("not in my folder"),), True, outcome)

    return decide


@dataclass
class Session:
    """The loop's part, as small as it can be: history, answers, requests."""

    tools: tuple[str, ...] = TOOLS
    decide: Decide = ok
    messages: list[RequestMessage] = field(default_factory=list)

    @property
    def calls(self) -> list[ToolUseBlock]:
        return [
            call
            for message in self.messages
            if message.role == "assistant"
            for call in tool_uses(message.blocks)
        ]

    async def reply(self) -> StreamEnd:
        schemas = tuple(ToolSchema(name, "", {"type": "object"}) for name in self.tools)
        request = ModelRequest("demo", ("system",), tuple(self.messages), schemas)
        text, arguments = "", dict[str, str]()
        async for item in DemoClient(pace=0).stream(request):
            match item:
                case TextPiece():
                    text += item.text
                case ToolInputPiece():
                    arguments[item.id] = arguments.get(item.id, "") + item.text
                case StreamEnd():
                    assert text == text_of(item.blocks)
                    for call in tool_uses(item.blocks):
                        assert json.loads(arguments[call.id]) == call.input
                    self.messages.append(RequestMessage("assistant", item.blocks, "demo", "demo"))
                    return item
                case _:
                    pass
        raise AssertionError("no end")

    async def prompt(self, text: str, *, rounds: int = 20) -> str:
        """One turn; returns everything that was said in it."""
        self.messages.append(RequestMessage("user", (TextBlock(text),)))
        said = []
        for _ in range(rounds):
            end = await self.reply()
            said.append(text_of(end.blocks))
            calls = tool_uses(end.blocks)
            assert end.stop_reason is (StopReason.TOOL_USE if calls else StopReason.END_TURN)
            if not calls:
                return "\n".join(said)
            assert {call.name for call in calls} <= set(self.tools)
            results = tuple(self.decide(call) for call in calls)
            self.messages.append(RequestMessage("user", results))
        return "\n".join(said)


async def test_the_whole_tour() -> None:
    session = Session()
    said = await session.prompt("what is this project?")
    assert [call.name for call in session.calls] == ORDER
    assert len({call.id for call in session.calls}) == len(session.calls)
    assert "no model is connected, and nothing leaves this machine" in said
    assert session.calls[1].input == {"file_path": "README.md"}
    assert session.calls[3].input["file_path"] == DEMO_FILE
    assert all(call.input["prompt"].startswith(CHILD_MARK) for call in session.calls[4:6])
    assert said.count("## What is here") == 1
    for shown in ("ANTHROPIC_API_KEY", "tui-agent models", "tui-agent doctor", "--base-url"):
        assert shown in said


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.OK])
async def test_the_tour_reaches_its_end_whatever_becomes_of_the_calls(outcome: Outcome) -> None:
    session = Session(decide=refuse(outcome))
    said = await session.prompt("hello")
    assert [call.name for call in session.calls] == [name for name in ORDER if name != "Read"]
    assert "That was the tour" in said
    assert "not in my folder" in said
    if outcome is Outcome.DENIED:
        assert "You said no, so nothing was written" in said


@pytest.mark.parametrize("missing", sorted(set(ORDER)))
async def test_a_tool_that_is_not_offered_is_left_out(missing: str) -> None:
    session = Session(tools=tuple(name for name in TOOLS if name != missing))
    said = await session.prompt("hello")
    gone = {missing, "Read"} if missing == "Glob" else {missing}
    assert [call.name for call in session.calls] == [name for name in ORDER if name not in gone]
    assert "That was the tour" in said


async def test_without_any_tool_it_still_says_what_it_is() -> None:
    said = await Session(tools=()).prompt("hello")
    assert "no model is connected" in said
    assert "That was the tour" in said


@pytest.mark.parametrize("rounds", range(1, 7))
async def test_a_tour_that_was_stopped_goes_on_from_its_history_alone(rounds: int) -> None:
    stopped = Session()
    await stopped.prompt("hello", rounds=rounds)
    resumed = Session(messages=list(stopped.messages))
    said = await resumed.prompt("go on")
    assert [call.name for call in resumed.calls] == ORDER
    assert "That was the tour" in said


async def test_a_word_in_between_is_noticed_and_the_tour_goes_on() -> None:
    session = Session()
    await session.prompt("hello", rounds=1)
    last = session.messages[-1]
    typed = replace(last, blocks=(*last.blocks, TextBlock("hurry up")))
    session.messages[-1] = typed
    end = await session.reply()
    assert "hurry up" in text_of(end.blocks)
    assert [call.name for call in tool_uses(end.blocks)] == ["Read"]


async def test_later_prompts_say_how_to_connect_and_tour_starts_again() -> None:
    session = Session()
    await session.prompt("hello")
    said = await session.prompt("fix the bug in parser.py")
    assert "fix the bug in parser.py" in said
    assert "ANTHROPIC_API_KEY" in said
    assert len(session.calls) == len(ORDER)
    await session.prompt("Tour")
    assert [call.name for call in session.calls] == ORDER * 2
    assert len({call.id for call in session.calls}) == len(session.calls)


@pytest.mark.parametrize(
    ("answer", "after_the_question"),
    [
        ("Permissions", ["Write", "Bash"]),
        ("Subagents", ["Task", "Task"]),
        ("Everything", ["Write", "Task", "Task", "Bash"]),
        ("something else", ["Write", "Task", "Task", "Bash"]),
    ],
)
async def test_the_answer_decides_what_is_shown(answer: str, after_the_question: list[str]) -> None:
    def decide(call: ToolUseBlock) -> ToolResultBlock:
        if call.name != "AskUserQuestion":
            return ok(call)
        asked = call.input["questions"][0]["question"]
        text = f'The person answered:\n"{asked}": {answer}'
        return ToolResultBlock(call.id, (TextBlock(text),))

    session = Session(decide=decide)
    said = await session.prompt("hello")
    assert [call.name for call in session.calls] == [*ORDER[:3], *after_the_question]
    assert "That was the tour" in said


async def test_it_tells_what_was_written_and_not_what_it_had_proposed() -> None:
    def decide(call: ToolUseBlock) -> ToolResultBlock:
        if call.name != "Write":
            return ok(call)
        return ToolResultBlock(call.id, (TextBlock("Created edited-by-hand.md (3 lines added)."),))

    said = await Session(decide=decide).prompt("hello")
    assert "Created edited-by-hand.md" in said
    assert DEMO_FILE not in said


async def test_a_listing_that_was_cut_is_counted_whole() -> None:
    names = "\n".join(f"file{number}.md" for number in range(100))

    def decide(call: ToolUseBlock) -> ToolResultBlock:
        if call.name != "Glob":
            return ok(call)
        note = "[1,234 files match; 100 are shown. Narrow the pattern.]"
        return ToolResultBlock(call.id, (TextBlock(f"{names}\n{note}"),))

    said = await Session(decide=decide).prompt("hello")
    assert "| 1,234 |" in said
    assert "and 1,228 more" in said


async def test_a_file_left_from_an_earlier_tour_is_read_before_it_is_written() -> None:
    def decide(call: ToolUseBlock) -> ToolResultBlock:
        return ToolResultBlock(call.id, (TextBlock(f"README.md\n{DEMO_FILE}"),))

    session = Session(decide=decide)
    await session.prompt("hello")
    files = [call.input["file_path"] for call in session.calls if "file_path" in call.input]
    assert files == ["README.md", DEMO_FILE, DEMO_FILE]


@pytest.mark.parametrize("position", [4, 5])
async def test_a_child_of_the_tour_searches_and_reports(position: int) -> None:
    parent = Session()
    await parent.prompt("hello")
    child = Session(tools=("Glob", "Grep", "Read"))
    said = await child.prompt(parent.calls[position].input["prompt"])
    assert len(child.calls) == 1
    assert child.calls[0].name in {"Glob", "Grep"}
    assert "**Report:**" in said.splitlines()[-1]


async def test_a_child_without_tools_reports_at_once() -> None:
    child = Session(tools=())
    assert "**Report:** 0" in await child.prompt(f"{CHILD_MARK} anything")
    assert child.calls == []


async def test_after_a_summary_it_is_no_first_prompt() -> None:
    session = Session()
    said = await session.prompt("[Summary of the earlier conversation]\n\nthings")
    assert session.calls == []
    assert "still the demo" in said


async def test_it_can_be_asked_for_a_summary() -> None:
    said = await Session(tools=()).prompt("Summarise this session.\n\n<session>\nuser: x")
    assert said.strip()
    assert len(said) < 400


@pytest.mark.parametrize(
    ("listing", "expected"),
    [
        (LISTING, "README.md"),
        ("a.py\ndocs/readme.rst\nb.py", "docs/readme.rst"),
        ("/abs/my file.py\n/abs/x", "/abs/my file.py"),
        ("src\nMakefile", None),
        ("No files found.", None),
        ("", None),
    ],
)
def test_the_file_that_tells_most(listing: str, expected: str | None) -> None:
    assert file_to_read(listing) == expected


async def test_pace_stretches_the_waits_and_a_child_takes_its_time() -> None:
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    message = RequestMessage("user", (TextBlock(f"{CHILD_MARK} x"),))
    request = ModelRequest("demo", (), (message,), ())
    async for _ in DemoClient(pace=2.0, wait=wait).stream(request):
        pass
    assert sum(waits) == pytest.approx(5.0)
