"""The model's todo list: the newest one, in one line while something is left, and whole."""

from __future__ import annotations

from tui_agent.ui.lines import text_of
from tui_agent.ui.marks import Marks
from tui_agent.ui.projection.todo import TodoList, todo_line, todo_lines
from tui_agent.vocabulary.blocks import JsonObject
from tui_agent.vocabulary.events import TodoChanged
from tui_agent.vocabulary.records import ToolRun


def item(content: str, status: str) -> JsonObject:
    return {"content": content, "status": status, "activeForm": f"{content}, doing it"}


def run(number: int, *items: JsonObject) -> ToolRun:
    details = {"kind": "todos", "items": list(items)}
    return ToolRun("s", f"c{number}", "m", number, "TodoWrite", {}, details=details)


def test_the_newest_list_counts_after_loading_and_live() -> None:
    todo = TodoList()
    todo.load([run(1, item("a", "pending")), run(2, item("a", "completed"), item("b", "pending"))])
    assert "1 of 2 done" in text_of(todo_line(todo, Marks()))
    todo.apply(TodoChanged(items=(item("c", "in_progress"),)))
    assert "0 of 1 done" in text_of(todo_line(todo, Marks()))
    assert "c, doing it" in text_of(todo_line(todo, Marks()))


def test_a_list_that_is_done_or_not_there_takes_no_room() -> None:
    todo = TodoList()
    assert todo_line(todo, Marks()) == ()
    todo.apply(TodoChanged(items=(item("a", "completed"),)))
    assert todo_line(todo, Marks()) == ()


def test_the_whole_list_has_a_mark_for_each_state() -> None:
    todo = TodoList()
    todo.apply(
        TodoChanged(items=(item("a", "completed"), item("b", "in_progress"), item("c", "pending")))
    )
    assert text_of(todo_lines(todo, Marks(ascii_only=True))).split("\n") == [
        "+ a",
        "| b, doing it",
        "o c",
    ]


def test_details_that_are_no_list_leave_the_list_as_it_was() -> None:
    todo = TodoList()
    broken = ToolRun("s", "c", "m", 0, "TodoWrite", {}, details={"kind": "todos", "items": "x"})
    todo.load([run(1, item("a", "pending"))])
    todo.load([broken])
    assert [each["content"] for each in todo.items] == ["a"]
