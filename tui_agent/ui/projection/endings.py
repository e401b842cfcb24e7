"""What the conversation says where a turn ended. A pure function of data."""

from __future__ import annotations

from typing import assert_never

from tui_agent.ui.projection.items import NoticeKind
from tui_agent.vocabulary.states import DoneReason


def end_notice(reason: DoneReason, detail: str = "") -> tuple[NoticeKind, str] | None:
    """What the conversation says where a turn ended; nothing after a genuine answer."""
    said = f": {detail}" if detail else ""
    match reason:
        case DoneReason.MODEL_STOP:
            return None
        case DoneReason.MAX_TURNS:
            return NoticeKind.WARNING, f"Stopped at the round limit{said}. Send a message to go on."
        case DoneReason.USER_ABORT:
            # the cause only says by which way: a key, or the end of the program
            return NoticeKind.INFO, "Interrupted."
        case DoneReason.ERROR:
            return NoticeKind.ERROR, f"The turn failed{said}"
        case DoneReason.BUDGET_EXCEEDED:
            return NoticeKind.WARNING, f"Stopped at the token limit{said}."
        case DoneReason.LOOP_DETECTED:
            return NoticeKind.WARNING, f"Stopped: the same call gave the same result{said}."
        case DoneReason.DENIED:
            return NoticeKind.INFO, f"Stopped: you denied{said or ' a call'}."
        case DoneReason.HOOK_STOPPED:
            return NoticeKind.WARNING, f"A hook stopped the turn{said}."
        case DoneReason.PENDING_APPROVAL:
            return NoticeKind.WARNING, "Paused here for an approval."
        case DoneReason.PENDING_QUESTION:
            return NoticeKind.WARNING, "Paused here for a question."
        case _:
            assert_never(reason)
