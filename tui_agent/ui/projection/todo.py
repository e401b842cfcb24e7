"""The model's todo list: folded from its results, shown as one line or whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tui_agent.ui.lines import Line, Piece, Tone, line, note
from tui_agent.ui.marks import Mark, Marks
from tui_agent.vocabulary.events import Event, TodoChanged
from tui_agent.vocabulary.records import ToolRun

_KIND = "todos"
_MARKS = {"completed": Mark.DONE, "in_progress": Mark.RUNNING, "pending": Mark.QUEUED}


class TodoList:
    """The list as the last result left it. Items are {content, status, activeForm}."""

    def __init__(self) -> None:
        self.items: tuple[Mapping[str, Any], ...] = ()

    def load(self, runs: Iterable[ToolRun]) -> None:
        """Take the newest list among finished calls, which come oldest first."""
        for run in runs:
            listed = run.details.get("items")
            if run.details.get("kind") == _KIND and isinstance(listed, list | tuple):
                self.items = tuple(item for item in listed if isinstance(item, Mapping))

    def apply(self, event: Event) -> None:
        """Fold one event."""
        if isinstance(event, TodoChanged):
            self.items = event.items

    @property
    def is_open(self) -> bool:
        """Whether something is left to do."""
        return any(item.get("status") != "completed" for item in self.items)


def todo_line(todo: TodoList, marks: Marks) -> tuple[Line, ...]:
    """How far it is and what is being done; nothing when nothing is left to do."""
    if not todo.is_open:
        return ()
    done = sum(item.get("status") == "completed" for item in todo.items)
    doing = [str(i.get("activeForm", "")) for i in todo.items if i.get("status") == "in_progress"]
    pieces = [Piece(f" {done} of {len(todo.items)} done", Tone.STRONG)]
    if doing:
        pieces += [Piece("  "), marks.piece(Mark.RUNNING), Piece(f" {doing[0]}", Tone.MUTED)]
    return (Line(tuple(pieces), (Piece("/todo ", Tone.ACCENT),)),)


def todo_lines(todo: TodoList, marks: Marks) -> list[Line]:
    """The whole list."""
    if not todo.items:
        return [note("The model keeps no list in this session.")]
    return [_entry(item, marks) for item in todo.items]


def _entry(item: Mapping[str, Any], marks: Marks) -> Line:
    status = str(item.get("status"))
    mark = _MARKS.get(status, Mark.QUEUED)
    text = item.get("activeForm") if status == "in_progress" else item.get("content")
    tone = Tone.MUTED if status == "completed" else Tone.TEXT
    return line(marks.piece(mark), Piece(f" {text or item.get('content', '')}", tone))
