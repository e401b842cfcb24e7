"""Holding a file against the settings there are.

In comes a TOML file that was read; out come `Settings`, or one `UserError` that names the key, its
line, and what to write instead. Loads pydantic, so it is imported only when there is a file.
"""

from __future__ import annotations

import dataclasses
import json
import math
from datetime import date, time
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from tui_agent.settings.model import KeyPath, ModelEntry, PriceSettings, Settings, problems
from tui_agent.settings.toml_file import TomlFile


def validate(file: TomlFile) -> Settings:
    """What `file` says, as settings. Raises `UserError` for the first problem in it."""
    for where, value in file.walk():
        if isinstance(value, date | time):
            file.refuse(where, "is a date or a time, and no setting is: put it between quotes")
        if isinstance(value, int) and abs(value) >= 2**63:
            # Neither a database nor a provider takes more, and Python may refuse to write it.
            file.refuse(where, "is too large a number: leave it out for no bound of your own")
        if isinstance(value, float) and not math.isfinite(value):
            file.refuse(where, "must be a number, and a finite one")
    try:
        # As JSON, because there an array is a tuple and yet "5" is no number.
        settings = _adapter().validate_json(json.dumps(file.values), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        file.refuse(first["loc"], _what_to_do(first))
    for where, text in problems(settings):
        file.refuse(where, text)
    models = {
        name: dataclasses.replace(entry, options=MappingProxyType(dict(entry.options)))
        for name, entry in settings.models.items()
    }
    return dataclasses.replace(settings, models=MappingProxyType(models))


@cache
def _adapter() -> TypeAdapter[Settings]:
    return TypeAdapter(Settings)


def _what_to_do(error: ErrorDetails) -> str:
    where = error["loc"]
    match error["type"]:
        case "unexpected_keyword_argument":
            return f"is not a setting: {_nearest(str(where[-1]), _keys_at(where[:-1]))}"
        case "string_type":
            return "must be text: put it between quotes"
        case "int_type" | "int_from_float":
            return "must be a whole number, without quotes"
        case "float_type":
            return "must be a number, without quotes"
        case "bool_type":
            return "must be true or false, without quotes"
        case "tuple_type":
            return 'must be a list of texts: ["…", "…"]'
        case "dict_type" | "mapping_type" | "dataclass_type":
            keys = ", ".join(_keys_at(where))
            return f"must be a table{f' with the keys {keys}' if keys else ''}"
        case "literal_error":
            return f"must be {error['ctx']['expected']}"
        case _:
            return f"is wrong: {error['msg'].lower()}"


def _keys_at(where: KeyPath) -> tuple[str, ...]:
    """The keys that may stand in the table at `where`; none where the keys are free."""
    owner: type[Any]
    match where:
        case ():
            owner = Settings
        case ("models",):
            return ()
        case ("models", _):
            owner = ModelEntry
        case ("models", _, "price"):
            owner = PriceSettings
        case (str() as name,):
            owner = type(getattr(Settings(), name))
        case _:
            return ()
    return tuple(item.name for item in dataclasses.fields(owner))


def _nearest(key: str, keys: tuple[str, ...]) -> str:
    near = get_close_matches(key.lower(), keys, n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else f"the keys here are {', '.join(keys)}"
