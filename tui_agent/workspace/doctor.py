"""What is configured, reachable and missing, and what to type next."""

from __future__ import annotations

import asyncio
import platform
import shutil

from tui_agent.providers.registry import COMPATIBLE, DEMO, key_for, key_names, known_providers
from tui_agent.store import Store
from tui_agent.vocabulary.errors import UserError
from tui_agent.workspace.api import Check
from tui_agent.workspace.config import WorkspaceConfig
from tui_agent.workspace.models import ModelBroker

REACH_SECONDS = 10.0


async def examine(config: WorkspaceConfig, store: Store, models: ModelBroker) -> tuple[Check, ...]:
    """Every check, in the order in which a person would mend things."""
    return (
        Check("python", True, f"Python {platform.python_version()} on {platform.system()}"),
        *_settings(config),
        await _database(store),
        *_keys(config),
        *await _model(models),
        *_programs(),
    )


def _settings(config: WorkspaceConfig) -> list[Check]:
    file = config.loaded.paths.config_file
    text = f"settings from {file}" if file.exists() else f"no settings file (would be {file})"
    found = [Check("settings", True, text)]
    found += [Check("settings", False, warning) for warning in config.loaded.warnings]
    return found


async def _database(store: Store) -> Check:
    problems = await store.quick_check()
    if problems:
        return Check("database", False, f"{store.path}: {problems[0]}", "Keep a copy of it first.")
    return Check("database", True, f"{store.path} is sound")


def _keys(config: WorkspaceConfig) -> list[Check]:
    checks = []
    for provider in known_providers():
        names = key_names(provider)
        if provider in (DEMO, COMPATIBLE) or not names:
            continue
        found = key_for(provider, config.environ)
        if found is not None:
            checks.append(Check(provider, True, f"key from {found[1]}"))
        else:
            checks.append(Check(provider, None, "no key", f"export {names[0]}=…"))
    return checks


async def _model(models: ModelBroker) -> list[Check]:
    """Whether the model that a new session would get answers."""
    where = "the model"
    try:
        choice = models.default_choice()
        where = choice.base_url or choice.provider
        if choice.provider == DEMO:
            advice = "Set a key above, or TUI_AGENT_BASE_URL for a server of your own."
            return [Check("model", None, "the demo: no model is connected", advice)]
        client = models.client(choice)
        async with asyncio.timeout(REACH_SECONDS):
            listed = await client.models()
    except TimeoutError:
        return [Check("model", False, f"{where} did not answer within {REACH_SECONDS:.0f} s")]
    except UserError as error:
        return [Check("model", False, str(error), "tui-agent models shows what can be picked.")]
    name = choice.model or (listed[0].id if listed else "")
    checks = [Check("model", True, f"{where} answers; new sessions use {name}")]
    if choice.model and listed and all(model.id != choice.model for model in listed):
        text = f"{where} does not list {choice.model}"
        checks.append(Check("model", None, text, "tui-agent models shows what can be picked."))
    return checks


def _programs() -> list[Check]:
    checks = []
    for program, use in (("git", "version control"), ("rg", "fast search")):
        found = shutil.which(program)
        if found:
            checks.append(Check(program, True, found))
        else:
            checks.append(Check(program, None, f"not found; {use} goes on without it"))
    return checks
