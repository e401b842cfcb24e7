"""The approval dialog: one call, exactly as it will run, and what can be said to it.

It is a view of a pending item: closing it answers nothing. An answer is handed to `decide`, which
says why when it could not be taken; the dialog then stays.
"""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import ClassVar, assert_never

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, TextArea

from tui_agent.text import cell_width, exact, truncate, wrap
from tui_agent.ui.dialogs.editing import editable_text, edited_input, is_plain, text_field
from tui_agent.ui.dialogs.field import AnswerField
from tui_agent.ui.dialogs.guarded import GUARD_SECONDS, Decide, GuardedDialog, Proposal
from tui_agent.ui.dialogs.previews import preview_lines
from tui_agent.ui.dialogs.scopes import allows
from tui_agent.ui.dialogs.sizes import ROOMY, fits, room_for_body, too_small
from tui_agent.ui.lines import Line, Piece, Tone, keys_lines, line, note, wrapped
from tui_agent.ui.widgets.line_bar import LineBar
from tui_agent.ui.widgets.pager import Pager
from tui_agent.vocabulary.blocks import JsonObject
from tui_agent.vocabulary.decisions import Choice, Decision, PendingItem, Scope

LEAST_BODY_ROWS = 3
"""Rows of a longer request that must be in view for it to be judged: a change has its title and a
blank line above its first row."""


WHAT_IS_EDITED = {
    "command": "The command, as it will run.",
    "content": "What the file will hold.",
    "new_string": "What will stand in its place.",
    None: "All of its input, as JSON.",
}


class Step(Enum):
    """What the dialog is doing."""

    CHOOSING = "choosing"
    RULE = "rule"
    COMMENT = "comment"
    EDITING = "editing"


