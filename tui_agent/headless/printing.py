"""Lines and JSON on a stream, flushed at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from tui_agent.headless.exits import ExitCode
from tui_agent.headless.shapes import dumps
from tui_agent.vocabulary.blocks import Json


def print_lines(lines: Sequence[str], out: TextIO) -> int:
    """Print lines of safe text."""
    out.write("\n".join(lines) + "\n")
    out.flush()
    return ExitCode.FINISHED


def print_json(value: Json, out: TextIO) -> int:
    """Print one JSON value, indented."""
    return print_lines([dumps(value, indent=2)], out)
