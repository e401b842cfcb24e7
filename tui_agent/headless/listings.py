"""The commands that list what waits, what is allowed, what can be picked, and how things stand.

Each takes a workspace and a stream, prints for people or, with `as_json`, for scripts, and returns
the exit code. Whatever a model or a stranger wrote is made safe before it is printed. Raises
`UserError` for what cannot be done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TextIO

from tui_agent.headless.exits import ExitCode
from tui_agent.headless.printing import print_json, print_lines
from tui_agent.headless.shapes import approval_shape, grant_shape
from tui_agent.headless.tables import table, terminal_width
from tui_agent.headless.words import UNTITLED, moment, one_line, pending_lines
from tui_agent.text import exact
from tui_agent.vocabulary.codec import to_json
from tui_agent.vocabulary.decisions import Grant
from tui_agent.vocabulary.errors import NotFoundError
from tui_agent.workspace.api import Check, WorkspaceApi


async def list_approvals(workspace: WorkspaceApi, out: TextIO, *, as_json: bool) -> int:
    """Every open item, oldest first, with the session that it belongs to."""
    items = await workspace.pending()
    roots = [item.agent_path[0] if item.agent_path else item.session_id for item in items]
    titles = await workspace.titles(roots)
    named = [(item, titles.get(root, "")) for item, root in zip(items, roots, strict=True)]
    if as_json:
        return print_json([approval_shape(item, title) for item, title in named], out)
    lines = []
    for item, title in named:
        head, *others = pending_lines([item])
        place = f"    in {exact(title) or UNTITLED}, {exact(item.folder)}"
        lines += [head, place, *others]
    return print_lines(lines or ["nothing waits for a decision"], out)


async def list_grants(workspace: WorkspaceApi, out: TextIO, *, as_json: bool) -> int:
    """What a person allowed from then on, in every folder."""
    grants = await workspace.list_grants(everywhere=True)
    titles = await workspace.titles(grant.session_id for grant in grants if grant.session_id)
    if as_json:
        shapes = [grant_shape(grant, titles.get(grant.session_id or "")) for grant in grants]
        return print_json(shapes, out)
    if not grants:
        return print_lines(["nothing was allowed for longer than once"], out)
    head = ("ID", "RULE", "HOLDS", "SINCE", "FOLDER")
    rows = [
        (
            str(grant.id),
            exact(grant.rule),
            _reach(grant, titles),
            moment(grant.at),
            exact(grant.folder),
        )
        for grant in grants
    ]
    return print_lines(table(head, rows, width=terminal_width(out), gives_way=1), out)


async def remove_grants(workspace: WorkspaceApi, grant_ids: Iterable[int], out: TextIO) -> int:
    """Take standing permissions back; one that is unknown does not save the others. Raises
    `NotFoundError` for it in the end."""
    unknown: list[NotFoundError] = []
    for grant_id in dict.fromkeys(grant_ids):
        try:
            removed = await workspace.remove_grant(grant_id)
        except NotFoundError as error:
            unknown.append(error)
        else:
            print_lines([f"removed {exact(removed.rule)}"], out)
    if unknown:
        raise NotFoundError(" ".join(map(str, unknown)))
    return ExitCode.FINISHED


def _reach(grant: Grant, titles: Mapping[str, str]) -> str:
    if grant.session_id is None:
        return "always"
    return f"in {exact(titles.get(grant.session_id, '')) or UNTITLED}"


async def list_models(workspace: WorkspaceApi, out: TextIO, *, as_json: bool) -> int:
    """What can be picked now."""
    offered = await workspace.models()
    if as_json:
        return print_json(to_json(offered), out)
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
    lines = table(head, rows, width=terminal_width(out), gives_way=5)
    more = "new sessions use the first; tui-agent doctor says why, and what is missing"
    return print_lines([*lines, "", more], out)


def print_checks(checks: Sequence[Check], out: TextIO, *, as_json: bool) -> int:
    """What `doctor` found, and what to type next. 1 when something fails."""
    if as_json:
        print_json(to_json(checks), out)
    else:
        print_lines(_check_lines(checks), out)
    return ExitCode.ERROR if any(check.ok is False for check in checks) else ExitCode.FINISHED


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
