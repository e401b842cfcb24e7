"""Where our own files are.

`TUI_AGENT_HOME` moves all of them under one folder; otherwise the platform's conventions decide.
Nothing here reads or writes a file; `Paths.ensure` makes the folders, readable by their owner only.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tui_agent.vocabulary.errors import UserError

HOME_VARIABLE: Final = "TUI_AGENT_HOME"
PROGRAM: Final = "tui-agent"
OWNER_ONLY: Final = 0o700


@dataclass(frozen=True, slots=True)
class Paths:
    """Absolute paths of everything that is ours."""

    config_file: Path
    """The user's settings; need not exist."""
    database: Path
    """Sessions; its folder also holds what SQLite and migrations put beside it."""
    locks: Path
    """One file a session that a process owns."""
    logs: Path
    """What went on, for people who look for a fault."""
    spill: Path
    """Tool output that was too long to keep with its result."""
    state: Path
    """Small things remembered between starts, the history of prompts for one."""

    @classmethod
    def under(cls, home: Path) -> Paths:
        """Everything below the one folder `home`."""
        return cls(
            config_file=home / "settings.toml",
            database=home / "data" / "sessions.db",
            locks=home / "data" / "locks",
            logs=home / "logs",
            spill=home / "data" / "spill",
            state=home / "state",
        )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Paths:
        """What the environment asks for, or the platform's usual places."""
        if home := environ.get(HOME_VARIABLE, "").strip():
            return cls.under(Path(os.path.abspath(Path(home).expanduser())))
        # Costs some milliseconds, which a start that names its home need not pay.
        from platformdirs import PlatformDirs

        places = PlatformDirs(PROGRAM, appauthor=False)
        return cls(
            config_file=places.user_config_path / "settings.toml",
            database=places.user_data_path / "sessions.db",
            locks=places.user_data_path / "locks",
            logs=places.user_log_path,
            spill=places.user_data_path / "spill",
            state=places.user_state_path,
        )

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that are ours alone, outer ones first."""
        return (self.database.parent, self.locks, self.spill, self.state, self.logs)

    def ensure(self) -> None:
        """Make the folders that are missing and close ours to others. Raises `UserError`."""
        for folder in self.folders:
            try:
                # The mode of `mkdir` does not reach parents, and parents may be shared with others.
                folder.mkdir(mode=OWNER_ONLY, parents=True, exist_ok=True)
                if stat.S_IMODE(folder.stat().st_mode) != OWNER_ONLY:
                    folder.chmod(OWNER_ONLY)
            except OSError as error:
                raise UserError(
                    f"{folder}: cannot use this folder: {_obstacle(folder, error)}: "
                    f"mend it, or name another place with {HOME_VARIABLE}"
                ) from error


def _obstacle(folder: Path, error: OSError) -> str:
    """What stands in the way of making or closing `folder`: it, or the folder above that it is to
    be made in."""
    reason = (error.strerror or type(error).__name__).lower()
    for place in (folder, *folder.parents):
        try:
            status = place.stat()
        except OSError:
            continue  # not there, or hidden behind one further up
        if not stat.S_ISDIR(status.st_mode):
            return f"{place} is not a folder"
        if status.st_uid != os.geteuid():
            return f"{place} belongs to {_name_of(status.st_uid)} ({reason})"
        return f"{place}: {reason}"
    return reason


def _name_of(user_id: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:
        return f"user {user_id}"
