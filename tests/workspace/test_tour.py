"""The guided tour through the real program, with every kind of answer a person may give; and the
same tour told by another provider's model, which must look the same to every surface."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.scripted.plugin import StartScripted
from tests.scripted.script import Call, Reply, Say, Think, by_prompt
from tests.workspace.kit import APPROVE, PLAIN_NO, Desk, Place, Scope, bash, no_because
from tui_agent.providers.demo import DemoClient
from tui_agent.providers.demo_texts import CHILD_TASKS, DEMO_FILE_CONTENT, QUESTION
from tui_agent.providers.demo_tour import CHILD_MARK, DEMO_FILE
from tui_agent.vocabulary.blocks import text_of
from tui_agent.vocabulary.decisions import Choice, Decision, PendingItem
from tui_agent.vocabulary.events import (
    AgentStarted,
    DoneEvent,
    StateEvent,
    ToolResultEvent,
    ToolStarted,
)
from tui_agent.vocabulary.states import DoneReason, Phase

ASKED = str(QUESTION["question"])
ENDING = "That was the tour"


@pytest.fixture
def folder(place: Place) -> Path:
    place.put("README.md", "# A project\n\nTODO: write more.\n")
    place.put("notes.md", "Some notes.\n")
    return place.folder


def at_full_speed(desk: Desk) -> Desk:
    """Let the demo answer without its pauses."""
    desk.workspace._broker._clients["demo", None] = DemoClient(pace=0)
    return desk


async def tour(desk: Desk, decisions: dict[str, Decision], **options: Any) -> str:
    """Walk the tour to its end or to a stop, giving these answers by tool."""
    session = await desk.begin("show me around", **options)
    for tool in ("AskUserQuestion", "Write", "Bash"):
        item = await desk.asked(tool)
        decision = decisions.get(tool, usual(item))
        await desk.decide(item, decision)
        if decision.stops_turn:
            break
    await desk.rest(session)
    return session


def usual(item: PendingItem) -> Decision:
    if item.tool == "AskUserQuestion":
        return answer_with("whatever you like")
    return APPROVE


def answer_with(text: Any) -> Decision:
    return Decision(Choice.ANSWER, answers={ASKED: text})


async def last_text(desk: Desk, session: str) -> str:
    return text_of((await desk.messages(session))[-1].blocks)


async def test_with_yes_to_everything_it_comes_to_its_end(place: Place, folder: Path) -> None:
    async with place.opened() as desk:
        session = await tour(at_full_speed(desk), {})
        shot = await desk.snapshot(session)
        assert shot.session.model.provider == "demo"
        assert ENDING in await last_text(desk, session)
        assert [run.name for run in shot.tool_runs] == [
            "Glob", "Read", "AskUserQuestion", "Write", "Task", "Task", "Bash",
        ]  # fmt: skip
        assert {str(run.outcome) for run in shot.tool_runs} == {"ok"}
        assert len(shot.children) == 2
        assert shot.phase is Phase.IDLE
        assert len(desk.trace.all(AgentStarted)) == 2
    assert (folder / DEMO_FILE).read_text() == DEMO_FILE_CONTENT


async def test_a_second_tour_over_what_the_first_one_left(place: Place, folder: Path) -> None:
    async with place.opened() as desk:
        session = await tour(at_full_speed(desk), {})
        await desk.workspace.submit(session, "tour")
        for tool in ("AskUserQuestion", "Write", "Bash"):
            item = await desk.asked(tool)
            await desk.decide(item, usual(item))
        await desk.rest(session, 2)
        assert ENDING in await last_text(desk, session)
        outcomes = [outcome for outcome, _ in await desk.results(session)]
        assert set(outcomes) == {"ok"}


@pytest.mark.parametrize("tool", ["Write", "Bash", "AskUserQuestion"])
async def test_a_no_with_a_comment_is_heard_and_it_goes_on(
    place: Place, folder: Path, tool: str
) -> None:
    async with place.opened() as desk:
        session = await tour(at_full_speed(desk), {tool: no_because("rather not")})
        assert ENDING in await last_text(desk, session)
        outcomes = {run.name: str(run.outcome) for run in await desk.runs(session)}
        assert outcomes[tool] == "denied"
    assert (folder / DEMO_FILE).exists() == (tool != "Write")


@pytest.mark.parametrize("tool", ["Write", "Bash", "AskUserQuestion"])
async def test_a_plain_no_stops_it_and_go_on_goes_on(place: Place, folder: Path, tool: str) -> None:
    async with place.opened() as desk:
        session = await tour(at_full_speed(desk), {tool: PLAIN_NO})
        assert desk.trace.all(DoneEvent, session)[-1].reason is DoneReason.DENIED
        await desk.workspace.submit(session, "go on")
        rest = {"AskUserQuestion": ("Write", "Bash"), "Write": ("Bash",), "Bash": ()}[tool]
        for following in rest:
            await desk.decide(await desk.asked(following))
        await desk.rest(session, 2)
        assert ENDING in await last_text(desk, session)
        assert desk.trace.phases(session)[-1] is Phase.IDLE


async def test_what_a_person_edited_is_what_the_tour_writes(place: Place, folder: Path) -> None:
    edited = {"file_path": "mine.md", "content": "mine\n"}
    async with place.opened() as desk:
        decision = Decision(Choice.APPROVE, edited_input=edited, comment="a better name")
        session = await tour(at_full_speed(desk), {"Write": decision})
        assert ENDING in await last_text(desk, session)
    assert (folder / "mine.md").read_text() == "mine\n"
    assert not (folder / DEMO_FILE).exists()


@pytest.mark.parametrize("given", ["label", "free"])
async def test_the_answer_comes_back_in_the_tours_own_words(
    place: Place, folder: Path, given: str
) -> None:
    options: Any = QUESTION["options"]
    text = options[0]["label"] if given == "label" else "something I thought of"
    async with place.opened() as desk:
        session = await tour(at_full_speed(desk), {"AskUserQuestion": answer_with(text)})
        said = "\n".join(text_of(m.blocks) for m in await desk.messages(session))
        assert text in said


async def test_what_was_allowed_for_good_is_not_asked_again(place: Place, folder: Path) -> None:
    always = Decision(Choice.APPROVE, scope=Scope.ALWAYS)
    async with place.opened() as desk:
        session = await tour(at_full_speed(desk), {"Bash": always})
        await desk.workspace.submit(session, "again")
        for tool in ("AskUserQuestion", "Write"):
            item = await desk.asked(tool)
            await desk.decide(item, usual(item))
        await desk.rest(session, 2)
        assert ENDING in await last_text(desk, session)


async def test_an_interrupted_tour_goes_on_when_told(place: Place, folder: Path) -> None:
    async with place.opened() as desk:
        session = await at_full_speed(desk).begin("hello")
        await desk.asked("AskUserQuestion")
        await desk.workspace.interrupt(session)
        assert (await desk.rest(session)).reason is DoneReason.USER_ABORT
        await desk.workspace.submit(session, "go on")
        for tool in ("Write", "Bash"):
            await desk.decide(await desk.asked(tool))
        await desk.rest(session, 2)
        assert ENDING in await last_text(desk, session)


async def test_with_nobody_there_it_waits_and_goes_on_step_by_step(
    place: Place, folder: Path
) -> None:
    async with place.opened(attended=False) as desk:
        session = await at_full_speed(desk).begin("hello")
        for count, tool in enumerate(("AskUserQuestion", "Write", "Bash"), 1):
            item = await desk.asked(tool)
            done = await desk.rest(session, count)
            is_question = tool == "AskUserQuestion"
            assert done.reason is (
                DoneReason.PENDING_QUESTION if is_question else DoneReason.PENDING_APPROVAL
            )
            await desk.decide(item, usual(item))
        await desk.rest(session, 4)
        assert ENDING in await last_text(desk, session)


async def test_with_nobody_who_will_come_it_ends_all_the_same(place: Place, folder: Path) -> None:
    async with place.opened(attended=False, unattended_denies=True) as desk:
        session = await at_full_speed(desk).begin("hello")
        assert (await desk.rest(session)).reason is DoneReason.MODEL_STOP
        assert ENDING in await last_text(desk, session)
        assert await desk.workspace.pending() == ()
    assert not (folder / DEMO_FILE).exists()


def the_same_tour() -> dict[str, list[Reply]]:
    """The steps of the tour, as another model takes them."""
    tasks = [
        Call(
            "Task",
            {
                "description": description,
                "prompt": f"{CHILD_MARK} {prompt}",
                "subagent_type": "general-purpose",
            },
        )
        for description, prompt in CHILD_TASKS
    ]
    (_, first), (_, second) = CHILD_TASKS
    return {
        "show me around": [
            Reply([Think("I look."), Say("I look."), Call("Glob", {"pattern": "*"})]),
            Reply([Say("I read."), Call("Read", {"file_path": "README.md"})]),
            Reply([Say("I ask."), Call("AskUserQuestion", {"questions": [QUESTION]})]),
            Reply(
                [
                    Say("I write."),
                    Call("Write", {"file_path": DEMO_FILE, "content": DEMO_FILE_CONTENT}),
                ]
            ),
            Reply([Say("I delegate."), *tasks]),
            Reply([Say("I run."), Call("Bash", bash("ls -la | head"))]),
            Reply([Say(f"{ENDING}.")]),
        ],
        first: [Reply([Say("x"), Call("Grep", {"pattern": "TODO"})]), Reply([Say("report")])],
        second: [Reply([Say("y"), Call("Glob", {"pattern": "*.md"})]), Reply([Say("report")])],
    }


def shape(desk: Desk, session: str) -> list[str]:
    """What a surface sees of the root session, whoever is the model."""
    told = []
    for event in desk.trace.events:
        if event.session_id != session:
            continue
        match event:
            case StateEvent():
                told.append(f"state {event.from_} {event.to}")
            case ToolStarted():
                told.append(f"started {event.tool}")
            case ToolResultEvent():
                told.append(f"result {event.tool} {event.outcome}")
            case _:
                if not event.type.endswith("delta"):
                    told.append(event.type)
    return told


async def test_another_providers_model_takes_the_same_tour(
    place: Place, scripted: StartScripted, folder: Path, wire: str
) -> None:
    async with place.opened() as desk:
        shown = shape(desk, await tour(at_full_speed(desk), {}))
    (folder / DEMO_FILE).unlink()
    server = await scripted(by_prompt(the_same_tour()))
    place.speak(server, wire)
    async with place.opened() as desk:
        session = await tour(desk, {})
        assert ENDING in await last_text(desk, session)
        told = shape(desk, session)
    assert without_order_of_children(told) == without_order_of_children(shown)
    assert (folder / DEMO_FILE).read_text() == DEMO_FILE_CONTENT


def without_order_of_children(told: list[str]) -> list[str]:
    """Two subagents run at once: which one ends first is not part of the tour."""
    place = next(i for i, line in enumerate(told) if line == "started Task")
    end = next(i for i, line in enumerate(told) if line == "started Bash")
    return [*told[:place], *sorted(told[place:end]), *told[end:]]
