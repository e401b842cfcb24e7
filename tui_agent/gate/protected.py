"""Paths whose change can make something run later: they ask in every mode, also when absent."""

from __future__ import annotations

from pathlib import Path

_FOLDERS = frozenset(
    {".git", ".claude", ".tui-agent", ".vscode", ".idea", ".husky", ".devcontainer", ".github"}
)
_FILES = frozenset(
    {
        ".bashrc",
        ".bash_profile",
        ".profile",
        ".zshrc",
        ".zprofile",
        ".zshenv",
        ".gitconfig",
        ".gitmodules",
        ".gitattributes",
        ".mcp.json",
        ".npmrc",
        ".envrc",
        ".pypirc",
        "authorized_keys",
    }
)


def is_protected(path: Path) -> bool:
    """Whether writing `path` (a real path) needs a person in every mode. Case is ignored, since
    some file systems do."""
    parts = [part.casefold() for part in path.parts]
    return any(part in _FOLDERS for part in parts) or (bool(parts) and parts[-1] in _FILES)
