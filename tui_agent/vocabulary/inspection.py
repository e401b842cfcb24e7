"""What goes to a model, laid open: one request with where its parts come from."""

from __future__ import annotations

from dataclasses import dataclass

from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.blocks import JsonObject


@dataclass(frozen=True, slots=True)
class PromptLayer:
    """One part of a request: what it is, where it came from, an estimate of its size in tokens.
    `text` is what it says, empty for what only the body shows (schemas, history)."""

    name: str
    source: str
    tokens: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class InspectedRequest:
    """A request as it goes over the wire.

    `sent` is wall-clock seconds, `None` for the one that would be sent next. `tokens` is the
    meter's figure for it, `window` the model's. `notes` say, one a line, what was cleared,
    repaired or left out on the way from the stored conversation to the body.
    """

    model: ModelChoice
    sent: float | None
    layers: tuple[PromptLayer, ...]
    tokens: int
    window: int
    body: JsonObject
    notes: tuple[str, ...] = ()
