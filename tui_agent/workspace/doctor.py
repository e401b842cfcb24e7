"""What is configured, reachable and missing, and what to type next.

Every check stands alone: a broken settings file or database is one line, and the rest is still
looked at. No key is ever part of a line, only the name of its variable.
"""

from __future__ import annotations

import asyncio
import locale
import os
import platform
import re
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from tui_agent import __version__
from tui_agent.providers.registry import COMPATIBLE, DEMO, key_for, key_names, known_providers
from tui_agent.rules.syntax import parse_rule
from tui_agent.settings import LoadedSettings
from tui_agent.settings.load import PROJECT_FILES, PROJECT_FOLDER
from tui_agent.store import Store
from tui_agent.vocabulary.errors import StoreError, UserError
from tui_agent.workspace.api import Check
from tui_agent.workspace.config import WorkspaceConfig
from tui_agent.workspace.models import LOCAL_SERVERS, ModelBroker

REACH_SECONDS = 10.0
SMALLEST_FREE_BYTES = 100_000_000
_MODEL_VARIABLES = ("TUI_AGENT_PROVIDER", "TUI_AGENT_MODEL", "TUI_AGENT_BASE_URL")
_PICK = "tui-agent models shows what can be picked."


async def examine(
    config: WorkspaceConfig,
    store: Store,
    models: ModelBroker,
    *,
    database: Check | None = None,
    problems: Sequence[Check] = (),
) -> tuple[Check, ...]:
    """Every check, in the order in which a person would mend things. `problems` were met on the
    way here; `database` is how that is, when it was already looked at."""
    return (
        _program(),
        *problems,
        *_settings(config.loaded, config.folder, config.environ, problems),
        *_folders(config),
        database or await _database(store),
        *await _asked(config, models),
    )


async def examine_alone(config: WorkspaceConfig, problems: Sequence[Check]) -> tuple[Check, ...]:
    """As `examine`, without a workspace: also when the database cannot be opened."""
    async with _opened(config.loaded.paths.database) as (store, database):
        models = ModelBroker(config.loaded.settings, config.environ, store)
        try:
            return await examine(config, store, models, database=database, problems=problems)
        finally:
            await models.aclose()


async def examine_database(path: Path) -> Check:
    """The database at `path` alone."""
    async with _opened(path) as (_, database):
        return database


@asynccontextmanager
async def _opened(path: Path) -> AsyncIterator[tuple[Store, Check]]:
    """The store and how it is. One that cannot be opened is stood in for by an empty one, as the
    models must be asked all the same."""
    try:
        store = await Store.open(path)
    except StoreError as error:
        check = Check("database", False, str(error))
        with tempfile.TemporaryDirectory(prefix="tui-agent-doctor-") as place:
            stand_in = await Store.open(Path(place) / "empty.db")
            try:
                yield stand_in, check
            finally:
                await stand_in.close()
        return
    try:
        yield store, await _database(store)
    finally:
        await store.close()


# --- the program and its files --------------------------------------------------------------------


def _program() -> Check:
    versions = (
        f"tui-agent {__version__}, Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}, {platform.platform()}"
    )
    return Check("program", True, versions)


def _settings(
    loaded: LoadedSettings, folder: Path, environ: Mapping[str, str], problems: Sequence[Check]
) -> Iterator[Check]:
    """Which files were read, which rules in them cannot be, and what the environment says."""
    file = loaded.paths.config_file
    broken = {problem.text.partition(":")[0] for problem in problems}
    if str(file) not in broken:
        text = f"read {file}" if file.exists() else f"no file {file}: every setting is as shipped"
        yield Check("settings", True, text)
    for name in PROJECT_FILES:
        project = folder / PROJECT_FOLDER / name
        if project.exists() and str(project) not in broken:
            yield Check("settings", True, f"read {project}: its ask and deny rules count")
    for warning in loaded.warnings:
        yield Check("settings", None, warning)
    for variable in _MODEL_VARIABLES:
        if value := environ.get(variable, "").strip():
            yield Check("settings", True, f"{variable} says {_shown(value)}")
    permissions = loaded.settings.permissions
    for kind in ("allow", "ask", "deny"):
        for rule in getattr(permissions, kind):
            try:
                parse_rule(rule)
            except UserError as error:
                where = loaded.sources.get(f"permissions.{kind}", "settings")
                yield Check("settings", False, f"{where}: permissions.{kind}: {error}")


def _shown(value: str) -> str:
    """A value of the environment without a name or password that an address may carry."""
    return re.sub(r"//[^/@]*@", "//…@", value)


def _folders(config: WorkspaceConfig) -> Iterator[Check]:
    """Whether one can work here and keep what happens."""
    if os.access(config.folder, os.W_OK | os.X_OK):
        yield Check("folder", True, f"{config.folder} can be written to")
    else:
        advice = "Work in another folder with --cwd, or mend its permissions."
        yield Check("folder", None, f"{config.folder} can only be read", advice)
    for place in config.loaded.paths.folders:
        if os.path.isdir(place) and not os.access(place, os.W_OK | os.X_OK):
            advice = "Mend its owner or permissions, or name another place with TUI_AGENT_HOME."
            yield Check("data", False, f"{place} cannot be written to", advice)
    data = config.loaded.paths.database.parent
    if os.path.isdir(data):
        free = shutil.disk_usage(data).free
        text = f"{data}, {free / 1e9:.1f} GB free"
        if free < SMALLEST_FREE_BYTES:
            yield Check("data", False, text, "Free some space before you go on.")
        else:
            yield Check("data", True, text)


