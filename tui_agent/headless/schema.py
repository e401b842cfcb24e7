"""The JSON Schema of the events, as `stream-json` writes them.

Built from the dataclasses themselves: each becomes a pydantic model with the names that the codec
writes, so that schema and events cannot drift apart. Loads pydantic; only imported when a schema or
a validation is asked for.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model

from tui_agent.vocabulary.blocks import (
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from tui_agent.vocabulary.events import Event

_BLOCK_NAMES: Mapping[type[Any], str] = {
    TextBlock: "text",
    ThinkingBlock: "thinking",
    ToolUseBlock: "tool_use",
    ToolResultBlock: "tool_result",
    ImageBlock: "image",
}


# We write no other fields; readers are not held to that, as later versions may write more.
_STRICT = ConfigDict(
    strict=True,
    extra="forbid",
    json_schema_extra=lambda schema: schema.pop("additionalProperties", None),
)


def event_schema() -> dict[str, Any]:
    """The JSON Schema of every event. Readers must ignore types and fields they do not know."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tui-agent events",
        **event_adapter().json_schema(),
    }


@cache
def event_adapter() -> TypeAdapter[BaseModel]:
    """Validates one event as JSON, strictly."""
    models = tuple(_model(event) for event in get_args(Event))
    union: Any = Annotated[Union[models], Field(discriminator="type")]  # noqa: UP007 - made at run time
    return TypeAdapter(union)


@cache
def _model(source: type[Any]) -> type[BaseModel]:
    """A pydantic model of the JSON object that the codec makes of a dataclass."""
    hints = get_type_hints(source)
    fields: dict[str, Any] = {}
    if source in _BLOCK_NAMES:
        fields["type"] = (Literal[_BLOCK_NAMES[source]], ...)
    for field in dataclasses.fields(source):
        # Blocks leave out what says nothing; everything else is always there.
        may_be_missing = source in _BLOCK_NAMES and field.default is None
        fields[field.name.rstrip("_")] = (
            _shape(hints[field.name]),
            None if may_be_missing else ...,
        )
    return create_model(
        source.__name__,
        __config__=_STRICT,
        __doc__=source.__doc__,
        **fields,
    )


def _shape(hint: Any) -> Any:
    """A type of the vocabulary as the type of its JSON form."""
    origin, arguments = get_origin(hint), get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _model(hint)
    if origin in (Union, types.UnionType):
        members = tuple(_shape(argument) for argument in arguments)
        union: Any = Union[members]  # noqa: UP007 - made at run time
        if arguments and all(argument in _BLOCK_NAMES for argument in arguments):
            return Annotated[union, Field(discriminator="type")]
        return union
    if origin is tuple:
        return tuple[_shape(arguments[0]), ...]  # type: ignore[misc]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[str, Any]
    return hint
