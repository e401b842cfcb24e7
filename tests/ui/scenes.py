"""Sessions to look at: an empty one, one that is worked in, one that waits, hostile ones."""

from __future__ import annotations

from dataclasses import replace

from tests.ui.fake_workspace import FOLDER, MODEL, START, FakeWorkspace, empty_snapshot
from tui_agent.vocabulary.blocks import (
    JsonObject,
    Outcome,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from tui_agent.vocabulary.decisions import Action, PendingItem, PendingKind, Source, Verdict
from tui_agent.vocabulary.events import (
    AgentFinished,
    AgentProgress,
    AgentStarted,
    ApprovalPending,
    BudgetCheck,
    Event,
    ProviderComplete,
    ProviderStarted,
    QueueChanged,
    QueuedMessage,
    SessionEvent,
    SessionPhase,
    StateEvent,
    TextDelta,
    ToolStarted,
)
from tui_agent.vocabulary.messages import Message, Origin, Role, StopReason
from tui_agent.vocabulary.records import SessionRecord, SessionSnapshot, ToolRun, TurnRecord
from tui_agent.vocabulary.states import (
    CallState,
    DoneReason,
    LoopState,
    Phase,
    PhaseLabel,
    Trigger,
)
from tui_agent.vocabulary.usage import Usage

SHOP = "ses_shop"

DIFF = """--- a/cart.py
+++ b/cart.py
@@ -10,3 +10,3 @@
 def total(items):
-    return sum(round(item.price * item.quantity, 2) for item in items)
+    return round(sum(item.price * item.quantity for item in items), 2)
 def is_empty(items):
"""

ANSWER = """Rounding happens **per line**, so three lines of `0.335` lose a cent:

| quantity | per line | on the total |
|---|---|---|
| 3 × 0.335 | 1.02 | 1.01 |

I'll move it to the total:

```python
def total(items):
    return round(sum(item.price * item.quantity for item in items), 2)
```
"""


def record(
    session_id: str = SHOP, title: str = "Fix checkout rounding", **values: object
) -> SessionRecord:
    base = SessionRecord(session_id, FOLDER, MODEL, session_id, START - 4000, START, title)
    return replace(base, **values)  # type: ignore[arg-type]


def message(
    number: int,
    origin: Origin,
    *blocks: TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock,
    turn: str = "turn_1",
    **values: object,
) -> Message:
    role: Role = "assistant" if origin is Origin.ASSISTANT else "user"
    base = Message(
        f"msg_{number}", role, blocks, origin, START - 300 + number, seq=number, turn_id=turn
    )
    return replace(base, **values)  # type: ignore[arg-type]


def run(
    call: ToolUseBlock, state: CallState, output: str = "", seconds: float = 0.02, **values: object
) -> ToolRun:
    began = state not in (CallState.ASKED, CallState.PLANNED, CallState.DENIED)
    base = ToolRun(
        SHOP,
        call.id,
        "msg_2",
        0,
        call.name,
        call.input,
        state,
        started=START if began else None,
        ended=START + seconds if state.is_settled else None,
        content=(TextBlock(output),) if output else (),
        verdict=Verdict(Action.ALLOW, Source.MODE, "reads inside the folder are allowed"),
    )
    return replace(base, **values)  # type: ignore[arg-type]


READ = ToolUseBlock("call_read", "Read", {"file_path": "cart.py"})
GREP = ToolUseBlock("call_grep", "Grep", {"pattern": "round(", "path": "."})
TEST = ToolUseBlock("call_test", "Bash", {"command": "pytest -q tests/test_cart.py"})
EDIT = ToolUseBlock(
    "call_edit",
    "Edit",
    {"file_path": "cart.py", "old_string": "sum(round(", "new_string": "round(sum("},
)


def item(
    pending_id: str = "pen_edit",
    call: ToolUseBlock = EDIT,
    preview: JsonObject | None = None,
    **values: object,
) -> PendingItem:
    base = PendingItem(
        pending_id=pending_id,
        session_id=SHOP,
        agent_path=(SHOP,),
        kind=PendingKind.APPROVAL,
        tool=call.name,
        tool_use_id=call.id,
        input=call.input,
        preview=preview
        or {"kind": "diff", "path": "cart.py", "diff": DIFF, "added": 1, "removed": 1},
        reason="edits ask in this mode",
        digest="d1",
        rule="Edit(cart.py)",
        folder=FOLDER,
        created=START + 88,
    )
    return replace(base, **values)  # type: ignore[arg-type]


def ask_event(asked: PendingItem) -> ApprovalPending:
    """The event that tells of an open approval."""
    return ApprovalPending(pending_id=asked.pending_id, item=asked)


def command_item(command: str, pending_id: str = "pen_bash") -> PendingItem:
    call = ToolUseBlock("call_bash", "Bash", {"command": command})
    preview = {"kind": "command", "command": command, "description": "Run the tests"}
    return item(
        pending_id, call, preview, rule="Bash(pytest:*)", reason="commands ask in this mode"
    )


QUESTIONS: JsonObject = {
    "questions": [
        {
            "question": "Where should the rounding happen?",
            "header": "Rounding",
            "options": [
                {"label": "On the total", "description": "One rounding, at the end"},
                {"label": "Per line", "description": "As it is now; receipts show it"},
            ],
        },
        {
            "question": "Which currencies must be right?",
            "header": "Currencies",
            "options": [{"label": "EUR"}, {"label": "JPY"}, {"label": "KWD"}],
            "multiSelect": True,
        },
    ]
}


def question_item(questions: JsonObject = QUESTIONS) -> PendingItem:
    call = ToolUseBlock("call_ask", "AskUserQuestion", questions)
    return item(
        "pen_ask",
        call,
        {"kind": "questions", **questions},
        kind=PendingKind.QUESTION,
        rule=None,
        reason="",
    )


def moved(asked: PendingItem, session_id: str) -> PendingItem:
    """The same item in another session."""
    return replace(asked, session_id=session_id, agent_path=(session_id,))


def long_workspace() -> FakeWorkspace:
    """A session that fills many screens."""
    messages = tuple(
        message(n, Origin.USER if n % 2 else Origin.ASSISTANT, TextBlock(f"message {n}\n\n" * 3))
        for n in range(1, 61)
    )
    workspace = FakeWorkspace()
    workspace.add(replace(empty_snapshot(record()), messages=messages, first_seq=1))
    return workspace


def worked_in() -> SessionSnapshot:
    """A session with a turn behind it and one that waits for an edit to be allowed."""
    failed = ToolUseBlock("call_lint", "Bash", {"command": "ruff check ."})
    messages = (
        message(1, Origin.USER, TextBlock("Why is the total off by one cent?")),
        message(
            2,
            Origin.ASSISTANT,
            ThinkingBlock("The cart rounds each line before it sums. That loses cents."),
            TextBlock("Let me look at how the cart adds up."),
            READ,
            GREP,
            failed,
            usage=Usage(2_000, 300),
            stop_reason=StopReason.TOOL_USE,
        ),
        message(
            3,
            Origin.TOOL_RESULTS,
            ToolResultBlock(READ.id, (TextBlock("def total(items): …"),)),
            ToolResultBlock(GREP.id, (TextBlock("cart.py:11: round("),)),
            ToolResultBlock(failed.id, (TextBlock("E501"),), True, Outcome.ERROR),
        ),
        message(
            4,
            Origin.ASSISTANT,
            TextBlock(ANSWER),
            EDIT,
            usage=Usage(3_100, 420),
            stop_reason=StopReason.TOOL_USE,
        ),
    )
    return replace(
        empty_snapshot(record()),
        messages=messages,
        first_seq=1,
        tool_runs=(
            run(READ, CallState.DONE, "def total(items): …"),
            run(
                GREP,
                CallState.DONE,
                "cart.py:11: round(",
                0.1,
                details={"kind": "matches", "count": 14},
            ),
            run(
                failed,
                CallState.FAILED,
                "cart.py:11:101: E501 line too long",
                1.4,
                details={
                    "kind": "shell",
                    "exit_code": 1,
                    "output": "cart.py:11:101: E501 line too long",
                },
            ),
            run(EDIT, CallState.ASKED),
        ),
        turns=(TurnRecord("turn_1", SHOP, Trigger.PROMPT, START - 60, usage=Usage(40_000, 1_200)),),
        phase=Phase.RUNNING,
    )


def child_session() -> SessionSnapshot:
    """The session of the first agent."""
    return replace(
        worked_in(),
        session=record("ses_child1", "check tax.py", parent_id=SHOP, agent="reviewer"),
        agent_path=(SHOP, "ses_child1"),
        pending=(),
    )


def other_sessions(workspace: FakeWorkspace) -> None:
    """Three more sessions in the list."""
    for at, (title, phase, age) in enumerate(
        (
            ("Docs pass", Phase.IDLE, 7_200),
            ("Migrate the database to the new schema", Phase.REQUIRES_ACTION, 600),
            ("Add a test for 3 × 0.335", Phase.IDLE, 200_000),
        )
    ):
        other = record(f"ses_other{at}", title, updated=START - age)
        said = (message(1, Origin.USER, TextBlock(title)),)
        workspace.add(replace(empty_snapshot(other), messages=said, first_seq=1, phase=phase))


def in_shop(*events: Event) -> tuple[Event, ...]:
    """The events as those of the shop session's turn."""
    return tuple(replace(event, session_id=SHOP, turn_id="turn_1") for event in events)


def live_work(workspace: FakeWorkspace) -> None:
    """Agents at work, a call that runs, a queued message."""
    child = ("ses_child1", (SHOP, "ses_child1"))
    workspace.publish(
        *in_shop(
            SessionEvent(trigger=Trigger.PROMPT, model=MODEL.model),
            SessionPhase(phase=Phase.RUNNING, label=PhaseLabel.TOOL_RUNNING, time=START + 90),
            StateEvent(from_=LoopState.STREAMING, to=LoopState.EXECUTING),
            BudgetCheck(
                spent=41_000,
                limit=None,
                context_used=68_000,
                window=200_000,
                rounds=2,
                max_turns=200,
            ),
            ProviderStarted(model_call_id="mc_1", provider="anthropic", model=MODEL.model),
            ProviderComplete(
                model_call_id="mc_1", stop_reason=StopReason.TOOL_USE, usage=Usage(), cost=0.08
            ),
            ToolStarted(tool_use_id=TEST.id, tool="Bash", input=TEST.input, time=START + 88),
            agent_started(1, "reviewer", "check tax.py against the spec", 58),
            agent_started(2, "test-writer", "tests for the cart", 10),
            agent_started(3, "docs", "update the README", 92),
            AgentProgress(child_id="ses_child1", rounds=3, tool_calls=4, usage=Usage(12_000, 300)),
        ),
        TextDelta(
            session_id=child[0],
            agent_path=child[1],
            model_call_id="mc_9",
            text="checking tax.py against the spec, section 4",
        ),
        *in_shop(
            AgentFinished(
                child_id="ses_child2",
                tool_use_id="call_t2",
                reason=DoneReason.MODEL_STOP,
                usage=Usage(31_000, 900),
                time=START + 80,
            ),
            QueueChanged(items=(QueuedMessage("q1", "also add a test for 3 × 0.335"),)),
        ),
    )


def agent_started(number: int, agent: str, description: str, after: float) -> AgentStarted:
    """An agent that began `after` seconds."""
    return AgentStarted(
        child_id=f"ses_child{number}",
        tool_use_id=f"call_t{number}",
        agent=agent,
        description=description,
        time=START + after,
    )


def busy_workspace() -> FakeWorkspace:
    """The session that is worked in, with others beside it."""
    workspace = FakeWorkspace()
    workspace.add(worked_in())
    other_sessions(workspace)
    return workspace
