"""Settings files, environment and flags as one validated object, and the places of our own files.

In come TOML files of the user and of the project, the environment and flags; out goes one frozen
`LoadedSettings`. A project is not trusted: its files can only tighten. A broken file is reported in
one line with its place, never half read. pydantic is loaded only when there is a file to validate,
so that a start without one does not pay for it.
"""

from tui_agent.settings.load import LoadedSettings, Overrides, load_settings
from tui_agent.settings.model import (
    LimitSettings,
    ModelEntry,
    ModelSettings,
    PermissionSettings,
    PriceSettings,
    Settings,
    UiSettings,
)
from tui_agent.settings.paths import Paths

__all__ = [
    "LimitSettings",
    "LoadedSettings",
    "ModelEntry",
    "ModelSettings",
    "Overrides",
    "Paths",
    "PermissionSettings",
    "PriceSettings",
    "Settings",
    "UiSettings",
    "load_settings",
]
