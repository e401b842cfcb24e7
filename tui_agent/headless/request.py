"""What a headless run was asked to do, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tui_agent.settings import Overrides
from tui_agent.vocabulary.states import Mode
from tui_agent.workspace.api import SessionOptions


class OutputFormat(StrEnum):
    """What goes to standard output."""

    TEXT = "text"
    """Final answers, as text that is safe to show."""
    JSON = "json"
    """One object at the end."""
    STREAM_JSON = "stream-json"
    """One event a line, as they happen."""


class Unattended(StrEnum):
    """What becomes of a question to a person, who is not there."""

    PEND = "pend"
    """The run ends and the question waits."""
    DENY = "deny"
    """It is answered with No, and the model goes on."""


@dataclass(frozen=True, slots=True)
class NewSession:
    """Start from nothing."""

    options: SessionOptions = field(default_factory=SessionOptions)


@dataclass(frozen=True, slots=True)
class ExistingSession:
    """Go on with a session: `session_id`, or the one of this folder that was used last when there
    is none. With `fork` a copy goes on. `model` and `mode` change it when they say something."""

    session_id: str | None = None
    fork: bool = False
    model: Overrides = field(default_factory=Overrides)
    mode: Mode | None = None


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One headless run. Without a `prompt` an existing session goes on where it stopped."""

    prompt: str | None
    target: NewSession | ExistingSession = field(default_factory=NewSession)
    output: OutputFormat = OutputFormat.TEXT
    unattended: Unattended = Unattended.PEND
    wait: bool = True
    """Until background agents are through and their results delivered, not just for the turn."""
