"""The Chat Completions API, as OpenAI and everybody else speaks it.

Comes in: a `ModelRequest` and a preset that says what is special about this maker. Goes out: stream
items made from the SDK's raw chunks; its accumulating helper is not used, since it fails on half of
what real servers send. The SDK's retries are off and nothing is taken from the environment but
proxies: by itself it would send OpenAI's organisation, project and headers to every server.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

from tui_agent.providers.anthropic_messages import call_ids
from tui_agent.providers.base import ListedModel, ModelRequest, PreparedRequest, StreamItem
from tui_agent.providers.chat_assembly import ChatAssembly
from tui_agent.providers.chat_request import build_body
from tui_agent.providers.driver import LazyClient, drive
from tui_agent.providers.errors import ErrorMapper, SdkErrors
from tui_agent.providers.listed_models import listed_model
from tui_agent.providers.presets import Preset
from tui_agent.providers.request_notes import RequestNotes
from tui_agent.providers.sdk_environment import (
    CONNECT_SECONDS,
    ambient_header_names,
    silence_deprecations,
    usable_key,
)
from tui_agent.vocabulary.errors import ErrorClass, ProviderError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_LISTING_SECONDS = 15.0


class ChatClient:
    """A `ModelClient` for one key and server. `timeout` bounds the server's silence, in seconds."""

    def __init__(
        self,
        preset: Preset,
        key: str | None,
        *,
        base_url: str | None = None,
        timeout: float = 300.0,
    ) -> None:
        self.provider = preset.name
        self._preset = preset
        self._base_url = base_url or preset.base_url
        self._key = key
        self._timeout = timeout
        self._errors = ErrorMapper(secret=key)
        self._client: LazyClient[AsyncOpenAI] = LazyClient(self._build)

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        """Runs one call. Raises `ProviderError`."""
        prepared = self.request_body(request)

        async def open_stream() -> Any:
            client = await self._client.get()
            # as extra body, which the SDK takes as it is: it walks through its own parameters for
            # half a second when the history is long
            return await client.chat.completions.create(
                model=request.model, messages=[], stream=True, extra_body=prepared.body
            )

        assembly = ChatAssembly(self._errors, call_ids(request))
        async with aclosing(drive(open_stream, assembly, self._errors, prepared)) as items:
            async for item in items:
                yield item

    def request_body(self, request: ModelRequest) -> PreparedRequest:
        """Exactly what `stream` sends."""
        notes = RequestNotes()
        body = build_body(request, self._preset, notes)
        return PreparedRequest(body, notes.lines())

    async def prepare(self) -> None:
        """Import the SDK and build its client."""
        await self._client.get()

    async def models(self) -> tuple[ListedModel, ...]:
        """What the server offers. Raises `ProviderError`."""
        try:
            client = await self._client.get()
            page = await client.models.list(timeout=_LISTING_SECONDS)
            found = [cast("Any", model) async for model in page]
        except Exception as error:
            raise self._errors.map(error, has_begun=False) from error
        return tuple(listed_model(model.model_dump()) for model in found)

    async def describe(self, model: str) -> ListedModel | None:
        """What the server's listing says of one model; the makers' own list names only."""
        if not self._preset.lists_facts and self._base_url == self._preset.base_url:
            return None
        return next((listed for listed in await self.models() if listed.id == model), None)

    async def aclose(self) -> None:
        """Closes the connections."""
        client = self._client.take()
        if client is not None:
            await client.close()

    def _build(self) -> AsyncOpenAI:
        if self._base_url is None:
            raise ProviderError(
                ErrorClass.INVALID_REQUEST,
                f"The provider {self.provider} needs the address of a server",
                "Give one with --base-url or TUI_AGENT_BASE_URL.",
            )
        is_key_needed = self._preset.needs_key and self._base_url == self._preset.base_url
        key = usable_key(self._key if is_key_needed else self._key or "none", self.provider)

        import openai

        silence_deprecations()
        self._errors.sdk = SdkErrors(
            openai.APIStatusError,
            openai.APITimeoutError,
            openai.APIConnectionError,
            openai.APIError,
        )
        headers: dict[str, Any] = {
            name: openai.omit
            for name in ambient_header_names(os.environ, "OPENAI_CUSTOM_HEADERS")
            if name.lower() != "authorization"
        }
        headers |= {"OpenAI-Organization": openai.omit, "OpenAI-Project": openai.omit}
        headers["Authorization"] = f"Bearer {key}"
        client = openai.AsyncOpenAI(
            api_key=key,
            admin_api_key="",
            base_url=self._base_url,
            timeout=openai.Timeout(self._timeout, connect=CONNECT_SECONDS),
            max_retries=0,
            default_headers=headers,
        )
        # these import and read files on first use: here, where a thread waits for them
        _ = (client.chat.completions, client.models, client.default_headers)
        return client
