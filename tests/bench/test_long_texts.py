"""How long it takes until one very long message is on screen: processor seconds, printed."""

from __future__ import annotations

import time

import pytest

from tui_agent.ui.transcript.blocks import AssistantMarkdown, Item, UserText
from tui_agent.ui.transcript.glyphs import UNICODE_GLYPHS
from tui_agent.ui.transcript.markdown import warm_up
from tui_agent.ui.transcript.viewport import Viewport

LINES = "\n".join(f"line {number} with some words" for number in range(20_000))
MESSAGES: dict[str, Item] = {
    "an answer of one paragraph of 20,000 lines": AssistantMarkdown("a", LINES),
    "a prompt of 20,000 lines": UserText("a", LINES),
    "an answer of one line of 1 MB": AssistantMarkdown("a", "word " * 200_000),
    "a prompt of one word of 1 MB": UserText("a", "x" * 1_000_000),
}


@pytest.mark.bench
def test_a_very_long_message_comes_on_screen() -> None:
    warm_up()
    for name, item in MESSAGES.items():
        viewport = Viewport(UNICODE_GLYPHS)
        began = time.process_time()
        viewport.model.set_items([item])
        viewport.settle(40)
        print(f"{name}: {time.process_time() - began:.2f} s")
