"""Leaving, being ended, being killed: the terminal is given back and nothing is lost."""

from __future__ import annotations

import os
import re
import signal

import pytest

from tests.pty.conftest import READY, Program, Serve, Wire
from tests.pty.terminal import Terminal
from tests.pty.test_flows import ASKING, SMALL, WIDE, WRITE, asked_to_write, read_the_dialog
from tests.scripted.script import Call, Reply, Say

pytestmark = pytest.mark.pty

ALTERNATE_SCREEN = 1049
MOUSE = (1000, 1002, 1003, 1006, 1015)
FOCUS = 1004
PASTE = 2004
CURSOR = 25
WRAPS = 7

APPENDS = Call("Bash", {"command": "echo ran >> ran.txt", "description": "Leave a trace"})


def is_on(output: bytes, mode: int, *, before: bool = False) -> bool:
    """Whether a private mode of the terminal was left on; `before`: it is on without a program."""
    last_on = output.rfind(b"\x1b[?%dh" % mode)
    last_off = output.rfind(b"\x1b[?%dl" % mode)
    return last_on > last_off if last_on != last_off else before


def assert_given_back(terminal: Terminal) -> None:
    """The terminal is as a shell wants it, and what is said at the end stands on its screen."""
    output = terminal.output
    assert not is_on(output, ALTERNATE_SCREEN)
    assert not any(is_on(output, mode) for mode in MOUSE)
    assert not is_on(output, PASTE)
    assert not is_on(output, FOCUS)
    assert is_on(output, CURSOR, before=True)
    assert is_on(output, WRAPS, before=True)
    assert output.count(b"\x1b[<u") >= output.count(b"\x1b[>25u"), "the keyboard protocol stays on"
    assert terminal.modes == terminal.modes_before
    left = output[output.rfind(b"\x1b[?1049l") :]
    assert b"Traceback" not in left
    assert b"Warning" not in left


def test_ctrl_c_twice_leaves_and_gives_the_terminal_back(program: Program, serve: Serve) -> None:
    serve([Reply([Say("Hello.")])], "anthropic")
    terminal = program.opened()
    terminal.type("hi")
    terminal.press("enter")
    terminal.shows("Hello.", READY)
    terminal.press("ctrl+c")
    terminal.shows("Ctrl+C again quits")
    assert is_on(terminal.output, ALTERNATE_SCREEN)
    assert is_on(terminal.output, PASTE)
    terminal.press("ctrl+c")
    assert terminal.ended() == 0
    assert_given_back(terminal)


def test_leaving_in_the_middle_of_typing_leaves_no_trace(program: Program) -> None:
    program.environ["TUI_AGENT_PROVIDER"] = "demo"
    terminal = program.opened()
    terminal.type("an unfinished thought")
    terminal.shows("an unfinished thought")
    terminal.press("ctrl+c")
    terminal.shows_no("an unfinished thought")
    terminal.type("/quit")
    terminal.shows("/quit")
    terminal.press("enter")
    assert terminal.ended() == 0
    assert_given_back(terminal)


def test_who_leaves_is_told_how_to_come_back(program: Program, serve: Serve) -> None:
    serve([Reply([Say("Hello.")])], "anthropic")
    terminal = program.opened()
    terminal.type("hi")
    terminal.press("enter")
    terminal.shows("Hello.", READY)
    terminal.type("/quit")
    terminal.press("enter")
    assert terminal.ended() == 0
    assert_given_back(terminal)
    left = terminal.output[terminal.output.rfind(b"\x1b[?1049l") :].decode()
    found = re.search(r"tui-agent --resume (\w+)", left)
    assert found is not None, left
    again = program.opened("--resume", found[1])
    again.shows("Hello.")


def test_an_empty_session_is_nothing_to_come_back_to(program: Program) -> None:
    program.environ["TUI_AGENT_PROVIDER"] = "demo"
    terminal = program.opened()
    terminal.type("/quit")
    terminal.press("enter")
    assert terminal.ended() == 0
    assert b"--resume" not in terminal.output


