"""`doctor`: how things stand, also when settings or database are broken.

It puts together what it can. A settings file that cannot be read is left out and told, a folder
that cannot be made or a database that cannot be opened is one line among the others.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tui_agent.cli.compose import current_folder
from tui_agent.settings import load_settings
from tui_agent.vocabulary.errors import UserError
from tui_agent.workspace.config import WorkspaceConfig

if TYPE_CHECKING:
    from tui_agent.workspace.api import Check

LEFT_OUT: Final = "It was left out: what follows is without it."


def doctor(*, database_only: bool, as_json: bool) -> int:
    """Print every check, or the database's alone; 1 when something fails."""
    from tui_agent.headless.listings import print_checks
    from tui_agent.workspace.api import Check

    problems: list[Check] = []

    def left_out(error: UserError) -> None:
        problems.append(Check("settings", False, str(error), LEFT_OUT))

    folder = current_folder()
    loaded = load_settings(folder, os.environ, tell=left_out)
    try:
        loaded.paths.ensure()
    except UserError as error:
        problems.append(Check("data", False, str(error)))
    config = WorkspaceConfig(folder=folder, loaded=loaded, environ=dict(os.environ))
    checks = asyncio.run(_checks(config, problems, database_only=database_only))
    return print_checks(checks, sys.stdout, as_json=as_json)


async def _checks(
    config: WorkspaceConfig, problems: Sequence[Check], *, database_only: bool
) -> tuple[Check, ...]:
    from tui_agent.workspace.doctor import examine_alone, examine_database

    if database_only:
        return (await examine_database(config.loaded.paths.database),)
    return await examine_alone(config, problems)
