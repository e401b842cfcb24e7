"""Thousands of keys, pastes and sizes in any order: nothing breaks, and what must always hold does.

The short form runs with the other tests; `TUI_AGENT_FUZZ_EVENTS` sets another number of events, and
`TUI_AGENT_FUZZ_SEED` another order.
"""

from __future__ import annotations

import os
import random

import pytest
from textual import events
from textual.document._wrapped_document import WrappedDocument
from textual.geometry import Size

from tests.ui import scenes
from tests.ui.composing import composing
from tests.ui.driving import running, settle
from tui_agent.ui.composer import pastes
from tui_agent.ui.composer.editing_keys import EDITING_KEYS
from tui_agent.ui.composer.pastes import Chips
from tui_agent.ui.panes.composer import Composer
from tui_agent.ui.startup import Start
from tui_agent.vocabulary.events import QueueChanged, QueuedMessage

EVENTS = int(os.environ.get("TUI_AGENT_FUZZ_EVENTS", "1200"))
SEED = int(os.environ.get("TUI_AGENT_FUZZ_SEED", "0"))

TYPED = [*"abc /.[]", "日", "é", "👩‍👩‍👧", "\u0301"]
PASTED = ["x", "a\nb", "\r\n", "y" * 1_500, "line\n" * 12, "\x1b[31mred\x1b[0m\x07", "日本\n" * 9]
SIZES = [(80, 24), (40, 12), (12, 5), (1, 1), (160, 45), (30, 8)]
# the editor would be started, and the clipboard of the machine is nobody's business here
KEYS = [*EDITING_KEYS, "ctrl+j", "tab", "escape", *["left", "right", "backspace", "ctrl+t"] * 6]


def press(key: str) -> events.Key:
    return events.Key(key, key if len(key) == 1 else None)


def check(composer: Composer) -> None:
    """What holds whatever was done."""
    lines = composer.document.lines
    assert not pastes.has_marks(composer.text)
    assert pastes.opened_pastes(pastes.marked_rows(lines))[1] == (), "an edge without the other one"
    for row, column in composer.selection:
        assert 0 <= row < len(lines)
        assert 0 <= column <= len(lines[row])
        assert not any(start < column < end for start, end in pastes.labels(lines[row]))
    again = Chips()
    assert again.sent(again.document(composer.draft).split("\n")) == composer.text
    assert composer.completion.chosen < max(1, len(composer.completion.offered))
    composer.render_line(0)


def is_wrapped_right(composer: Composer) -> bool:
    """Whether every row is where a fresh layout would have it."""
    fresh = WrappedDocument(composer.document)
    fresh.wrap(composer.wrap_width, tab_width=composer.indent_width)
    return composer.wrapped_document.height == fresh.height


@pytest.mark.timeout(600)
async def test_any_keys_pastes_and_sizes_leave_the_composer_right() -> None:
    chance = random.Random(SEED)
    async with composing() as (stage, composer, pilot):
        for count in range(EVENTS):
            match chance.randrange(20):
                case 0:
                    stage.paste(chance.choice(PASTED))
                case 1:
                    await pilot.resize_terminal(*chance.choice(SIZES))
                case 2:
                    composer.sent = tuple(chance.choices(["one", "two\nthree", "/re", ""], k=3))
                case 3:
                    stage.post_message(press(chance.choice(["enter", "alt+enter"])))
                case 4 | 5 | 6 | 7:
                    stage.post_message(press(chance.choice(TYPED)))
                case _:
                    stage.post_message(press(chance.choice(KEYS)))
            if count % 8 == 0 or chance.randrange(8) == 0:
                await pilot.pause()
                check(composer)
                if not is_wrapped_right(composer):  # a new size may be on its way
                    await pilot.pause(0.1)
                    assert is_wrapped_right(composer), (composer.size, composer.wrap_width)
            if len(composer.text) > 60_000:
                composer.set_text("")


@pytest.mark.timeout(600)
async def test_any_keys_and_changes_of_the_queue_leave_the_workspace_standing() -> None:
    chance = random.Random(SEED)
    keys = [*KEYS, "ctrl+q", "f1", "f2", "f6", "f7", "enter", "space", "delete", "ctrl+o", "/"]
    workspace = scenes.busy_workspace()
    async with running(workspace, start=Start(session_id=scenes.SHOP)) as (app, pilot):
        for count in range(EVENTS // 2):
            match chance.randrange(12):
                case 0:
                    texts = chance.choices(["one", "two", "three"], k=chance.randrange(4))
                    items = tuple(QueuedMessage(f"q{at}", text) for at, text in enumerate(texts))
                    workspace.queued = items
                    workspace.publish(*scenes.in_shop(QueueChanged(items=items)))
                case 1:
                    app.post_message(events.Paste(chance.choice(PASTED)))
                case 2:
                    await pilot.resize_terminal(*chance.choice(SIZES[:2]))
                case 3:
                    focus = events.AppBlur() if chance.random() < 0.5 else events.AppFocus()
                    app.post_message(focus)
                case _:
                    app.post_message(press(chance.choice(keys)))
            if count % 8 == 0:
                await settle(pilot)
                check(app.workspace.composer)
        assert app.workspace.composer.size != Size(0, 0)
