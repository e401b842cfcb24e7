"""The registry knows every tool by its names and says what is wrong with an input."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tools.kit import Workshop
from tui_agent.tools.base import (
    EXCLUSIVE,
    NO_EFFECTS,
    ChildOutcome,
    ChildPaused,
    ChildRequest,
    Effects,
    ToolError,
    ToolInterrupted,
)
from tui_agent.tools.registry import ToolRegistry, default_tools
from tui_agent.vocabulary.agents import AgentConfig
from tui_agent.vocabulary.blocks import Outcome, text_of
from tui_agent.vocabulary.states import DoneReason
from tui_agent.vocabulary.usage import Usage

NAMES = ("Read", "Write", "Edit", "Glob", "Grep", "Bash", "AskUserQuestion", "TodoWrite", "Task")


@pytest.fixture
def registry() -> ToolRegistry:
    return ToolRegistry(default_tools())


def test_names_and_aliases(registry: ToolRegistry) -> None:
    assert registry.names == NAMES
    assert registry.get("Agent") is registry.get("Task")
    with pytest.raises(ToolError, match=r"no tool named 'Nope'.*Read, Write, Edit"):
        registry.get("Nope")


def test_schemas_are_plain_and_the_same_each_time(registry: ToolRegistry) -> None:
    schemas = registry.schemas()
    assert tuple(schema.name for schema in schemas) == NAMES
    text = json.dumps([schema.input_schema for schema in schemas])
    for word in ("$ref", "$defs", '"title"', '"null"', "anyOf"):
        assert word not in text
    assert all(schema.input_schema["type"] == "object" for schema in schemas)
    again = ToolRegistry(default_tools()).schemas()
    assert json.dumps([s.input_schema for s in again]) == text
    grep = next(schema for schema in schemas if schema.name == "Grep").input_schema
    assert {"-i", "-n", "-A", "-B", "-C", "head_limit"} <= set(grep["properties"])
    assert grep["required"] == ["pattern"]


def test_a_part_of_the_schemas_in_the_order_of_the_registry(registry: ToolRegistry) -> None:
    chosen = registry.schemas(["Agent", "Read", "Unknown"])
    assert [schema.name for schema in chosen] == ["Read", "Task"]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("Read", {}, "file_path: is missing"),
        ("Read", {"file_path": 3}, "file_path: "),
        ("Read", {"file_path": "a", "path": "b"}, "path: no such field; the fields are file_path"),
        ("Bash", {"command": "x", "timeout": 10**9}, "timeout: "),
        ("Grep", {"pattern": "x", "-A": -1}, "-A: "),
        ("Grep", {"pattern": "x", "output_mode": "all"}, "output_mode: "),
        ("AskUserQuestion", {"questions": []}, "questions: "),
        ("Write", {"file_path": "a", "content": "\ud800"}, "content: "),
    ],
)
def test_a_wrong_input_names_the_field(
    registry: ToolRegistry, name: str, arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(ToolError) as caught:
        registry.validate(name, arguments)
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 5
    str(caught.value).encode("utf-8")


def test_effects_meet_where_they_should() -> None:
    one = Effects(writes=frozenset({Path("/a")}))
    reading = Effects(reads=frozenset({Path("/a")}))
    assert one.conflicts_with(reading)
    assert not reading.conflicts_with(reading)
    assert EXCLUSIVE.conflicts_with(reading)
    assert not EXCLUSIVE.conflicts_with(NO_EFFECTS)


QUESTIONS = [
    {
        "question": "Which one?",
        "header": "Choice",
        "options": [{"label": "A", "description": "first"}, {"label": "B", "description": ""}],
        "multiSelect": True,
    },
    {"question": "Why?", "header": "Reason", "options": [{"label": "X"}, {"label": "Y"}]},
]


async def test_answers_become_the_result(shop: Workshop) -> None:
    context = shop.context(answers={"Which one?": ["A", "B"], "Why?": "my own words"})
    result = await shop.run("AskUserQuestion", {"questions": QUESTIONS}, context=context)
    assert text_of(result.content) == (
        'The person answered:\n"Which one?": A; B\n"Why?": my own words'
    )
    assert result.details["answers"] == {"Which one?": ["A", "B"], "Why?": ["my own words"]}
    with pytest.raises(ToolError, match="Nobody answered"):
        await shop.run("AskUserQuestion", {"questions": QUESTIONS})
    shown = shop.preview("AskUserQuestion", questions=QUESTIONS)
    assert shown["questions"][0]["multiSelect"] is True


class Spawner:
    """Ends each child as the test says."""

    def __init__(self, reason: DoneReason, text: str = "found it") -> None:
        self.reason = reason
        self.text = text
        self.requests: list[ChildRequest] = []
        self.hangs = False

    def agents(self) -> tuple[AgentConfig, ...]:
        return (AgentConfig("explore"), AgentConfig("plan"))

    async def run_child(self, request: ChildRequest) -> ChildOutcome:
        self.requests.append(request)
        if self.hangs:
            await asyncio.Event().wait()
        return ChildOutcome("ses_2", self.reason, self.text, Usage(input=5, output=2), 3)


TASK = {"description": "look", "prompt": "Look.", "subagent_type": "explore"}


@pytest.mark.parametrize(
    ("reason", "outcome", "said"),
    [
        (DoneReason.MODEL_STOP, Outcome.OK, "found it"),
        (DoneReason.MAX_TURNS, Outcome.ERROR, "limit of turns after 3 rounds"),
        (DoneReason.DENIED, Outcome.DENIED, "denied"),
        (DoneReason.ERROR, Outcome.ERROR, "failed"),
        (DoneReason.USER_ABORT, Outcome.INTERRUPTED, "interrupted"),
    ],
)
async def test_a_child_returns_what_it_had(
    shop: Workshop, reason: DoneReason, outcome: Outcome, said: str
) -> None:
    spawner = Spawner(reason)
    result = await shop.run("Agent", TASK, context=shop.context(spawner=spawner, child_id="ses_9"))
    assert result.outcome is outcome
    assert said in text_of(result.content)
    assert "found it" in text_of(result.content)
    assert result.details["child_id"] == "ses_2"
    assert spawner.requests[0].child_id == "ses_9"


async def test_a_child_that_waits_makes_the_call_wait(shop: Workshop) -> None:
    spawner = Spawner(DoneReason.PENDING_APPROVAL)
    with pytest.raises(ChildPaused) as caught:
        await shop.run("Task", TASK, context=shop.context(spawner=spawner))
    assert caught.value.child_id == "ses_2"


async def test_an_unknown_agent_is_answered_with_the_known_ones(shop: Workshop) -> None:
    context = shop.context(spawner=Spawner(DoneReason.MODEL_STOP))
    with pytest.raises(ToolError, match="explore, plan"):
        await shop.run("Task", {**TASK, "subagent_type": "x"}, context=context)
    with pytest.raises(ToolError, match="cannot be used here"):
        await shop.run("Task", TASK)


async def test_a_cancelled_task_is_interrupted(shop: Workshop) -> None:
    spawner = Spawner(DoneReason.MODEL_STOP)
    spawner.hangs = True
    task = asyncio.create_task(shop.run("Task", TASK, context=shop.context(spawner=spawner)))
    while not spawner.requests:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(ToolInterrupted):
        await task


def test_the_contract_and_the_processes_load_nothing_heavy() -> None:
    script = (
        "import sys, tui_agent.tools.base, tui_agent.processes.shell;"
        "print([m for m in ('pydantic', 'psutil', 'pathspec', 'charset_normalizer', 'textual')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
