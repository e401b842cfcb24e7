"""A real model in the real workspace, in a real pseudo terminal."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Command, Wire
from tests.pty.conftest import READY, Program
from tests.pty.test_flows import ASKING, read_the_dialog
from tests.real_model.conftest import GROUP, PATIENCE, Served

pytestmark = [pytest.mark.live, pytest.mark.pty, pytest.mark.timeout(PATIENCE), GROUP]


async def test_a_command_is_asked_for_run_and_told(
    program: Program, command: Command, obedient: Served, wire: Wire
) -> None:
    program.environ = command.environ = obedient.environ(wire)
    terminal = program.opened()
    terminal.type("Bash echo good morning")
    terminal.press("enter")
    terminal.shows(ASKING, "echo good morning", within=PATIENCE)
    read_the_dialog()
    terminal.press("y")
    terminal.shows_no(ASKING)
    terminal.until(lambda screen: READY in screen or ASKING in screen, "comes to rest", PATIENCE)
    (session,) = json.loads((await command("sessions", "list", "--json")).out)
    shown = json.loads((await command("sessions", "show", session["id"], "--json")).out)
    _prompt, _call, results, *_said = shown["messages"]
    (result,) = results["blocks"]
    assert (result["outcome"], result["content"][0]["text"]) == ("ok", "good morning")
    terminal.close()
    program.start("--continue").shows("Bash echo good morning", "Bash  echo good morning")
