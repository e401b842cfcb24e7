"""Bounds of what goes to the model, and the odd jobs of every tool around its result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from tui_agent.tools.base import ToolError, ToolInterrupted
from tui_agent.vocabulary.blocks import Outcome, TextBlock, ToolResult

CONTENT_CHARS = 30_000
"""Characters of text that one result may have."""

_HEAD_SHARE = 3

T = TypeVar("T")


def clip(text: str, notice: Callable[[int], str], *, limit: int = CONTENT_CHARS) -> str:
    """`text` itself, or its head and tail with `notice(characters left out)` on a line between."""
    if len(text) <= limit:
        return text
    room = limit - 200
    head = text[: room // _HEAD_SHARE]
    tail = text[len(text) - (room - len(head)) :]
    # whole lines where one ends near the cut
    head = head[: head.rfind("\n") + 1] if "\n" in head[-500:] else head + "\n"
    first = tail.find("\n", 0, 500)
    tail = tail[first + 1 :] if first >= 0 else tail
    return f"{head}{notice(len(text) - len(head) - len(tail))}\n{tail}"


def one_line(text: str, limit: int = 200) -> str:
    """`text` on one line, cut to `limit` characters."""
    joined = " ".join(text.split())
    return joined if len(joined) <= limit else joined[: limit - 1] + "…"


async def to_the_end(change: Callable[[], T], result: Callable[[T], ToolResult]) -> ToolResult:
    """Run `change` in a thread. It cannot be cut in half, so a cancelled call waits for it and then
    raises `ToolInterrupted` that says what became of it."""
    work = asyncio.ensure_future(asyncio.to_thread(change))
    is_cancelled = False
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError:
            is_cancelled = True
    if not is_cancelled:
        return result(work.result())
    try:
        done = result(work.result())
    except ToolError as error:
        raise ToolInterrupted(
            ToolResult((TextBlock(f"Interrupted. {error}"),), error.details, Outcome.INTERRUPTED)
        ) from None
    note = TextBlock("Interrupted, but the change had already been made:")
    raise ToolInterrupted(ToolResult((note, *done.content), done.details, Outcome.INTERRUPTED))
