"""What a child process may know of our environment: a list of names that are let through.

Everything that is not on the list stays here, and so does whatever looks like a credential even if
it is on it. In comes a mapping, out goes a new dict; `os.environ` is never changed. What the kernel
shows others of this process's environment is blanked where it is a credential: a child could read
it in `/proc`.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping

CALL_MARKER = "TUI_AGENT_CALL"
"""The one variable of ours in a child: random words that say which program and which of its calls
a process belongs to."""

_NAMES = frozenset(
    {
        # who and where
        "HOME", "LOGNAME", "USER", "SHELL", "PATH", "TMPDIR", "TMP", "TEMP", "TZ", "HOSTNAME",
        # language and terminal
        "LANG", "LANGUAGE", "TERM", "COLORTERM", "NO_COLOR", "COLUMNS", "LINES",
        # where tool chains live
        "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_EXE", "PYENV_ROOT", "PYTHONPATH",
        "PYTHONDONTWRITEBYTECODE", "PYTHONUTF8", "UV_CACHE_DIR", "PIPX_HOME",
        "NVM_DIR", "NVM_BIN", "NODE_PATH", "PNPM_HOME", "VOLTA_HOME", "BUN_INSTALL", "DENO_DIR",
        "CARGO_HOME", "RUSTUP_HOME", "GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "GOPROXY",
        "JAVA_HOME", "MAVEN_HOME", "GRADLE_HOME", "ANDROID_HOME", "GEM_HOME", "GEM_PATH",
        "RBENV_ROOT", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "SDKMAN_DIR", "DOTNET_ROOT",
        "HOMEBREW_PREFIX", "HOMEBREW_CELLAR", "HOMEBREW_REPOSITORY", "NIX_PATH", "NIX_PROFILES",
        "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PKG_CONFIG_PATH", "MANPATH", "INFOPATH",
        "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MAKEFLAGS",
        # which certificates and settings to use, not what is in them
        "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
        "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
        # how to reach the network, as long as no password stands in it
        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
        "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    }
)  # fmt: skip
_PREFIXES = ("LC_", "XDG_")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|PRIVATE|COOKIE", re.IGNORECASE)
_USER_IN_URL = re.compile(r"://[^/\s]*@")


def child_environment(source: Mapping[str, str]) -> dict[str, str]:
    """The part of `source` that a child process gets."""
    return {
        name: value
        for name, value in source.items()
        if (name in _NAMES or name.startswith(_PREFIXES)) and not _is_secret(name, value)
    }


def _is_secret(name: str, value: str) -> bool:
    return bool(_SECRET_NAME.search(name) or _USER_IN_URL.search(value))


@functools.cache
def conceal_secrets() -> None:
    """Blank the values of credentials in what `/proc/PID/environ` shows of this process.

    That file is the memory in which the environment came; `os.environ` is a copy and stays whole.
    The other way, making the process undumpable, would also forbid core dumps and debuggers, and
    does not hold against a child that is root. Neither way keeps out a child that may trace this
    process: only a sandbox does. Does nothing where there is no such file.
    """
    try:
        shown = _read("/proc/self/environ")
        # fields 50 and 51; the name in field 2 may hold spaces and brackets
        fields = _read("/proc/self/stat").rpartition(b")")[2].split()
        start, end = int(fields[47]), int(fields[48])
    except (OSError, IndexError, ValueError):
        return
    if not start or len(shown) != end - start:
        return  # rather shown than the wrong memory overwritten
    import ctypes

    at = 0
    for variable in shown.split(b"\0"):
        name, mark, value = variable.partition(b"=")
        if mark and _is_secret(os.fsdecode(name), os.fsdecode(value)):
            ctypes.memset(start + at + len(name) + 1, 0, len(value))
        at += len(variable) + 1


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
