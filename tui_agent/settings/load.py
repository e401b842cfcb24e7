"""From files, environment and flags to one `LoadedSettings`.

The user's file counts in full. A project's files are a stranger's: only their `ask` and `deny`
rules are taken, everything else in them is named in a warning and left. Environment and flags speak
about the model alone. Every problem is one `UserError` line: place, what, what to do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from tui_agent.settings.model import (
    NOTHING,
    ModelEntry,
    ModelSettings,
    PermissionSettings,
    Settings,
    address_problem,
)
from tui_agent.settings.paths import Paths
from tui_agent.settings.toml_file import TomlFile, dotted, read_toml
from tui_agent.vocabulary.errors import UsageError, UserError

PROJECT_FOLDER: Final = ".tui-agent"
PROJECT_FILES: Final = ("settings.toml", "settings.local.toml")
COMPATIBLE: Final = "compatible"
"""The provider that an address without a provider means."""

_TIGHTENING: Final = ("ask", "deny")
_MOST_WARNINGS: Final = 5
_MODEL_VARIABLES: Final = {
    "provider": "TUI_AGENT_PROVIDER",
    "id": "TUI_AGENT_MODEL",
    "base_url": "TUI_AGENT_BASE_URL",
}
_MODEL_FLAGS: Final = {"provider": "--provider", "id": "--model", "base_url": "--base-url"}


@dataclass(frozen=True, slots=True)
class Overrides:
    """What flags say about the model; `None` is a flag that was not given."""

    provider: str | None = None
    model: str | None = None
    base_url: str | None = None


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings in force. `warnings` are lines for the person; `sources` says by a setting's
    dotted key where its value comes from: a file, a variable, or a flag."""

    settings: Settings
    paths: Paths
    warnings: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=lambda: NOTHING)


def load_settings(
    folder: Path,
    environ: Mapping[str, str],
    overrides: Overrides | None = None,
    *,
    paths: Paths | None = None,
    tell: Callable[[UserError], None] | None = None,
) -> LoadedSettings:
    """The settings for work in `folder`. Raises `UserError`; `UsageError` for what environment and
    flags say. With `tell`, nothing is raised for these: a part that cannot be read is told and left
    out, so that somebody can be shown what the rest says."""
    paths = paths or Paths.from_environment(environ)
    sources: dict[str, str] = {}
    warnings: list[str] = []
    settings = Settings()
    with _told(tell):
        settings = _user_settings(paths.config_file, sources)
    for name in PROJECT_FILES:
        with _told(tell):
            file = read_toml(folder / PROJECT_FOLDER / name)
            # The user's own file is not a project's, also when the work is done in its folder.
            if file is not None and not _is_same_file(file.path, paths.config_file):
                settings = _tightened(settings, file, sources)
                warnings += _left_out(file)
    model = settings.model
    with _told(tell):
        model = _model(settings, environ, overrides or Overrides(), sources)
    return LoadedSettings(
        settings=dataclasses.replace(settings, model=model),
        paths=paths,
        warnings=tuple(warnings),
        sources=MappingProxyType(sources),
    )


@contextmanager
def _told(tell: Callable[[UserError], None] | None) -> Iterator[None]:
    try:
        yield
    except UserError as error:
        if tell is None:
            raise
        tell(error)


# --- files ---------------------------------------------------------------------------------------


def _user_settings(path: Path, sources: dict[str, str]) -> Settings:
    file = read_toml(path)
    if file is None or not file.values:
        return Settings()
    settings = _validated(file)
    for where, _ in file.walk():
        sources[dotted(tuple(part for part in where if isinstance(part, str)))] = str(path)
    return settings


def _tightened(settings: Settings, file: TomlFile, sources: dict[str, str]) -> Settings:
    """`settings` with the ask and deny rules of a project's file added."""
    permissions = file.values.get("permissions")
    taken: dict[str, Any] = {}
    if isinstance(permissions, dict):
        taken = {key: permissions[key] for key in _TIGHTENING if key in permissions}
    if not taken:
        return settings
    added = _validated(dataclasses.replace(file, values={"permissions": taken})).permissions
    for key in taken:
        before = sources.get(f"permissions.{key}")
        sources[f"permissions.{key}"] = f"{before}, {file.path}" if before else str(file.path)
    mine = settings.permissions
    return dataclasses.replace(
        settings,
        permissions=PermissionSettings(mine.allow, mine.ask + added.ask, mine.deny + added.deny),
    )


def _left_out(file: TomlFile) -> Iterator[str]:
    """A warning for each setting of a project's file that does not count."""
    wheres = {where[:2]: where for where, _ in file.walk() if where}
    for key in _TIGHTENING:
        wheres.pop(("permissions", key), None)
    for where in list(wheres)[:_MOST_WARNINGS]:
        yield (
            f"{file.place_of(where)}: {dotted(where)} does not count: a project can only add "
            "permissions.ask and permissions.deny; put it into your own settings"
        )
    if (more := len(wheres) - _MOST_WARNINGS) > 0:
        yield f"{file.path}: {more} more settings do not count"


def _validated(file: TomlFile) -> Settings:
    # pydantic comes with it, which a start without a settings file need not wait for.
    from tui_agent.settings.validate import validate

    return validate(file)


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


# --- the model -----------------------------------------------------------------------------------


def _model(
    settings: Settings,
    environ: Mapping[str, str],
    overrides: Overrides,
    sources: dict[str, str],
) -> ModelSettings:
    """The model of this start, from the user's file, the environment and flags."""
    mine, models = settings.model, settings.models
    said = {key: environ.get(name, "").strip() or None for key, name in _MODEL_VARIABLES.items()}
    from_environment = ModelSettings(said["provider"], said["id"], said["base_url"])
    from_flags = ModelSettings(overrides.provider, overrides.model, overrides.base_url)
    for layer, names in ((from_environment, _MODEL_VARIABLES), (from_flags, _MODEL_FLAGS)):
        if layer.base_url is not None and (text := address_problem(layer.base_url)):
            raise UsageError(f"{names['base_url']}: {layer.base_url!r} {text}")
    now = _with_provider(_laid_over(from_environment, from_flags), models)
    chosen = _laid_over(_with_provider(mine, models), now)
    for key in _MODEL_FLAGS:
        value = getattr(chosen, key)
        if value is not None and value == getattr(from_flags, key):
            sources[f"model.{key}"] = _MODEL_FLAGS[key]
        elif value is not None and value == getattr(from_environment, key):
            sources[f"model.{key}"] = _MODEL_VARIABLES[key]
        elif value is None or value != getattr(mine, key):
            sources.pop(f"model.{key}", None)
    return chosen


def _laid_over(below: ModelSettings, above: ModelSettings) -> ModelSettings:
    """What `above` says, and `below` where it says nothing. Another provider does not inherit the
    model and the address of the one below, so that no key is sent to a place it is not for."""
    effort = above.effort or below.effort
    if above.provider and below.provider and above.provider != below.provider:
        return dataclasses.replace(above, effort=effort)
    return ModelSettings(
        above.provider or below.provider,
        above.id or below.id,
        above.base_url or below.base_url,
        effort,
    )


def _with_provider(model: ModelSettings, models: Mapping[str, ModelEntry]) -> ModelSettings:
    """A model that the person described brings its provider and address along; else an address
    without a provider beside it means any compatible server."""
    if model.provider is not None:
        return model
    entry = models.get(model.id or "", ModelEntry())
    base_url = model.base_url or entry.base_url
    provider = entry.provider or (COMPATIBLE if base_url is not None else None)
    return dataclasses.replace(model, provider=provider, base_url=base_url)
