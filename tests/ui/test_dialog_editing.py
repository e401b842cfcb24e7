"""Editing a call before it is allowed: text as text, the rest as JSON, and neither is refused."""

from __future__ import annotations

import pytest
from textual.widgets import Input

from tests.ui import scenes
from tests.ui.driving import running, settle, until
from tests.ui.fake_workspace import FakeWorkspace
from tui_agent.ui.dialogs.approval import ApprovalDialog
from tui_agent.ui.dialogs.editing import editable_text, edited_input, text_field
from tui_agent.ui.dialogs.scopes import allows
from tui_agent.ui.startup import Start
from tui_agent.vocabulary.blocks import JsonObject, ToolUseBlock
from tui_agent.vocabulary.decisions import Decision, PendingItem

SHOP = Start(session_id=scenes.SHOP)
WRITE = {"file_path": "a.py", "content": "if x:\n\treturn 1\n"}


@pytest.mark.parametrize(
    ("tool_input", "field"),
    [
        ({"command": "ls", "timeout": 3}, "command"),
        (WRITE, "content"),
        ({"file_path": "a", "old_string": "x", "new_string": "y"}, "new_string"),
        ({"file_path": "a", "content": "one\r\ntwo"}, None),
        ({"command": "a\tb"}, None),
        ({"command": "echo \u202ex"}, None),
        ({"command": 3}, None),
        ({"path": "a"}, None),
    ],
)
def test_what_is_text_is_edited_as_text(tool_input: JsonObject, field: str | None) -> None:
    assert text_field(tool_input) == field
    text = editable_text(tool_input, field)
    assert edited_input(tool_input, field, text) == tool_input


@pytest.mark.parametrize(
    ("field", "text", "words"),
    [
        (None, '{"a": 1', "not JSON: Expecting ',' delimiter \\(line 1, column 8\\)"),
        (None, "[]", "must be a JSON object"),
        (None, '{"a": NaN}', "NaN is not a JSON number"),
        (None, '{"a": [Infinity]}', "Infinity is not a JSON number"),
        (None, '{"a": -1e999}', "-1e999 is too large a number"),
        (None, '{"a": 1, "a": 2}', '"a" stands twice in one object'),
        (None, '{"b": {"a": 1, "a": 2}}', '"a" stands twice in one object'),
        (None, '{"a": "\\ud800"}', "half of a character"),
        ("command", " \n", "The command is empty"),
    ],
)
def test_an_edit_that_is_no_input_is_refused_in_one_line(
    field: str | None, text: str, words: str
) -> None:
    with pytest.raises(ValueError, match=words) as refused:
        edited_input({"command": "a"}, field, text)
    assert "\n" not in str(refused.value)


async def edited(item: PendingItem, *keys: str) -> tuple[FakeWorkspace, str]:
    """What the workspace was told, and what the dialog says, after these keys in the editor."""
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        workspace.ask(item)
        await until(pilot, lambda: isinstance(app.screen, ApprovalDialog))
        dialog = app.screen
        assert isinstance(dialog, ApprovalDialog)
        await pilot.press("e", *keys)
        await settle(pilot)
        await settle(pilot)
        return workspace, dialog.choices.plain


def told(workspace: FakeWorkspace) -> JsonObject | None:
    (call,) = workspace.asked("decide")
    assert isinstance(call[2], Decision)
    return call[2].edited_input


async def test_the_new_text_of_a_file_is_edited_as_it_will_stand() -> None:
    item = scenes.item(call=ToolUseBlock("call_w", "Write", WRITE))
    workspace, _ = await edited(item, *"# ", "ctrl+s")
    assert told(workspace) == {"file_path": "a.py", "content": "# if x:\n\treturn 1\n"}


async def test_all_fields_can_be_edited_and_the_text_goes_with_them() -> None:
    item = scenes.command_item("pytest")
    workspace, shown = await edited(item, *" -x", "ctrl+t")
    assert "as JSON" in shown
    workspace, shown = await edited(item, *" -x", "ctrl+t", "ctrl+t", *" -q", "ctrl+s")
    assert told(workspace) == {"command": "pytest -x -q"}


async def test_a_bad_edit_is_told_in_a_line_and_the_item_stays_open() -> None:
    item = scenes.item(call=ToolUseBlock("call_x", "Fetch", {"limit": 1}))
    workspace, shown = await edited(item, "ctrl+a", *'{"limit": 1e999, "x":', "ctrl+s")
    assert "Not taken: " in shown
    assert "Ctrl+S allow once as edited" in shown
    assert workspace.asked("decide") == []


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("Bash(rm -rf build)", "exactly this command"),
        ("Bash(git diff:*)", "every command that begins with git diff"),
        ("Bash(git diff *)", "every command that begins with git diff"),
        ("Bash(* --help)", "every command that matches"),
        ("Bash", "every call of Bash"),
        ("Edit(cart.py)", "every change of cart.py"),
        ("Read(//etc/hosts)", "every read of //etc/hosts"),
        ("Edit(src/**)", "whatever this rule matches"),
        ("Bash(oops", "whatever this rule matches"),
    ],
)
def test_a_rule_is_said_plainly(rule: str, words: str) -> None:
    assert allows(rule) == words


async def test_the_choices_show_the_rule_and_how_far_it_reaches() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        call = ToolUseBlock("call_b", "Bash", {"command": "make"})
        preview = {"kind": "command", "command": "make"}
        workspace.ask(scenes.item(call=call, preview=preview, rule="Bash(make)"))
        await until(pilot, lambda: isinstance(app.screen, ApprovalDialog))
        dialog = app.screen
        assert isinstance(dialog, ApprovalDialog)
        lines = [" ".join(each.split()) for each in dialog.choices.plain.splitlines()]
        assert lines[:3] == [
            "y allow once",
            "s for this session exactly this command",
            "a always: Bash(make) exactly this command, in every session of this folder",
        ]
        await pilot.press("a")
        await settle(pilot)
        assert "Allows exactly this command, in every session" in dialog.choices.plain
        await pilot.press("end", "left", *":*")
        await settle(pilot)
        assert "Allows every command that begins with make" in dialog.choices.plain


async def test_without_an_exact_rule_only_once_is_offered() -> None:
    workspace = scenes.busy_workspace()
    async with running(workspace, start=SHOP) as (app, pilot):
        workspace.ask(scenes.item(rule=None))
        await until(pilot, lambda: isinstance(app.screen, ApprovalDialog))
        dialog = app.screen
        assert isinstance(dialog, ApprovalDialog)
        assert "session" not in dialog.choices.plain
        assert "always" not in dialog.choices.plain
        await pilot.press("s", "a")
        await until(pilot, lambda: "allow once" in dialog.choices.plain)
        assert workspace.asked("decide") == []
        assert not dialog.query_one(Input).display
