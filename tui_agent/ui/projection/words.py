"""The words for what happened, one place for all panes. Pure functions of data."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from tui_agent.vocabulary.states import DoneReason
from tui_agent.vocabulary.usage import Usage

if TYPE_CHECKING:
    from tui_agent.vocabulary.blocks import JsonObject
    from tui_agent.vocabulary.messages import StopReason

_SUBJECT_KEYS = (
    "command",
    "pattern",
    "query",
    "file_path",
    "path",
    "url",
    "description",
    "skill",
    "name",
    "prompt",
)


def subject_of(tool_input: JsonObject) -> str:
    """One line that says what a call is about: its command, file, pattern or the like."""
    for key in _SUBJECT_KEYS:
        value = tool_input.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
    questions = tool_input.get("questions")
    if isinstance(questions, list) and questions and isinstance(questions[0], dict):
        return str(questions[0].get("question", ""))
    return ""


def duration(seconds: float) -> str:
    """`0.02s`, `12s`, `1m10s`, `2h05m`: as short as it stays true."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f}s" if seconds >= 0.1 else f"{max(0.0, seconds):.2f}s"
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


def elapsed(seconds: float) -> str:
    """`0:12`, `1:02:03`: time that still runs."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    if hours:
        return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"
    return f"{rest // 60}:{rest % 60:02d}"


def ago(seconds: float) -> str:
    """`now`, `5m`, `3h`, `12d`: how long ago, for listings."""
    if seconds < 60:
        return "now"
    if seconds < 3600:
        return f"{int(seconds // 60)}m"
    if seconds < 86400:
        return f"{int(seconds // 3600)}h"
    return f"{int(seconds // 86400)}d"


def tokens(count: int) -> str:
    """`980`, `41k`, `1.2M`."""
    if count < 1000:
        return str(count)
    if count < 999_500:
        return f"{count / 1000:.1f}k" if count < 10_000 else f"{round(count / 1000)}k"
    return f"{count / 1_000_000:.1f}M"


def spent(usage: Usage) -> str:
    """`41k tok`; with a `~` where the provider left counts out and they are reckoned."""
    return f"{'~' if usage.estimated else ''}{tokens(usage.total)} tok"


def money(usd: float) -> str:
    """`$0.08`, `$0.0021`, `$12.40`."""
    return f"${usd:.2f}" if usd >= 0.01 or usd == 0 else f"${usd:.4f}"


def plural(count: int, noun: str) -> str:
    """`1 call`, `3 calls`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def stop_words(reason: StopReason) -> str:
    """Why a response ended."""
    return reason.value.replace("_", " ")


def done_words(reason: DoneReason) -> str:
    """Why a turn ended, in two or three words."""
    match reason:
        case DoneReason.MODEL_STOP:
            return "complete"
        case DoneReason.MAX_TURNS:
            return "round limit"
        case DoneReason.USER_ABORT:
            return "interrupted"
        case DoneReason.ERROR:
            return "error"
        case DoneReason.BUDGET_EXCEEDED:
            return "token limit"
        case DoneReason.LOOP_DETECTED:
            return "loop detected"
        case DoneReason.DENIED:
            return "denied"
        case DoneReason.HOOK_STOPPED:
            return "hook stopped"
        case DoneReason.PENDING_APPROVAL:
            return "pending approval"
        case DoneReason.PENDING_QUESTION:
            return "pending question"
        case _:
            assert_never(reason)
