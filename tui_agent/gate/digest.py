"""What an approval is bound to: exactly this tool, this input, this folder, these real paths."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from tui_agent.vocabulary.blocks import JsonObject
from tui_agent.vocabulary.codec import to_json


def call_digest(tool: str, tool_input: JsonObject, folder: str, paths: Iterable[Path] = ()) -> str:
    """A SHA-256 over tool, full input, folder and the real paths that the call touches: what was
    shown is what runs, also when a link was turned meanwhile."""
    touched = sorted(map(os.fspath, paths))
    canonical = json.dumps([tool, to_json(tool_input), folder, touched], sort_keys=True)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
