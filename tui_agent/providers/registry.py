"""Which providers there are, where their keys are looked for, and how a client for one is made.

Making a client is cheap: no SDK is imported and no connection opened before its first call.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from tui_agent.providers.anthropic_messages import AnthropicClient
from tui_agent.providers.base import ModelClient
from tui_agent.providers.chat_completions import ChatClient
from tui_agent.providers.demo import DemoClient
from tui_agent.providers.presets import PRESETS
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.errors import UsageError

ANTHROPIC = "anthropic"
COMPATIBLE = "compatible"
DEMO = "demo"

_ROUTER = "openrouter"
_ROUTER_HOST = "openrouter.ai"

# Gateways and subscriptions hand out the second kind; both travel the same way.
_ANTHROPIC_KEY_NAMES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_OUR_KEY_NAME = "TUI_AGENT_API_KEY"
_OUR_PROVIDER_NAME = "TUI_AGENT_PROVIDER"


def known_providers() -> tuple[str, ...]:
    """Every provider, in the order in which one is chosen when several have a key."""
    return (ANTHROPIC, *PRESETS, DEMO)


def key_names(provider: str) -> tuple[str, ...]:
    """The environment variables that conventionally hold the key of `provider`, best first."""
    if provider == ANTHROPIC:
        return _ANTHROPIC_KEY_NAMES
    preset = PRESETS.get(provider)
    return preset.key_names if preset is not None else ()


def key_for(
    provider: str, environ: Mapping[str, str], base_url: str | None = None
) -> tuple[str, str] | None:
    """The key of `provider` and the name of the variable that holds it.

    Our own variable goes first, unless the environment says that it is for another provider. At an
    address of the user's own a router's key counts for its host, and there alone.
    """
    names = key_names(provider)
    if base_url is not None and provider in (_ROUTER, COMPATIBLE):
        is_router = urlsplit(base_url).hostname == _ROUTER_HOST
        names = key_names(_ROUTER) if is_router else ()
    if provider != DEMO and environ.get(_OUR_PROVIDER_NAME, provider) == provider:
        names = (_OUR_KEY_NAME, *names)
    for name in names:
        key = environ.get(name, "").strip()
        if key:
            return key, name
    return None


def providers_with_key(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The providers whose own variables hold a key, in the order of choice."""
    return tuple(
        provider
        for provider in known_providers()
        if any(environ.get(name, "").strip() for name in key_names(provider))
    )


def make_client(
    choice: ModelChoice, *, key: str | None = None, timeout: float = 300.0
) -> ModelClient:
    """A client for the provider of `choice`. `timeout` is how many seconds nothing may arrive.

    Raises `UsageError` for a provider that nobody knows.
    """
    if choice.provider == DEMO:
        return DemoClient()
    if choice.provider == ANTHROPIC:
        return AnthropicClient(key, base_url=choice.base_url, timeout=timeout)
    preset = PRESETS.get(choice.provider)
    if preset is None:
        known = ", ".join(known_providers())
        raise UsageError(f"There is no provider {choice.provider!r}. Known are: {known}.")
    return ChatClient(preset, key, base_url=choice.base_url, timeout=timeout)
