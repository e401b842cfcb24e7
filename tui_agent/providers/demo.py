"""A provider without a model: a guided tour that uses the program's real loop, tools and gate.

Comes in: a request, of which only messages and offered tools are looked at. Goes out: a scripted
reply, streamed in small pieces like any other. It is deterministic, opens no connection, and
implements the provider protocol and nothing else.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

from tui_agent.providers.base import (
    ListedModel,
    ModelRequest,
    PreparedRequest,
    StreamEnd,
    StreamItem,
    TextPiece,
    ThinkingPiece,
    ToolInputPiece,
)
from tui_agent.providers.demo_tour import DemoReply, next_reply
from tui_agent.vocabulary.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock, tool_uses
from tui_agent.vocabulary.codec import block_to_json
from tui_agent.vocabulary.messages import StopReason
from tui_agent.vocabulary.usage import Usage

_PIECE = 6
"""Characters in one piece of a stream."""
_PIECE_SECONDS = 0.012
_SLOW_SECONDS = 2.5
_CHARACTERS_IN_TOKEN = 4


class DemoClient:
    """The tour as a `ModelClient`. `pace` stretches its delays; 0 is as fast as it goes."""

    provider = "demo"

    def __init__(
        self, *, pace: float = 1.0, wait: Callable[[float], Awaitable[object]] = asyncio.sleep
    ) -> None:
        self._pace = pace
        self._wait = wait

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        """Streams the reply that fits the history."""
        reply = next_reply(request)
        blocks = _blocks(reply, request)
        pieces = [piece for block in blocks for piece in _pieces(block)]
        seconds = _SLOW_SECONDS / max(1, len(pieces)) if reply.is_slow else _PIECE_SECONDS
        for piece in pieces:
            await self._wait(seconds * self._pace)
            yield piece
        stop = StopReason.TOOL_USE if reply.calls else StopReason.END_TURN
        yield StreamEnd(blocks, stop, _usage(request, blocks))

    def request_body(self, request: ModelRequest) -> PreparedRequest:
        """The demo sends nothing; this is what it looks at."""
        said = [
            {"role": m.role, "content": list(map(block_to_json, m.blocks))}
            for m in request.messages
        ]
        body = {"model": request.model, "messages": said, "tools": [t.name for t in request.tools]}
        return PreparedRequest(body, ("nothing is sent: the demo answers from its script",))

    async def prepare(self) -> None:
        """There is nothing to load."""

    async def models(self) -> tuple[ListedModel, ...]:
        """Its one script."""
        return (ListedModel("demo", "Guided tour, no model"),)

    async def describe(self, model: str) -> ListedModel | None:  # noqa: ARG002 - has one model
        """Nothing that the catalogue does not know."""
        return None

    async def aclose(self) -> None:
        """Nothing is open."""


def _blocks(reply: DemoReply, request: ModelRequest) -> tuple[Block, ...]:
    blocks: list[Block] = [ThinkingBlock(reply.thinking)] if reply.thinking else []
    blocks.append(TextBlock(reply.text))
    # Ids count the calls of the history, so that none comes twice in it.
    taken = {call.id for message in request.messages for call in tool_uses(message.blocks)}
    number = len(taken)
    for call in reply.calls:
        number += 1
        while f"demo_{number}" in taken:
            number += 1
        blocks.append(ToolUseBlock(f"demo_{number}", call.name, dict(call.input)))
    return tuple(blocks)


def _pieces(block: Block) -> Iterator[StreamItem]:
    match block:
        case TextBlock():
            for part in _cut(block.text):
                yield TextPiece(part)
        case ThinkingBlock():
            for part in _cut(block.text):
                yield ThinkingPiece(part)
        case ToolUseBlock():
            for part in _cut(json.dumps(block.input, ensure_ascii=False)):
                yield ToolInputPiece(block.id, block.name, part)
        case _:
            pass  # a reply of the demo has no other kind


def _cut(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def _usage(request: ModelRequest, blocks: tuple[Block, ...]) -> Usage:
    """What a model of usual tokens would have counted, so that meters have something to show."""
    prompt = sum(len(text) for text in request.system)
    prompt += sum(len(str(block)) for message in request.messages for block in message.blocks)
    output = sum(len(str(block)) for block in blocks)
    return Usage(prompt // _CHARACTERS_IN_TOKEN, output // _CHARACTERS_IN_TOKEN, 0, 0)
