"""The commands that list and change what is stored: sessions, approvals, models, the doctor.

Each takes a workspace and a stream, prints for people or, with `as_json`, for scripts, and returns
the exit code. Whatever a model or a stranger wrote is made safe before it is printed. Raises
`UserError` for what cannot be done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TextIO

from tui_agent.headless.exits import ExitCode
from tui_agent.headless.history import all_messages, as_markdown, as_text
from tui_agent.headless.shapes import (
    dumps,
    pending_shapes,
    session_shape,
    snapshot_shape,
)
from tui_agent.headless.tables import table, terminal_width
from tui_agent.headless.words import moment, one_line, pending_lines
from tui_agent.text import exact
from tui_agent.vocabulary.blocks import Json
from tui_agent.vocabulary.codec import to_json
from tui_agent.vocabulary.records import SessionSummary
from tui_agent.workspace.api import Check, WorkspaceApi

MOST_SESSIONS: Final = 10_000
_UNTITLED: Final = "(no title)"


async def list_sessions(
    workspace: WorkspaceApi, out: TextIO, *, as_json: bool, search: str = ""
) -> int:
    """Every root session, newest first; with `search` those that hold the text."""
    summaries = await workspace.sessions(everywhere=True, search=search, limit=MOST_SESSIONS)
    if as_json:
        return _print_json([session_shape(summary) for summary in summaries], out)
    if not summaries:
        return _print([f"no session has {exact(search)!r}" if search else "no sessions yet"], out)
    head = ("ID", "STATE", "UPDATED", "MESSAGES", "OPEN", "TITLE", "FOLDER")
    rows = [_session_row(summary) for summary in summaries]
    return _print(table(head, rows, width=terminal_width(out), gives_way=5), out)


async def show_session(
    workspace: WorkspaceApi, session_id: str, out: TextIO, *, as_json: bool
) -> int:
    """One session with its whole history."""
    snapshot = await workspace.snapshot(session_id)
    messages = await all_messages(workspace, snapshot)
    if as_json:
        return _print_json(snapshot_shape(snapshot, messages), out)
    session = snapshot.session
    lines = [
        exact(session.title) or _UNTITLED,
        f"{session.id}  {snapshot.phase.value.replace('_', ' ')}  {moment(session.updated)}",
        f"{exact(session.folder)}  {exact(session.model.provider)} {exact(session.model.model)}",
        *as_text(messages, snapshot.tool_runs),
    ]
    if snapshot.pending:
        lines += ["", "waiting for a decision:", *pending_lines(snapshot.pending)]
    return _print(lines, out)


async def export_session(
    workspace: WorkspaceApi, session_id: str, out: TextIO, *, form: Literal["md", "json"]
) -> int:
    """One session as a file of its own: Markdown, or what `sessions show --json` prints."""
    snapshot = await workspace.snapshot(session_id)
    messages = await all_messages(workspace, snapshot)
    if form == "json":
        return _print_json(snapshot_shape(snapshot, messages), out)
    return _print(as_markdown(snapshot.session, messages, snapshot.tool_runs), out)


async def fork_session(workspace: WorkspaceApi, session_id: str, out: TextIO) -> int:
    """A copy up to the last closed batch; prints its id."""
    return _print([(await workspace.fork_session(session_id)).id], out)


async def rename_session(workspace: WorkspaceApi, session_id: str, title: str) -> int:
    """Give a session a title."""
    await workspace.rename(session_id, title)
    return ExitCode.FINISHED


async def delete_sessions(workspace: WorkspaceApi, session_ids: Sequence[str]) -> int:
    """Delete sessions with their subagents; the first that cannot be deleted ends it."""
    for session_id in session_ids:
        await workspace.delete(session_id)
    return ExitCode.FINISHED


async def list_approvals(workspace: WorkspaceApi, out: TextIO, *, as_json: bool) -> int:
    """Every open item, oldest first."""
    items = await workspace.pending()
    if as_json:
        return _print_json(pending_shapes(items), out)
    return _print(pending_lines(items) or ["nothing waits for a decision"], out)


async def list_models(workspace: WorkspaceApi, out: TextIO, *, as_json: bool) -> int:
    """What can be picked now."""
    offered = await workspace.models()
    if as_json:
        return _print_json(to_json(offered), out)
    head = ("PROVIDER", "MODEL", "WINDOW", "PRICE", "ADDRESS", "NOTE")
    rows = [
        (
            exact(offer.choice.provider),
            exact(offer.choice.model),
            "" if offer.window is None else str(offer.window),
            one_line(offer.price),
            exact(offer.choice.base_url or ""),
            one_line(offer.problem),
        )
        for offer in offered
    ]
    return _print(table(head, rows, width=terminal_width(out), gives_way=5), out)


async def doctor(
    workspace: WorkspaceApi, out: TextIO, *, as_json: bool, only: str | None = None
) -> int:
    """What is configured, reachable and missing, and what to type next, or the one check `only`. 1
    when something fails."""
    checks = await workspace.doctor()
    if only is not None:
        checks = tuple(check for check in checks if check.name == only)
    if as_json:
        _print_json(to_json(checks), out)
    else:
        _print(_check_lines(checks), out)
    return ExitCode.ERROR if any(check.ok is False for check in checks) else ExitCode.FINISHED


def _session_row(summary: SessionSummary) -> tuple[str, ...]:
    return (
        summary.id,
        summary.phase.value.replace("_", " "),
        moment(summary.updated),
        str(summary.messages),
        str(summary.pending or ""),
        exact(summary.title) or _UNTITLED,
        exact(summary.folder),
    )


def _check_lines(checks: Sequence[Check]) -> list[str]:
    marks = {True: "ok", False: "fails", None: "-"}
    room = max((len(check.name) for check in checks), default=0)
    lines = []
    for check in checks:
        mark, name = f"{marks[check.ok]:<5}", f"{exact(check.name):<{room}}"
        lines.append(f"{mark}  {name}  {one_line(check.text)}")
        if check.advice:
            lines.append(f"{'':<5}  {'':<{room}}  {one_line(check.advice)}")
    return lines


def _print(lines: Sequence[str], out: TextIO) -> int:
    out.write("\n".join(lines) + "\n")
    out.flush()
    return ExitCode.FINISHED


def _print_json(value: Json, out: TextIO) -> int:
    return _print([dumps(value, indent=2)], out)
