"""What a session's model knows of files, read back from the results of its calls.

So that an edit which was approved yesterday can run today, and still refuses a file that changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tui_agent.tools.ledger import ReadLedger
from tui_agent.vocabulary.blocks import Outcome
from tui_agent.vocabulary.records import ToolRun


def rebuilt_ledger(runs: Iterable[ToolRun], folder: Path) -> ReadLedger:
    """The ledger after `runs`, oldest first. A result that names a file's digest knows the file."""
    ledger = ReadLedger()
    for run in runs:
        path, digest = run.details.get("path"), run.details.get("digest")
        if run.outcome is Outcome.OK and isinstance(path, str) and isinstance(digest, str):
            ledger.note(folder / path, digest)
    return ledger
