"""What a model says and does reaches the terminal as text, never as something it obeys."""

from __future__ import annotations

import re

import pytest

from tests.pty.conftest import READY, Program, Serve, Wire
from tests.pty.test_flows import ASKING, read_the_dialog
from tests.scripted.script import Call, Reply, Say

pytestmark = pytest.mark.pty

TITLE_ATTACK = "\x1b]0;owned\x07"
CLIPBOARD_ATTACK = "\x1b]52;c;b3duZWQ=\x1b\\"
C1_ATTACK = "\x9b2J\x9d0;owned\x9c"
MARKUP = "[@click=app.quit]press[/] [bold]me[/bold] [link=file:///etc/passwd]here[/link]"
BIDI = "abc\u202edcba\u202c \u2066x\u2069 \u200fy"
TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "hidden")
HOSTILE = (
    f"start {TITLE_ATTACK}{CLIPBOARD_ATTACK}{C1_ATTACK}\x1b[2J\x1b[?1049l\x1bc\x07\x08\x7f "
    f"{MARKUP} {BIDI} {TAGS} end"
)

_OURS = re.compile(
    rb"""
      \x1b \[ [0-9;]* m                                     # colours
    | \x1b \[ [0-9]+ ; [0-9]+ H                             # places of the cursor
    | \x1b \[ \? (?:7|25|1000|1002|1003|1004|1006|1015|1049|2004|2026) [hl]
    | \x1b \[ \? (?:2026|2048) \$ p                         # what the terminal is asked at start
    | \x1b \[ > 25 u | \x1b \[ < u                          # the keyboard protocol
    | \x1b \] 22 ; [a-z-]* \x07                             # the shape of the mouse pointer
    """,
    re.VERBOSE,
)
_CONTROLS = re.compile("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_INVISIBLE = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


def assert_inert(output: bytes) -> None:
    """Nothing in the stream but our own sequences, line ends and visible characters."""
    rest = _OURS.sub(b"", output).decode()
    assert not (found := _CONTROLS.findall(rest)), found
    assert not (hidden := _INVISIBLE.findall(rest)), [ascii(character) for character in hidden]


@pytest.mark.parametrize(("wire", "size"), [("anthropic", (160, 45)), ("chat", (80, 24))])
def test_hostile_text_is_inert_wherever_it_is_shown(
    program: Program, serve: Serve, wire: Wire, size: tuple[int, int]
) -> None:
    """In prose, code, links, a command to approve, its output, and a question."""
    (program.folder / "bait.txt").write_text(HOSTILE)
    shell = Call("Bash", {"command": f"cat bait.txt # {HOSTILE}", "description": HOSTILE})
    question = {"question": f"Sure? {HOSTILE}", "header": HOSTILE[:20], "multiSelect": False}
    options = [
        {"label": f"Yes {HOSTILE}", "description": HOSTILE},
        {"label": "No", "description": "no"},
    ]
    ask = Call("AskUserQuestion", {"questions": [{**question, "options": options}]})
    markdown = f"{HOSTILE}\n\n# {HOSTILE}\n\n```python\n{HOSTILE}\n```\n\n- {HOSTILE}\n"
    serve(
        [
            Reply([Say(markdown), shell]),
            Reply([Say("Now tell me."), ask]),
            Reply([Say("All done.")]),
        ],
        wire,
    )
    terminal = program.opened(size=size)
    terminal.type("say something odd")
    terminal.press("enter")
    terminal.shows(ASKING, "cat bait.txt")
    read_the_dialog()
    terminal.press("y")
    terminal.shows("Sure?")
    read_the_dialog()
    terminal.press("1")
    terminal.shows("All done.", READY)
    # Markup came through as the letters it is made of.
    assert "[@click=app.quit]press[/]" in terminal.output_text
    terminal.press("ctrl+o")
    terminal.shows("type to filter")
    terminal.press("escape")
    terminal.shows_no("type to filter")
    terminal.press("ctrl+c", "ctrl+c")
    assert terminal.ended() == 0
    assert_inert(terminal.output)
