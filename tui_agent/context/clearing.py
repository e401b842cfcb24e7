"""Clearing: older tool results become markers, so that a long session's requests stay small.

Which results are cleared is stored once and holds for every later request, so that requests keep a
common prefix between two clearings. The stored messages are never changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tui_agent.context.budget import block_tokens
from tui_agent.vocabulary.blocks import Block, TextBlock, ToolResultBlock
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.records import Clearing

LARGE_TOKENS = 1_000
"""Results over this size count, and are cleared."""
MOST_LARGE = 15
"""So many of them may stand in a request; with one more all but the last few are cleared."""
KEPT_LARGE = 5
TRIMMED_TOKENS = 200
"""Results over this size are trimmed when a compaction has failed."""
TRIM_KEEPS = 0.25
"""The share of the window that the newest results may keep then."""
MARKER = "[This older result was cleared to save room. Make the call again if it is needed.]"


def with_markers(history: Sequence[Message], clearings: Iterable[Clearing]) -> tuple[Message, ...]:
    """`history` as requests show it."""
    cleared = frozenset(call_id for each in clearings for call_id in each.tool_use_ids)
    if not cleared:
        return tuple(history)
    return tuple(
        replace(message, blocks=tuple(_marked(block, cleared) for block in message.blocks))
        if any(_is_result(block, cleared) for block in message.blocks)
        else message
        for message in history
    )


def edited_spans(clearings: Iterable[Clearing]) -> tuple[tuple[int, int], ...]:
    """Message numbers (after, up to and with) of what was said before an earlier part changed."""
    return tuple((each.first_seq, each.newest_seq) for each in clearings)


def choose_clearing(history: Sequence[Message]) -> Clearing | None:
    """What should be cleared of a history that shows its markers already, by the usual rule."""
    large = [found for found in _results(history) if found[2] > LARGE_TOKENS]
    if len(large) <= MOST_LARGE:
        return None
    return _clearing(history, large[:-KEPT_LARGE])


def choose_trimming(history: Sequence[Message], window: int) -> Clearing | None:
    """What can be cleared when nothing else makes the history shorter: all but the newest results
    that fit into a share of the `window` (tokens)."""
    left = round(TRIM_KEEPS * window)
    trimmed = []
    for found in reversed(_results(history)):
        left -= found[2]
        if left < 0 and found[2] > TRIMMED_TOKENS:
            trimmed.append(found)
    return _clearing(history, trimmed[::-1]) if trimmed else None


def _results(history: Sequence[Message]) -> list[tuple[str, int, int]]:
    """Every result that is not cleared, oldest first: call id, message number, tokens."""
    return [
        (block.tool_use_id, message.seq, block_tokens((block,)))
        for message in history
        for block in message.blocks
        if isinstance(block, ToolResultBlock) and block.content != (TextBlock(MARKER),)
    ]


def _clearing(history: Sequence[Message], chosen: list[tuple[str, int, int]]) -> Clearing:
    return Clearing(
        tuple(call_id for call_id, _, _ in chosen),
        min(seq for _, seq, _ in chosen),
        max(message.seq for message in history),
    )


def _is_result(block: Block, cleared: frozenset[str]) -> bool:
    return isinstance(block, ToolResultBlock) and block.tool_use_id in cleared


def _marked(block: Block, cleared: frozenset[str]) -> Block:
    if isinstance(block, ToolResultBlock) and block.tool_use_id in cleared:
        return replace(block, content=(TextBlock(MARKER),))
    return block
