"""The published schema says what the events are: a sample of each, encoded, is held against it."""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from pydantic import ValidationError

from tui_agent.headless.schema import event_adapter, event_schema
from tui_agent.headless.shapes import dumps
from tui_agent.vocabulary.blocks import (
    Block,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from tui_agent.vocabulary.codec import to_json
from tui_agent.vocabulary.events import Event, MessageStored, StateEvent
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.states import LoopState

EVENT_TYPES: tuple[type[Any], ...] = get_args(Event)


def wire_name(event_type: type[Any]) -> str:
    (name,) = get_args(get_type_hints(event_type)["type"])
    return str(name)


def sample(hint: Any, *, filled: bool) -> Any:
    """A value of the type `hint`: with every field said, or with only what must be said."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return arguments[0]
    if origin in (Union, types.UnionType):
        if not filled and type(None) in arguments:
            return None
        return sample(arguments[0], filled=filled)
    if origin is tuple:
        return (sample(arguments[0], filled=filled),) if filled else ()
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"key": [1, None, {"deep": "\x1b"}]} if filled else {}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return list(hint)[-1]
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        hints = get_type_hints(hint)
        return hint(
            **{
                field.name: sample(hints[field.name], filled=filled)
                for field in dataclasses.fields(hint)
            }
        )
    return {str: "text", int: 7, float: 1.5, bool: True}[hint]


def encoded(event: Event) -> str:
    return dumps(to_json(event))


@pytest.mark.parametrize("event_type", EVENT_TYPES, ids=wire_name)
@pytest.mark.parametrize("filled", [True, False], ids=["full", "sparse"])
def test_every_event_is_what_the_schema_says(event_type: type[Any], filled: bool) -> None:
    text = encoded(sample(event_type, filled=filled))
    back = event_adapter().validate_json(text)
    assert json.loads(back.model_dump_json(exclude_unset=True)) == json.loads(text)


BLOCKS: list[Block] = [
    TextBlock("a", {"x": 1}),
    ThinkingBlock("", "signature"),
    ThinkingBlock("t", None, "redacted"),
    ToolUseBlock("c", "Read", {"path": "a"}, "cut"),
    ToolResultBlock("c", (TextBlock("r"), ImageBlock("image/png", "aGk="))),
    ImageBlock("image/png", "aGk="),
]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: type(block).__name__)
def test_every_block_is_what_the_schema_says(block: Block) -> None:
    message = Message("m", "user", (block,), Origin.USER, 1.0)
    event_adapter().validate_json(encoded(MessageStored(message=message)))


def test_what_is_wrong_is_found() -> None:
    good = to_json(StateEvent(from_=LoopState.THINKING, to=LoopState.DONE))
    assert good["from"] == "thinking"
    event_adapter().validate_json(dumps(good))
    for changed in ({"from": "nowhere"}, {"seq": "1"}, {"type": "new"}, {"extra": 1}):
        with pytest.raises(ValidationError):
            event_adapter().validate_json(dumps({**good, **changed}))


def test_the_schema_names_every_event_and_lets_later_ones_have_more() -> None:
    schema = event_schema()
    text = json.dumps(schema)
    assert set(schema["discriminator"]["mapping"]) == set(map(wire_name, EVENT_TYPES))
    assert '"additionalProperties": false' not in text
