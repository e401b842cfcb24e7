"""TodoWrite: the model's list of what is to be done, replaced as a whole.

The list lives in the details of the last result that has one, so it is stored, forked and loaded
with the session, and needs no place of its own.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from tui_agent.tools.base import NO_EFFECTS, Effects, ToolContext, text_result
from tui_agent.tools.results import one_line
from tui_agent.vocabulary.blocks import JsonObject, ToolResult

TODOS = "todos"
"""The `kind` of details that hold a list: `items`, each {content, status, activeForm}."""

_MOST = 200
_CHARS = 1000


class Todo(BaseModel):
    """One thing to do."""

    # models that were trained on older lists add an id or a priority
    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    content: str = Field(
        min_length=1, max_length=_CHARS, description="What is to be done, as in: Run the tests"
    )
    status: Literal["pending", "in_progress", "completed"]
    active_form: str = Field(
        "",
        alias="activeForm",
        max_length=_CHARS,
        description="The same while it is being done, as in: Running the tests",
    )


class TodoWriteInput(BaseModel):
    """Input of TodoWrite."""

    model_config = ConfigDict(extra="forbid")

    todos: list[Todo] = Field(max_length=_MOST, description="The whole list as it is from now on")


class TodoWrite:
    """Replaces the todo list; touches nothing else."""

    name: ClassVar[str] = "TodoWrite"
    description: ClassVar[str] = (
        "Keep a list of the steps of your task, which the person sees. Use it when there are three"
        " or more. Every call gives the whole list anew. Have one item in progress, and mark each"
        " as completed as soon as it is, not several at once."
    )
    input_model: ClassVar[type[TodoWriteInput]] = TodoWriteInput
    is_read_only: ClassVar[bool] = True

    def effects(self, args: TodoWriteInput, context: ToolContext) -> Effects:  # noqa: ARG002 - the contract
        """None."""
        return NO_EFFECTS

    def subject(self, args: TodoWriteInput) -> str:
        """How far it is, and what is being done."""
        done = sum(todo.status == "completed" for todo in args.todos)
        active = [todo for todo in args.todos if todo.status == "in_progress"]
        doing = f": {one_line(active[0].active_form or active[0].content)}" if active else ""
        return f"{done} of {len(args.todos)} done{doing}"

    def preview(self, args: TodoWriteInput, context: ToolContext) -> JsonObject:  # noqa: ARG002 - the contract
        """The list."""
        return {"kind": "text", "text": "\n".join(f"{t.status}: {t.content}" for t in args.todos)}

    async def run(self, args: TodoWriteInput, context: ToolContext) -> ToolResult:  # noqa: ARG002 - the contract
        """The list as details, and its counts for the model."""
        items = [
            {
                "content": todo.content,
                "status": todo.status,
                "activeForm": todo.active_form or todo.content,
            }
            for todo in args.todos
        ]
        if not items:
            return text_result("The todo list is empty now.", {"kind": TODOS, "items": items})
        counts = [
            f"{count} {word}"
            for status, word in _WORDS.items()
            if (count := sum(todo.status == status for todo in args.todos))
        ]
        text = f"The todo list is kept: {', '.join(counts)}."
        return text_result(text, {"kind": TODOS, "items": items})


_WORDS = {"completed": "completed", "in_progress": "in progress", "pending": "to be done"}
