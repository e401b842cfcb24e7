"""Answers that are no stream: HTTP errors and model listings, in the shape of each wire, and JSON
as the server sends it.
"""

from __future__ import annotations

import json
from typing import Any

from tests.scripted.request import Wire
from tests.scripted.script import Fail

JsonObject = dict[str, Any]

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def error_body(fail: Fail, wire: Wire) -> bytes:
    """The body of an HTTP error, in the wire's usual shape when the script gives none."""
    if isinstance(fail.body, str):
        return fail.body.encode("utf-8")
    if fail.body is not None:
        return encode_json(fail.body)
    kind = _ERROR_TYPES.get(fail.status, "api_error")
    return encode_json(refusal_shape(wire, kind, f"scripted error {fail.status}"))


def refusal_shape(wire: Wire, kind: str, message: str) -> JsonObject:
    if wire == "anthropic":
        return {
            "type": "error",
            "error": {"type": kind, "message": message},
            "request_id": "req_scripted",
        }
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def model_listing(wire: Wire, models: list[str], window: int, max_output: int) -> JsonObject:
    """The answer to a request for all models."""
    cards = [model_card(wire, model, window, max_output) for model in models]
    if wire == "chat":
        return {"object": "list", "data": cards}
    return {"data": cards, "has_more": False, "first_id": models[0], "last_id": models[-1]}


def model_card(wire: Wire, model: str, window: int, max_output: int) -> JsonObject:
    """What the wire tells about one model; Chat Completions has no place for its limits."""
    if wire == "chat":
        return {"id": model, "object": "model", "created": 1790000000, "owned_by": "scripted"}
    return {
        "type": "model",
        "id": model,
        "display_name": model,
        "created_at": "2026-09-01T00:00:00Z",
        "max_input_tokens": window,
        "max_tokens": max_output,
    }


def estimate_tokens(value: object) -> int:
    """A quarter of the characters, as every rule of thumb has it; never zero."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return len(text) // 4 + 1


def encode_json(value: object) -> bytes:
    # Characters outside ASCII go out as UTF-8, so that a split body cuts them in two; a lone
    # surrogate cannot and is escaped.
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")
