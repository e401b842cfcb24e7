"""What can be wrong with a file or a search, as a code and as a sentence for the model."""

from __future__ import annotations

import errno
import os
from enum import StrEnum
from pathlib import Path

from tui_agent.tools.base import ToolError


class FileErrorCode(StrEnum):
    """Kinds of failure of the file and search tools."""

    NOT_FOUND = "not_found"
    INVALID_PATH = "invalid_path"
    NAME_TOO_LONG = "name_too_long"
    LOOP = "loop"
    NOT_REGULAR_FILE = "not_regular_file"
    IS_DIRECTORY = "is_directory"
    TOO_LARGE = "too_large"
    BINARY_FILE = "binary_file"
    NOT_UTF8 = "not_utf8"
    INVALID_TEXT = "invalid_text"
    PERMISSION = "permission"
    STALE = "stale"
    NO_SPACE = "no_space"
    READ_ONLY = "read_only"
    INVALID_PATTERN = "invalid_pattern"
    PATTERN_TOO_COMPLEX = "pattern_too_complex"
    NO_MATCH = "no_match"
    SEVERAL_MATCHES = "several_matches"
    IO = "io"


class FileError(ToolError):
    """A file or search tool could not do it. `code` also stands in `details`."""

    def __init__(self, code: FileErrorCode, message: str) -> None:
        super().__init__(message, details={"kind": "error", "code": code.value})
        self.code = code


_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}


def plain(text: str) -> str:
    """A file name as results have it: on one line, so that no name can pass for another result,
    and without the half characters that stand for bytes outside UTF-8."""
    whole = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return whole.translate(_CONTROLS)


_BY_ERRNO = {
    errno.ENOENT: (FileErrorCode.NOT_FOUND, "does not exist"),
    errno.ENOTDIR: (FileErrorCode.NOT_FOUND, "does not exist: a part of the path is not a folder"),
    errno.ENAMETOOLONG: (FileErrorCode.NAME_TOO_LONG, "has a name that is too long"),
    errno.ELOOP: (FileErrorCode.LOOP, "is a link that leads back to itself"),
    errno.EISDIR: (FileErrorCode.IS_DIRECTORY, "is a folder, not a file"),
    errno.EACCES: (FileErrorCode.PERMISSION, "may not be accessed: permission denied"),
    errno.EPERM: (FileErrorCode.PERMISSION, "may not be accessed: operation not permitted"),
    errno.ENXIO: (FileErrorCode.NOT_REGULAR_FILE, "is not a regular file"),
    errno.ENOSPC: (FileErrorCode.NO_SPACE, "could not be written: no space left"),
    errno.EDQUOT: (FileErrorCode.NO_SPACE, "could not be written: the disk quota is used up"),
    errno.EFBIG: (FileErrorCode.NO_SPACE, "could not be written: larger than files may be here"),
    errno.EROFS: (FileErrorCode.READ_ONLY, "could not be written: the file system is read-only"),
}


def os_failure(error: OSError, path: Path) -> FileError:
    """`error` of an operation on `path` in our words."""
    code, words = _BY_ERRNO.get(
        error.errno or 0, (FileErrorCode.IO, f"failed: {error.strerror or error}")
    )
    return FileError(code, f"{plain(os.fspath(path))} {words}.")
