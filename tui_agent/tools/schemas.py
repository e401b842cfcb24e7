"""Input models as JSON Schemas that every provider takes: no titles, no references, no null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of a tool's input, the same bytes on every call."""
    raw = model.model_json_schema(by_alias=True)
    definitions: Mapping[str, Any] = raw.get("$defs", {})
    cleaned = _cleaned(raw, definitions)
    cleaned.pop("description", None)  # the docstring of the class is not for the model
    return cleaned


def _cleaned(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        target = definitions[schema["$ref"].rpartition("/")[2]]
        inlined = {name: value for name, value in target.items() if name != "description"}
        return _cleaned(
            {**inlined, **{k: v for k, v in schema.items() if k != "$ref"}}, definitions
        )
    options = [option for option in schema.get("anyOf", []) if option.get("type") != "null"]
    if len(options) == 1:
        rest = {name: value for name, value in schema.items() if name != "anyOf"}
        return _cleaned({**options[0], **rest}, definitions)
    cleaned: dict[str, Any] = {}
    for name, value in schema.items():
        if name in ("title", "$defs") or (name == "default" and value is None):
            continue
        if name == "properties":
            cleaned[name] = {key: _cleaned(item, definitions) for key, item in value.items()}
        elif name == "items":
            cleaned[name] = _cleaned(value, definitions)
        else:
            cleaned[name] = value
    return cleaned
