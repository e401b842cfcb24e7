"""The commands that list, show, export and change sessions.

Each takes a workspace and a stream, prints for people or, with `as_json`, for scripts, and returns
the exit code. Whatever a model or a stranger wrote is made safe before it is printed. Raises
`UserError` for what cannot be done.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Final, Literal, TextIO

from tui_agent.headless.exits import ExitCode, exit_code_for
from tui_agent.headless.history import as_text
from tui_agent.headless.markdown import as_markdown
from tui_agent.headless.printing import print_json, print_lines
from tui_agent.headless.shapes import export_shape, match_shape, session_shape, show_shape
from tui_agent.headless.tables import table, terminal_width
from tui_agent.headless.words import (
    UNTITLED,
    marked,
    moment,
    one_line,
    pending_lines,
    state_words,
    tokens,
)
from tui_agent.text import exact
from tui_agent.vocabulary.blocks import Json
from tui_agent.vocabulary.errors import UserError
from tui_agent.vocabulary.records import SessionSnapshot, SessionSummary
from tui_agent.workspace.api import Match, WorkspaceApi

MOST_SESSIONS: Final = 10_000
MOST_FOUND: Final = 200
EVERYTHING: Final = sys.maxsize
"""How many of the last messages a whole session is."""
_HEAD: Final = ("ID", "STATE", "UPDATED", "MESSAGES", "OPEN", "TOKENS", "TITLE", "FOLDER")
_TITLE: Final = _HEAD.index("TITLE")


async def list_sessions(workspace: WorkspaceApi, out: TextIO, *, as_json: bool) -> int:
    """Every root session, newest first."""
    summaries = await workspace.sessions(everywhere=True, limit=MOST_SESSIONS)
    if as_json:
        return print_json([session_shape(summary) for summary in summaries], out)
    if not summaries:
        return print_lines(["no sessions yet"], out)
    return print_lines(_table(summaries, out), out)


async def search_sessions(workspace: WorkspaceApi, text: str, out: TextIO, *, as_json: bool) -> int:
    """The sessions of all folders that hold `text`, each with the messages that do."""
    matches = await workspace.search(text, everywhere=True, limit=MOST_FOUND)
    if as_json:
        return print_json([match_shape(match) for match in matches], out)
    if not matches:
        return print_lines([f"no session has {exact(text)!r}"], out)
    head, *rows = _table([match.session for match in matches], out)
    lines = [head]
    for row, match in zip(rows, matches, strict=True):
        lines += [row, *_hit_lines(match, bright=out.isatty())]
    return print_lines(lines, out)


async def show_session(
    workspace: WorkspaceApi, session_id: str, out: TextIO, *, as_json: bool
) -> int:
    """One session with its whole history."""
    snapshot = await workspace.snapshot(session_id, last=EVERYTHING)
    usage = await workspace.usage(session_id)
    if as_json:
        return print_json(show_shape(snapshot, usage), out)
    session = snapshot.session
    state = state_words(snapshot.phase, snapshot.turns[-1].reason if snapshot.turns else None)
    waits = f": {one_line(snapshot.waiting_for)}" if snapshot.waiting_for else ""
    lines = [
        exact(session.title) or UNTITLED,
        f"{session.id}  {state}{waits}  {moment(session.updated)}",
        f"{exact(session.folder)}  {exact(session.model.provider)} {exact(session.model.model)}",
        f"{tokens(usage.own)} tokens, {tokens(usage.tree)} with subagents",
        *(f"subagent {child.id}  {exact(child.title)}" for child in snapshot.children),
        *as_text(snapshot.messages, snapshot.tool_runs),
    ]
    if snapshot.pending:
        lines += ["", "waiting for a decision:", *pending_lines(snapshot.pending)]
    return print_lines(lines, out)


async def export_session(
    workspace: WorkspaceApi, session_id: str, out: TextIO, *, form: Literal["md", "json"]
) -> int:
    """One session as a document: Markdown to read, or JSON with everything that is kept of it and
    of its subagents."""
    snapshot = await workspace.snapshot(session_id, last=EVERYTHING)
    if form == "json":
        return print_json(await _exported(workspace, snapshot), out)
    usage = await workspace.usage(session_id)
    return print_lines(as_markdown(snapshot, usage), out)


async def fork_session(workspace: WorkspaceApi, session_id: str, out: TextIO) -> int:
    """A copy up to the last closed batch; prints its id."""
    return print_lines([(await workspace.fork_session(session_id)).id], out)


async def rename_session(workspace: WorkspaceApi, session_id: str, title: str) -> int:
    """Give a session a title."""
    await workspace.rename(session_id, title)
    return ExitCode.FINISHED


async def delete_sessions(
    workspace: WorkspaceApi, session_ids: Iterable[str], out: TextIO, err: TextIO
) -> int:
    """Delete sessions with their subagents; one that cannot be deleted does not save the others."""
    wanted = tuple(dict.fromkeys(session_ids))
    titles = await workspace.titles(wanted)
    code = ExitCode.FINISHED
    for session_id in wanted:
        try:
            await workspace.delete(session_id)
        except UserError as error:
            err.write(f"{session_id} was not deleted: {one_line(str(error))}\n")
            code = max(code, exit_code_for(error))
        else:
            title = exact(titles.get(session_id, "")) or UNTITLED
            print_lines([f"deleted {session_id}  {title}"], out)
    return code


async def _exported(workspace: WorkspaceApi, snapshot: SessionSnapshot) -> dict[str, Json]:
    usage = await workspace.usage(snapshot.session.id)
    agents: list[Json] = []
    for child in snapshot.children:
        below = await workspace.snapshot(child.id, last=EVERYTHING)
        agents.append(await _exported(workspace, below))
    return export_shape(snapshot, usage, agents)


def _table(summaries: Sequence[SessionSummary], out: TextIO) -> list[str]:
    rows = [_row(summary) for summary in summaries]
    return table(_HEAD, rows, width=terminal_width(out), gives_way=_TITLE)


def _row(summary: SessionSummary) -> tuple[str, ...]:
    return (
        summary.id,
        state_words(summary.phase, summary.last_reason, is_cut=summary.is_cut),
        moment(summary.updated),
        str(summary.messages),
        str(summary.pending or ""),
        tokens(summary.usage),
        exact(summary.title) or UNTITLED,
        exact(summary.folder),
    )


def _hit_lines(match: Match, *, bright: bool) -> list[str]:
    return [f"    {marked(hit.snippet, hit.matches, bright=bright)}" for hit in match.hits]
