"""Which version of which file the model has seen in a session.

A file may be overwritten or edited only as it was last read or written by the session's own tools.
Held in memory; results carry the digest in their details, from which it is rebuilt after a restart.
"""

from __future__ import annotations

import hashlib
from pathlib import Path


def digest_of(data: bytes) -> str:
    """What identifies one version of a file's content."""
    return hashlib.sha256(data).hexdigest()


class ReadLedger:
    """Digests by real path. Safe to use from several threads: each method is one dict operation."""

    def __init__(self) -> None:
        self._digests: dict[Path, str] = {}

    def note(self, path: Path, digest: str) -> None:
        """The model knows `path` in the version of `digest`."""
        self._digests[path] = digest

    def digest(self, path: Path) -> str | None:
        """The version that the model knows; `None` if it never saw the file."""
        return self._digests.get(path)

    def forget(self, path: Path) -> None:
        """The model's knowledge of `path` is void."""
        self._digests.pop(path, None)
