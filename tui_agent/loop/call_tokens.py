"""Noticing a model that writes its calls into its text instead of making them.

Such text is never run: only what comes as a call is one. But the person should know why nothing
happened. The marks are those of the chat templates of open models, which a server that does not
parse them passes on as they are.
"""

from __future__ import annotations

import re

_MARKS = re.compile(
    r"^\s*(?:<\|tool_calls?(?:_section)?_begin\|>|<｜tool▁calls?▁begin｜>|<tool_call>"
    r"|<\|python_tag\|>|\[TOOL_CALLS\]|<function_call>|<function=)",
    re.MULTILINE,
)


def written_call(text: str) -> str | None:
    """The mark with which `text` begins a call on a line of its own, if it does."""
    found = _MARKS.search(text)
    return None if found is None else found.group().strip()
