"""Settings to workspace to surface: the composition root.

Each function does one kind of command from what was typed to the exit code. A session that is gone
on with brings its folder along, and with the folder the project's settings. Raises `UserError`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent.cli.logs import log_to
from tui_agent.cli.options import Given
from tui_agent.cli.signals import ENDING, is_ours, supervised
from tui_agent.headless.request import ExistingSession, NewSession, RunRequest, Unattended
from tui_agent.settings import LoadedSettings, Overrides, load_settings
from tui_agent.text import exact
from tui_agent.vocabulary.errors import UsageError, UserError
from tui_agent.workspace.config import HEADLESS_MAX_TURNS, WORKSPACE_MAX_TURNS, WorkspaceConfig

if TYPE_CHECKING:
    # Opening a workspace loads the engine, which a command that is refused should not wait for.
    from tui_agent.headless.decisions import Resolution
    from tui_agent.headless.request import OutputFormat
    from tui_agent.workspace.workspace import Workspace

Work = Callable[["Workspace"], Awaitable[int]]

_log = logging.getLogger(__name__)


def run_headless(given: Given, request: RunRequest) -> int:
    """`run`: a prompt, or an existing session that goes on."""
    config = configured(given.folder, given.model, is_shown=True)
    target: NewSession | ExistingSession
    if given.names_session:
        target, config = asyncio.run(_located(given, config, is_shown=True))
    else:
        target = NewSession(given.session_options(config.loaded, HEADLESS_MAX_TURNS))
    return _with_workspace_running(
        dataclasses.replace(config, unattended_denies=request.unattended is Unattended.DENY),
        dataclasses.replace(request, target=target),
    )


def resolve_headless(resolution: Resolution, output: OutputFormat) -> int:
    """`approvals resolve`: answer, and go on with the turn when it was the last answer."""
    from tui_agent.headless.decisions import resolve

    config = configured(None, Overrides(), is_shown=True)

    async def find(workspace: Workspace) -> str:
        return (await workspace.store.pending_item(resolution.pending_id)).item.folder

    folder = Path(asyncio.run(_asked(config, find)))
    if folder != config.folder and folder.is_dir():
        config = configured(folder, Overrides(), is_shown=True)
    return asyncio.run(
        supervised(
            lambda: _open(config),
            lambda workspace, interrupted: resolve(
                workspace, resolution, output, sys.stdout, sys.stderr, interrupted=interrupted
            ),
            is_interruptible=True,
        )
    )


def list_headless(work: Work) -> int:
    """A listing or a change of what is stored."""
    config = configured(None, Overrides(), is_shown=False)

    async def do() -> int:
        workspaces: list[Workspace] = []

        async def open_one() -> Workspace:
            workspaces.append(await _open(config))
            return workspaces[0]

        return await supervised(
            open_one, lambda _api, _interrupted: work(workspaces[0]), is_interruptible=False
        )

    return asyncio.run(do())


def show_workspace(given: Given, prompt: str | None) -> int:
    """The full-screen workspace."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the workspace needs a terminal: use tui-agent run for scripts and pipes")
    if os.environ.get("TERM", "") in ("", "dumb"):
        raise UsageError("TERM names no terminal that can show the workspace: use tui-agent run")
    from tui_agent.ui.entry import run_app

    config = configured(given.folder, given.model, is_shown=False)
    config = dataclasses.replace(config, attended=True)
    chosen: list[str] = []

    async def open_with_session() -> Workspace:
        """The workspace of the session that is meant, which is looked up behind the first screen:
        opening the database takes longer than painting that."""
        target, place = await _located(given, config)
        workspace = await _open(place)
        try:
            chosen.append(await _chosen(workspace, target))
        except BaseException:
            await workspace.close()
            raise
        return workspace

    ui = config.loaded.settings.ui
    return run_app(
        open_with_session if given.names_session else lambda: _open(config),
        named_session=(lambda: chosen[0]) if given.names_session else None,
        prompt=prompt,
        options=given.session_options(config.loaded, WORKSPACE_MAX_TURNS),
        theme=None if ui.theme is None else f"tui-agent-{ui.theme}",
        ascii_only=ui.ascii,
        leaves_on=[number for number in ENDING if is_ours(number)],
    )


def configured(folder: Path | None, model: Overrides, *, is_shown: bool) -> WorkspaceConfig:
    """The configuration for work in `folder`, the current one by default. With `is_shown`,
    warnings about settings go to standard error; in any case they go to the log."""
    place = folder or current_folder()
    loaded = load_settings(place, os.environ, model)
    loaded.paths.ensure()
    log_to(loaded.paths.logs)
    _warn(loaded, is_shown=is_shown)
    return WorkspaceConfig(folder=place, loaded=loaded, environ=dict(os.environ))


def current_folder() -> Path:
    """Where the command was started. Raises `UserError` when that is gone."""
    try:
        return Path.cwd().resolve()
    except FileNotFoundError as error:
        raise UserError("the current folder is gone: change to one that exists") from error


def _warn(loaded: LoadedSettings, *, is_shown: bool) -> None:
    for warning in loaded.warnings:
        _log.warning("%s", warning)
        if is_shown:
            sys.stderr.write(f"{exact(warning)}\n")


async def _open(config: WorkspaceConfig) -> Workspace:
    from tui_agent.workspace.workspace import Workspace

    return await Workspace.open(config)


async def _asked(config: WorkspaceConfig, ask: Callable[[Workspace], Awaitable[str]]) -> str:
    """What `ask` finds out with a workspace that is closed again."""
    workspace = await _open(config)
    try:
        return await ask(workspace)
    finally:
        await workspace.close()


async def _located(
    given: Given, config: WorkspaceConfig, *, is_shown: bool = False
) -> tuple[ExistingSession, WorkspaceConfig]:
    """The session that is meant, and the configuration for the folder it belongs to. `is_shown` as
    in `configured`."""
    workspace = await _open(config)
    try:
        named = given.resume or given.fork
        latest = await workspace.latest_session() if named is None else None
        session_id = latest if named is None else await workspace.resolve_id(named)
        if session_id is None:
            raise UsageError("there is no session in this folder to continue: leave it out")
        folder = Path((await workspace.store.session(session_id)).folder)
    finally:
        await workspace.close()
    target = ExistingSession(session_id, given.fork is not None, given.model, given.mode)
    if given.folder is None and folder != config.folder:
        if not folder.is_dir():
            raise UserError(f"the session's folder {folder} is gone: name another with --cwd")
        elsewhere = configured(folder, given.model, is_shown=is_shown)
        config = dataclasses.replace(elsewhere, attended=config.attended)
    return target, config


async def _chosen(workspace: Workspace, target: ExistingSession) -> str:
    from tui_agent.headless.run import existing_session

    return await existing_session(workspace, target)


def _with_workspace_running(config: WorkspaceConfig, request: RunRequest) -> int:
    from tui_agent.headless.run import run

    return asyncio.run(
        supervised(
            lambda: _open(config),
            lambda workspace, interrupted: run(
                workspace, request, sys.stdout, sys.stderr, interrupted=interrupted
            ),
            is_interruptible=True,
        )
    )
