"""One workspace and the tools in it, called the way the loop calls them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui_agent.processes.environment import child_environment
from tui_agent.tools.base import Effects, ToolContext
from tui_agent.tools.errors import FileError
from tui_agent.tools.ledger import ReadLedger
from tui_agent.tools.registry import ToolRegistry, default_tools
from tui_agent.vocabulary.blocks import JsonObject, ToolResult, text_of


@dataclass
class Workshop:
    """A workspace folder, the tools, and what a call is given."""

    folder: Path
    databases: tuple[Path, ...] = ()
    ledger: ReadLedger = field(default_factory=ReadLedger)
    environment: Mapping[str, str] = field(default_factory=lambda: child_environment(os.environ))

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder = self.folder.resolve()
        self.registry = ToolRegistry(default_tools(self.databases))

    def context(self, **changes: Any) -> ToolContext:
        given: dict[str, Any] = {
            "session_id": "ses_1",
            "tool_use_id": "call_1",
            "folder": self.folder,
            "spill_folder": self.folder.parent / "spill",
            "ledger": self.ledger,
            "environment": self.environment,
        }
        return ToolContext(**{**given, **changes})

    async def run(
        self, name: str, arguments: JsonObject, *, context: ToolContext | None = None
    ) -> ToolResult:
        args = self.registry.validate(name, arguments)
        return await self.registry.get(name).run(args, context or self.context())

    async def text(self, name: str, **arguments: Any) -> str:
        return text_of((await self.run(name, arguments)).content)

    async def failure(self, name: str, **arguments: Any) -> FileError:
        try:
            result = await self.run(name, arguments)
        except FileError as error:
            return error
        raise AssertionError(f"{name} did not fail: {result}")

    def effects(self, name: str, **arguments: Any) -> Effects:
        args = self.registry.validate(name, arguments)
        return self.registry.get(name).effects(args, self.context())

    def preview(self, name: str, **arguments: Any) -> JsonObject:
        args = self.registry.validate(name, arguments)
        return self.registry.get(name).preview(args, self.context())

    def put(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path
