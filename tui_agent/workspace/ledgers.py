"""What a session's model knows of files, read back from the results of its calls.

So that an edit which was approved yesterday can run today, and still refuses a file that changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tui_agent.tools.ledger import ReadLedger


def rebuilt_ledger(files: Iterable[tuple[str, str]], folder: Path) -> ReadLedger:
    """The ledger after results that named `files`, as (path, digest), oldest first."""
    ledger = ReadLedger()
    for path, digest in files:
        ledger.note(folder / path, digest)
    return ledger
