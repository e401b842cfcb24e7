"""Our log: one file a process in the logs folder, readable by its owner only.

Records may hold foreign text, which is made visible before it is written: a log is read in a
terminal. Nothing goes to the terminal itself.
"""

from __future__ import annotations

import logging
import os
from io import TextIOWrapper
from pathlib import Path
from time import strftime
from typing import Final

from tui_agent.text import exact

KEPT_FILES: Final = 20


class _InertFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return exact(super().format(record), one_line=False)


class _PrivateFile(logging.FileHandler):
    """Opened at the first record, with mode 0600."""

    def _open(self) -> TextIOWrapper:
        # The folder may have been removed while we ran; without it there is just no log.
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return TextIOWrapper(open(descriptor, "ab", buffering=0), "utf-8", write_through=True)


def log_to(folder: Path) -> None:
    """Send the log of this process to a file in `folder`, which exists, and drop the oldest."""
    handler = _PrivateFile(folder / f"{strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log", delay=True)
    handler.setFormatter(_InertFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    logging.getLogger("tui_agent").setLevel(logging.INFO)
    # A log that cannot be written must not write about it on the screen.
    logging.raiseExceptions = False
    for old in sorted(folder.glob("*.log"))[:-KEPT_FILES]:
        old.unlink(missing_ok=True)
