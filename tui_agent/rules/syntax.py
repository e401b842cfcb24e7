"""The rules that this version understands: `Tool` and `Tool(exact)`.

`Bash(git status)` means exactly that command, `Edit(path)` and `Read(path)` exactly that file.
`//` begins an absolute path, `~/` one from home, everything else is from the workspace folder.
Patterns are refused, not guessed: a deny rule that silently matched nothing would be worse than
none. `Edit` covers every tool that writes files; a `Read` deny also forbids editing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tui_agent.vocabulary.errors import UserError

_SHAPE = re.compile(r"(?P<tool>[A-Za-z][A-Za-z0-9_]*)(?:\((?P<specifier>.*)\))?", re.DOTALL)
_ALIASES = {"Agent": "Task", "Write": "Edit", "Grep": "Read", "Glob": "Read"}
_PATH_TOOLS = frozenset({"Edit", "Read"})
_WITH_SPECIFIER = _PATH_TOOLS | {"Bash"}
_PATTERN = re.compile(r"[*?\[\]]|:\*$")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `text` is as the person wrote it; `specifier` of `None` means every call."""

    text: str
    tool: str
    specifier: str | None = None


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules by what they say."""

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()

    def __add__(self, other: RuleSet) -> RuleSet:
        return RuleSet(self.allow + other.allow, self.ask + other.ask, self.deny + other.deny)


def parse_rule(text: str) -> Rule:
    """Read one rule. Raises `UserError` that says what is wrong with it."""
    match = _SHAPE.fullmatch(text.strip())
    if match is None:
        raise UserError(f"{text!r} is not a permission rule: write Tool or Tool(exact text)")
    tool, specifier = match["tool"], match["specifier"]
    if specifier is None or specifier == "*":
        return Rule(text, tool)
    if not specifier.strip():
        raise UserError(
            f"{text!r} has nothing between its parentheses: write {tool} for every call"
        )
    if _PATTERN.search(specifier) and (tool != "Bash" or _looks_like_pattern(specifier)):
        raise UserError(
            f"{text!r} is a pattern, and this version only understands exact rules: "
            f"write {tool} for every call, or {tool}(…) with the exact text"
        )
    if _canonical(tool) not in _WITH_SPECIFIER:
        raise UserError(
            f"{text!r}: this version understands no text in parentheses for {tool}, only for Bash, "
            f"Edit and Read: write {tool} for every call"
        )
    if tool != "Bash" and specifier.startswith("/") and not specifier.startswith("//"):
        raise UserError(
            f"{text!r} begins with one slash: write {tool}(/{specifier}) for the absolute path, or "
            "a path from the workspace folder"
        )
    return Rule(text, tool, specifier)


def _looks_like_pattern(command: str) -> bool:
    """A shell command may hold `*` of its own; only the rule forms `x *` and `x:*` are patterns."""
    return command.endswith((":*", " *", "*"))


def parse_rules(
    *, allow: Iterable[str] = (), ask: Iterable[str] = (), deny: Iterable[str] = ()
) -> RuleSet:
    """Read several rules. Raises `UserError`."""
    return RuleSet(
        tuple(map(parse_rule, allow)), tuple(map(parse_rule, ask)), tuple(map(parse_rule, deny))
    )


@dataclass(frozen=True, slots=True)
class Subject:
    """What a rule is held against: the tool, the command if it runs one, the real paths that it
    reads and writes."""

    tool: str
    folder: Path
    command: str | None = None
    reads: frozenset[Path] = frozenset()
    writes: frozenset[Path] = frozenset()


def matches_some(rule: Rule, subject: Subject) -> bool:
    """Whether `rule` speaks of any part of the call: what an ask or deny rule needs. A search over
    a folder is not meant by a rule for a file in it: `forbidden_reads` keeps that file out of the
    search instead."""
    if _canonical(rule.tool) == "Read" and rule.specifier is not None:
        return _path(rule.specifier, subject.folder) in subject.reads | subject.writes
    return _matches(rule, subject, any_path=True)


def forbidden_reads(rules: RuleSet, folder: Path) -> frozenset[Path]:
    """The real paths whose content no search may show: those that a rule denies or asks about."""
    return frozenset(
        _path(rule.specifier, folder)
        for rule in (*rules.deny, *rules.ask)
        if _canonical(rule.tool) == "Read" and rule.specifier is not None
    )


def matches_all(rule: Rule, subject: Subject) -> bool:
    """Whether `rule` speaks of the whole call: what an allow rule needs."""
    return _matches(rule, subject, any_path=False)


def _matches(rule: Rule, subject: Subject, *, any_path: bool) -> bool:
    if rule.specifier is None:
        if any_path and rule.tool in _PATH_TOOLS:
            return rule.tool == _canonical(subject.tool)
        return subject.tool in (rule.tool, _one_hop(rule.tool))
    tool = _canonical(rule.tool)
    if tool != _canonical(subject.tool):
        return False
    if tool in _PATH_TOOLS:
        path = _path(rule.specifier, subject.folder)
        touched = subject.writes if tool == "Edit" else subject.reads
        return path in touched if any_path else touched == {path}
    return subject.command is not None and rule.specifier == subject.command


def _one_hop(tool: str) -> str:
    return "Task" if tool == "Agent" else tool


def _canonical(tool: str) -> str:
    return _ALIASES.get(tool, tool)


def _path(text: str, folder: Path) -> Path:
    """The real path that a rule names. `realpath`, as `resolve` raises on a circle of links."""
    if text.startswith("//"):
        return Path(os.path.realpath(text[1:]))
    if text == "~" or text.startswith("~/"):
        text = os.path.expanduser(text)
    return Path(os.path.realpath(folder / text))
