"""From what the model wrote to a real path, and whether that lies inside a folder.

Relative paths start at the workspace, `~` is the home folder, links are followed, `..` is taken
after that; variables and URLs are just odd names. Nothing is opened here.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from tui_agent.tools.base import ToolContext
from tui_agent.tools.errors import FileError, FileErrorCode, plain

_NAME_BYTES = 255
_PATH_BYTES = 4096


def resolve(folder: Path, text: str) -> Path:
    """The real path that `text` means in `folder`; it need not exist. Raises `FileError`."""
    lexical = folder / _checked(text)
    try:
        return Path(os.path.realpath(lexical, strict=True))
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise FileError(
                FileErrorCode.LOOP, f"{plain(text)} is a link that leads back to itself."
            ) from None
    path = Path(os.path.realpath(lexical))
    if len(os.fsencode(path)) >= _PATH_BYTES:
        raise _too_long()  # what is made there could never be opened by its path again
    if _is_special(lexical):
        # such as /dev/stdin on a pipe: the kernel finds it, but it has no path
        raise FileError(FileErrorCode.NOT_REGULAR_FILE, f"{plain(text)} is not a regular file.")
    return path


def resolve_for_effects(folder: Path, text: str) -> Path:
    """Like `resolve`, but with an answer for every text: what is named by a call that will fail."""
    try:
        return resolve(folder, text)
    except FileError:
        return Path(os.path.normpath(folder / text.replace("\0", "").strip()))


def judged_path(context: ToolContext, text: str, *, for_writing: bool = False) -> Path:
    """The real path of a call that is about to run. Raises `FileError`, also when it is not the
    path that was judged: a link may have been put in its way since."""
    path = resolve(context.folder, text)
    judged = context.judged
    if judged is not None:
        allowed = judged.writes if for_writing else judged.reads | judged.writes
        if path not in allowed:
            raise moved(path)
    return path


def moved(path: Path) -> FileError:
    """The failure of a path that led elsewhere when the call was allowed."""
    return FileError(
        FileErrorCode.STALE,
        f"{plain(os.fspath(path))} leads elsewhere than when the call was allowed (a link or folder"
        " on the way was replaced). Nothing was done; call again to have it judged anew.",
    )


def is_inside(path: Path, folders: Iterable[Path]) -> bool:
    """Whether a real path is one of `folders` or beneath one, compared by its parts."""
    return any(path.is_relative_to(folder) for folder in folders)


def folders_of(context: ToolContext) -> tuple[Path, ...]:
    """The folders in which a call works."""
    return (context.folder, *context.extra_folders)


def shown(path: Path, folder: Path) -> str:
    """A path as results name it: relative to the workspace when inside."""
    return plain(os.fspath(path.relative_to(folder) if is_inside(path, [folder]) else path))


def _checked(text: str) -> str:
    if not text.strip():
        raise FileError(FileErrorCode.INVALID_PATH, "The path is empty.")
    if "\0" in text:
        raise FileError(FileErrorCode.INVALID_PATH, "The path contains a NUL character.")
    try:
        encoded = text.encode("utf-8")
    except UnicodeEncodeError:
        raise FileError(
            FileErrorCode.INVALID_PATH, "The path contains half of a character (a lone surrogate)."
        ) from None
    if len(encoded) > _PATH_BYTES or any(len(name) > _NAME_BYTES for name in encoded.split(b"/")):
        raise _too_long()
    # as the functions of `os` take it, which depends on the locale; `plain` makes text of it again
    text = os.fsdecode(encoded)
    if text == "~" or text.startswith("~/"):
        return os.path.expanduser(text)
    return text


def _too_long() -> FileError:
    return FileError(
        FileErrorCode.NAME_TOO_LONG,
        f"The path is too long: a name may have {_NAME_BYTES} bytes, a path {_PATH_BYTES} from the"
        " root.",
    )


def _is_special(lexical: Path) -> bool:
    try:
        mode = os.stat(lexical).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
