"""What sets the makers of Chat Completions servers apart, as data.

One adapter serves them all; it asks the preset and never a name. The facts are those that the
makers document or that their servers were seen to do; a user's own options are laid over them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from tui_agent.vocabulary.blocks import JsonObject


@dataclass(frozen=True, slots=True)
class Preset:
    """One maker.

    `key_names` are the environment variables that may hold its key, the first that is set counts.
    `replays_thinking` sends a turn's reasoning back in the field it came in. `thinking_demanded`
    names the field that every assistant turn must carry, empty where the reasoning is another
    maker's. `foreign_call_extra` stands on the first call of a turn that another model made, where
    the maker wants a signature. `no_effort_with_tools` matches the models that take tools only when
    told not to reason. `has_thinking_switch`: no thinking is asked for by a switch of its own, not
    as the effort `none`. `lists_facts`: the listing of models tells more than their names.
    """

    name: str
    base_url: str | None
    key_names: tuple[str, ...]
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    replays_thinking: bool = True
    thinking_demanded: str | None = None
    foreign_call_extra: JsonObject | None = None
    extra_body: JsonObject = field(default_factory=dict)
    no_effort_with_tools: str | None = None
    has_thinking_switch: bool = False
    needs_key: bool = True
    lists_facts: bool = True


_ALL = (
    Preset(
        name="openai",
        base_url="https://api.openai.com/v1",
        key_names=("OPENAI_API_KEY",),
        max_tokens_field="max_completion_tokens",
        replays_thinking=False,
        lists_facts=False,
        # From 5.5 on the default effort refuses tools; 5.4 takes the word as well. Of the sixth
        # family only these models know it.
        no_effort_with_tools=(
            r"gpt-5\.[4-9](?!.*-(pro|codex))|gpt-6(\.\d+)?-(luna|terra)|gpt-6-sol"
        ),
    ),
    Preset(
        name="gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai/",
        key_names=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        lists_facts=False,
        foreign_call_extra={
            "extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}
        },
    ),
    Preset(
        name="deepseek",
        base_url="https://api.deepseek.com",
        key_names=("DEEPSEEK_API_KEY",),
        thinking_demanded="reasoning_content",
        has_thinking_switch=True,
        lists_facts=False,
    ),
    Preset(
        name="kimi",
        base_url="https://api.moonshot.ai/v1",
        key_names=("MOONSHOT_API_KEY", "KIMI_API_KEY"),
        max_tokens_field="max_completion_tokens",
        thinking_demanded="reasoning_content",
        has_thinking_switch=True,
    ),
    Preset(
        name="glm",
        base_url="https://api.z.ai/api/paas/v4",
        key_names=("ZAI_API_KEY", "ZHIPU_API_KEY", "ZHIPUAI_API_KEY", "GLM_API_KEY"),
        # without these a call's arguments come all at once and earlier reasoning is forgotten
        extra_body={
            "thinking": {"type": "enabled", "clear_thinking": False},
            "tool_stream": True,
        },
        has_thinking_switch=True,
        lists_facts=False,
    ),
    Preset(
        name="openrouter",
        base_url="https://openrouter.ai/api/v1",
        key_names=("OPENROUTER_API_KEY",),
    ),
    Preset(
        name="compatible",
        base_url=None,
        key_names=(),
        needs_key=False,
    ),
)

PRESETS: Mapping[str, Preset] = MappingProxyType({preset.name: preset for preset in _ALL})
"""By name, in the order in which a provider is chosen when several have a key."""
