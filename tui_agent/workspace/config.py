"""What a workspace is opened with; put together by the command line, frozen from then on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tui_agent.settings.load import LoadedSettings

WORKSPACE_MAX_TURNS = 200
"""Rounds of the workspace's main agent before it stops and offers to go on."""
HEADLESS_MAX_TURNS = 25
"""Rounds of a headless turn and of every subagent's."""


@dataclass(frozen=True, slots=True)
class WorkspaceConfig:
    """`attended`: somebody is there to decide, so asks are waited for. `unattended_denies`: nobody
    is there and nobody will come, so asks are answered with a policy No."""

    folder: Path
    loaded: LoadedSettings
    environ: Mapping[str, str]
    attended: bool = False
    unattended_denies: bool = False
