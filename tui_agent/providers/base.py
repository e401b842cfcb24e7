"""What a model call is, whatever the provider: a request, stream items, one final item.

An adapter turns a `ModelRequest` into its wire and the wire into `StreamItem`s. It yields deltas as
they arrive and, only when it saw the provider's own end mark, one `StreamEnd`. Everything else,
early ends included, is a `ProviderError`. An adapter never retries and never sleeps.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, fields
from typing import Protocol

from tui_agent.vocabulary.agents import ModelFacts
from tui_agent.vocabulary.blocks import Block, JsonObject
from tui_agent.vocabulary.messages import Role, StopReason
from tui_agent.vocabulary.usage import Usage


@dataclass(frozen=True, slots=True)
class RequestMessage:
    """One message of the projected history. `provider` and `model` say who made an assistant
    message, so that provider data is replayed only to its maker. `prefix_changed`: it was made when
    the conversation before it read differently (compaction), which thinking may be bound to."""

    role: Role
    blocks: tuple[Block, ...]
    provider: str | None = None
    model: str | None = None
    prefix_changed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ToolSchema:
    """A tool as the model sees it; `input_schema` is a JSON Schema of type object.

    One is made for each tool and goes into every request. It is compared by identity, so that what
    is derived from it can be kept beside it.
    """

    name: str
    description: str
    input_schema: JsonObject


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One model call. `messages` alternate user and assistant, and start and end with user."""

    model: str
    system: tuple[str, ...]
    messages: tuple[RequestMessage, ...]
    tools: tuple[ToolSchema, ...]
    facts: ModelFacts = field(default_factory=ModelFacts)


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """One model call as it goes over the wire: `body` is the JSON object, exactly. `notes` say in
    words, one a line, what of the conversation and the settings it leaves out or changes."""

    body: JsonObject
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Newly generated text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPiece:
    """Newly generated reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolInputPiece:
    """A piece of the JSON arguments of the call `id`; the first piece may be empty."""

    id: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """The whole response, once its end mark was seen. Calls whose arguments cannot be used carry
    their `problem`; every id is unique within the response. `note` is the provider's own word for a
    refusal or an odd stop."""

    blocks: tuple[Block, ...]
    stop_reason: StopReason
    usage: Usage
    note: str = ""


StreamItem = TextPiece | ThinkingPiece | ToolInputPiece | StreamEnd


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model that the provider offers, with what it says of it; `None` where it says nothing.
    The facts mean what they mean in `ModelFacts`."""

    id: str
    name: str = ""
    window: int | None = None
    max_output: int | None = None
    price_input: float | None = None
    price_output: float | None = None
    price_cache_read: float | None = None
    price_cache_write: float | None = None
    takes_tools: bool | None = None
    efforts: tuple[str, ...] | None = None
    thinks_adaptively: bool | None = None

    def facts(self) -> dict[str, object]:
        """The fields of `ModelFacts` about which the provider said something."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: value
            for name, value in said.items()
            if value is not None and name not in ("id", "name")
        }


class ModelClient(Protocol):
    """A connection to one provider. `provider` is the name stored with its messages."""

    provider: str

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        """Run one call. Raises `ProviderError`; closing the iterator closes the connection."""
        ...

    def request_body(self, request: ModelRequest) -> PreparedRequest:
        """What `stream` would send for this request, without sending it. Pure."""
        ...

    async def prepare(self) -> None:
        """Load what the first call needs, so that it need not wait; never opens a connection."""
        ...

    async def models(self) -> tuple[ListedModel, ...]:
        """What the provider offers. Raises `ProviderError`."""
        ...

    async def describe(self, model: str) -> ListedModel | None:
        """What the provider says of one model; `None` where it says nothing. Raises
        `ProviderError`."""
        ...

    async def aclose(self) -> None:
        """Release the connection."""
        ...
