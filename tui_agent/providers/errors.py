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

from tui_agent.providers.wire_values import sound_text
from tui_agent.vocabulary.errors import ErrorClass, ProviderError
from tui_agent.vocabulary.ids import SYSTEM_CLOCK, Clock

_MAX_MESSAGE = 2_000

_COMPACT = "Compact the conversation, or start a new one."
_AGAIN = "Wait: it is tried again by itself. If it lasts, pick another model."
_AGAIN_URL = "Wait: it is tried again by itself. If it lasts, check the base URL or the proxy."
_NETWORK = "Check the network, the base URL and the proxy settings."

ACTIONS: Mapping[ErrorClass, str] = {
    ErrorClass.AUTH: "Check the API key for this provider.",
    ErrorClass.BILLING: "Top up the balance at the provider.",
    ErrorClass.QUOTA: "Check plan and billing at the provider, or use another key or model.",
    ErrorClass.PERMISSION: "Ask the provider for access, or use another key or model.",
    ErrorClass.NOT_FOUND: "Check the model id and the base URL.",
    ErrorClass.RATE_LIMIT: "Wait: it goes on by itself.",
    ErrorClass.OVERLOADED: _AGAIN,
    ErrorClass.SERVER: _AGAIN,
    ErrorClass.TIMEOUT: _AGAIN_URL,
    ErrorClass.CONNECTION: _NETWORK,
    ErrorClass.INCOMPLETE: _AGAIN_URL,
    ErrorClass.PROTOCOL: "If it lasts, check the base URL: this may be no model server.",
    ErrorClass.TOO_LONG: _COMPACT,
    ErrorClass.INVALID_REQUEST: "Pick another model, or check this model's settings.",
    ErrorClass.CONTENT_FILTER: "Say it in other words, or start a new conversation.",
}

