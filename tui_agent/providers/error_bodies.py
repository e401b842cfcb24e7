"""What a provider's error means: the words of its body, the class of the failure, what to do.

Comes in: the body of an error answer in any of the shapes that makers and gateways use, and the
status if there was one. Goes out: plain values. Pure data and functions; the facts about wordings
and codes live here and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from tui_agent.vocabulary.errors import ErrorClass, ProviderError

_COMPACT = "Compact the conversation, or start a new one."
_AGAIN = "Wait: it is tried again by itself. If it lasts, pick another model."
_AGAIN_URL = "Wait: it is tried again by itself. If it lasts, check the base URL or the proxy."
CHECK_NETWORK = "Check the network, the base URL and the proxy settings."

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
    ErrorClass.CONNECTION: CHECK_NETWORK,
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
# How local servers and routers say that a model, or the way it was started, takes no tools.
_NO_TOOL_PARSER = re.compile(r"--enable-auto-tool-choice|--tool-call-parser", re.IGNORECASE)
_NO_TEMPLATE = re.compile(r"requires --jinja", re.IGNORECASE)
_NO_TOOLS = re.compile(
    r"does not support (tools|tool use|function calling)|endpoints found that support tool use",
    re.IGNORECASE,
)
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


def classify(said: Said, status: int | None) -> ErrorClass:
    """The class of a failure. `status` is `None` for an error inside a stream."""
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
    if any(pattern.search(words) for pattern in (_NO_TOOL_PARSER, _NO_TEMPLATE, _NO_TOOLS)):
        return ErrorClass.INVALID_REQUEST
    for name in (said.type, said.code):
        if name in _CLASS_OF_TYPE:
            return _CLASS_OF_TYPE[name]
    if status is None or status >= 500:
        return _CLASS_OF_STATUS.get(status or 500, ErrorClass.SERVER)
    return _CLASS_OF_STATUS.get(status, ErrorClass.INVALID_REQUEST)


def action_for(error_class: ErrorClass, said: Said, status: int | None) -> str:
    """What the person should do about it."""
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
        case ErrorClass.INVALID_REQUEST if _NO_TOOL_PARSER.search(said.message):
            return "Start the server with --enable-auto-tool-choice and --tool-call-parser."
        case ErrorClass.INVALID_REQUEST if _NO_TEMPLATE.search(said.message):
            return "Start the server with --jinja, so that the model can be given tools."
        case ErrorClass.INVALID_REQUEST if _NO_TOOLS.search(said.message):
            return "This model takes no tools here, and the agent needs them: pick another model."
        case ErrorClass.INVALID_REQUEST if _REPLAY_REFUSED.search(said.message):
            return "Start a new conversation, or go on with another model."
        case _:
            return ACTIONS[error_class]


def _retry_delay(details: object) -> float | None:
    """Google's RetryInfo: `{"@type": "…RetryInfo", "retryDelay": "34s"}` in a list of details."""
    for detail in details if isinstance(details, list) else ():
        found = re.fullmatch(r"(\d+(?:\.\d+)?)s", str(_mapping(detail).get("retryDelay", "")))
        if found:
            return float(found[1])
    return None
