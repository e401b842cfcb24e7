"""What an answer that lasts would allow, in words: the rule itself is shown beside them.

The rules come from the engine; this only reads their shape, `Tool(what)`, to say it plainly.
"""

from __future__ import annotations

import re

_RULE = re.compile(r"(?P<tool>[^()]+)\((?P<what>.*)\)", re.DOTALL)
_DOES = {"Edit": "change", "Write": "change", "Read": "read"}
_PATTERN = frozenset("*?[")


def allows(rule: str) -> str:
    """What a rule covers, such as "exactly this command"."""
    found = _RULE.fullmatch(rule.strip())
    if found is None:
        return f"every call of {rule.strip()}" if "(" not in rule else "whatever this rule matches"
    tool, what = found["tool"], found["what"]
    if tool == "Bash":
        return _commands(what)
    if tool in _DOES and not _PATTERN & set(what):
        return f"every {_DOES[tool]} of {what}"
    return "whatever this rule matches"


def _commands(what: str) -> str:
    start = what.removesuffix(":*").removesuffix(" *")
    if "*" not in what:
        return "exactly this command"
    if start != what and "*" not in start:
        return f"every command that begins with {start}"
    return "every command that matches"
