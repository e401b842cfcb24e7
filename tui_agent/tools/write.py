"""Write: a whole file, new or in place of the old one."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from tui_agent.tools.base import Effects, ToolContext
from tui_agent.tools.changes import Change, Plan, change_result, make_change, preview_change
from tui_agent.tools.diffs import unified
from tui_agent.tools.errors import FileError
from tui_agent.tools.open_files import FileContent, Files
from tui_agent.tools.paths import resolve_for_effects
from tui_agent.tools.results import to_the_end
from tui_agent.tools.text_files import TextFile, check_text, decode, encode
from tui_agent.vocabulary.blocks import JsonObject, ToolResult


class WriteInput(BaseModel):
    """Input of Write."""

    model_config = ConfigDict(extra="forbid")

    file_path: str = Field(description="Path of the file: absolute, or from the workspace folder")
    content: str = Field(description="The whole new content")


class Write:
    """Creates a file or replaces its content, in the old one's encoding and line ends."""

    name: ClassVar[str] = "Write"
    description: ClassVar[str] = (
        "Write a whole file; missing folders are made. A file that exists must have been read"
        " before and is replaced. To change a part of a file, use Edit."
    )
    input_model: ClassVar[type[WriteInput]] = WriteInput
    is_read_only: ClassVar[bool] = False

    def __init__(self, files: Files | None = None) -> None:
        self._files = files or Files()

    def effects(self, args: WriteInput, context: ToolContext) -> Effects:
        """Writes the file."""
        return Effects(writes=frozenset({resolve_for_effects(context.folder, args.file_path)}))

    def subject(self, args: WriteInput) -> str:
        """The path as the model wrote it."""
        return args.file_path

    def preview(self, args: WriteInput, context: ToolContext) -> JsonObject:
        """The difference that it makes."""
        return preview_change(self._files, context, args.file_path, _plan(args))

    async def run(self, args: WriteInput, context: ToolContext) -> ToolResult:
        """Write it, in a thread."""
        return await to_the_end(
            lambda: make_change(self._files, context, args.file_path, _plan(args)),
            lambda change: change_result(change, context),
        )


def _plan(args: WriteInput) -> Plan:
    def plan(path: Path, old: FileContent | None) -> Change:
        check_text(args.content)
        if old is None:
            data = args.content.encode("utf-8")
            return Change(path, None, data, unified("", args.content))
        try:
            before = decode(old.data)
        except FileError:
            # binary until now: there is no encoding to keep
            before = TextFile("", "utf-8")
        text = _with_line_ends_of(before.text, args.content)
        return Change(path, old, encode(before, text), unified(before.text, text))

    return plan


def _with_line_ends_of(before: str, text: str) -> str:
    """`text` with CRLF if that is what every line of `before` ends with."""
    ends = before.count("\n")
    if ends and before.count("\r\n") == ends and "\r\n" not in text:
        return text.replace("\n", "\r\n")
    return text
