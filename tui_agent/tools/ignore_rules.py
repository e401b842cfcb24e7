"""What ignore files leave out, decided as ripgrep decides it, for our own walk through folders.

`.rgignore` counts before `.ignore`, that before `.gitignore`, then a repository's `info/exclude`,
then the user's own excludes of git; within one kind the file nearest to the path, within a file its
last line that matches. Rules of git stop at the root of a repository, with or without one they hold
everywhere else. A line that makes no sense is left out, not its whole file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_IGNORE_FILES = (".rgignore", ".ignore", ".gitignore")
_OF_GIT = frozenset({".gitignore", "exclude"})
_KINDS = (*_IGNORE_FILES, "exclude")
_THROUGH_FOLDER = "ps_d"
"""The group in a compiled pattern that is set where it matches a folder, and so all within it."""
_EXCLUDES_FILE = re.compile(r"^\s*excludesfile\s*=\s*\"?(.+?)\"?\s*$", re.IGNORECASE | re.MULTILINE)


class IgnoreFile:
    """The lines of one file, compiled."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._patterns: list[tuple[re.Pattern[str], bool]] = []
        for line in lines:
            try:
                pattern = GitIgnoreSpecPattern(line.rstrip("\r\n"))
            except ValueError:
                continue
            if pattern.regex is not None and pattern.include is not None:
                self._patterns.append((pattern.regex, pattern.include))
        self._patterns.reverse()
        # most paths match nothing: one look at all of the lines together tells that
        together = "|".join(f"(?:{regex.pattern})" for regex, _ in self._patterns)
        self._any = re.compile(together.replace(f"?P<{_THROUGH_FOLDER}>", "?:"))

    def decides(self, path: str) -> bool | None:
        """Whether `path`, relative to the folder of the file and with a slash at its end for a
        folder, is left out; `None` when no line is about it."""
        if not self._patterns or self._any.search(path) is None:
            return None
        for regex, is_left_out in self._patterns:
            match = regex.search(path)
            if match is not None and _is_about_it(match, path):
                return is_left_out
        return None


def _is_about_it(match: re.Match[str], path: str) -> bool:
    """Whether the match is about the path itself: what is in a folder that is left out is never
    asked about, unless a search starts there, and then it is wanted."""
    if _THROUGH_FOLDER not in match.re.groupindex:
        # `a/**` is about what is in the folder, not about the folder
        return not (path.endswith("/") and match.end() == len(path))
    end = match.end(_THROUGH_FOLDER)
    return end < 0 or end == len(path)


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The ignore files of a folder and of those above it, nearest first. `start` is how many
    characters of an absolute path stand before the part that a file's lines are about."""

    levels: tuple[tuple[int, Mapping[str, IgnoreFile], bool], ...]
    user: tuple[int, IgnoreFile] | None

    @classmethod
    def above(cls, folder: str, *, searched: str) -> IgnoreRules:
        """The rules from the folders above the absolute path `folder`."""
        rules = cls((), _users_own(searched))
        parents = []
        while (parent := os.path.dirname(folder)) != folder:
            parents.append(parent)
            folder = parent
        for parent in reversed(parents):
            rules = rules.within(parent)
        return rules

    def without_levels(self) -> IgnoreRules:
        """Only what holds for the user everywhere."""
        return IgnoreRules((), self.user)

    def within(self, folder: str) -> IgnoreRules:
        """These rules and those of the files in `folder`."""
        files = {}
        for name in _IGNORE_FILES:
            if (found := _read(os.path.join(folder, name))) is not None:
                files[name] = found
        has_git = os.path.exists(os.path.join(folder, ".git"))
        if has_git and (found := _read(os.path.join(folder, ".git", "info", "exclude"))):
            files["exclude"] = found
        if not files and not has_git:
            return self
        level = (len(os.path.join(folder, "")), files, has_git)
        return IgnoreRules((level, *self.levels), self.user)

    def leave_out(self, path: str, *, is_folder: bool) -> bool:
        """Whether the absolute `path` is to be left out."""
        if is_folder:
            path += "/"
        for kind in _KINDS:
            for start, files, has_git in self.levels:
                if kind in files and (decided := files[kind].decides(path[start:])) is not None:
                    return decided
                if has_git and kind in _OF_GIT:
                    break
        if self.user is not None:
            start, file = self.user
            return file.decides(path[start:]) or False
        return False


def _read(path: str) -> IgnoreFile | None:
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape") as file:
            return IgnoreFile(file)
    except (OSError, ValueError):
        return None  # there is none, or it is none


def _users_own(searched: str) -> tuple[int, IgnoreFile] | None:
    """The file that `core.excludesFile` of git names, or the one that it stands for when unset."""
    home = os.path.expanduser("~")
    settings = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    named = None
    for place in (os.path.join(home, ".gitconfig"), os.path.join(settings, "git", "config")):
        try:
            with open(place, encoding="utf-8", errors="replace") as config:
                found = _EXCLUDES_FILE.search(config.read())
        except OSError:
            continue
        if found is not None:
            named = os.path.expanduser(found.group(1))
            break
    file = _read(named or os.path.join(settings, "git", "ignore"))
    return None if file is None else (len(os.path.join(searched, "")), file)
