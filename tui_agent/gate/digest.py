"""What an approval is bound to: exactly this tool, this input, this folder."""

from __future__ import annotations

import hashlib
import json

from tui_agent.vocabulary.blocks import JsonObject
from tui_agent.vocabulary.codec import to_json


def call_digest(tool: str, tool_input: JsonObject, folder: str) -> str:
    """A SHA-256 over tool, full input and folder: what was shown is what runs."""
    canonical = json.dumps([tool, to_json(tool_input), folder], sort_keys=True)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
