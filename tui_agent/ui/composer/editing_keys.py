"""The keys of the editor: those of readline, and those of other editors where they do not clash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_agent.ui.composer.prompt_area import PromptArea

EDITING_KEYS: Mapping[str, Callable[[PromptArea], None]] = {
    "left": lambda area: area.action_cursor_left(),
    "right": lambda area: area.action_cursor_right(),
    "up": lambda area: area.action_cursor_up(),
    "down": lambda area: area.action_cursor_down(),
    "shift+left": lambda area: area.action_cursor_left(True),
    "shift+right": lambda area: area.action_cursor_right(True),
    "shift+up": lambda area: area.action_cursor_up(True),
    "shift+down": lambda area: area.action_cursor_down(True),
    "ctrl+left": lambda area: area.action_cursor_word_left(),
    "alt+left": lambda area: area.action_cursor_word_left(),
    "alt+b": lambda area: area.action_cursor_word_left(),
    "ctrl+right": lambda area: area.action_cursor_word_right(),
    "alt+right": lambda area: area.action_cursor_word_right(),
    "alt+f": lambda area: area.action_cursor_word_right(),
    "ctrl+shift+left": lambda area: area.action_cursor_word_left(True),
    "ctrl+shift+right": lambda area: area.action_cursor_word_right(True),
    "home": lambda area: area.action_cursor_line_start(),
    "end": lambda area: area.action_cursor_line_end(),
    "ctrl+a": lambda area: area.go_to_column(0),
    "ctrl+e": lambda area: area.go_to_column(None),
    "shift+home": lambda area: area.action_cursor_line_start(True),
    "shift+end": lambda area: area.action_cursor_line_end(True),
    "ctrl+home": lambda area: area.move_cursor((0, 0)),
    "ctrl+end": lambda area: area.move_cursor(area.document.end),
    "pageup": lambda area: area.action_cursor_page_up(),
    "pagedown": lambda area: area.action_cursor_page_down(),
    "backspace": lambda area: area.action_delete_left(),
    "ctrl+h": lambda area: area.action_delete_left(),
    "shift+backspace": lambda area: area.action_delete_left(),
    "delete": lambda area: area.action_delete_right(),
    "ctrl+d": lambda area: area.action_delete_right(),
    "ctrl+w": lambda area: area.kill_blank_word_left(),
    "alt+backspace": lambda area: area.kill_word_left(),
    "ctrl+backspace": lambda area: area.kill_word_left(),
    "alt+d": lambda area: area.kill_word_right(),
    "alt+delete": lambda area: area.kill_word_right(),
    "ctrl+delete": lambda area: area.kill_word_right(),
    "ctrl+u": lambda area: area.kill_to_line_start(),
    "super+backspace": lambda area: area.kill_to_line_start(),
    "ctrl+k": lambda area: area.kill_to_line_end(),
    "ctrl+shift+k": lambda area: area.kill_line(),
    "ctrl+x": lambda area: area.cut(),
    "super+x": lambda area: area.cut(),
    "ctrl+y": lambda area: area.yank_or_redo(),
    "alt+y": lambda area: area.yank_before(),
    "ctrl+v": lambda area: area.paste(area.app.clipboard),
    "ctrl+z": lambda area: area.undo_last(),
    "super+z": lambda area: area.undo_last(),
    "ctrl+underscore": lambda area: area.undo_last(),
    "ctrl+shift+z": lambda area: area.redo_last(),
    "super+y": lambda area: area.redo_last(),
    "alt+z": lambda area: area.redo_last(),
    "ctrl+t": lambda area: area.toggle_paste(),
}
"""What the keys of the editor do. Those of sending, history and completion come before them."""
