"""What is known about models when the program ships: windows, prices, what to choose first.

Facts age quickly, so all of them are data and the user's settings go before them. A model that is
not listed gets careful values: a window that is too small compacts early, one that is too large is
refused.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tui_agent.providers.presets import PRESETS
from tui_agent.vocabulary.agents import ModelChoice, ModelFacts

_MILLION = 1_000_000
_NO_TOOLS = "Takes no tools over Chat Completions on the maker's own server."


_LEVELS = ("low", "medium", "high", "xhigh", "max")
_OFF_OR_LEVELS = ("none", *_LEVELS)
_THREE = ("low", "high", "max")
_GEMINI = ("low", "medium", "high")


def _claude(
    price_input: float,
    price_output: float,
    efforts: tuple[str, ...] = _LEVELS,
    *,
    cached: float = 0.1,
) -> ModelFacts:
    return ModelFacts(
        window=_MILLION,
        max_output=128_000,
        price_input=price_input,
        price_output=price_output,
        price_cache_read=price_input * cached,
        price_cache_write=price_input * 1.25,
        efforts=efforts,
        thinks_adaptively=True,
    )


def _gpt(price_input: float, price_output: float, *, takes_tools: bool = True) -> ModelFacts:
    # those that take no tools over this API are the ones that cannot be told not to think
    return ModelFacts(
        window=1_050_000,
        max_output=128_000,
        price_input=price_input,
        price_output=price_output,
        takes_tools=takes_tools,
        note="" if takes_tools else _NO_TOOLS,
        efforts=_OFF_OR_LEVELS if takes_tools else _LEVELS,
    )


def _facts(
    window: int,
    max_output: int,
    price_input: float | None = None,
    price_output: float | None = None,
    price_cache_read: float | None = None,
    *,
    efforts: tuple[str, ...] | None = None,
    note: str = "",
) -> ModelFacts:
    return ModelFacts(
        window,
        max_output,
        price_input,
        price_output,
        price_cache_read,
        note=note,
        efforts=efforts,
    )


_SHIPPED: Mapping[str, Mapping[str, ModelFacts]] = {
    "anthropic": {
        "claude-sonnet-5-5": _claude(2, 10, cached=0.05),
        "claude-opus-5-5": _claude(4, 20),
        "claude-fable-5-2": _claude(8, 40),
        "claude-haiku-5-5": _claude(0.10, 0.50, _OFF_OR_LEVELS),
        "claude-opus-5": _claude(5, 25, _OFF_OR_LEVELS),
        "claude-sonnet-5": _claude(2, 10, _OFF_OR_LEVELS),
        "claude-haiku-4-5": dataclasses.replace(
            _claude(1, 5, ()), window=200_000, max_output=64_000, thinks_adaptively=False
        ),
    },
    "openai": {
        "gpt-6.1-terra": _gpt(1, 5),
        "gpt-6-luna": _gpt(0.10, 0.50),
        "gpt-6-sol": _gpt(2, 10),
        "gpt-6.2-astra": _gpt(8, 40, takes_tools=False),
        "gpt-6.2-sol": _gpt(2, 10, takes_tools=False),
        "gpt-6.1-sol": dataclasses.replace(
            _gpt(2, 10, takes_tools=False), efforts=("low", "medium", "high", "xhigh")
        ),
        "gpt-6-astra": _gpt(10, 50, takes_tools=False),
        "gpt-5.6-sol": _gpt(4, 20),
        "gpt-5.6-terra": _gpt(2, 12),
        "gpt-5.6-luna": _gpt(0.20, 1.20),
    },
    "gemini": {
        "gemini-3.8-flash": _facts(1_048_576, 65_536, efforts=_GEMINI),
        "gemini-4-argon": _facts(
            1_048_576, 65_536, 4, 20, efforts=_GEMINI, note="Needs a paid key."
        ),
        "gemini-3.7-flash": _facts(1_048_576, 65_536, efforts=_GEMINI),
        "gemini-3.6-flash": _facts(1_048_576, 65_536, 1.5, 7.5, efforts=_GEMINI),
        "gemini-3.5-flash-lite": _facts(1_048_576, 65_536, 0.3, 2.5, efforts=_GEMINI),
    },
    "deepseek": {
        "deepseek-flash": _facts(
            _MILLION,
            384_000,
            0.30,
            1.20,
            0.006,
            efforts=("none", *_THREE),
            note="Half the price outside peak hours.",
        ),
        "deepseek-v4-pro": _facts(_MILLION, 384_000, efforts=("none", *_THREE)),
    },
    "kimi": {
        "kimi-k3": _facts(1_048_576, 131_072, 3, 15, 0.30, efforts=_THREE),
        "kimi-k3.1-pro": _facts(1_048_576, 131_072, 2, 10),
        "kimi-k2.7-code": _facts(262_144, 32_768, 0.95, 4, efforts=()),
        "kimi-k2.6": _facts(262_144, 32_768, efforts=("none",)),
    },
    "glm": {
        "glm-5.3": _facts(_MILLION, 128_000, 1.40, 4.40, 0.26, efforts=_THREE),
        "glm-5.3-flash": _facts(_MILLION, 128_000, 0.15, 0.50),
        "glm-5.2": _facts(_MILLION, 128_000, efforts=("none", *_THREE)),
        "glm-5.1": _facts(200_000, 128_000, efforts=("none",)),
        "glm-5": _facts(200_000, 128_000, efforts=("none",)),
    },
    # 128,000 and 8,192 until its listing is asked, which tells of every model that it passes on
    "openrouter": {"openrouter/auto": _facts(128_000, 8_192, note="Picks a model by itself.")},
    "demo": {"demo": _facts(128_000, 8_192, 0, 0, 0, note="No model: a guided tour.")},
}

CATALOGUE: Mapping[str, Mapping[str, ModelFacts]] = MappingProxyType(_SHIPPED)
"""By provider and model id; the first of each provider is the one to begin with."""

_UNKNOWN = ModelFacts(window=128_000, max_output=8_192)
_UNKNOWN_BY_PROVIDER: Mapping[str, ModelFacts] = {
    "anthropic": ModelFacts(window=200_000, max_output=32_000),
    # often a small model on the user's own machine
    "compatible": ModelFacts(window=32_768, max_output=8_192),
}

_VERSION_SUFFIX = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$")


def default_model(provider: str) -> str | None:
    """The model to begin with, one that takes tools; `None` where only the server knows."""
    return next(iter(CATALOGUE.get(provider, {})), None)


def facts_for(
    choice: ModelChoice,
    overrides: Mapping[str, Any] | None = None,
    *,
    told: Mapping[str, object] | None = None,
) -> ModelFacts:
    """What is known about a model: what the program ships with, over it `told`, what the provider
    says of it, and over that `overrides`, what the user set (both fields of `ModelFacts`).

    At another address than the maker's, limits of the maker's own server do not count. `options`
    may be given as a mapping. Raises `ValueError` for a field that does not exist.
    """
    models = CATALOGUE.get(choice.provider, {})
    facts = models.get(choice.model) or models.get(_VERSION_SUFFIX.sub("", choice.model))
    if facts is None:
        facts = _UNKNOWN_BY_PROVIDER.get(choice.provider, _UNKNOWN)
    if not facts.takes_tools and _is_elsewhere(choice):
        facts = dataclasses.replace(facts, takes_tools=True, note="")
    for fields in (told, overrides):
        facts = _corrected(facts, fields or {})
    said = {*(told or {}), *(overrides or {})}
    if "window" in said and "max_output" not in said:
        # a guess must leave room for the prompt, also in a window that is smaller than thought
        facts = dataclasses.replace(facts, max_output=min(facts.max_output, facts.window // 4))
    return facts


def _is_elsewhere(choice: ModelChoice) -> bool:
    """Whether another server than the maker's own is asked."""
    preset = PRESETS.get(choice.provider)
    usual = preset.base_url if preset is not None else None
    return bool(choice.base_url and choice.base_url.rstrip("/") != (usual or "").rstrip("/"))


def _corrected(facts: ModelFacts, fields: Mapping[str, Any]) -> ModelFacts:
    unknown = fields.keys() - {field.name for field in dataclasses.fields(ModelFacts)}
    if unknown:
        raise ValueError(f"no such fact about a model: {', '.join(sorted(unknown))}")
    options = fields.get("options")
    if isinstance(options, Mapping):
        fields = {**fields, "options": tuple(options.items())}
    return dataclasses.replace(facts, **fields)