@pytest.mark.parametrize(
    "arguments", [("--resume", "ses_none"), ("--fork", "ses_none"), ("--continue",)]
)
def test_a_session_that_is_not_there_ends_it_with_one_line(
    program: Program, arguments: tuple[str, ...]
) -> None:
    program.environ["TUI_AGENT_PROVIDER"] = "demo"
    terminal = program.start(*arguments)
    assert terminal.ended() == 2
    assert_given_back(terminal)
    left = terminal.output[terminal.output.rfind(b"\x1b[?1049l") :].decode()
    assert re.search(r"tui-agent: .*no session", left), left
    assert left.count("no session") == 1


def test_a_prompt_is_sent_once_the_session_is_open(program: Program, serve: Serve) -> None:
    server = serve([Reply([Say("Hello.")])], "anthropic")
    terminal = program.start()
    terminal.shows("session")
    terminal.type("typed at once")
    terminal.press("enter")
    terminal.shows("Hello.", READY)
    assert len(server.requests) == 1
    assert "typed at once" in str(server.requests[0].body)


@pytest.mark.parametrize(("wire", "size"), [("anthropic", SMALL), ("chat", WIDE)])
def test_continue_shows_the_same_conversation_and_draft(
    program: Program, serve: Serve, wire: Wire, size: tuple[int, int]
) -> None:
    server = serve([Reply([Say("The first answer.")]), Reply([Say("The second answer.")])], wire)
    terminal = program.opened(size=size)
    terminal.type("the first prompt")
    terminal.press("enter")
    terminal.shows("The first answer.", READY)
    terminal.type("half a thought")
    terminal.shows("half a thought")
    terminal.send_signal(signal.SIGTERM)
    assert terminal.ended() == 128 + signal.SIGTERM

    again = program.start("--continue", size=size)
    again.shows("the first prompt", "The first answer.", "half a thought")
    again.press("enter")
    again.shows("The second answer.")
    assert server.requests[1].last_user_text.endswith("half a thought")
    assert len(server.requests[1].turns) == 3


@pytest.mark.parametrize(("wire", "size"), [("anthropic", WIDE), ("chat", SMALL)])
def test_a_kill_at_an_open_dialog_is_answered_after_the_next_start(
    program: Program, serve: Serve, wire: Wire, size: tuple[int, int]
) -> None:
    serve([Reply([Say("I leave a trace."), APPENDS]), Reply([Say("It ran.")])], wire)
    terminal = program.opened(size=size)
    terminal.type("leave a trace")
    terminal.press("enter")
    terminal.shows(ASKING, "echo ran")
    terminal.send_signal(signal.SIGKILL)
    assert terminal.ended() == -signal.SIGKILL
    assert not (program.folder / "ran.txt").exists()

    again = program.start("--continue", size=size)
    again.shows(ASKING, "echo ran")
    read_the_dialog()
    again.press("y")
    again.shows("It ran.", READY)
    assert (program.folder / "ran.txt").read_text() == "ran\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_keeps_the_ask(
    program: Program, serve: Serve, number: signal.Signals
) -> None:
    serve([Reply([WRITE]), Reply([Say("It is written.")])], "anthropic")
    terminal = program.opened()
    asked_to_write(terminal)
    terminal.send_signal(number)
    assert terminal.ended() == 128 + number
    assert_given_back(terminal)

    again = program.start("--continue")
    again.shows(ASKING, "made.txt")
    read_the_dialog()
    again.press("y")
    again.shows("It is written.")
    assert (program.folder / "made.txt").exists()


def test_a_terminal_that_goes_away_ends_it(program: Program) -> None:
    program.environ["TUI_AGENT_PROVIDER"] = "demo"
    terminal = program.opened()
    terminal.hang_up()
    assert terminal.ended() == 128 + signal.SIGHUP
    with pytest.raises(ProcessLookupError):
        os.killpg(terminal.pid, 0)
