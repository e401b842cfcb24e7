"""Errors that carry what a person should do.

`UserError` is anything that ends in one plain line for a person. `ProviderError` is the one
taxonomy into which every failure of a model call is mapped; what is retried depends on it alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tui_agent.vocabulary.usage import Usage


class UserError(Exception):
    """Something the person can mend. `str()` is one line: what, where and what to do."""


class UsageError(UserError):
    """The command line or an argument is wrong (exit code 2)."""


class NotFoundError(UserError):
    """No session, pending item or message has that id."""


class ConflictError(UserError):
    """It is no longer possible: already resolved, not owned, running."""


class StoreError(UserError):
    """The database cannot be used as asked: full, read-only, locked, corrupt, foreign, newer."""


class ErrorClass(StrEnum):
    """The kinds of provider failure."""

    AUTH = "auth"
    BILLING = "billing"
    QUOTA = "quota"
    PERMISSION = "permission"
    NOT_FOUND = "not_found"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    SERVER = "server"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    INCOMPLETE = "incomplete"
    PROTOCOL = "protocol"
    TOO_LONG = "too_long"
    INVALID_REQUEST = "invalid_request"
    CONTENT_FILTER = "content_filter"


RETRYABLE = frozenset(
    {
        ErrorClass.RATE_LIMIT,
        ErrorClass.OVERLOADED,
        ErrorClass.SERVER,
        ErrorClass.TIMEOUT,
        ErrorClass.CONNECTION,
        ErrorClass.INCOMPLETE,
        ErrorClass.PROTOCOL,
    }
)


@dataclass(slots=True)
class ProviderError(UserError):
    """A model call failed.

    `message` is the provider's own words (never HTML, never a key), `action` what the person should
    do. `retry_after` is in seconds, as the provider asked. `partial_text` is text that had streamed
    before the failure, to be shown marked as partial.
    """

    error_class: ErrorClass
    message: str
    action: str
    status: int | None = None
    retry_after: float | None = None
    usage: Usage | None = None
    partial_text: str | None = None
    fast_fail: bool = False
    """A refused connection or a failed name look-up: waiting long does not help."""

    def __str__(self) -> str:
        return f"{self.message.rstrip('.')}. {self.action}"

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may be sent again after a wait."""
        return self.error_class in RETRYABLE
