"""What a child process may know of our environment: a list of names that are let through.

Everything that is not on the list stays here, and so does whatever looks like a credential even if
it is on it. In comes a mapping, out goes a new dict; the environment of this process is never
changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

CALL_MARKER = "TUI_AGENT_CALL"
"""The one variable of ours in a child: a random word that says which call a process belongs to."""

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
