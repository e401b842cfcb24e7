"""The question dialog: one question after the other, options and free text, one answer at the end.

Like the approval dialog it is a view of a pending item, and closing it answers nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical

from tui_agent.ui.dialogs.field import AnswerField
from tui_agent.ui.dialogs.guarded import GUARD_SECONDS, Decide, GuardedDialog, Proposal
from tui_agent.ui.dialogs.sizes import fits, room_for_body, too_small
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

    OWN_KEYS: ClassVar[frozenset[str]] = frozenset("123456789 ")

    def __init__(
        self,
        item: PendingItem,
        decide: Decide,
        *,
        from_words: str,
        guard_seconds: float = GUARD_SECONDS,
    ) -> None:
        super().__init__(item, decide, guard_seconds=guard_seconds)
        self._from = from_words
        self._questions = questions_of(item)
        self._at = 0
        self._chosen: set[int] = set()
        self._answers: dict[str, Json] = {}

    def compose(self) -> ComposeResult:
        """The question, its options, a field for an own answer, the keys."""
        with Vertical(id="dialog"):
            yield LineBar(id="dialog-head")
            yield Pager(id="dialog-body")
            yield RowList(id="dialog-options")
            yield AnswerField(placeholder="or write your own answer", id="dialog-field")
            yield LineBar(id="dialog-choices")

    def on_mount(self) -> None:
        """Start with the first question."""
        super().on_mount()
        self._dialog = self.query_one("#dialog", Vertical)
        self._head = self.query_one("#dialog-head", LineBar)
        self._text = self.query_one("#dialog-body", Pager)
        self._options = self.query_one("#dialog-options", RowList)
        self._field = self.query_one("#dialog-field", AnswerField)
        self._keys = self.query_one("#dialog-choices", LineBar)
        self._show()
        self._focus()

    @property
    def choices(self) -> LineBar:
        """The lines with the keys and with what went wrong."""
        return self._keys

    @property
    def head(self) -> LineBar:
        """The lines above the question."""
        return self._head

    def proposal_for(self, key: str) -> Proposal | None:
        """A digit takes that option, Enter the one under the cursor, those that are marked, or the
        own answer."""
        if not self.is_readable or not self._questions:
            return None
        if self._field.has_focus:
            own = self._field.ended.strip()
            return self._taking(own, own, self._field.ended) if key == "enter" and own else None
        if key == "enter" and self._options.cursor_key is not None:
            return self._taking_option(int(self._options.cursor_key))
        at = _option_of(key)
        if at is not None and at < len(self._labels) and not self._question.takes_several:
            return self._taking_option(at)
        return None

    def take_key(self, key: str) -> bool:
        """Space and digits mark an option, Tab goes to the field."""
        if not self.is_readable or not self._questions:
            return False
        if key == "tab":
            (self._options if self._field.has_focus else self._field).focus()
            return True
        if self._field.has_focus:
            return False
        at = _option_of(key)
        if not self._question.takes_several:
            return False
        if key == "space" and self._options.cursor_key is not None:
            self._toggle(int(self._options.cursor_key))
        elif at is not None and at < len(self._labels):
            self._options.go_to(str(at))
            self._toggle(at)
        else:
            return False
        return True

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """A click on an option; Enter does not get here."""
        event.stop()
        if not self.is_early(event):
            self.propose(self._taking_option(int(event.key)))

    @property
    def _question(self) -> Question:
        return self._questions[self._at]

    @property
    def _labels(self) -> list[str]:
        return [label for label, _ in self._question.options]

    def _taking_option(self, at: int) -> Proposal:
        """Take one option, or those that are marked."""
        labels = self._labels
        if self._question.takes_several:
            marked = [labels[each] for each in sorted(self._chosen)] or [labels[at]]
            return self._taking(marked, ", ".join(marked))
        return self._taking(labels[at], labels[at])

    def _taking(self, answer: Json, words: str, text: str | None = None) -> Proposal:
        return Proposal(f"Answering {words}", partial(self._next, answer), text)

    def written(self) -> str:
        """The own answer."""
        return self._field.value

    def _next(self, answer: Json) -> None:
        self._answers[self._question.text] = answer
        if self._at + 1 == len(self._questions):
            self.answer(Decision(Choice.ANSWER, answers=dict(self._answers)))
            return
        self._at += 1
        self._chosen.clear()
        self._field.value = ""
        self._show()
        self._focus()

    def _toggle(self, at: int) -> None:
        self._chosen ^= {at}
        self._show()

    # --- drawing -----------------------------------------------------------------------------

    def on_resize(self) -> None:
        """The parts share another height."""
        if self.is_mounted:
            self._show()

    def redraw_choices(self) -> None:
        """The keys, or what stands in their place."""
        if self._questions:
            self._show()

    def _show(self) -> None:
        width = self._inner_width
        if not self._questions:
            self._text.set_lines(body("The question has no text. Esc closes, F2 finds it again."))
            return
        count = len(self._questions)
        where = f"{self._at + 1} of {count}  " if count > 1 else ""
        title = self._question.header or "A question for you"
        asker = self._from if self.app.size.width >= 60 else ""
        head = line(
            Piece(title, Tone.WAITING), right=(Piece(f"{where}{asker}".strip(), Tone.MUTED),)
        )
        rows = tuple(
            Row(str(at), self._option_lines(at, label, meaning))
            for at, (label, meaning) in enumerate(self._question.options)
        )
        usual = self._key_lines(width)
        lines = self.with_state(usual, width)
        self._fit(sum(len(row.lines) for row in rows), usual, lines)
        if self.is_readable:
            self._head.set_lines(head)
        else:
            self._head.set_lines(*too_small(self.app.size.height, width))
        self._keys.set_lines(*(lines if self.is_readable else ()))
        self._text.set_lines(body(self._question.text, Tone.STRONG))
        self._options.set_rows(rows)
        self._options.display = bool(rows) and self.is_readable

    def _key_lines(self, width: int) -> list[Line]:
        keys = [("Tab", "own answer"), ("Esc", "later")]
        if self._question.takes_several:
            keys = [("Space", "marks"), ("Enter", "takes the marked"), *keys]
        else:
            keys = [("Enter", "takes it"), *keys]
        return keys_lines(keys, width)

    def _fit(self, option_rows: int, usual: list[Line], lines: list[Line]) -> None:
        """Options and question share what the keys leave; both scroll. Two rows of each are the
        least that can be judged."""
        title_and_field = 2
        height, text_rows = self.app.size.height, self._text_rows()
        least, _ = room_for_body(height, title_and_field + len(usual), 4)
        is_readable = least >= min(2, text_rows) + min(2, option_rows)
        self._set_readable(is_readable and fits(usual, self._inner_width))
        room, is_tight = room_for_body(height, title_and_field + len(lines), 4)
        room = max(1, room)
        self._dialog.set_class(is_tight, "tight")
        self._text.styles.max_height = max(1, room - min(option_rows, room - 1))
        self._options.styles.height = max(
            1, min(option_rows, room - min(text_rows, max(1, room // 2)))
        )

    def _set_readable(self, is_readable: bool) -> None:
        if is_readable == self.is_readable:
            return
        self.is_readable = is_readable
        for part in (self._text, self._field, self._keys):
            part.display = is_readable
        self._options.display = is_readable
        self._focus()

    def _focus(self) -> None:
        if self.is_readable:
            (self._options if self._questions and self._labels else self._field).focus()

    def _text_rows(self) -> int:
        width = self._inner_width
        text = body(self._question.text)
        return sum(len(wrapped(each, width)) for each in text)

    @property
    def _inner_width(self) -> int:
        return max(1, min(84, self.app.size.width) - 4)

    def _option_lines(self, at: int, label: str, meaning: str) -> tuple[Line, ...]:
        box = ("[x] " if at in self._chosen else "[ ] ") if self._question.takes_several else ""
        head = line(Piece(f"{at + 1} ", Tone.ACCENT), Piece(f"{box}{label}", Tone.TEXT))
        return (head, line(Piece(f"  {meaning}", Tone.MUTED))) if meaning else (head,)


def _option_of(key: str) -> int | None:
    """The option that a digit names."""
    return int(key) - 1 if len(key) == 1 and key in "123456789" else None


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
