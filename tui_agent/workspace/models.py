"""Which model answers a session, and which could be picked.

Choice: flag, environment, settings, the first provider with a key, else the demo. Clients are made
once per provider and address and shared by all sessions. What a provider says of its models is
asked when a model is used, at most once in a while, and never waited for long. No key is ever part
of a message, and none goes to a server that was only found.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from tui_agent.context.budget import cost
from tui_agent.loop.turn import ModelAccess
from tui_agent.providers.base import ListedModel, ModelClient
from tui_agent.providers.catalogue import CATALOGUE, default_model, facts_for
from tui_agent.providers.registry import (
    COMPATIBLE,
    DEMO,
    key_for,
    key_names,
    known_providers,
    make_client,
    providers_with_key,
)
from tui_agent.settings.model import ModelEntry, Settings
from tui_agent.store import Store
from tui_agent.vocabulary.agents import ModelChoice, ModelFacts
from tui_agent.vocabulary.errors import ProviderError, UsageError, UserError
from tui_agent.vocabulary.ids import SYSTEM_CLOCK, Clock
from tui_agent.vocabulary.records import SessionRecord
from tui_agent.vocabulary.usage import Usage
from tui_agent.workspace.api import OfferedModel
from tui_agent.workspace.model_reports import ModelReports

log = logging.getLogger(__name__)

LOCAL_SERVERS = {
    "llama.cpp": "http://127.0.0.1:8080/v1",
    "Ollama": "http://127.0.0.1:11434/v1",
    "vLLM": "http://127.0.0.1:8000/v1",
    "LM Studio": "http://127.0.0.1:1234/v1",
}
"""Where local servers usually listen; only ever this machine."""
PROBE_SECONDS = 0.3
LIST_SECONDS = 3.0
"""Bound of one listing, the loading of the SDK for it included."""
_ADDRESS_VARIABLES = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL"}


class ModelBroker:
    """Finds the client and the facts for a session's model."""

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        store: Store,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._store = store
        self._clients: dict[tuple[str, str | None], ModelClient] = {}
        self._reports = ModelReports(clock)

    def default_choice(self) -> ModelChoice:
        """The model of a new session. Raises `UsageError` for a provider nobody knows."""
        wanted = self._settings.model
        entry = self._settings.models.get(wanted.id or "")
        base_url = wanted.base_url or (entry.base_url if entry else None)
        provider = wanted.provider or (entry.provider if entry else None)
        if provider is None and base_url is not None:
            provider = COMPATIBLE
        if provider is None:
            provider = next(iter(providers_with_key(self._environ)), DEMO)
        if provider not in known_providers():
            known = ", ".join(known_providers())
            raise UsageError(f"there is no provider {provider!r}: choose one of {known}")
        return ModelChoice(provider, wanted.id or default_model(provider) or "", base_url)

    async def access(self, session: SessionRecord) -> ModelAccess:
        """Who answers this session's next call. Raises `UserError` when nobody can."""
        choice = session.model
        client = self.client(choice)
        if not choice.model:
            choice = await self._first_served(client, choice)
            await self._store.update_session(session.id, model=choice)
        await self._reports.learn(client, self._placed(choice))
        return ModelAccess(client, choice.model, self.facts(choice))

    def client(self, choice: ModelChoice) -> ModelClient:
        """The shared client. Raises `UserError` that names the variable to set."""
        where = self._address(choice)
        cached = self._clients.get((choice.provider, where))
        if cached is not None:
            return cached
        found = (
            None if self._was_only_found(where) else key_for(choice.provider, self._environ, where)
        )
        if found is None and choice.provider not in (DEMO, COMPATIBLE):
            names = " or ".join(key_names(choice.provider))
            raise UserError(f"no key for {choice.provider}: set {names}, or pick another model")
        if choice.provider == COMPATIBLE and where is None:
            raise UserError(
                "the provider compatible needs an address: set TUI_AGENT_BASE_URL or --base-url, "
                "for example http://127.0.0.1:8080/v1"
            )
        made = make_client(
            ModelChoice(choice.provider, choice.model, where), key=found[0] if found else None
        )
        self._clients[choice.provider, where] = made
        return made

    def facts(self, choice: ModelChoice) -> ModelFacts:
        """What is known about a model: the catalogue, over it what the provider said by now, over
        that the person's settings."""
        placed = self._placed(choice)
        entry = self._settings.models.get(choice.model)
        overrides = _overrides(entry) if entry else {}
        overrides.setdefault("effort", self._settings.model.effort)
        return facts_for(placed, overrides, told=self._reports.told(placed))

    def price(self, provider: str, model: str, usage: Usage) -> float | None:
        """USD for `usage`; `None` when the model's prices are not known."""
        return cost(usage, self.facts(ModelChoice(provider, model)))

    async def prepare(self) -> None:
        """Load what the first call of a new session needs; a choice that cannot be used is not a
        problem until it is used."""
        try:
            await self.client(self.default_choice()).prepare()
        except UserError as error:
            log.info("the model was not prepared: %s", error)

    async def offered(self) -> tuple[OfferedModel, ...]:
        """Everything that could be picked now: what a new session gets first, the demo last."""
        usual = self.default_choice()
        offered = [self._offer(usual.provider, usual.model, usual.base_url)] if usual.model else []
        offered += [
            self._offer(provider, model)
            for provider in providers_with_key(self._environ)
            for model in CATALOGUE.get(provider, {})
        ]
        for name, entry in self._settings.models.items():
            if entry.provider or entry.base_url:
                choice = ModelChoice(entry.provider or COMPATIBLE, name, entry.base_url)
                offered.append(OfferedModel(choice, f"{name} · your settings", entry.window))
        for models in await asyncio.gather(
            *(self._found(name, url) for name, url in LOCAL_SERVERS.items()), self._own_server()
        ):
            offered += models
        offered.append(OfferedModel(ModelChoice(DEMO, DEMO), "demo · no model, a guided tour"))
        return tuple({offer.choice: offer for offer in offered}.values())

    async def aclose(self) -> None:
        """Close every connection."""
        await self._reports.aclose()
        clients, self._clients = list(self._clients.values()), {}
        await asyncio.gather(*(client.aclose() for client in clients), return_exceptions=True)

    def _address(self, choice: ModelChoice) -> str | None:
        if choice.base_url is not None:
            return choice.base_url
        variable = _ADDRESS_VARIABLES.get(choice.provider, "")
        return self._environ.get(variable, "").strip() or None

    def _was_only_found(self, address: str | None) -> bool:
        """Whether a local server listens there that the person's settings do not name."""
        named = {self._settings.model.base_url}
        named |= {entry.base_url for entry in self._settings.models.values()}
        return address in LOCAL_SERVERS.values() and address not in named

    def _placed(self, choice: ModelChoice) -> ModelChoice:
        """`choice` with the address that the environment gives its provider."""
        return replace(choice, base_url=self._address(choice))

    def _offer(
        self, provider: str, model: str, base_url: str | None = None, *, title: str = ""
    ) -> OfferedModel:
        choice = ModelChoice(provider, model, base_url)
        facts = self.facts(choice)
        price = ""
        if facts.price_input is not None and facts.price_output is not None:
            price = f"${facts.price_input:g} in, ${facts.price_output:g} out per million tokens"
        problem = "" if facts.takes_tools else facts.note or "takes no tools over this API"
        return OfferedModel(choice, title or f"{model} · {provider}", facts.window, price, problem)

    async def _found(self, name: str, url: str) -> list[OfferedModel]:
        """What a server offers that happens to listen where local ones do. Nobody pointed us at it,
        so it is asked without a key."""
        if not await _listens(url):
            return []
        client = make_client(ModelChoice(COMPATIBLE, "", url))
        try:
            return await self._listing(client, name, url)
        finally:
            await client.aclose()

    async def _own_server(self) -> list[OfferedModel]:
        """What the server offers that the person named."""
        url = self._settings.model.base_url
        if url is None or self._settings.model.provider not in (None, COMPATIBLE):
            return []
        if not await _listens(url):
            return []
        return await self._listing(
            self.client(ModelChoice(COMPATIBLE, "", url)), "your address", url
        )

    async def _listing(self, client: ModelClient, name: str, url: str) -> list[OfferedModel]:
        try:
            async with asyncio.timeout(LIST_SECONDS):
                models = await client.models()
        except (ProviderError, TimeoutError) as error:
            log.info("%s at %s lists no models: %s", name, url, error)
            return []
        return [self._listed(model, name, url) for model in models]

    def _listed(self, model: ListedModel, name: str, url: str) -> OfferedModel:
        choice = ModelChoice(COMPATIBLE, model.id, url)
        self._reports.note(choice, model)
        return self._offer(COMPATIBLE, model.id, url, title=f"{model.id} · {name}")

    async def _first_served(self, client: ModelClient, choice: ModelChoice) -> ModelChoice:
        models = await client.models()
        if not models:
            raise UserError(f"{choice.provider} offers no model: name one with --model")
        return ModelChoice(choice.provider, models[0].id, choice.base_url)


def _overrides(entry: ModelEntry) -> dict[str, object]:
    fields: dict[str, object] = {
        "window": entry.window,
        "max_output": entry.max_output,
        "price_input": entry.price.input,
        "price_output": entry.price.output,
        "price_cache_read": entry.price.cache_read,
        "price_cache_write": entry.price.cache_write,
    }
    known = {name: value for name, value in fields.items() if value is not None}
    if entry.options:
        known["options"] = dict(entry.options)
    if entry.effort is not None:
        known["effort"] = entry.effort
    return known


async def _listens(url: str) -> bool:
    address = urlsplit(url)
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            _, writer = await asyncio.open_connection(address.hostname, address.port or 80)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
