"""Records that read like what they are, for the tests of the store."""

from collections.abc import Sequence
from dataclasses import replace

from tui_agent.store import Store
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.blocks import (
    Block,
    Outcome,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from tui_agent.vocabulary.decisions import PendingItem, PendingKind
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.records import SessionRecord, ToolRun, TurnRecord
from tui_agent.vocabulary.states import CallState, Trigger
from tui_agent.vocabulary.usage import Usage

FOLDER = "/work/place"


def session(session_id: str = "ses_a", *, parent: SessionRecord | None = None) -> SessionRecord:
    """A session; a child when `parent` is given."""
    return SessionRecord(
        id=session_id,
        folder=FOLDER,
        model=ModelChoice("demo", "demo-1"),
        root_id=parent.root_id if parent else session_id,
        created=1.0,
        updated=1.0,
        parent_id=parent.id if parent else None,
    )


def turn(
    turn_id: str = "turn_1", session_id: str = "ses_a", resumes: str | None = None
) -> TurnRecord:
    """A turn that has just begun."""
    return TurnRecord(turn_id, session_id, Trigger.PROMPT, 1.0, resumes)


def said(message_id: str, text: str, origin: Origin = Origin.USER) -> Message:
    """A message of one text."""
    role = "assistant" if origin is Origin.ASSISTANT else "user"
    return Message(message_id, role, (TextBlock(text),), origin, 2.0)  # type: ignore[arg-type]


def reply(message_id: str, *calls: str, text: str = "let me see") -> Message:
    """A reply of the model that makes `calls`, named by their ids."""
    blocks: list[Block] = [TextBlock(text)]
    blocks += [ToolUseBlock(call, "Bash", {"command": f"echo {call}"}) for call in calls]
    return Message(message_id, "assistant", tuple(blocks), Origin.ASSISTANT, 3.0)


def results(message_id: str, *calls: str) -> Message:
    """The message that answers `calls`."""
    blocks = tuple(ToolResultBlock(call, (TextBlock("done"),)) for call in calls)
    return Message(message_id, "user", blocks, Origin.TOOL_RESULTS, 4.0)


def ask(
    call: str, session_id: str = "ses_a", kind: PendingKind = PendingKind.APPROVAL
) -> PendingItem:
    """The open item of `call`; its id is `ask_` and the call's."""
    return PendingItem(
        pending_id=f"ask_{call}",
        session_id=session_id,
        agent_path=(session_id,),
        kind=kind,
        tool="Bash",
        tool_use_id=call,
        input={"command": f"echo {call}"},
        preview={"kind": "command", "command": f"echo {call}"},
        reason="not on a list",
        digest=f"digest of {call}",
        rule=f"Bash(echo {call})",
        folder=FOLDER,
        created=5.0,
    )


def ended(run: ToolRun, outcome: Outcome = Outcome.INTERRUPTED) -> ToolRun:
    """`run` cut short."""
    return replace(
        run,
        state=CallState.CANCELLED,
        outcome=outcome,
        content=(TextBlock("cut"),),
        ended=9.0,
    )


async def with_batch(
    store: Store, *calls: str, session_id: str = "ses_a", message_id: str = "msg_reply"
) -> tuple[ToolRun, ...]:
    """A session (made here) with a prompt and a reply that makes `calls`; returns them planned."""
    await store.create_session(session(session_id))
    turn_id = f"turn_{session_id}"
    await store.begin_turn(turn(turn_id, session_id))
    await store.append_message(session_id, said("msg_prompt", "please look around"))
    await store.append_reply(
        session_id, reply(message_id, *calls), turn_id=turn_id, usage=Usage(10, 5), rounds=1
    )
    return await store.tool_runs(session_id)


async def asked(store: Store, runs: Sequence[ToolRun]) -> tuple[ToolRun, ...]:
    """Each of `runs` asked, with its item open."""
    session_id = runs[0].session_id
    return await store.record_review(
        session_id,
        [
            replace(run, state=CallState.ASKED, digest=f"digest of {run.tool_use_id}")
            for run in runs
        ],
        [ask(run.tool_use_id, session_id) for run in runs],
    )


async def approved(store: Store, runs: Sequence[ToolRun]) -> tuple[ToolRun, ...]:
    """Each of `runs` approved by a rule."""
    return await store.record_review(
        runs[0].session_id, [replace(run, state=CallState.APPROVED) for run in runs]
    )
