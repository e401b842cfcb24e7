"""The approval dialog: one call, exactly as it will run, and what can be said to it.

It is a view of a pending item: closing it answers nothing. An answer is handed to `decide`, which
says why when it could not be taken; the dialog then stays.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import assert_never

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, TextArea

from tui_agent.text import exact, wrap
from tui_agent.ui.dialogs.guarded import GUARD_SECONDS, ROOMY, GuardedDialog, room_for_body
from tui_agent.ui.dialogs.previews import preview_lines
from tui_agent.ui.lines import Line, Piece, Tone, keys_lines, line, note, wrapped
from tui_agent.ui.widgets.line_bar import LineBar
from tui_agent.ui.widgets.pager import Pager
from tui_agent.vocabulary.blocks import JsonObject
from tui_agent.vocabulary.decisions import Choice, Decision, PendingItem, Scope

Decide = Callable[[PendingItem, Decision], Awaitable[str]]
"""Takes an answer; returns why it could not be taken, or an empty text."""


LOW = 12
"""Rows of the screen below which who asks and where scrolls with the preview."""


class Step(Enum):
    """What the dialog is doing."""

    CHOOSING = "choosing"
    RULE = "rule"
    COMMENT = "comment"
    EDITING = "editing"


class ApprovalDialog(GuardedDialog):
    """Allow, allow for longer, edit first, deny, deny and say why."""

    def __init__(
        self,
        item: PendingItem,
        decide: Decide,
        *,
        from_words: str,
        teaches: bool = False,
        guard_seconds: float = GUARD_SECONDS,
    ) -> None:
        super().__init__(guard_seconds=guard_seconds)
        self.item = item
        self._decide = decide
        self._from = from_words
        self._teaches = teaches
        self._step = Step.CHOOSING
        self._edited: JsonObject | None = None
        self._problem = ""
        self._is_low = False
        # A rule that cannot be shown as it is cannot be judged either: it is not offered.
        self._rule = item.rule if item.rule and is_plain(item.rule) else ""

    def compose(self) -> ComposeResult:
        """Title and origin, the thing itself, a field when one is needed, the choices."""
        with Vertical(id="dialog", classes="wide"):
            yield LineBar(id="dialog-head")
            yield Pager(preview_lines(self.item), id="dialog-body")
            yield Input(id="dialog-field")
            yield TextArea(id="dialog-editor", show_line_numbers=False, compact=True)
            yield LineBar(id="dialog-choices")

    def on_mount(self) -> None:
        """Start with the choices."""
        super().on_mount()
        self._dialog = self.query_one("#dialog", Vertical)
        self._head = self.query_one("#dialog-head", LineBar)
        self._body = self.query_one("#dialog-body", Pager)
        self._field = self.query_one("#dialog-field", Input)
        self._editor = self.query_one("#dialog-editor", TextArea)
        self._choices = self.query_one("#dialog-choices", LineBar)
        self._go(Step.CHOOSING)

    @property
    def choices(self) -> LineBar:
        """The lines with the keys and with what went wrong."""
        return self._choices

    def on_resize(self) -> None:
        """The choices are laid out for the width."""
        self._show_choices()

    async def on_escape(self) -> None:
        """Out of a field back to the choices; from there, close."""
        if self._step is Step.CHOOSING:
            self.leave()
        else:
            self._go(Step.CHOOSING)

    async def take_key(self, key: str) -> bool:
        """The choices."""
        if self._step is Step.EDITING and key == "ctrl+s":
            await self._take_edit()
            return True
        if self._step is not Step.CHOOSING:
            return False
        match key:
            case "y":
                await self._approve(Scope.ONCE)
            case "s":
                await self._approve(Scope.SESSION)
            case "a" if self._rule:
                self._go(Step.RULE)
            case "e":
                self._go(Step.EDITING)
            case "n":
                await self._answer(Decision(Choice.DENY))
            case "c":
                self._go(Step.COMMENT)
            case _:
                return False
        return True

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        """The rule or the comment is written."""
        event.stop()
        text = event.value.strip()
        if not text:
            return
        if self._step is Step.RULE:
            await self._approve(Scope.ALWAYS, rule=text)
        elif self._step is Step.COMMENT:
            await self._answer(Decision(Choice.DENY, comment=text))

    def _go(self, step: Step) -> None:
        self._step = step
        self._problem = ""
        self._field.display = step in (Step.RULE, Step.COMMENT)
        self._editor.display = step is Step.EDITING
        self._body.display = step is not Step.EDITING
        match step:
            case Step.CHOOSING:
                self._body.focus()
            case Step.RULE:
                self._field.value = self._rule
                self._field.placeholder = "rule"
                self._field.focus()
            case Step.COMMENT:
                self._field.value = ""
                self._field.placeholder = "what should it do instead?"
                self._field.focus()
            case Step.EDITING:
                self._editor.load_text(editable_text(self.item.input))
                self._editor.focus()
        self._show_choices()

    async def _take_edit(self) -> None:
        try:
            edited = edited_input(self.item.input, self._editor.text)
        except ValueError as error:
            self._problem = str(error)
            self._show_choices()
            return
        await self._answer(Decision(Choice.APPROVE, edited_input=edited))

    async def _approve(self, scope: Scope, rule: str | None = None) -> None:
        await self._answer(Decision(Choice.APPROVE, scope=scope, rule=rule))

    async def _answer(self, decision: Decision) -> None:
        problem = await self._decide(self.item, decision)
        if problem:
            self._problem = problem
            self._show_choices()
        elif self.is_attached:
            self.leave()

    def _head_lines(self, width: int) -> list[Line]:
        """Tool, who asks and where, whole however narrow it is."""
        title = line(Piece(self.item.tool, Tone.WAITING), Piece("  needs your decision"))
        origin = [] if self._is_low else self._origin_lines()
        return [part for each in (title, *origin) for part in wrapped(each, width)]

    def _origin_lines(self) -> list[Line]:
        where = line(Piece(self._from, Tone.MUTED), Piece(f"  in {self.item.folder}", Tone.MUTED))
        reason = [note(self.item.reason)] if self.item.reason else []
        return [where, *reason]

    def _show_choices(self) -> None:
        if not self.is_mounted:
            return
        if self._is_low != (self.app.size.height < LOW):
            self._is_low = not self._is_low
            origin = self._origin_lines() if self._is_low else []
            self._body.set_lines([*origin, *preview_lines(self.item)])
        lines = self._step_lines()
        if self._problem:
            lines = [line(Piece(self._problem, Tone.FAILED)), *lines]
        head = self._head_lines(max(1, self._inner_width))
        self._head.set_lines(*head)
        self._choices.set_lines(*lines)
        field_rows = 1 if self._field.display else 0
        fixed = len(head) + len(lines) + field_rows
        room, is_tight = room_for_body(self.app.size.height, fixed, 2 + field_rows)
        self._dialog.set_class(is_tight, "tight")
        self._body.styles.max_height = room
        self._editor.styles.height = min(12, room)

    @property
    def _inner_width(self) -> int:
        return min(108, self.app.size.width) - 4

    def _step_lines(self) -> list[Line]:
        width = self._inner_width
        match self._step:
            case Step.RULE:
                text = "Always allow what this rule matches, in this project. Edit it first."
                keys = (("Enter", "store the rule and allow"), ("Esc", "back"))
            case Step.COMMENT:
                text = "It is denied; the model reads this and goes on."
                keys = (("Enter", "deny and say so"), ("Esc", "back"))
            case Step.EDITING:
                text = ""
                keys = (("Ctrl+S", "allow once as edited"), ("Esc", "back"))
            case Step.CHOOSING:
                return self._choice_lines()
            case _:
                assert_never(self._step)
        notes = [note(part) for part in wrap(text, width)] if text else []
        return [*notes, *keys_lines(keys, width)]

    def _choice_lines(self) -> list[Line]:
        allow = [("y", "allow once"), ("s", "for this session")]
        if self._rule:
            allow.append(("a", "always …"))
        allow.append(("e", "edit first …"))
        deny = [("n", "deny: stops the turn"), ("c", "deny and say why …"), ("Esc", "later")]
        lines = [*keys_lines(allow, self._inner_width), *keys_lines(deny, self._inner_width)]
        if self._teaches and self.app.size.height >= ROOMY:
            lines.append(note("Nothing runs until you choose. Esc leaves it in the inbox (F2)."))
        return lines


def editable_text(tool_input: JsonObject) -> str:
    """What is edited: the command itself where there is one, else the input as JSON.

    A field draws its text as it is, so anything odd is edited as JSON with every such character
    escaped: visible, and nothing is lost on the way back.
    """
    command = tool_input.get("command")
    if isinstance(command, str) and is_plain(command):
        return command
    text = json.dumps(dict(tool_input), ensure_ascii=False, indent=2)
    return text if is_plain(text) else json.dumps(dict(tool_input), indent=2)


def edited_input(tool_input: JsonObject, text: str) -> JsonObject:
    """The input with the edit in it. Raises `ValueError` (a line for a person) when it is none."""
    command = tool_input.get("command")
    if isinstance(command, str) and is_plain(command):
        if not text.strip():
            raise ValueError("The command is empty.")
        return {**tool_input, "command": text}
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"Not JSON: {error.msg} in line {error.lineno}.") from None
    if not isinstance(value, dict):
        raise ValueError("The input must be a JSON object.")
    return value


def is_plain(text: str) -> bool:
    """Whether a field can draw the text without hiding or changing anything."""
    return exact(text, one_line=False) == text
