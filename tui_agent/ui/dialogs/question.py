"""The question dialog: one question after the other, options and free text, one answer at the end.

Like the approval dialog it is a view of a pending item, and closing it answers nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from tui_agent.ui.dialogs.approval import Decide
from tui_agent.ui.dialogs.guarded import GUARD_SECONDS, GuardedDialog, room_for_body
from tui_agent.ui.lines import Line, Piece, Row, Tone, body, keys_lines, line, wrapped
from tui_agent.ui.widgets.line_bar import LineBar
from tui_agent.ui.widgets.pager import Pager
from tui_agent.ui.widgets.row_list import RowList
from tui_agent.vocabulary.blocks import Json, JsonObject
from tui_agent.vocabulary.decisions import Choice, Decision, PendingItem


@dataclass(frozen=True, slots=True)
class Question:
    """One question. `options` are labels with what they mean."""

    text: str
    header: str
    options: tuple[tuple[str, str], ...]
    takes_several: bool


def questions_of(item: PendingItem) -> tuple[Question, ...]:
    """The questions of an item; what is malformed is left out."""
    found = item.preview.get("questions") or item.input.get("questions") or []
    return tuple(_question(each) for each in found if isinstance(each, dict))


class QuestionDialog(GuardedDialog):
    """Asks the questions of an item in turn."""

    def __init__(
        self,
        item: PendingItem,
        decide: Decide,
        *,
        from_words: str,
        guard_seconds: float = GUARD_SECONDS,
    ) -> None:
        super().__init__(guard_seconds=guard_seconds)
        self.item = item
        self._decide = decide
        self._from = from_words
        self._questions = questions_of(item)
        self._at = 0
        self._chosen: set[int] = set()
        self._answers: dict[str, Json] = {}
        self._problem = ""

    def compose(self) -> ComposeResult:
        """The question, its options, a field for an own answer, the keys."""
        with Vertical(id="dialog"):
            yield LineBar(id="dialog-head")
            yield Pager(id="dialog-body")
            yield RowList(id="dialog-options")
            yield Input(placeholder="or write your own answer", id="dialog-field")
            yield LineBar(id="dialog-choices")

    def on_mount(self) -> None:
        """Start with the first question."""
        super().on_mount()
        self._head = self.query_one("#dialog-head", LineBar)
        self._text = self.query_one("#dialog-body", Pager)
        self._options = self.query_one("#dialog-options", RowList)
        self._field = self.query_one("#dialog-field", Input)
        self._keys = self.query_one("#dialog-choices", LineBar)
        self._show()
        self._options.focus()

    async def take_key(self, key: str) -> bool:
        """Space and digits mark an option, Tab goes to the field."""
        if self._field.has_focus and key != "tab":
            return False
        if key == "tab":
            (self._options if self._field.has_focus else self._field).focus()
        elif key == "space":
            self._toggle(self._options.cursor_key)
        elif key.isdigit() and 0 < int(key) <= len(self._question.options):
            self._toggle(str(int(key) - 1))
            self._options.go_to(str(int(key) - 1))
            if not self._question.takes_several:
                await self._next(self._question.options[int(key) - 1][0])
        else:
            return False
        return True

    async def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Enter takes the option under the cursor, or those that are marked."""
        event.stop()
        labels = [label for label, _ in self._question.options]
        if self._question.takes_several:
            marked = [labels[at] for at in sorted(self._chosen)]
            await self._next(marked or [labels[int(event.key)]])
        else:
            await self._next(labels[int(event.key)])

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        """An own answer."""
        event.stop()
        text = event.value.strip()
        if text:
            await self._next(text)

    @property
    def _question(self) -> Question:
        return self._questions[self._at]

    async def _next(self, answer: Json) -> None:
        self._answers[self._question.text] = answer
        if self._at + 1 < len(self._questions):
            self._at += 1
            self._chosen.clear()
            self._field.value = ""
            self._show()
            self._options.focus()
            return
        decision = Decision(Choice.ANSWER, answers=dict(self._answers))
        self._problem = await self._decide(self.item, decision)
        if not self._problem and self.is_attached:
            self.leave()
        elif self.is_attached:
            self._show()

    def _toggle(self, key: str | None) -> None:
        if key is None:
            return
        if not self._question.takes_several:
            self._chosen.clear()
        self._chosen ^= {int(key)}
        self._show_options()

    def _show(self) -> None:
        if not self._questions:
            self._text.set_lines(body("The question has no text. Esc closes, F2 finds it again."))
            return
        count = len(self._questions)
        where = f"{self._at + 1} of {count}  " if count > 1 else ""
        title = self._question.header or "A question for you"
        asker = self._from if self.app.size.width >= 60 else ""
        self._head.set_lines(
            line(Piece(title, Tone.WAITING), right=(Piece(f"{where}{asker}".strip(), Tone.MUTED),))
        )
        self._text.set_lines(body(self._question.text, Tone.STRONG))
        keys = [("Tab", "own answer"), ("Esc", "later")]
        if self._question.takes_several:
            keys = [("Space", "marks"), ("Enter", "takes the marked"), *keys]
        else:
            keys = [("Enter", "takes it"), *keys]
        problem = (line(Piece(self._problem, Tone.FAILED)),) if self._problem else ()
        width = max(1, min(84, self.app.size.width) - 4)
        self._keys.set_lines(*problem, *keys_lines(keys, width))
        self._show_options()

    def _show_options(self) -> None:
        rows = tuple(
            Row(str(at), self._option_lines(at, label, meaning))
            for at, (label, meaning) in enumerate(self._question.options)
        )
        self._fit(sum(len(row.lines) for row in rows))
        self._options.display = bool(rows)
        self._options.set_rows(rows)

    def _fit(self, option_rows: int) -> None:
        """Options and question share what the keys leave; both scroll."""
        fixed = 2 + len(self._keys.lines)  # title and field
        room, is_tight = room_for_body(self.app.size.height, fixed, 4)
        self.query_one("#dialog", Vertical).set_class(is_tight, "tight")
        text_rows = min(self._text_rows(), max(1, room // 2))
        self._text.styles.max_height = max(1, min(room - min(option_rows, room - 1), room))
        self._options.styles.height = max(1, min(option_rows, room - text_rows))

    def _text_rows(self) -> int:
        width = max(1, min(84, self.app.size.width) - 4)
        text = body(self._question.text)
        return sum(len(wrapped(each, width)) for each in text)

    def on_resize(self) -> None:
        """The parts share another height."""
        if self.is_mounted and self._questions:
            self._show()

    def _option_lines(self, at: int, label: str, meaning: str) -> tuple[Line, ...]:
        box = ("[x] " if at in self._chosen else "[ ] ") if self._question.takes_several else ""
        head = line(Piece(f"{at + 1} ", Tone.ACCENT), Piece(f"{box}{label}", Tone.TEXT))
        return (head, line(Piece(f"  {meaning}", Tone.MUTED))) if meaning else (head,)


def _question(raw: JsonObject) -> Question:
    options = []
    for option in raw.get("options") or ():
        if isinstance(option, dict):
            options.append((str(option.get("label", "")), str(option.get("description", ""))))
        else:
            options.append((str(option), ""))
    several = bool(raw.get("multiSelect") or raw.get("multi_select"))
    return Question(
        str(raw.get("question", "")), str(raw.get("header", "")), tuple(options), several
    )
