"""The order of judgement over one call whose input has already passed its schema.

deny rules → protected paths → ask rules → mode → allow rules and grants → the tool's default → a
person. Deny beats ask beats allow, whatever the scope. First form: reads inside the workspace and
subagents run (their calls meet the gate themselves), a question is put, everything else asks.
Nothing here guesses wider than what a rule says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tui_agent.gate.protected import is_protected
from tui_agent.rules.syntax import (
    Rule,
    RuleSet,
    Subject,
    matches_all,
    matches_some,
    parse_rule,
)
from tui_agent.vocabulary.decisions import Action, Source, Verdict
from tui_agent.vocabulary.errors import UserError
from tui_agent.vocabulary.states import Mode


@dataclass(frozen=True, slots=True)
class Call:
    """What the gate needs to know of a call. Paths are real paths; `folders` are the workspace
    folder and the extra ones."""

    subject: Subject
    folders: tuple[Path, ...]
    mode: Mode
    is_read_only: bool
    asks_person: bool = False
    spawns_agent: bool = False


def check_mode(mode: Mode) -> None:
    """Raises `UserError` for a mode that cannot be used yet."""
    if mode is Mode.AUTO:
        raise UserError(
            "mode auto is coming with the sandbox and is not available yet: use ask, accept-edits "
            "or plan"
        )


def judge(call: Call, rules: RuleSet, grants: Iterable[Rule] = ()) -> Verdict:
    """Allow, ask or deny, with the reason."""
    subject = call.subject
    if rule := _first(rules.deny, subject):
        return Verdict(Action.DENY, Source.RULE, f"the rule {rule.text} forbids it", rule.text)
    if call.asks_person:
        return Verdict(Action.ASK, Source.DEFAULT, "a question to you")
    protected = sorted(path for path in subject.writes if is_protected(path))
    if call.mode is Mode.PLAN and not (call.is_read_only or call.spawns_agent):
        return Verdict(
            Action.DENY, Source.MODE, "plan mode only reads: put this change into the plan instead"
        )
    if protected:
        reason = f"{protected[0].name} is a protected path"
        return Verdict(Action.ASK, Source.PROTECTED, reason)
    if rule := _first(rules.ask, subject):
        return Verdict(Action.ASK, Source.RULE, f"the rule {rule.text} asks", rule.text)
    if _is_edit_inside(call) and call.mode is Mode.ACCEPT_EDITS:
        return Verdict(Action.ALLOW, Source.MODE, "accept-edits allows edits in the workspace")
    for rule in rules.allow:
        if matches_all(rule, subject):
            return Verdict(Action.ALLOW, Source.RULE, f"allowed by the rule {rule.text}", rule.text)
    for rule in grants:
        if matches_all(rule, subject):
            return Verdict(Action.ALLOW, Source.GRANT, f"you allowed {rule.text}", rule.text)
    return _default(call)


def _default(call: Call) -> Verdict:
    if call.spawns_agent:
        reason = "a subagent's own calls are judged one by one"
        return Verdict(Action.ALLOW, Source.DEFAULT, reason)
    if call.is_read_only:
        if not call.subject.reads:
            return Verdict(Action.ALLOW, Source.DEFAULT, "touches no files")
        if all(_is_inside(path, call.folders) for path in call.subject.reads):
            return Verdict(Action.ALLOW, Source.DEFAULT, "reads inside the workspace")
        return Verdict(Action.ASK, Source.DEFAULT, "reads outside the workspace")
    return Verdict(Action.ASK, Source.DEFAULT, f"{call.subject.tool} may change things")


def exact_rule(subject: Subject) -> str | None:
    """The narrowest rule that would allow this call, or `None` when no exact one can be written
    (several paths, or a text that would read as a pattern)."""
    if subject.command is not None:
        text = f"{subject.tool}({subject.command})"
    elif len(subject.writes) == 1:
        text = f"Edit({_shown(next(iter(subject.writes)), subject.folder)})"
    elif not subject.writes and len(subject.reads) == 1:
        text = f"Read({_shown(next(iter(subject.reads)), subject.folder)})"
    else:
        return None
    try:
        rule = parse_rule(text)
    except UserError:
        return None
    # a command or a file named `*` would read as every call
    return text if rule.specifier is not None and matches_all(rule, subject) else None


def _shown(path: Path, folder: Path) -> str:
    """A path as a rule writes it: relative inside the workspace, else `//` and the whole."""
    if path.is_relative_to(folder):
        return path.relative_to(folder).as_posix()
    return f"/{path.as_posix()}"


def _first(rules: Iterable[Rule], subject: Subject) -> Rule | None:
    return next((rule for rule in rules if matches_some(rule, subject)), None)


def _is_edit_inside(call: Call) -> bool:
    writes = call.subject.writes
    return bool(writes) and all(_is_inside(path, call.folders) for path in writes)


def _is_inside(path: Path, folders: tuple[Path, ...]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
