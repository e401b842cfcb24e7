"""Stored messages in a few words, and random histories as only this program makes them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from tui_agent.vocabulary.blocks import (
    Block,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.usage import Usage


def user(*texts: str, origin: Origin = Origin.USER) -> Message:
    return Message("m", "user", tuple(map(TextBlock, texts)), origin, 0.0)


def model(*blocks: Block | str, usage: Usage | None = None) -> Message:
    made = tuple(TextBlock(block) if isinstance(block, str) else block for block in blocks)
    return Message("m", "assistant", made, Origin.ASSISTANT, 0.0, usage=usage)


def use(call_id: str) -> ToolUseBlock:
    return ToolUseBlock(call_id, "Read", {"file_path": call_id})


def result(call_id: str, text: str = "found") -> ToolResultBlock:
    return ToolResultBlock(call_id, (TextBlock(text),))


def results(*blocks: ToolResultBlock) -> Message:
    return Message("m", "user", blocks, Origin.TOOL_RESULTS, 0.0)


def numbered(*messages: Message) -> tuple[Message, ...]:
    """The messages as the store numbers them."""
    return tuple(
        replace(message, id=f"m{seq}", seq=seq) for seq, message in enumerate(messages, start=1)
    )


TEXTS = st.sampled_from(["", " \n", "word", "many words " * 40])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("prompt"), TEXTS, st.just(0)),
        st.tuples(st.just("note"), TEXTS, st.just(0)),
        st.tuples(st.just("answer"), TEXTS, st.just(0)),
        st.tuples(st.just("thought"), TEXTS, st.just(0)),
        st.tuples(st.just("batch"), TEXTS, st.integers(1, 3)),
    ),
    min_size=1,
    max_size=12,
)


def tell(steps: list[tuple[str, str, int]]) -> tuple[Message, ...]:
    """A history with whole batches only."""
    told = [user("the first prompt")]
    for place, (kind, text, count) in enumerate(steps):
        match kind:
            case "prompt":
                told.append(user(text))
            case "note":
                told.append(user(text, origin=Origin.RECOVERY))
            case "answer":
                told.append(model(text))
            case "thought":
                told.append(model(ThinkingBlock(text), text))
            case _:
                ids = [f"c{place}x{n}" for n in range(count)]
                told.append(model(text, *map(use, ids)))
                told.append(results(*(result(call_id, text) for call_id in ids)))
    return numbered(*told)


HISTORIES = STEPS.map(tell)
