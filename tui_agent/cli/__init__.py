"""The command line, and the place where the parts are put together.

Parses arguments, builds settings, a workspace and a surface, and owns signals and exit codes. It
holds no rule of its own: what a flag means is decided in the room it is handed to. Nothing heavy is
imported before it is known to be needed.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import NoReturn

from tui_agent import __version__

GC_THRESHOLDS = (20_000, 20, 1_000)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The `tui-agent` command: does what was asked and exits with its code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given == ["--version"]:
        # Asked by scripts and installers, often: answered before anything is loaded.
        sys.stdout.write(f"tui-agent, version {__version__}\n")
        sys.exit(0)
    # Imports make many objects and no garbage: looking for it among them delays the first screen.
    gc.set_threshold(*GC_THRESHOLDS)
    from tui_agent.cli.outcome import exit_code_of_command

    sys.exit(exit_code_of_command(given))
