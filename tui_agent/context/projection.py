"""From stored messages to the messages of a request.

Comes in: a session's history since its last boundary, oldest first. Goes out: alternating user and
assistant messages that every provider accepts. Adjacent user messages are merged with tool results
first; blank text, empty messages and calls that nobody answered are left out and reported, so that
what a person sees and what the model gets have one source. Stored messages are never changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tui_agent.providers.base import RequestMessage
from tui_agent.vocabulary.blocks import (
    Block,
    Outcome,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    tool_uses,
)
from tui_agent.vocabulary.messages import Message, Origin

EMPTY_RESULT = "(no output)"
LOST_RESULT = "The outcome of this call was lost. It may have run: check before repeating it."


@dataclass(frozen=True, slots=True)
class Projection:
    """The messages of a request and, in words, what had to be repaired to get them."""

    messages: tuple[RequestMessage, ...]
    repairs: tuple[str, ...] = ()


def project(
    history: Sequence[Message],
    *,
    boundary_seq: int = 0,
    edited: Sequence[tuple[int, int]] = (),
) -> Projection:
    """The request messages for `history`.

    `boundary_seq` is the number of the summary message that starts it, or 0: messages that are
    older than it were made under another prefix, which their provider data may be bound to. So were
    those of the spans `edited` (message numbers: after the first, up to and with the second), since
    a result before them was cleared.
    """

    def prefix_changed(seq: int) -> bool:
        return 0 < seq < boundary_seq or any(first < seq <= last for first, last in edited)

    repairs: list[str] = []
    turns: list[RequestMessage] = []
    for message in _paired(_from_first_prompt(history, repairs), repairs):
        blocks = tuple(_sendable(message.blocks))
        if not blocks:
            continue
        if message.role == "user" and turns and turns[-1].role == "user":
            turns[-1] = RequestMessage("user", _results_first(turns[-1].blocks + blocks))
        elif message.role == "assistant" and turns and turns[-1].role == "assistant":
            turns[-1] = replace(turns[-1], blocks=turns[-1].blocks + blocks)
        else:
            turns.append(
                RequestMessage(
                    message.role,
                    _results_first(blocks) if message.role == "user" else blocks,
                    message.provider,
                    message.model,
                    prefix_changed=prefix_changed(message.seq),
                )
            )
    return Projection(tuple(turns), tuple(repairs))


def _from_first_prompt(history: Sequence[Message], repairs: list[str]) -> Sequence[Message]:
    """The history from its first prompt on: an answer before it has nothing that it answers, and
    results without their calls would be refused."""
    for place, message in enumerate(history):
        if message.role == "user" and any(
            not isinstance(block, ToolResultBlock) for block in _sendable(message.blocks)
        ):
            if any(earlier.role == "assistant" for earlier in history[:place]):
                repairs.append("an answer before the first prompt was left out")
            return history[place:]
    return ()


def _paired(history: Sequence[Message], repairs: list[str]) -> Iterable[Message]:
    """Messages in order, every answered call with its answer right behind it and no other.

    Stored histories are already so; this is the last line of defence for one that was damaged.
    """
    awaited: tuple[ToolUseBlock, ...] = ()
    for message in history:
        if message.role == "assistant":
            if awaited:
                yield _lost_results(awaited, repairs)
            awaited = tool_uses(message.blocks)
            yield message
            continue
        results = {
            block.tool_use_id: block
            for block in message.blocks
            if isinstance(block, ToolResultBlock)
        }
        if not awaited and not results:
            yield message
            continue
        wanted = [use.id for use in awaited]
        if list(results) != wanted:
            repairs.append("the answers to a batch of calls were completed and put in order")
        answers = [results.get(call_id) or _lost(call_id) for call_id in wanted]
        others = [block for block in message.blocks if not isinstance(block, ToolResultBlock)]
        awaited = ()
        yield replace(message, blocks=(*answers, *others))
    if awaited:
        yield _lost_results(awaited, repairs)


def _lost(call_id: str) -> ToolResultBlock:
    return ToolResultBlock(call_id, (TextBlock(LOST_RESULT),), True, Outcome.UNKNOWN)


def _lost_results(awaited: tuple[ToolUseBlock, ...], repairs: list[str]) -> Message:
    repairs.append("calls without an answer were answered as lost")
    blocks = tuple(_lost(use.id) for use in awaited)
    return Message("", "user", blocks, Origin.TOOL_RESULTS, 0.0)


def _sendable(blocks: Iterable[Block]) -> Iterable[Block]:
    """`blocks` without those that a provider refuses."""
    for block in blocks:
        match block:
            case TextBlock():
                if block.text.strip():
                    yield block
            case ThinkingBlock():
                # blank reasoning may be what its maker wants to see again
                if block.text.strip() or block.signature or block.redacted or block.provider_data:
                    yield block
            case ToolResultBlock():
                content = tuple(
                    part
                    for part in block.content
                    if not isinstance(part, TextBlock) or part.text.strip()
                )
                yield replace(block, content=content or (TextBlock(EMPTY_RESULT),))
            case _:
                yield block


def _results_first(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    results = tuple(block for block in blocks if isinstance(block, ToolResultBlock))
    others = tuple(block for block in blocks if not isinstance(block, ToolResultBlock))
    return results + others
