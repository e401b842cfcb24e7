"""The inbox: every open approval and question of every session and depth, oldest first."""

from __future__ import annotations

from collections.abc import Mapping

from tui_agent.ui.lines import Line, Piece, Row, Tone
from tui_agent.ui.marks import Mark, Marks
from tui_agent.ui.projection.words import ago, subject_of
from tui_agent.vocabulary.decisions import PendingItem, PendingKind
from tui_agent.vocabulary.events import (
    ApprovalPending,
    ApprovalResolved,
    Event,
    QuestionPending,
    QuestionResolved,
)


class Inbox:
    """The open items, by id."""

    def __init__(self) -> None:
        self._items: dict[str, PendingItem] = {}

    def __len__(self) -> int:
        return len(self._items)

    def all(self) -> tuple[PendingItem, ...]:
        """Every open item, oldest first."""
        return tuple(sorted(self._items.values(), key=lambda item: (item.created, item.pending_id)))

    def get(self, pending_id: str) -> PendingItem | None:
        """The open item of that id."""
        return self._items.get(pending_id)

    def of_tree(self, session_id: str) -> tuple[PendingItem, ...]:
        """The items of a session and of everything below it."""
        return tuple(item for item in self.all() if item.is_below(session_id))

    def load(self, items: tuple[PendingItem, ...]) -> None:
        """What the store holds now."""
        self._items = {item.pending_id: item for item in items}

    def add(self, items: tuple[PendingItem, ...]) -> None:
        """Items that a snapshot holds."""
        self._items.update({item.pending_id: item for item in items})

    def drop(self, pending_id: str) -> None:
        """The item is answered or dead."""
        self._items.pop(pending_id, None)

    def apply(self, event: Event) -> bool:
        """Fold one event; whether the inbox changed."""
        match event:
            case ApprovalPending() | QuestionPending():
                self._items[event.pending_id] = event.item
                return True
            case ApprovalResolved() | QuestionResolved():
                return self._items.pop(event.pending_id, None) is not None
            case _:
                return False


def title_of(item: PendingItem) -> str:
    """What is asked, in one line."""
    if item.kind is PendingKind.QUESTION:
        return subject_of(item.input) or "a question"
    return f"{item.tool} {subject_of(item.input)}".strip()


def inbox_rows(
    items: tuple[PendingItem, ...], titles: Mapping[str, str], marks: Marks, now: float
) -> tuple[Row, ...]:
    """Two lines an item: what, and from where. `titles` are those of sessions by id."""
    rows = []
    for item in items:
        kind = "question" if item.kind is PendingKind.QUESTION else "approval"
        head = Line(
            (
                marks.piece(Mark.WAITING),
                Piece(f" {item.tool} ", Tone.STRONG),
                Piece(subject_of(item.input)),
            ),
            (Piece(f"{kind}  {ago(now - item.created)}", Tone.MUTED),),
        )
        root = item.agent_path[0] if item.agent_path else item.session_id
        where = " › ".join(_path_words(item, titles.get(root, root)))
        rows.append(Row(item.pending_id, (head, Line((Piece(f"  {where}", Tone.MUTED),)))))
    return tuple(rows)


def _path_words(item: PendingItem, title: str) -> tuple[str, ...]:
    root = title or "new session"
    return (root,) if len(item.agent_path) <= 1 else (root, item.agent)
