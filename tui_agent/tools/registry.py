"""Which tools there are, under which names, and whether an input fits one.

In comes what the model wrote; out comes a tool and a checked input, or a `ToolError` that tells the
model what to mend.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from tui_agent.providers.base import ToolSchema
from tui_agent.tools.base import Tool, ToolError
from tui_agent.tools.errors import FileError, FileErrorCode
from tui_agent.tools.schemas import input_schema
from tui_agent.vocabulary.blocks import Json, JsonObject

ALIASES = {"Agent": "Task"}
"""Other names under which a tool is known in calls, rules and agent files."""

_SHOWN_PROBLEMS = 3


def canonical_name(name: str) -> str:
    """The name of a tool for a name or an alias of it."""
    return ALIASES.get(name, name)


class ToolRegistry:
    """A set of tools, in a fixed order."""

    def __init__(self, tools: Iterable[Tool[Any]]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._schemas: dict[str, ToolSchema] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The tools' own names, without aliases."""
        return tuple(self._tools)

    def get(self, name: str) -> Tool[Any]:
        """The tool of that name or alias. Raises `ToolError` that names the valid ones."""
        tool = self._tools.get(canonical_name(name))
        if tool is None:
            raise ToolError(
                f"There is no tool named {name[:80]!r}. The tools are: {', '.join(self.names)}."
            )
        return tool

    def schemas(self, names: Sequence[str] | None = None) -> tuple[ToolSchema, ...]:
        """The tools as the model sees them: all, or those in `names` that there are."""
        wanted = None if names is None else {canonical_name(name) for name in names}
        return tuple(
            self._schema(tool)
            for tool in self._tools.values()
            if wanted is None or tool.name in wanted
        )

    def _schema(self, tool: Tool[Any]) -> ToolSchema:
        if tool.name not in self._schemas:
            schema = input_schema(tool.input_model)
            self._schemas[tool.name] = ToolSchema(tool.name, tool.description, schema)
        return self._schemas[tool.name]

    def validate(self, name: str, arguments: JsonObject) -> BaseModel:
        """The checked input of a call. Raises `ToolError` that names each field that is wrong."""
        tool = self.get(name)
        model: type[BaseModel] = tool.input_model
        field = _damaged_field(arguments)
        if field is not None:
            raise FileError(
                FileErrorCode.INVALID_TEXT,
                f"The input of {tool.name} is not valid:\n- {field}: contains half of a character"
                " (a lone surrogate)",
            )
        try:
            return model.model_validate(dict(arguments))
        except ValidationError as error:
            raise ToolError(_problems(tool.name, model, error)) from None


def default_tools(databases: Sequence[Path] = ()) -> tuple[Tool[Any], ...]:
    """Every tool of the program; `databases` are the program's own, which no tool may open."""
    from tui_agent.tools.ask_user import AskUserQuestion
    from tui_agent.tools.bash import Bash
    from tui_agent.tools.edit import Edit
    from tui_agent.tools.glob import Glob
    from tui_agent.tools.grep import Grep
    from tui_agent.tools.open_files import Files
    from tui_agent.tools.read import Read
    from tui_agent.tools.task import Task
    from tui_agent.tools.todo import TodoWrite
    from tui_agent.tools.write import Write

    files = Files(tuple(databases))
    return (
        Read(files),
        Write(files),
        Edit(files),
        Glob(files),
        Grep(files),
        Bash(),
        AskUserQuestion(),
        TodoWrite(),
        Task(),
    )


def _damaged_field(value: Json, name: str = "input") -> str | None:
    """The name of the first field whose text no encoding can write."""
    match value:
        case str():
            try:
                value.encode("utf-8")
            except UnicodeEncodeError:
                return name
        case Mapping():
            for key, item in value.items():
                if found := _damaged_field(str(key), name) or _damaged_field(item, str(key)):
                    return found
        case list() | tuple():
            for item in value:
                if found := _damaged_field(item, name):
                    return found
        case _:
            pass  # a number, a truth value or nothing
    return None


def _problems(tool: str, model: type[BaseModel], error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"The input of {tool} is not valid:"]
    for problem in problems[:_SHOWN_PROBLEMS]:
        field = ".".join(str(part) for part in problem["loc"]) or "input"
        if problem["type"] == "extra_forbidden":
            known = ", ".join(info.alias or key for key, info in model.model_fields.items())
            lines.append(f"- {field}: no such field; the fields are {known}")
        elif problem["type"] == "missing":
            lines.append(f"- {field}: is missing")
        else:
            lines.append(f"- {field}: {problem['msg']}")
    if len(problems) > _SHOWN_PROBLEMS:
        lines.append(f"- and {len(problems) - _SHOWN_PROBLEMS} more")
    return "\n".join(lines)
