"""From the first key to the answer: what a person does at the terminal, and what the model gets."""

from __future__ import annotations

from time import sleep

import pytest

from tests.pty.conftest import Program, Serve, Wire
from tests.pty.terminal import Terminal
from tests.scripted.script import Call, Hold, Reply, Say, by_prompt
from tui_agent.ui.dialogs.guarded import GUARD_SECONDS

pytestmark = pytest.mark.pty

WIDE = (160, 45)
SMALL = (80, 24)
at_two_sizes = pytest.mark.parametrize(("wire", "size"), [("anthropic", WIDE), ("chat", SMALL)])

ASKING = "needs your decision"
WRITE = Call("Write", {"file_path": "made.txt", "content": "by the model\n"})
WHICH_WAY = Call(
    "AskUserQuestion",
    {
        "questions": [
            {
                "question": "Which way shall we go?",
                "header": "Way",
                "multiSelect": False,
                "options": [
                    {"label": "Left", "description": "past the mill"},
                    {"label": "Right", "description": "over the bridge"},
                ],
            }
        ]
    },
)


def read_the_dialog() -> None:
    """A dialog takes no key in its first moments; a person needs longer to read it."""
    sleep(GUARD_SECONDS + 0.1)


def asked_to_write(terminal: Terminal) -> None:
    """Send a prompt whose answer asks for an approval, and read the dialog."""
    terminal.type("write it")
    terminal.press("enter")
    terminal.shows(ASKING, "made.txt", "by the model")
    read_the_dialog()


@at_two_sizes
def test_a_prompt_streams_asks_and_is_carried_out(
    program: Program, serve: Serve, wire: Wire, size: tuple[int, int]
) -> None:
    first = Reply([Say("I will wri"), Hold("half"), Say("te it now."), WRITE])
    server = serve([first, Reply([Say("It is written.")])], wire)
    terminal = program.opened(size=size)
    terminal.type("write it")
    terminal.shows("write it")
    terminal.press("enter")
    streaming = terminal.shows("I will wri")
    assert "now." not in streaming
    server.release("half")
    terminal.shows(ASKING, "by the model")  # the dialog may cover the text
    assert not (program.folder / "made.txt").exists()
    read_the_dialog()
    terminal.press("y")
    terminal.shows("I will write it now.", "It is written.", "ready")
    assert (program.folder / "made.txt").read_text() == "by the model\n"


@at_two_sizes
def test_a_plain_no_stops_the_turn(
    program: Program, serve: Serve, wire: Wire, size: tuple[int, int]
) -> None:
    server = serve([Reply([WRITE]), Reply([Say("Something else then.")])], wire)
    terminal = program.opened(size=size)
    asked_to_write(terminal)
    terminal.press("n")
    terminal.shows_no(ASKING)
    terminal.shows("Stopped: you denied", "ready")
    assert len(server.requests) == 1
    assert not (program.folder / "made.txt").exists()
    # The refused call is answered in what the next prompt sends: the server is strict about it.
    terminal.type("do something else")
    terminal.press("enter")
    terminal.shows("Something else then.")


@at_two_sizes
def test_a_no_with_a_reason_goes_back_to_the_model(
    program: Program, serve: Serve, wire: Wire, size: tuple[int, int]
) -> None:
    server = serve([Reply([WRITE]), Reply([Say("As you wish.")])], wire)
    terminal = program.opened(size=size)
    asked_to_write(terminal)
    terminal.press("c")
    terminal.shows("what should it do instead?")
    terminal.type("not in this folder")
    terminal.press("enter")
    terminal.shows("As you wish.")
    assert "not in this folder" in str(server.requests[1].body)
    assert not (program.folder / "made.txt").exists()


@at_two_sizes
def test_a_question_is_answered(
    program: Program, serve: Serve, wire: Wire, size: tuple[int, int]
) -> None:
    server = serve([Reply([WHICH_WAY]), Reply([Say("Over the bridge it is.")])], wire)
    terminal = program.opened(size=size)
    terminal.type("lead on")
    terminal.press("enter")
    terminal.shows("Which way shall we go?", "Left", "over the bridge")
    read_the_dialog()
    terminal.press("2")
    terminal.shows("Over the bridge it is.")
    assert "Right" in str(server.requests[1].body["messages"][-1])


def test_an_early_key_answers_no_dialog(program: Program, serve: Serve) -> None:
    serve([Reply([WRITE]), Reply([Say("It is written.")])], "anthropic")
    terminal = program.opened()
    terminal.type("write it")
    terminal.press("enter")
    terminal.shows(ASKING)
    terminal.press("y")
    read_the_dialog()
    terminal.shows(ASKING)
    terminal.press("y")
    terminal.shows("It is written.")


def test_what_comes_in_one_burst_is_taken_in_order(program: Program, serve: Serve) -> None:
    """A slow line delivers letters and Enter together: all the letters are sent, none is left."""
    server = serve([Reply([Say("All of it.")])], "anthropic")
    terminal = program.opened()
    terminal.type("every single letter\rand more")
    terminal.shows("All of it.", "and more")
    assert server.requests[0].last_user_text.endswith("every single letter")


@at_two_sizes
def test_a_session_goes_on_while_another_is_shown(
    program: Program, serve: Serve, wire: Wire, size: tuple[int, int]
) -> None:
    looks = Call("Glob", {"pattern": "*"})
    server = serve(
        by_prompt(
            {
                "first task": [
                    Reply([Say("Looking."), Hold("first"), looks]),
                    Reply([Say("The first is done.")]),
                ],
                "second task": [Reply([Say("The second is done.")])],
            }
        ),
        wire,
    )
    terminal = program.opened(size=size)
    terminal.type("first task")
    terminal.press("enter")
    terminal.shows("Looking.")
    terminal.press("ctrl+n")
    terminal.shows_no("Looking.")
    terminal.type("second task")
    terminal.press("enter")
    terminal.shows("The second is done.")
    server.release("first")
    # The first session's call is run and answered without being looked at.
    server.until(lambda: len(server.requests) == 3)
    terminal.press("ctrl+o")
    terminal.shows("type to filter", "first task")
    terminal.type("first")
    terminal.shows_no("second task, ")
    terminal.press("enter")
    terminal.shows("Looking.", "The first is done.")
    assert "The second is done." not in terminal.text


@at_two_sizes
def test_escape_interrupts_and_keeps_what_came(
    program: Program, serve: Serve, wire: Wire, size: tuple[int, int]
) -> None:
    server = serve(
        [Reply([Say("Half of the"), Hold("rest"), Say(" answer")]), Reply([Say("Gone on.")])], wire
    )
    terminal = program.opened(size=size)
    terminal.type("go")
    terminal.press("enter")
    terminal.shows("Half of the")
    terminal.press("escape")
    terminal.shows("Interrupted", "ready")
    server.until(lambda: server.requests[0].aborted)
    terminal.shows("Half of the")
    terminal.type("and now?")
    terminal.press("enter")
    terminal.shows("Gone on.")