async def _database(store: Store) -> Check:
    try:
        problems = await store.quick_check()
    except StoreError as error:
        problems = (str(error),)
    if problems:
        advice = f"Keep a copy of {store.path} before anything else."
        return Check("database", False, f"{store.path}: {problems[0]}", advice)
    size = store.path.stat().st_size / 1e6
    return Check("database", True, f"{store.path} is sound, {size:.1f} MB")


# --- models ---------------------------------------------------------------------------------------


async def _asked(config: WorkspaceConfig, models: ModelBroker) -> tuple[Check, ...]:
    model, local = await asyncio.gather(_model(config, models), _local_servers(models))
    checks = (*_keys(config.environ), *local, *_programs(), *_terminal(config.environ), *model)
    return (*checks, _next(model))


def _keys(environ: Mapping[str, str]) -> Iterator[Check]:
    for provider in known_providers():
        names = key_names(provider)
        if provider in (DEMO, COMPATIBLE) or not names:
            continue
        found = key_for(provider, environ)
        if found is not None:
            yield Check(provider, True, f"key from {found[1]}")
        else:
            yield Check(provider, None, "no key", f"export {names[0]}=…")


async def _local_servers(models: ModelBroker) -> list[Check]:
    """The servers of this machine that answer where such servers usually listen."""
    try:
        offered = await models.offered()
    except UserError:
        # the choice itself is wrong, which is said where the model is
        return []
    checks = []
    for name, url in LOCAL_SERVERS.items():
        served = [offer.choice.model for offer in offered if offer.choice.base_url == url]
        if served:
            text = f"{name} at {url} offers {', '.join(served[:5])}"
            more = f" and {len(served) - 5} more" if len(served) > 5 else ""
            advice = f"tui-agent --base-url {url} --model {served[0]}"
            checks.append(Check("local", True, text + more, advice))
    return checks or [Check("local", None, f"no server of {', '.join(LOCAL_SERVERS)} was found")]


async def _model(config: WorkspaceConfig, models: ModelBroker) -> list[Check]:
    """Which model a new session would get, why, and whether it answers."""
    where = "the model"
    try:
        choice = models.default_choice()
        why = _why(config, choice.provider)
        where = _shown(choice.base_url or choice.provider)
        if choice.provider == DEMO:
            advice = "Set a key above, or TUI_AGENT_BASE_URL for a server of your own."
            return [Check("model", None, f"the demo, {why}: no model is connected", advice)]
        client = models.client(choice)
        async with asyncio.timeout(REACH_SECONDS):
            listed = await client.models()
    except TimeoutError:
        return [Check("model", False, f"{where} did not answer within {REACH_SECONDS:.0f} s")]
    except UserError as error:
        return [Check("model", False, str(error), _PICK)]
    name = choice.model or (listed[0].id if listed else "")
    checks = [Check("model", True, f"{where} answers; new sessions use {name} ({why})")]
    if choice.model and listed and all(model.id != choice.model for model in listed):
        checks.append(Check("model", None, f"{where} does not list {choice.model}", _PICK))
    return checks


def _why(config: WorkspaceConfig, provider: str) -> str:
    sources = config.loaded.sources
    said = [
        f"{key} from {sources[f'model.{key}']}"
        for key in ("provider", "id", "base_url")
        if f"model.{key}" in sources
    ]
    if said:
        return ", ".join(said)
    found = key_for(provider, config.environ)
    return f"the first provider with a key: {found[1]}" if found else "as there is no key"


def _next(model: Sequence[Check]) -> Check:
    if model[0].ok and any(check.ok is None for check in model):
        return Check("next", None, "look at the model above, then start", "tui-agent")
    if all(check.ok is not False for check in model) and model[0].ok:
        return Check("next", True, "everything is ready", "tui-agent")
    if model[0].ok is None:
        text = "without a model there is the demo: type anything in it"
        return Check("next", None, text, "export ANTHROPIC_API_KEY=… (or another above); tui-agent")
    return Check("next", None, "mend what fails above", "tui-agent doctor")


# --- what is around us ----------------------------------------------------------------------------


def _programs() -> Iterator[Check]:
    for program, use in (("git", "version control"), ("rg", "fast search")):
        if found := shutil.which(program):
            yield Check(program, True, found)
        else:
            yield Check(program, None, f"not found; {use} goes on without it")


def _terminal(environ: Mapping[str, str]) -> Iterator[Check]:
    """Facts that decide what the workspace can draw."""
    name = environ.get("TERM", "")
    columns, lines = shutil.get_terminal_size(fallback=(0, 0))
    size = f"{columns} by {lines}" if columns and lines else "no terminal here"
    encoding = locale.getpreferredencoding(False)
    facts = f"TERM={name or '(not set)'}, {_colours(environ)}, {size}, {encoding}"
    if name in ("", "dumb"):
        advice = "The workspace needs a terminal that can move its cursor; tui-agent run does not."
        yield Check("terminal", None, facts, advice)
    elif encoding.replace("-", "").lower() != "utf8":
        advice = "Set LANG to a locale of UTF-8, or ui.ascii = true in your settings."
        yield Check("terminal", None, facts, advice)
    else:
        yield Check("terminal", True, facts)


def _colours(environ: Mapping[str, str]) -> str:
    if environ.get("NO_COLOR"):
        return "no colours (NO_COLOR)"
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "all colours"
    return "256 colours" if "256" in environ.get("TERM", "") else "few colours"