# How providers and gateways word an overflow; only the text tells with some of them.
_TOO_LONG = re.compile(
    r"prompt is too long|context_length_exceeded|maximum context length"
    r"|exceeds the context window|input tokens exceed the configured limit"
    r"|input token count.*exceeds the maximum|exceeded model token limit"
    r"|prompt exceeds max length|exceeds the available context size|exceed_context_size"
    r"|greater than the context length|prompt too long|too large for model with"
    r"|reduce the length of the messages|context window exceeds limit|request_too_large"
    r"|maximum allowed content length",
    re.IGNORECASE | re.DOTALL,
)
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|spend(ing)? limit|usage limits?\b"
    r"|quota.*billing",
    re.IGNORECASE | re.DOTALL,
)
_BILLING = re.compile(
    r"billing_error|insufficient balance|credit balance is too low|payment required",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(r"api key not valid|incorrect api key|invalid api key", re.IGNORECASE)
_FILTERED = re.compile(r"content_filter|content_policy|content management policy", re.IGNORECASE)
_TOOLS_REFUSED = re.compile(r"function tools with reasoning_effort", re.IGNORECASE)
_ABOUT_REASONING = re.compile(r"thinking|signature|reasoning_content", re.IGNORECASE)
_REPLAY_REFUSED = re.compile(
    r"thought[_ ]signature|reasoning_content|\bthinking`? (or|block)|redacted_thinking"
    r"|invalid.*signature",
    re.IGNORECASE | re.DOTALL,
)

_CLASS_OF_TYPE: Mapping[str, ErrorClass] = {
    "authentication_error": ErrorClass.AUTH,
    "incorrect_api_key_error": ErrorClass.AUTH,
    "invalid_api_key": ErrorClass.AUTH,
    "billing_error": ErrorClass.BILLING,
    "1113": ErrorClass.BILLING,
    "permission_error": ErrorClass.PERMISSION,
    "not_found_error": ErrorClass.NOT_FOUND,
    "model_not_found": ErrorClass.NOT_FOUND,
    "rate_limit_error": ErrorClass.RATE_LIMIT,
    "rate_limit_exceeded": ErrorClass.RATE_LIMIT,
    "1302": ErrorClass.RATE_LIMIT,
    "overloaded_error": ErrorClass.OVERLOADED,
    "1305": ErrorClass.OVERLOADED,
    "timeout_error": ErrorClass.TIMEOUT,
    "api_error": ErrorClass.SERVER,
    "server_error": ErrorClass.SERVER,
    "conflict_error": ErrorClass.SERVER,
    "request_too_large": ErrorClass.TOO_LONG,
    "exceed_context_size_error": ErrorClass.TOO_LONG,
    "1261": ErrorClass.TOO_LONG,
}

_CLASS_OF_STATUS: Mapping[int, ErrorClass] = {
    401: ErrorClass.AUTH,
    402: ErrorClass.BILLING,
    403: ErrorClass.PERMISSION,
    404: ErrorClass.NOT_FOUND,
    408: ErrorClass.TIMEOUT,
    409: ErrorClass.SERVER,
    413: ErrorClass.TOO_LONG,
    425: ErrorClass.SERVER,
    429: ErrorClass.RATE_LIMIT,
    503: ErrorClass.OVERLOADED,
    529: ErrorClass.OVERLOADED,
}


@dataclass(frozen=True, slots=True)
class SdkErrors:
    """The exception classes of one SDK, which only its adapter may import."""

    status: type[Exception]
    timeout: type[Exception]
    connection: type[Exception]
    in_stream: type[Exception]


@dataclass(frozen=True, slots=True)
class Said:
    """What an error body says."""

    message: str = ""
    type: str = ""
    code: str = ""
    retry_after: float | None = None
    is_html: bool = False

    @property
    def words(self) -> str:
        """Message, type and code: everything that may name the cause."""
        return f"{self.message} {self.type} {self.code}"


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
        error_class = _classify(said, status)
        message = self._clean(said.message) or _status_words(status)
        retry_after = _retry_after(headers, self._clock)
        return ProviderError(
            error_class,
            message,
            _action(error_class, said, status),
            status=status,
            retry_after=said.retry_after if retry_after is None else retry_after,
        )

    def _from_transport(self, error: BaseException, *, has_begun: bool) -> ProviderError:
        import httpx2

        words = self._clean(str(error)) or type(error).__name__
        match error:
            case httpx2.InvalidURL() | httpx2.UnsupportedProtocol() | httpx2.LocalProtocolError():
                return ProviderError(
                    ErrorClass.INVALID_REQUEST, f"No request can be made: {words}", _NETWORK
                )
            case httpx2.ConnectError() | httpx2.ConnectTimeout() | httpx2.ProxyError():
                return ProviderError(
                    ErrorClass.CONNECTION, _connection_words(error, words), _NETWORK, fast_fail=True
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


def may_refuse_replay(error: ProviderError) -> bool:
    """Whether the provider may have refused what we sent back of earlier reasoning: signatures that
    are missing, foreign or no longer fit. The same request without them may be accepted."""
    return error.error_class is ErrorClass.INVALID_REQUEST and bool(
        _ABOUT_REASONING.search(error.message)
    )


def said_in(body: object, fallback: str) -> Said:
    """What an error body says, whatever its shape: an object with or without `error`, a list of
    such, or text."""
    if isinstance(body, list):
        body = body[0] if body else None
    if isinstance(body, str):
        is_html = body.lstrip()[:1] == "<"
        return Said("" if is_html else body, is_html=is_html)
    if not isinstance(body, Mapping):
        return Said(fallback)
    inner = body.get("error", body)
    if not isinstance(inner, Mapping):
        return Said(str(inner))
    message = str(inner.get("message") or inner.get("detail") or fallback)
    cause = _mapping(inner.get("metadata")).get("raw")
    if isinstance(cause, str) and cause.strip() and cause.lstrip()[:1] != "<":
        message = f"{message}: {cause}"
    details = inner.get("details")
    code = _mapping(details).get("error_code") or inner.get("code") or inner.get("status")
    return Said(message, str(inner.get("type") or ""), str(code or ""), _retry_delay(details))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _classify(said: Said, status: int | None) -> ErrorClass:
    words = said.words
    if _BILLING.search(words):
        return ErrorClass.BILLING
    if _QUOTA.search(words):
        return ErrorClass.QUOTA
    if status in (None, 400, 413, 422, 500) and _TOO_LONG.search(words):
        return ErrorClass.TOO_LONG
    if status in (None, 400, 422) and _FILTERED.search(words):
        return ErrorClass.CONTENT_FILTER
    if status in (None, 400) and _BAD_KEY.search(words):
        return ErrorClass.AUTH
    for name in (said.type, said.code):
        if name in _CLASS_OF_TYPE:
            return _CLASS_OF_TYPE[name]
    if status is None or status >= 500:
        return _CLASS_OF_STATUS.get(status or 500, ErrorClass.SERVER)
    return _CLASS_OF_STATUS.get(status, ErrorClass.INVALID_REQUEST)


def _action(error_class: ErrorClass, said: Said, status: int | None) -> str:
    match error_class:
        case ErrorClass.TOO_LONG if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return "Send less: take out large files or images, or compact the conversation."
        case ErrorClass.TOO_LONG if said.type == "exceed_context_size_error":
            return "Compact the conversation, or start the server with a larger context."
        case ErrorClass.SERVER | ErrorClass.OVERLOADED if said.is_html:
            return _AGAIN_URL
        case ErrorClass.NOT_FOUND | ErrorClass.INVALID_REQUEST if said.is_html:
            return "Check the base URL: this may be no model server."
        case ErrorClass.INVALID_REQUEST if said.code == "tool_name_conflict":
            return "Two tools have the same name: rename or turn off one of them."
        case ErrorClass.INVALID_REQUEST if _TOOLS_REFUSED.search(said.message):
            return (
                "Pick a model that takes tools here, or set the reasoning effort to none "
                "if the model allows it."
            )
        case ErrorClass.INVALID_REQUEST if _REPLAY_REFUSED.search(said.message):
            return "Start a new conversation, or go on with another model."
        case _:
            return ACTIONS[error_class]


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


def _retry_delay(details: object) -> float | None:
    """Google's RetryInfo: `{"@type": "…RetryInfo", "retryDelay": "34s"}` in a list of details."""
    for detail in details if isinstance(details, list) else ():
        found = re.fullmatch(r"(\d+(?:\.\d+)?)s", str(_mapping(detail).get("retryDelay", "")))
        if found:
            return float(found[1])
    return None


def _connection_words(error: BaseException, words: str) -> str:
    request = getattr(error, "_request", None)
    where = f" to {request.url.host}" if request is not None else ""
    for cause in _causes(error):
        if isinstance(cause, socket.gaierror):
            return f"No connection{where}: the name cannot be found"
        if isinstance(cause, ConnectionRefusedError):
            return f"No connection{where}: nobody listens there"
        if isinstance(cause, ssl.SSLError):
            return f"No secure connection{where}: {cause.reason or cause}"
    return f"No connection{where}: {words}"


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
