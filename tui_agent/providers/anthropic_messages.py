"""The Anthropic Messages API, also as other servers speak it.

Comes in: a `ModelRequest`. Goes out: stream items made from the SDK's raw events; its accumulating
helpers are not used, since they lose the content of cut calls and call a cut stream a good one. The
SDK's retries are off and nothing is taken from the environment but proxies.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

from tui_agent.providers.anthropic_assembly import AnthropicAssembly
from tui_agent.providers.anthropic_request import build_body
from tui_agent.providers.base import ListedModel, ModelRequest, PreparedRequest, StreamItem
from tui_agent.providers.driver import LazyClient, drive
from tui_agent.providers.errors import ErrorMapper, SdkErrors
from tui_agent.providers.request_notes import RequestNotes
from tui_agent.providers.sdk_environment import (
    CONNECT_SECONDS,
    ambient_header_names,
    silence_deprecations,
    usable_key,
)
from tui_agent.vocabulary.agents import EFFORTS
from tui_agent.vocabulary.blocks import tool_uses
from tui_agent.vocabulary.errors import ErrorClass

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

BASE_URL = "https://api.anthropic.com"
_LISTING_SECONDS = 15.0


class AnthropicClient:
    """A `ModelClient` for one key and server. `timeout` is how long nothing may arrive, in seconds.

    A server other than Anthropic's needs no key.
    """

    def __init__(
        self,
        key: str | None,
        *,
        base_url: str | None = None,
        provider: str = "anthropic",
        timeout: float = 300.0,
    ) -> None:
        self.provider = provider
        self._base_url = base_url or BASE_URL
        self._key = key
        self._timeout = timeout
        self._errors = ErrorMapper(secret=key)
        self._client: LazyClient[AsyncAnthropic] = LazyClient(self._build)

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        """Runs one call. Raises `ProviderError`."""
        prepared = self.request_body(request)

        async def open_stream() -> Any:
            client = await self._client.get()
            # as extra body, which the SDK takes as it is and lays over its own parameters
            return await client.messages.create(
                model=request.model,
                max_tokens=request.facts.max_output,
                messages=[],
                stream=True,
                extra_body=prepared.body,
            )

        assembly = AnthropicAssembly(call_ids(request))
        async with aclosing(drive(open_stream, assembly, self._errors, prepared)) as items:
            async for item in items:
                yield item

    def request_body(self, request: ModelRequest) -> PreparedRequest:
        """Exactly what `stream` sends."""
        notes = RequestNotes()
        body = build_body(request, self.provider, notes)
        return PreparedRequest(body, notes.lines())

    async def prepare(self) -> None:
        """Import the SDK and build its client."""
        await self._client.get()

    async def models(self) -> tuple[ListedModel, ...]:
        """What the server offers. Raises `ProviderError`."""
        try:
            client = await self._client.get()
            page = await client.models.list(limit=100, timeout=_LISTING_SECONDS)
            found = [cast("Any", model) async for model in page]
        except Exception as error:
            raise self._errors.map(error, has_begun=False) from error
        return tuple(_listed(model) for model in found)

    async def describe(self, model: str) -> ListedModel | None:
        """What the server says of one model; gateways often do not know the question."""
        try:
            client = await self._client.get()
            found = await client.models.retrieve(model, timeout=_LISTING_SECONDS)
        except Exception as error:
            failure = self._errors.map(error, has_begun=False)
            if failure.error_class is ErrorClass.NOT_FOUND:
                return None
            raise failure from error
        return _listed(found)

    async def aclose(self) -> None:
        """Closes the connections."""
        client = self._client.take()
        if client is not None:
            await client.close()

    def _build(self) -> AsyncAnthropic:
        is_makers_own = self._base_url.rstrip("/") == BASE_URL
        key = usable_key(self._key if is_makers_own else self._key or "none", self.provider)

        import anthropic

        silence_deprecations()
        self._errors.sdk = SdkErrors(
            anthropic.APIStatusError,
            anthropic.APITimeoutError,
            anthropic.APIConnectionError,
            anthropic.APIError,
        )
        headers: dict[str, Any] = {}
        for name in ambient_header_names(os.environ, "ANTHROPIC_CUSTOM_HEADERS"):
            headers[name] = anthropic.omit
        if not is_makers_own:
            # many gateways read the key only from the header that the older API had
            headers["X-Api-Key"] = key
        # the SDK's own, unless the environment had another
        headers = {
            name: value for name, value in headers.items() if name.lower() != "authorization"
        }
        headers["Authorization"] = f"Bearer {key}"
        client = anthropic.AsyncAnthropic(
            api_key=key,
            base_url=self._base_url,
            timeout=anthropic.Timeout(self._timeout, connect=CONNECT_SECONDS),
            max_retries=0,
            default_headers=headers,
            open_telemetry=False,
        )
        # these import and read files on first use: here, where a thread waits for them
        _ = (client.messages, client.models, client.default_headers)
        return client


def _listed(model: Any) -> ListedModel:
    """A model card. Loosely read: other servers leave most of it out."""
    efforts, thinks_adaptively = None, None
    capabilities = getattr(model, "capabilities", None)
    if capabilities is not None:
        effort = getattr(capabilities, "effort", None)
        thinking = getattr(getattr(capabilities, "thinking", None), "types", None)
        switched_off = ("none",) if _is_supported(thinking, "disabled") else ()
        efforts = (*switched_off, *(level for level in EFFORTS if _is_supported(effort, level)))
        thinks_adaptively = _is_supported(thinking, "adaptive")
    return ListedModel(
        model.id,
        getattr(model, "display_name", None) or "",
        getattr(model, "max_input_tokens", None),
        getattr(model, "max_tokens", None),
        efforts=efforts,
        thinks_adaptively=thinks_adaptively,
    )


def _is_supported(capabilities: Any, name: str) -> bool:
    return getattr(getattr(capabilities, name, None), "supported", False) is True


def call_ids(request: ModelRequest) -> set[str]:
    """The ids of every call in the history of `request`: a new call may have none of them."""
    return {call.id for message in request.messages for call in tool_uses(message.blocks)}
