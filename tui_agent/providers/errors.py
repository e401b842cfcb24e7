"""Every failure of a model call as one `ProviderError`: its class, its words, what to do.

Comes in: exceptions of either SDK, of the transport below them, of the JSON parser, and errors that
a provider sends inside a stream. Goes out: an error that says nothing of HTML and shows no key.
What is retried is decided elsewhere, from the class alone.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from tui_agent.providers.error_bodies import (
    ACTIONS,
    CHECK_NETWORK,
    Said,
    action_for,
    classify,
    said_in,
)
from tui_agent.providers.wire_values import sound_text
from tui_agent.vocabulary.errors import ErrorClass, ProviderError
from tui_agent.vocabulary.ids import SYSTEM_CLOCK, Clock

_MAX_MESSAGE = 2_000


@dataclass(frozen=True, slots=True)
class SdkErrors:
    """The exception classes of one SDK, which only its adapter may import."""

    status: type[Exception]
    timeout: type[Exception]
    connection: type[Exception]
    in_stream: type[Exception]


class ErrorMapper:
    """Maps the failures of one client. `secret` is its key, which no message may show."""

    def __init__(
        self,
        sdk: SdkErrors | None = None,
        *,
        secret: str | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.sdk = sdk
        self._secret = secret
        self._clock = clock

    def map(self, error: Exception, *, has_begun: bool) -> ProviderError:
        """`error` as a `ProviderError`. `has_begun` says that response headers had arrived."""
        if isinstance(error, ProviderError):
            return error
        sdk = self.sdk
        if sdk is not None:
            if isinstance(error, sdk.status):
                return self._from_status(error)
            if isinstance(error, sdk.timeout | sdk.connection):
                return self._from_transport(error.__cause__ or error, has_begun=has_begun)
            if isinstance(error, sdk.in_stream):
                return self._from_said(said_in(getattr(error, "body", None), str(error)), None, {})
        return self._from_transport(error, has_begun=has_begun)

    def in_band(self, message: str, error_class: ErrorClass) -> ProviderError:
        """A failure that the stream itself reported by some other means than an error event."""
        return ProviderError(error_class, self._clean(message), ACTIONS[error_class])

    def _from_status(self, error: Any) -> ProviderError:
        return self._from_said(said_in(error.body, ""), error.status_code, error.response.headers)

    def _from_said(
        self, said: Said, status: int | None, headers: Mapping[str, str]
    ) -> ProviderError:
        if status == HTTPStatus.OK:
            # an error event inside a good response: only the body tells what happened
            status = None
        if status is None and said.code.isdigit() and 400 <= int(said.code) < 600:
            status = int(said.code)
        error_class = classify(said, status)
        message = self._clean(said.message) or _status_words(status)
        retry_after = _retry_after(headers, self._clock)
        return ProviderError(
            error_class,
            message,
            action_for(error_class, said, status),
            status=status,
            retry_after=said.retry_after if retry_after is None else retry_after,
        )

    def _from_transport(self, error: BaseException, *, has_begun: bool) -> ProviderError:
        import httpx2

        words = self._clean(str(error)) or type(error).__name__
        match error:
            case httpx2.InvalidURL() | httpx2.UnsupportedProtocol() | httpx2.LocalProtocolError():
                return ProviderError(
                    ErrorClass.INVALID_REQUEST, f"No request can be made: {words}", CHECK_NETWORK
                )
            case httpx2.ConnectError() | httpx2.ConnectTimeout() | httpx2.ProxyError():
                return ProviderError(
                    ErrorClass.CONNECTION,
                    _connection_words(error, words),
                    CHECK_NETWORK,
                    fast_fail=True,
                )
            case httpx2.TimeoutException():
                return ProviderError(
                    ErrorClass.TIMEOUT,
                    "The provider sent nothing for too long",
                    ACTIONS[ErrorClass.TIMEOUT],
                )
            case httpx2.HTTPError():
                error_class = ErrorClass.INCOMPLETE if has_begun else ErrorClass.CONNECTION
                return ProviderError(
                    error_class, f"The connection broke: {words}", ACTIONS[error_class]
                )
            case UnicodeEncodeError():
                return ProviderError(
                    ErrorClass.AUTH,
                    "The key or another setting holds a character that no request can carry",
                    ACTIONS[ErrorClass.AUTH],
                )
            case _:
                return ProviderError(
                    ErrorClass.PROTOCOL,
                    f"The answer cannot be read: {words}",
                    ACTIONS[ErrorClass.PROTOCOL],
                )

    def _clean(self, message: str) -> str:
        """One bounded line without keys."""
        text = " ".join(sound_text(message).split())
        if self._secret and len(self._secret) > 4:
            text = text.replace(self._secret, "[key]")
        text = re.sub(r"\b(sk|AIza)[-\w]{20,}", "[key]", text)
        return text if len(text) <= _MAX_MESSAGE else text[: _MAX_MESSAGE - 1] + "…"


def _status_words(status: int | None) -> str:
    if status is None:
        return "The provider reported an error without a word about it"
    try:
        phrase = " " + HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"The server answered {status}{phrase}"


def _retry_after(headers: Mapping[str, str], clock: Clock) -> float | None:
    """Seconds that the headers ask for. The header in milliseconds is the exact one."""
    try:
        return float(headers["retry-after-ms"]) / 1000
    except (KeyError, ValueError):
        pass
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - clock.wall())
    except ValueError:
        return None


def _connection_words(error: BaseException, words: str) -> str:
    request = getattr(error, "_request", None)
    where = f" to {_place(request.url)}" if request is not None else ""
    for cause in _causes(error):
        if isinstance(cause, socket.gaierror):
            return f"No connection{where}: the name cannot be found"
        if isinstance(cause, ConnectionRefusedError):
            return f"No connection{where}: nobody listens there"
        if isinstance(cause, ssl.SSLError):
            return f"No secure connection{where}: {cause.reason or cause}"
    return f"No connection{where}: {words}"


def _place(url: Any) -> str:
    """Host and port of an address, the port also where it is the usual one."""
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"{host}:{url.port or (443 if url.scheme == 'https' else 80)}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """`error` and everything behind it, groups opened."""
    waiting, seen = [error], set[int]()
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting += [link for link in (current.__cause__, current.__context__) if link is not None]
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions
