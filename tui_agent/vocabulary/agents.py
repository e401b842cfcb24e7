"""What an agent is: its prompt, its tools, its limits. The main agent is one too."""

from __future__ import annotations

from dataclasses import dataclass, field

from tui_agent.vocabulary.states import Mode


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a turn. `max_turns` counts model responses, `max_session_tokens` all tokens of the
    session and its children, `repeat_limit` equal calls with equal results; `None` is no bound."""

    max_turns: int | None = 25
    max_session_tokens: int | None = None
    repeat_limit: int | None = None


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """One kind of agent. `tools` of `None` means every tool that the parent has."""

    name: str
    description: str = ""
    prompt: str = ""
    tools: tuple[str, ...] | None = None
    model: str | None = None
    mode: Mode | None = None
    limits: Limits = field(default_factory=Limits)
    append_prompt: str = ""
    background: bool = False
    skills: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model answers: `provider` is an adapter or preset name; without a `base_url` the
    provider's own address counts."""

    provider: str
    model: str
    base_url: str | None = None


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known about a model. Tokens, prices in USD per million tokens; `None` is unknown.

    `options` are extra request fields as the user set them, sent as they are. `efforts` are the
    levels of thinking that the model knows, least first, `none` among them where thinking can be
    switched off; `effort` is the level to ask for, `None` what the maker chose.
    `thinks_adaptively`: on the Messages API the model decides how much to think and shows a summary
    when asked for one.
    """

    window: int = 128_000
    max_output: int = 8_192
    price_input: float | None = None
    price_output: float | None = None
    price_cache_read: float | None = None
    price_cache_write: float | None = None
    options: tuple[tuple[str, object], ...] = ()
    takes_tools: bool = True
    note: str = ""
    efforts: tuple[str, ...] | None = None
    effort: str | None = None
    thinks_adaptively: bool = False


EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Every level of thinking that some maker knows, least first."""
