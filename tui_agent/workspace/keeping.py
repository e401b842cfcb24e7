"""Making sessions, and what is kept of each: title, mode, model, draft, view."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tui_agent.gate.judge import check_mode
from tui_agent.rules.syntax import parse_rules
from tui_agent.text import prose, truncate
from tui_agent.vocabulary.agents import Limits, ModelChoice
from tui_agent.vocabulary.blocks import JsonObject
from tui_agent.vocabulary.errors import (
    NotFoundError,
    UsageError,
)
from tui_agent.vocabulary.events import ModeChanged
from tui_agent.vocabulary.ids import new_id
from tui_agent.vocabulary.records import SessionRecord
from tui_agent.vocabulary.states import Mode
from tui_agent.workspace.agents import find_agent
from tui_agent.workspace.api import (
    SessionOptions,
)
from tui_agent.workspace.config import (
    HEADLESS_MAX_TURNS,
    WORKSPACE_MAX_TURNS,
)
from tui_agent.workspace.resting import agent_path
from tui_agent.workspace.shared import Shared

LONGEST_TITLE = 200


class Keeping(Shared):
    """Changes the row of a session, or the record of one that is not stored yet."""

    async def create_session(self, options: SessionOptions | None = None) -> SessionRecord:
        """A new session, in memory until its first message."""
        options = options or SessionOptions()
        mode = options.mode or Mode.ASK
        check_mode(mode)
        agent = find_agent(options.agent)
        if agent is None:
            raise NotFoundError(f"there is no agent {options.agent!r}")
        parse_rules(allow=options.rules.allow, ask=options.rules.ask, deny=options.rules.deny)
        now = self.clock.wall()
        session_id = new_id("ses")
        record = SessionRecord(
            id=session_id,
            root_id=session_id,
            folder=self.folder,
            model=options.model or self._broker.default_choice(),
            created=now,
            updated=now,
            agent=agent.name,
            mode=mode,
            extra_folders=options.extra_folders,
            system_prompt=options.system_prompt,
            append_system_prompt=options.append_system_prompt,
            limits=options.limits or self._default_limits(),
            rules=options.rules,
        )
        self._unsaved[record.id] = record
        return record

    async def fork_session(self, session_id: str) -> SessionRecord:
        """A copy of the history up to the last closed batch."""
        original = await self.store.session(session_id)
        now = self.clock.wall()
        forked = new_id("ses")
        record = replace(
            original,
            id=forked,
            root_id=forked,
            parent_id=None,
            parent_tool_use_id=None,
            forked_from=session_id,
            title=f"{original.title} (fork)" if original.title else "",
            created=now,
            updated=now,
        )
        return await self.store.fork(session_id, record)

    async def rename(self, session_id: str, title: str) -> None:
        """Give the session a title; one bounded line is made of it."""
        line = truncate(" ".join(prose(title).split()), LONGEST_TITLE)
        if not line:
            raise UsageError("the title is empty: say how the session is to be called")
        await self._change(session_id, title=line)

    async def set_mode(self, session_id: str, mode: Mode) -> None:
        """Change the permission mode, of a session's subagents too: they have no wider rights."""
        check_mode(mode)
        record = await self._change(session_id, mode=mode)
        if record is None:
            alone = (session_id,)
            self.publish(ModeChanged(mode=mode, session_id=session_id, agent_path=alone))
            return
        for session in await self.store.tree(record.root_id):
            path = await agent_path(self.store, session)
            if session_id in path:
                await self.store.update_session(session.id, mode=mode)
                self.publish(ModeChanged(mode=mode, session_id=session.id, agent_path=path))

    async def set_model(self, session_id: str, model: ModelChoice) -> None:
        """Change the model. Raises `UserError` when it cannot be used."""
        self._broker.client(model)
        await self._change(session_id, model=model)

    async def save_draft(self, session_id: str, text: str) -> None:
        """Keep what is typed but not sent."""
        await self.store.save_draft(session_id, text)

    async def save_view(self, session_id: str, view: JsonObject) -> None:
        """Keep where the person was."""
        await self.store.save_view(session_id, view)

    async def _change(self, session_id: str, **changes: Any) -> SessionRecord | None:
        """Change a session's row, or the record of one that is not stored yet (then `None`)."""
        async with self._saving:  # a change must not miss the row that is being made of the record
            unsaved = self._unsaved.get(session_id)
            if unsaved is not None:
                self._unsaved[session_id] = replace(unsaved, **changes)
                return None
        return await self.store.update_session(session_id, **changes)

    def _default_limits(self) -> Limits:
        limits = self._config.loaded.settings.limits
        usual = WORKSPACE_MAX_TURNS if self._config.attended else HEADLESS_MAX_TURNS
        return Limits(
            max_turns=usual if limits.max_turns is None else limits.max_turns,
            max_session_tokens=limits.max_session_tokens,
            repeat_limit=limits.repeat_limit,
        )
