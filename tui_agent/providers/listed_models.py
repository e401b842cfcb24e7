"""What a Chat Completions server says of a model in its listing.

The protocol asks for the id alone; servers add what they like, each under its own name. In comes an
entry of the listing, out comes what is understood of it. Wrong types count as nothing said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tui_agent.providers.base import ListedModel

_WINDOW_PATHS = (
    ("meta", "n_ctx"),  # llama.cpp; its n_ctx_train is what the model could, not what it may
    ("max_model_len",),  # vLLM
    ("loaded_context_length",),  # LM Studio, of the model as it is loaded
    ("top_provider", "context_length"),  # OpenRouter, of the server it would ask first
    ("context_length",),  # OpenRouter, Kimi
    ("context_window",),  # several gateways
    ("max_context_length",),  # LM Studio
)
_OUTPUT_PATHS = (("top_provider", "max_completion_tokens"), ("max_completion_tokens",))
_PER_MILLION = 1_000_000


def listed_model(entry: Mapping[str, Any]) -> ListedModel:
    """An entry of the listing."""
    takes_tools: bool | None = None
    parameters = entry.get("supported_parameters")  # OpenRouter
    if isinstance(parameters, list):
        takes_tools = "tools" in parameters
    name = entry.get("name")
    return ListedModel(
        # Gemini puts a folder before each id, which its own calls do not want
        str(entry.get("id", "")).removeprefix("models/"),
        name if isinstance(name, str) else "",
        window=_first_count(entry, _WINDOW_PATHS),
        max_output=_first_count(entry, _OUTPUT_PATHS),
        price_input=_price(entry, "prompt"),
        price_output=_price(entry, "completion"),
        price_cache_read=_price(entry, "input_cache_read"),
        price_cache_write=_price(entry, "input_cache_write"),
        takes_tools=takes_tools,
    )


def _first_count(entry: Mapping[str, Any], paths: tuple[tuple[str, ...], ...]) -> int | None:
    return next(
        (
            value
            for path in paths
            for value in _at(entry, path)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0
        ),
        None,
    )


def _at(value: Any, path: tuple[str, ...]) -> Iterator[Any]:
    for key in path:
        if not isinstance(value, Mapping):
            return
        value = value.get(key)
    yield value


def _price(entry: Mapping[str, Any], kind: str) -> float | None:
    """OpenRouter's prices: USD a token, as text; -1 where the price depends."""
    for value in _at(entry, ("pricing", kind)):
        try:
            price = float(value) * _PER_MILLION
        except (TypeError, ValueError):
            continue
        if 0 <= price < float("inf"):
            return round(price, 6)
    return None
