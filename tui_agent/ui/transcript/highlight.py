"""Source code as runs of syntax roles, one list of runs a line.

Pygments knows the languages; each lexer is loaded when a fence first names it. A fence without a
known language, or one too long to be worth it, stays plain.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from tui_agent.ui.transcript.lines import Run

if TYPE_CHECKING:
    from pygments.lexer import Lexer

LONGEST_HIGHLIGHTED: Final = 60_000
"""Characters; a longer fence would hold up a frame."""

_ROLES: Final = (
    ("Token.Comment", "syntax-comment"),
    ("Token.Keyword", "syntax-keyword"),
    ("Token.Operator.Word", "syntax-keyword"),
    ("Token.Literal.String", "syntax-string"),
    ("Token.Literal.Number", "syntax-number"),
    ("Token.Literal", "syntax-string"),
    ("Token.Name.Function", "syntax-name"),
    ("Token.Name.Class", "syntax-name"),
    ("Token.Name.Tag", "syntax-name"),
    ("Token.Name.Decorator", "syntax-name"),
    ("Token.Name.Builtin", "syntax-builtin"),
    ("Token.Name.Constant", "syntax-builtin"),
    ("Token.Name.Exception", "syntax-builtin"),
    ("Token.Generic.Inserted", "added"),
    ("Token.Generic.Deleted", "removed"),
    ("Token.Generic.Heading", "syntax-comment"),
    ("Token.Generic.Subheading", "syntax-comment"),
    ("Token.Generic.Prompt", "syntax-comment"),
)


def highlighted(code: str, language: str) -> list[list[Run]]:
    """The lines of `code` with the syntax roles of `language`, plain where it is not known."""
    lexer = _lexer(language.lower()) if 0 < len(code) <= LONGEST_HIGHLIGHTED else None
    if lexer is None:
        return [[Run(line)] for line in code.split("\n")]
    lines: list[list[Run]] = [[]]
    for kind, text in lexer.get_tokens(code):
        role = _role(kind)
        first, *others = text.split("\n")
        if first:
            lines[-1].append(Run(first, role))
        lines.extend([Run(part, role)] if part else [] for part in others)
    wanted = code.count("\n") + 1
    # Lexers end their text with a line feed of their own.
    del lines[wanted:]
    lines.extend([] for _ in range(wanted - len(lines)))
    return lines


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    if not language:
        return None
    try:
        return get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=1024)
def _role(kind: Any) -> str:
    name = str(kind)
    return next((role for start, role in _ROLES if name.startswith(start)), "")
