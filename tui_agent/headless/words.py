"""Sentences and lines for people about what happened in a run; safe to show.

In come events and open items, out goes text without control characters. Progress is one line an
event, and most events have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, assert_never

from tui_agent.headless.shapes import dumps
from tui_agent.text import exact, prose
from tui_agent.vocabulary.blocks import Outcome
from tui_agent.vocabulary.codec import to_json
from tui_agent.vocabulary.decisions import PendingItem, PendingKind
from tui_agent.vocabulary.events import (
    AgentFinished,
    AgentStarted,
    ErrorEvent,
    Event,
    HookRan,
    LoopAborted,
    LoopBudgetExceeded,
    LoopDenied,
    LoopDetected,
    LoopDone,
    LoopError,
    LoopHookStopped,
    LoopMaxTurns,
    PromptCompaction,
    ProviderRetry,
    ToolResultEvent,
    ToolStarted,
)
from tui_agent.vocabulary.states import DoneReason, Phase
from tui_agent.vocabulary.usage import Usage

PROGRAM: Final = "tui-agent"
UNTITLED: Final = "(no title)"
_LONGEST_SUBJECT: Final = 400
_ENDS: Final[Mapping[DoneReason, str]] = {
    DoneReason.ERROR: "failed",
    DoneReason.USER_ABORT: "interrupted",
    DoneReason.DENIED: "denied",
    DoneReason.MAX_TURNS: "turn limit",
    DoneReason.BUDGET_EXCEEDED: "token limit",
    DoneReason.LOOP_DETECTED: "loop stopped",
    DoneReason.HOOK_STOPPED: "hook stopped",
}


def progress_line(event: Event, agents: Mapping[str, str]) -> str | None:
    """What standard error says of `event` while a run goes on; `None` for most. `agents` are the
    names of the subagents by the id of their session."""
    match event:
        case ToolStarted():
            return f"{exact(event.tool)}: {_short(event.subject or dumps(to_json(event.input)))}"
        case ToolResultEvent() if event.outcome is not Outcome.OK:
            first = event.content.strip().partition("\n")[0]
            return f"{exact(event.tool)}: {event.outcome.value.replace('_', ' ')}: {_short(first)}"
        case ProviderRetry():
            return f"trying again in {event.delay:.0f} s: {one_line(event.message)}"
        case PromptCompaction() if event.phase == "completed":
            before, after = event.tokens_before, event.tokens_after
            return f"older messages were summarised: {before} tokens became {after}"
        case PromptCompaction() if event.phase == "failed":
            return f"older messages could not be summarised: {one_line(event.message)}"
        case AgentStarted():
            return f"agent {exact(event.agent)} started: {_short(event.description)}"
        case AgentFinished():
            name = exact(agents.get(event.child_id, ""))
            return f"agent {name} ended: {event.reason.value.replace('_', ' ')}"
        case HookRan() if event.exit_code:
            return f"hook {exact(event.command)}: exit code {event.exit_code}"
        case ErrorEvent():
            return _with_action(event.message, event.action)
        case _:
            return None


def ending_line(event: Event, session_id: str) -> str | None:
    """What standard error says about how the turn stopped; `None` when it simply finished."""
    go_on = f"go on with: {PROGRAM} run --resume {session_id}"
    match event:
        case LoopDone(cut=True):
            return f"the answer was cut by the output limit; {go_on} 'go on'"
        case LoopMaxTurns():
            return f"stopped after {event.limit} model responses; {go_on}"
        case LoopBudgetExceeded():
            spent, limit = event.spent, event.limit
            return f"stopped: {spent} tokens are spent and {limit} were allowed; {go_on}"
        case LoopDetected():
            return f"stopped: {exact(event.tool)} did the same {event.count} times; {go_on}"
        case LoopHookStopped():
            return f"stopped by a hook: {one_line(event.reason)}"
        case LoopDenied():
            return f"stopped: {', '.join(map(exact, event.tools)) or 'a call'} was denied"
        case LoopAborted():
            return f"interrupted; {go_on}"
        case LoopError():
            return _with_action(event.message, event.action)
        case _:
            return None


def pending_lines(items: Iterable[PendingItem]) -> list[str]:
    """Open items, everything of them in view, each with the command that answers it."""
    lines = []
    for item in items:
        lines.append(f"{item.pending_id}  {exact(item.tool)}  {_asks(item)}")
        shown = _question_lines(item.input) if is_question(item) else input_lines(item.input)
        lines += [f"    {line}" for line in shown]
        answer = "answer --message TEXT" if is_question(item) else "approve|deny"
        lines.append(f"    {PROGRAM} approvals resolve {item.pending_id} {answer}")
    return lines


def is_question(item: PendingItem) -> bool:
    """Whether `item` wants words and not a yes or no."""
    return item.kind is PendingKind.QUESTION


def state_words(phase: Phase, reason: DoneReason | None, *, is_cut: bool = False) -> str:
    """What a session is doing, or how its last turn ended: one that failed is not just idle."""
    match phase:
        case Phase.RUNNING | Phase.DRAINING:
            return phase.value
        case Phase.REQUIRES_ACTION:
            return "cut: needs you" if is_cut else "needs you"
        case Phase.IDLE:
            return "idle" if reason is None else _ENDS.get(reason, "idle")
        case _:
            assert_never(phase)


def tokens(usage: Usage) -> str:
    """All tokens of a usage, with a mark between thousands; nothing when none are known."""
    return f"{usage.total:,}" if usage.total else "0"


def marked(text: str, matches: Iterable[tuple[int, int]], *, bright: bool) -> str:
    """Foreign text of one line, safe, with the places that matched between brackets, or bold on a
    terminal."""
    before, after = ("\x1b[1m", "\x1b[22m") if bright else ("[", "]")
    shown, end = "", 0
    for start, stop in matches:
        shown += f"{exact(text[end:start])}{before}{exact(text[start:stop])}{after}"
        end = stop
    return shown + exact(text[end:])


def one_line(text: str) -> str:
    """Foreign text as one safe line of words."""
    return " ".join(prose(text).split())


def moment(seconds: float) -> str:
    """A time of the wall clock in the person's own zone."""
    try:
        return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        # no number, or beyond every calendar: a damaged row must not end a listing
        return "at an unknown time"


