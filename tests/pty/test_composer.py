"""The composer in a real terminal: the person's editor, pastes, keys as terminals send them."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from tests.pty.conftest import READY, Program, Serve
from tests.pty.terminal import Terminal
from tests.scripted.script import Hold, Reply, Say

pytestmark = pytest.mark.pty

WAITS = 'printf "EDITOR HERE"; read answer'
"""The line of an editor in which it owns the terminal until Enter."""


def editor(program: Program, *lines: str) -> None:
    """Have these lines as the person's editor; the file's name is `$1`, and is noted down."""
    path = program.folder.parent / "editor"
    path.write_text("\n".join(("#!/bin/sh", f'echo "$1" > {_note(program)}', *lines, "")))
    path.chmod(0o755)
    program.environ["VISUAL"] = str(path)


def edited_file(program: Program) -> Path:
    return Path(_note(program).read_text().strip())


def _note(program: Program) -> Path:
    return program.folder.parent / "edited"


def opened(program: Program, typed: str) -> Terminal:
    """The editor is open on what was typed."""
    terminal = program.opened()
    terminal.type(typed)
    terminal.shows(typed)
    terminal.type("\x07")
    terminal.shows("EDITOR HERE")
    return terminal


def test_the_persons_editor_has_the_terminal_and_gives_it_back(
    program: Program, serve: Serve
) -> None:
    server = serve([Reply([Say("Heard.")])], "anthropic")
    stat = f'stat -c %a "$1" "$(dirname "$1")" > {program.folder.parent}/modes'
    editor(program, stat, WAITS, 'printf "and more\\nand more" >> "$1"')
    terminal = opened(program, "a begun thought")
    assert b"\x1b[?1049l" in terminal.output.split(b"EDITOR HERE")[0]
    terminal.press("enter")
    terminal.shows("a begun thought", "and more", READY)
    assert (program.folder.parent / "modes").read_text().split() == ["600", "700"]
    assert not edited_file(program).parent.exists()
    terminal.type(" indeed")
    terminal.press("enter")
    terminal.shows("Heard.")
    assert server.requests[0].last_user_text == "a begun thought\nand more\nand more indeed"


def test_an_editor_that_fails_leaves_the_draft_and_loses_nothing(program: Program) -> None:
    editor(program, WAITS, 'printf "what was written" > "$1"', "exit 3")
    terminal = opened(program, "the draft")
    terminal.press("enter")
    terminal.shows("the draft", "ended with 3", "Ctrl+Y")
    terminal.type("\x19")
    terminal.shows("the draftwhat was written")


def test_an_editor_that_does_not_exist_is_one_clear_line(program: Program) -> None:
    program.environ["VISUAL"] = "no-such-editor --wait"
    terminal = program.opened()
    terminal.type("the draft\x07")
    terminal.shows("no-such-editor could not be started", "the draft")
    terminal.type(" goes on")
    terminal.shows("the draft goes on")


def test_a_reply_that_streams_waits_for_the_editor(program: Program, serve: Serve) -> None:
    server = serve([Reply([Say("First."), Hold("rest"), Say(" Then more.")])], "anthropic")
    editor(program, WAITS)
    terminal = program.opened()
    terminal.type("go")
    terminal.press("enter")
    terminal.shows("First.")
    terminal.type("next")
    terminal.shows("next")
    terminal.type("\x07")
    terminal.shows("EDITOR HERE")
    server.release("rest")
    terminal.type("typed into it")
    terminal.shows("typed into it")
    assert terminal.output.split(b"EDITOR HERE")[1].strip() == b"typed into it"
    terminal.press("enter")
    terminal.shows("Then more.", "next", READY)


def test_ctrl_c_is_the_editors_while_it_has_the_terminal(program: Program) -> None:
    editor(program, "trap 'printf CAUGHT' INT", WAITS, "until [ $? = 0 ]; do read answer; done")
    terminal = opened(program, "the draft")
    terminal.press("ctrl+c")
    terminal.shows("CAUGHT")
    terminal.press("enter")
    terminal.shows("the draft", READY)
    terminal.type(" goes on")
    terminal.shows("the draft goes on")


def test_a_signal_ends_the_editor_too_and_leaves_nothing_behind(program: Program) -> None:
    editor(program, f"echo $$ > {program.folder.parent}/pid", "exec sleep 600")
    terminal = program.opened()
    terminal.type("the draft\x07")
    pid_file = program.folder.parent / "pid"
    terminal.until(lambda _: pid_file.exists() and pid_file.read_text() != "", "editor runs")
    terminal.send_signal(signal.SIGTERM)
    assert terminal.ended(within=6) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)
    assert not edited_file(program).parent.exists()
    assert terminal.modes == terminal.modes_before


def test_ten_thousand_pasted_lines_are_one_chip_and_no_key(program: Program, serve: Serve) -> None:
    server = serve([Reply([Say("Heard.")])], "anthropic")
    terminal = program.opened()
    lines = "\r".join(f"line {at}" for at in range(10_000))
    terminal.type("see: ")
    for at in range(0, len(lines), 4_000):
        begin = "\x1b[200~" if at == 0 else ""
        terminal.type(begin + lines[at : at + 4_000])
    terminal.type("\x1b[201~ ok")
    terminal.shows("see: [pasted 10,000 lines] ok")
    assert server.requests == []
    terminal.press("enter")
    terminal.shows("Heard.")
    sent = server.requests[0].last_user_text
    assert sent == f"see: {lines} ok".replace("\r", "\n")


def test_alt_enter_and_alt_backspace_as_plain_terminals_send_them(
    program: Program, serve: Serve
) -> None:
    server = serve([Reply([Say("First."), Hold("rest")]), Reply([Say("Second.")])], "anthropic")
    terminal = program.opened()
    terminal.type("go")
    terminal.press("enter")
    terminal.shows("First.")
    terminal.type("one two.three")
    terminal.type("\x1b\x7f")
    terminal.shows_no("two.three")
    terminal.type("\x1b\r")
    terminal.shows("queued: after the turn")
    server.release("rest")
    terminal.shows("Second.")
    assert server.requests[1].last_user_text == "one two."


def test_the_terminals_cursor_is_where_one_writes(program: Program) -> None:
    terminal = program.opened()
    terminal.type("日本語")
    text = terminal.shows("日")
    row = next(at for at, line in enumerate(text.split("\n"), 1) if "日" in line)
    moves = re.findall(rb"\x1b\[(\d+);(\d+)H", terminal.output)
    assert moves[-1] == (str(row).encode(), b"9")
