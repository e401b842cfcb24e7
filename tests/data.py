"""Where the recorded data of the tests lies.

A folder named by the environment comes first, then one kept beside the checkout for several of
them, then the copies in this tree.
"""

import os
from pathlib import Path

_TESTS = Path(__file__).resolve().parent


def cases_dir() -> Path:
    """The folder of `terminal.json`, `path.json` and `permission.json`."""
    return _data_dir("TUI_AGENT_CASES", "cases")


def wire_dir() -> Path:
    """The folder of the recorded streams, `errors.json` and `expected.json`."""
    return _data_dir("TUI_AGENT_WIRE", "wire")


def _data_dir(variable: str, name: str) -> Path:
    if named := os.environ.get(variable):
        return Path(named)
    beside = _TESTS.parent.parent / "shared" / name
    return beside if beside.is_dir() else _TESTS / name