class ApprovalDialog(GuardedDialog):
    """Allow, allow for longer, edit first, deny, deny and say why."""

    OWN_KEYS: ClassVar[frozenset[str]] = frozenset("ysaenc")

    def __init__(
        self,
        item: PendingItem,
        decide: Decide,
        *,
        from_words: str,
        teaches: bool = False,
        guard_seconds: float = GUARD_SECONDS,
    ) -> None:
        super().__init__(item, decide, guard_seconds=guard_seconds)
        self._from = from_words
        self._teaches = teaches
        self._step = Step.CHOOSING
        self._edited_field = text_field(item.input)
        self._origin_in_head = len(self._origin_lines())
        """How many of its lines stand above the body; the others are behind what it shows."""
        # A rule that a field cannot show as it is cannot be judged there: it is not offered.
        is_shown = item.rule and is_plain(item.rule) and "\n" not in item.rule
        self._rule = item.rule if item.rule and is_shown else ""

    def compose(self) -> ComposeResult:
        """Title and origin, the thing itself, a field when one is needed, the choices."""
        with Vertical(id="dialog", classes="wide"):
            yield LineBar(id="dialog-head")
            yield Pager(preview_lines(self.item), id="dialog-body")
            yield AnswerField(id="dialog-field")
            yield TextArea(id="dialog-editor", show_line_numbers=False, compact=True)
            yield LineBar(id="dialog-choices")

    def on_mount(self) -> None:
        """Start with the choices."""
        super().on_mount()
        self._dialog = self.query_one("#dialog", Vertical)
        self._head = self.query_one("#dialog-head", LineBar)
        self._body = self.query_one("#dialog-body", Pager)
        self._field = self.query_one("#dialog-field", AnswerField)
        self._editor = self.query_one("#dialog-editor", TextArea)
        self._choices = self.query_one("#dialog-choices", LineBar)
        self._go(Step.CHOOSING)

    @property
    def choices(self) -> LineBar:
        """The lines with the keys and with what went wrong."""
        return self._choices

    @property
    def head(self) -> LineBar:
        """The lines above what is asked for."""
        return self._head

    def on_resize(self) -> None:
        """The choices are laid out for the width."""
        if self.is_mounted:
            self.redraw_choices()

    def on_escape(self) -> None:
        """Out of a field back to the choices; from there, close."""
        if self._step is Step.CHOOSING or not self.is_readable:
            self.leave()
        else:
            self._go(Step.CHOOSING)

    def proposal_for(self, key: str) -> Proposal | None:
        """The choices, and the key that ends each field."""
        if not self.is_readable:
            return None
        match self._step, key:
            case Step.CHOOSING, _:
                return self._choice_for(key)
            case Step.RULE, "enter":
                if rule := self._field.ended.strip():
                    decision = Decision(Choice.APPROVE, scope=Scope.ALWAYS, rule=rule)
                    return self._proposed("Allowing, and storing the rule", decision)
            case Step.COMMENT, "enter":
                if comment := self._field.ended.strip():
                    decision = Decision(Choice.DENY, comment=comment)
                    return self._proposed("Denying, with your words", decision)
            case Step.EDITING, "ctrl+s":
                return Proposal("Allowing once, as edited", self._take_edit, self.written())
            case _:
                pass
        return None

    def take_key(self, key: str) -> bool:
        """From the text of a call to all of its input, and back."""
        if self._step is Step.EDITING and key == "ctrl+t" and text_field(self.item.input):
            self._edit_other_form()
            return True
        return False

    def on_input_changed(self, event: Input.Changed) -> None:
        """What the rule means changes with it."""
        event.stop()
        if self._step is Step.RULE:
            self.redraw_choices()

    def _choice_for(self, key: str) -> Proposal | None:
        match key:
            case "y":
                return Proposal("Allowing once", partial(self.answer, Decision(Choice.APPROVE)))
            case "s" if self.item.rule:
                decision = Decision(Choice.APPROVE, scope=Scope.SESSION)
                return Proposal("Allowing for this session", partial(self.answer, decision))
            case "a" if self._rule:
                return Proposal("To the rule", partial(self._go, Step.RULE))
            case "e":
                return Proposal("To the editor", partial(self._go, Step.EDITING))
            case "n":
                return Proposal("Denying", partial(self.answer, Decision(Choice.DENY)))
            case "c":
                return Proposal("To the reason", partial(self._go, Step.COMMENT))
            case _:
                return None

    def _proposed(self, words: str, decision: Decision) -> Proposal:
        """The end of a field."""
        return Proposal(words, partial(self.answer, decision), self._field.ended)

    def written(self) -> str:
        """The rule, the comment, or the edited call."""
        return self._editor.text if self._step is Step.EDITING else self._field.value

    def _go(self, step: Step) -> None:
        self._step = step
        self.problem = ""
        match step:
            case Step.RULE:
                self._field.value = self._rule
                self._field.placeholder = "rule"
            case Step.COMMENT:
                self._field.value = ""
                self._field.placeholder = "what should it do instead?"
            case Step.EDITING:
                self._load(self.item.input, text_field(self.item.input))
            case Step.CHOOSING:
                pass
        self._show_step()
        self.redraw_choices()

    def _show_step(self) -> None:
        """The parts that the step needs, with the focus where keys belong."""
        is_field = self._step in (Step.RULE, Step.COMMENT)
        is_editor = self._step is Step.EDITING
        self._field.display = self.is_readable and is_field
        self._editor.display = self.is_readable and is_editor
        self._body.display = self.is_readable and not is_editor
        if self.is_readable:
            (self._field if is_field else self._editor if is_editor else self._body).focus()

    # --- editing -----------------------------------------------------------------------------

    def _edited(self) -> JsonObject | None:
        """The input as it is edited; what is wrong with it is said."""
        try:
            return edited_input(self.item.input, self._edited_field, self._editor.text)
        except ValueError as error:
            self.problem = str(error)
            return None

    def _take_edit(self) -> None:
        if (edited := self._edited()) is not None:
            self.answer(Decision(Choice.APPROVE, edited_input=edited))

    def _edit_other_form(self) -> None:
        self.problem = ""
        edited = self._edited()
        if edited is not None:
            self._load(edited, text_field(edited) if self._edited_field is None else None)
        self.redraw_choices()

    def _load(self, tool_input: JsonObject, field: str | None) -> None:
        self._edited_field = field
        text = editable_text(tool_input, field)
        self._editor.load_text(text)
        if "\n" not in text:
            self._editor.move_cursor(self._editor.document.end)

    # --- drawing -----------------------------------------------------------------------------

    def _head_lines(self, width: int, origin_lines: int) -> list[Line]:
        """Tool, and so many of the lines about who asks and where, whole however narrow it is."""
        title = line(Piece(self.item.tool, Tone.WAITING), Piece("  needs your decision"))
        origin = self._origin_lines()[:origin_lines]
        return [part for each in (title, *origin) for part in wrapped(each, width)]

    def _origin_lines(self) -> list[Line]:
        where = line(Piece(self._from, Tone.MUTED), Piece(f"  in {self.item.folder}", Tone.MUTED))
        reason = [note(self.item.reason)] if self.item.reason else []
        return [where, *reason]

    def redraw_choices(self) -> None:
        """Lay head, body and choices out for the size of the screen."""
        height, width = self.app.size.height, self._inner_width
        usual = self._step_lines()
        lines = self.with_state(usual, width)
        least = self._least_rows(width)
        in_head = len(self._origin_lines())
        if self._step is not Step.CHOOSING and height < ROOMY:
            in_head = 0
        head = self._head_lines(width, in_head)
        while in_head and self._room(head, usual)[0] < least:
            in_head -= 1
            head = self._head_lines(width, in_head)
        if self._origin_in_head != in_head:
            self._origin_in_head = in_head
            origin = self._origin_lines()[in_head:]
            self._body.set_lines([*preview_lines(self.item), *(origin and [line(), *origin])])
        room, is_tight = self._room(head, lines)
        self._set_readable(self._room(head, usual)[0] >= least and fits(usual, width))
        if not self.is_readable:
            head, lines = too_small(height, width), []
        self._head.set_lines(*head)
        self._choices.set_lines(*lines)
        self._choices.display = bool(lines)
        self._dialog.set_class(is_tight, "tight")
        self._body.styles.max_height = max(1, room)
        self._editor.styles.height = max(1, min(12, room))

    def _room(self, head: list[Line], lines: list[Line]) -> tuple[int, bool]:
        """Rows for the body between these, and whether there are no blank lines between them."""
        field_rows = 1 if self._step in (Step.RULE, Step.COMMENT) else 0
        fixed = len(head) + field_rows + len(lines)
        return room_for_body(self.app.size.height, fixed, 2 + field_rows)

    def _least_rows(self, width: int) -> int:
        """Rows that must be in view: all of a short request. Who writes in a field has seen it."""
        if self._step is not Step.CHOOSING:
            return 1
        rows = 0
        for each in preview_lines(self.item):
            rows += len(wrapped(each, max(1, width - 1)))
            if rows >= LEAST_BODY_ROWS:
                return LEAST_BODY_ROWS
        return rows

    def _set_readable(self, is_readable: bool) -> None:
        if is_readable != self.is_readable:
            self.is_readable = is_readable
            self._show_step()

    @property
    def _inner_width(self) -> int:
        return max(1, min(108, self.app.size.width) - 4)

    def _step_lines(self) -> list[Line]:
        match self._step:
            case Step.RULE:
                rule = self._field.value.strip()
                text = f"Allows {allows(rule)}, in every session of this folder." if rule else ""
                keys = [("Enter", "store the rule and allow"), ("Esc", "back")]
            case Step.COMMENT:
                text = "It is denied; the model reads this and goes on."
                keys = [("Enter", "deny and say so"), ("Esc", "back")]
            case Step.EDITING:
                text = WHAT_IS_EDITED[self._edited_field]
                keys = [("Ctrl+S", "allow once as edited"), *self._other_form(), ("Esc", "back")]
            case Step.CHOOSING:
                return self._choice_lines()
            case _:
                assert_never(self._step)
        notes = [note(part) for part in wrap(text, self._inner_width)] if text else []
        return [*notes, *keys_lines(keys, self._inner_width)]

    def _other_form(self) -> list[tuple[str, str]]:
        if text_field(self.item.input) is None:
            return []
        return [("Ctrl+T", "all fields" if self._edited_field else "only the text")]

    def _choice_lines(self) -> list[Line]:
        width = self._inner_width
        later = ("Esc", "later")
        deny = [("n", "deny: stops the turn"), ("c", "deny and say why …")]
        if self.app.size.height < ROOMY:
            return [*keys_lines(self._short_allows(), width), *keys_lines([*deny, later], width)]
        lines = [*self._scope_lines(), *keys_lines([*deny, ("e", "edit first …"), later], width)]
        if self._teaches:
            text = "Nothing runs until you choose. Esc leaves it in the inbox (F2)."
            lines.extend(note(part) for part in wrap(text, width))
        return lines

    def _short_allows(self) -> list[tuple[str, str]]:
        allow = [("y", "allow once")]
        if self.item.rule:
            allow.append(("s", "for this session"))
        if self._rule:
            allow.append(("a", "always …"))
        return [*allow, ("e", "edit first …")]

    def _scope_lines(self) -> list[Line]:
        """One line for each way to allow it, with how far that reaches."""
        scopes = [("y", "allow once", "")]
        if self.item.rule:
            scopes.append(("s", "for this session", allows(self.item.rule)))
        if self._rule:
            reach = f"{allows(self._rule)}, in every session of this folder"
            scopes.append(("a", f"always: {self._rule}", reach))
        return _scope_table(scopes, self._inner_width)


def _scope_table(scopes: list[tuple[str, str, str]], width: int) -> list[Line]:
    """Keys, what they allow and how far that reaches: side by side, or below each other where there
    is no room. A long rule is cut here: it is the call above, and shown whole before it is stored.
    """
    column = max(cell_width(does) for _, does, _ in scopes)
    is_wide = all(2 + column + 2 + cell_width(reach) <= width for _, _, reach in scopes)
    lines: list[Line] = []
    for key, does, reach in scopes:
        pieces = (Piece(f"{key} ", Tone.ACCENT), Piece(truncate(exact(does), width - 2)))
        if is_wide and reach:
            gap = " " * (column + 2 - cell_width(does))
            lines.append(line(*pieces, Piece(f"{gap}{reach}", Tone.MUTED)))
        else:
            below = wrap(exact(reach), max(1, width - 2)) if reach else []
            lines.extend((line(*pieces), *(note(f"  {part}") for part in below)))
    return lines
