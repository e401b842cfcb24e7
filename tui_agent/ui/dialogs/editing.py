"""Editing the input of a call before it is allowed: as text where it is text, else as JSON.

Pure functions between an input and what stands in the editor. A field draws its text as it is, so
what it would hide or change is edited as JSON with every such character escaped: visible, and
nothing is lost on the way back.
"""

from __future__ import annotations

import json

from tui_agent.text import exact
from tui_agent.vocabulary.blocks import JsonObject
from tui_agent.vocabulary.typed_json import parse_typed_object

TEXT_FIELDS = ("command", "content", "new_string")
"""The fields of a call that are texts of their own, the first one it has counts: what is run, what
a file becomes, what stands in the place of something."""


def text_field(tool_input: JsonObject) -> str | None:
    """The field that is edited as text, or `None` where the whole input is edited as JSON."""
    for name in TEXT_FIELDS:
        value = tool_input.get(name)
        if isinstance(value, str):
            # a tab is kept by the editor and drawn as space, which in a file is what it means
            shown = value if name == "command" else value.replace("\t", "")
            return name if is_plain(shown) else None
    return None


def editable_text(tool_input: JsonObject, field: str | None) -> str:
    """What stands in the editor: that field's text, or the whole input."""
    if field is not None:
        return str(tool_input[field])
    text = json.dumps(dict(tool_input), ensure_ascii=False, indent=2)
    return text if is_plain(text) else json.dumps(dict(tool_input), indent=2)


def edited_input(tool_input: JsonObject, field: str | None, text: str) -> JsonObject:
    """The input with the edit in it. Raises `ValueError` (a line for a person) when it is none."""
    if field == "command" and not text.strip():
        raise ValueError("The command is empty.")
    if field is not None:
        return {**tool_input, field: text}
    try:
        return parse_typed_object(text)
    except ValueError as error:
        raise ValueError(f"Not taken: {error}.") from None


def is_plain(text: str) -> bool:
    """Whether a field can draw the text without hiding or changing anything."""
    return exact(text, one_line=False) == text