def _asks(item: PendingItem) -> str:
    who = "" if len(item.agent_path) < 2 else f"agent {exact(item.agent)}, "
    reason = f": {one_line(item.reason)}" if item.reason else ""
    return f"({who}{moment(item.created)}){reason}"


def input_lines(values: Mapping[str, object]) -> list[str]:
    """The input of a call, everything of it in view, safe."""
    lines: list[str] = []
    for key, value in values.items():
        text = value if isinstance(value, str) else dumps(to_json(value))
        first, *others = exact(text, one_line=False).split("\n")
        lines.append(f"{exact(key)}: {first}")
        lines += [f"  {line}" for line in others]
    return lines


def _question_lines(values: Mapping[str, object]) -> list[str]:
    """The questions with their options, when they have the usual shape; else the plain input."""
    questions = values.get("questions")
    if not isinstance(questions, list) or not all(isinstance(item, dict) for item in questions):
        return input_lines(values)
    lines = []
    for question in questions:
        lines.append(one_line(str(question.get("question", ""))))
        options = question.get("options")
        for option in options if isinstance(options, list) else ():
            known = option if isinstance(option, dict) else {}
            label, words = str(known.get("label", "")), one_line(str(known.get("description", "")))
            lines.append(f"  {exact(label)}{f': {words}' if words else ''}")
    return lines


def _short(text: str) -> str:
    shown = exact(text)
    return shown if len(shown) <= _LONGEST_SUBJECT else f"{shown[:_LONGEST_SUBJECT]}…"


def _with_action(message: str, action: str) -> str:
    words = one_line(message).rstrip(".")
    return f"{words}. {one_line(action)}" if action else words
