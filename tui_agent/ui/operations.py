"""What a person can have done: calls on the workspace, and what follows from their answers.

Between the keys and the bridge. Changes the state that the panes draw, tells in one line what went
wrong, opens no screen and draws nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from tui_agent.ui.bridge import Bridge
from tui_agent.ui.projection.items import ConversationItem
from tui_agent.ui.projection.session import SessionView
from tui_agent.ui.state import WorkspaceState
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.blocks import JsonObject
from tui_agent.vocabulary.decisions import Decision, Grant, PendingItem
from tui_agent.vocabulary.errors import UserError
from tui_agent.vocabulary.events import QueuedMessage
from tui_agent.vocabulary.inspection import InspectedRequest
from tui_agent.vocabulary.records import SessionSnapshot
from tui_agent.vocabulary.states import Mode
from tui_agent.workspace.api import Check, OfferedModel, SessionOptions

Say = Callable[[str, bool], None]
"""Tells the person one line; the flag says that it is a failure."""

SNAPSHOT_TRIES = 3
OLDER_MESSAGES = 200

MODES = (Mode.ASK, Mode.ACCEPT_EDITS, Mode.PLAN)
"""The modes that a key cycles through; what runs unasked is never one key away."""


class Operations:
    """Calls on the workspace for one application."""

    def __init__(self, state: WorkspaceState, say: Say, options: SessionOptions | None) -> None:
        self._state = state
        self._say = say
        self._options = options
        self._bridge: Bridge | None = None
        self._reloading = asyncio.Lock()

    @property
    def is_ready(self) -> bool:
        """Whether the workspace is open."""
        return self._bridge is not None

    @property
    def bridge(self) -> Bridge:
        """The workspace. Raises `UserError` while it is still being opened."""
        if self._bridge is None:
            raise UserError("Still starting; try again in a moment.")
        return self._bridge

    def connect(self, bridge: Bridge) -> None:
        """The workspace is open."""
        self._bridge = bridge
        self._state.folder = bridge.folder

    async def refresh_lists(self) -> None:
        """Sessions and inbox as the store has them."""
        self._state.sessions.load(await self.bridge.sessions())
        self._state.inbox.load(await self.bridge.pending(everywhere=False))

    async def learn_of_sessions(self) -> None:
        """A session is alive that is not in the list."""
        self._state.sessions.load(await self.bridge.sessions())

    async def new_session(self) -> SessionView:
        """A new session, opened."""
        record = await self.bridge.create_session(self._options)
        self._state.sessions.add(record)
        return await self.open(record.id)

    async def fork(self, session_id: str) -> SessionView:
        """A fork, opened."""
        record = await self.bridge.fork_session(session_id)
        self._state.sessions.add(record)
        return await self.open(record.id)

    async def open(self, session_id: str) -> SessionView:
        """The session, loaded if it was not and live from then on."""
        known = self._state.view(session_id)
        if known is not None:
            return known
        self._state.expect(session_id)
        try:
            for _ in range(SNAPSHOT_TRIES):
                view = self._state.open(await self.bridge.snapshot(session_id))
                if view is not None:
                    return view
        except BaseException:
            self._state.forget(session_id)
            raise
        self._state.forget(session_id)
        raise UserError("The session changes too fast to be opened; try again.")

    async def reload(self, session_id: str, *, is_broken: bool = False) -> SessionView | None:
        """The session from a new snapshot, when that says something new or what is here is broken.
        Events that come meanwhile are kept for it."""
        async with self._reloading:
            known = self._state.view(session_id)
            self._state.expect(session_id)
            try:
                for _ in range(SNAPSHOT_TRIES):
                    snapshot = await self.bridge.snapshot(session_id)
                    is_same = known is not None and is_like(snapshot, known.snapshot)
                    if is_same and not is_broken and not self._state.has_news(session_id):
                        break
                    if (view := self._state.open(snapshot)) is not None:
                        return view
            finally:
                self._state.keep(session_id)
        return None

    async def commits_elsewhere(self, since: int | None) -> int:
        """A number that changes when another process commits something; waits for another one
        than `since`, but not for long."""
        return await self.bridge.commits_elsewhere(since)

    async def older(self, view: SessionView) -> tuple[ConversationItem, ...]:
        """Messages before those that are shown."""
        messages = await self.bridge.messages_before(
            view.id, view.conversation.first_seq, OLDER_MESSAGES
        )
        return view.conversation.prepend(messages)

    async def submit(self, session_id: str, text: str, *, after_turn: bool) -> None:
        """Send a prompt, or queue it."""
        await self.bridge.submit(session_id, text, after_turn=after_turn)

    async def resume(self, session_id: str) -> None:
        """Go on with what is open, cut or queued."""
        await self.bridge.resume(session_id)

    async def discard_open(self, session_id: str) -> None:
        """Close the open batch."""
        await self.bridge.discard_open(session_id)

    async def interrupt(self, session_id: str) -> None:
        """End the foreground turn."""
        await self.bridge.interrupt(session_id)

    async def retry_now(self, session_id: str) -> None:
        """End the wait before a failed model call is tried again."""
        await self.bridge.retry_now(session_id)

    async def decide(self, item: PendingItem, decision: Decision) -> str:
        """Answer an item; why it could not be answered, or nothing."""
        try:
            result = await self.bridge.decide(item.pending_id, decision)
        except UserError as error:
            return str(error)
        self._state.inbox.drop(item.pending_id)
        if not result.applied:
            self._say(result.message, False)
        return ""

    async def compact(self, session_id: str, focus: str) -> None:
        """Summarise older messages."""
        await self.bridge.compact(session_id, focus)

    async def set_mode(self, view: SessionView, mode: Mode) -> None:
        """Change the permission mode."""
        await self.bridge.set_mode(view.id, mode)
        view.set_mode(mode)

    async def set_model(self, view: SessionView, model: ModelChoice) -> None:
        """Change the model."""
        await self.bridge.set_model(view.id, model)
        view.set_model(model)

    async def rename(self, view: SessionView, title: str) -> None:
        """Give the session a title."""
        await self.bridge.rename(view.id, title)
        view.set_title(title)
        self._state.sessions.rename(view.id, title)

    async def delete(self, session_id: str) -> None:
        """Delete a session."""
        await self.bridge.delete(session_id)
        self._state.sessions.drop(session_id)
        self._state.forget(session_id)

    async def edit_queue(
        self,
        session_id: str,
        messages: tuple[QueuedMessage, ...],
        *,
        dropped: tuple[str, ...] = (),
    ) -> tuple[QueuedMessage, ...]:
        """Order what is queued and drop some of it; those that could still be dropped."""
        return await self.bridge.edit_queue(session_id, messages, dropped=dropped)

    async def sent_prompts(self) -> tuple[str, ...]:
        """What was sent in this folder, oldest first."""
        return await self.bridge.sent_prompts()

    async def save_draft(self, view: SessionView, text: str) -> None:
        """Keep what is typed but not sent."""
        if text != view.draft:
            await self.bridge.save_draft(view.id, text)
            view.draft = text  # only now: one that could not be saved is tried again

    async def save_view(self, view: SessionView, values: JsonObject) -> None:
        """Keep where the person was."""
        if values != view.view:
            await self.bridge.save_view(view.id, values)
            view.view = values

    async def grants(self) -> tuple[Grant, ...]:
        """What was allowed for a session of this folder, or for all of them."""
        return await self.bridge.list_grants()

    async def take_back(self, grant_id: int) -> None:
        """Ask again where a standing permission was given."""
        await self.bridge.remove_grant(grant_id)

    async def requests(self, session_id: str, prompt: str) -> tuple[InspectedRequest, ...]:
        """The request that `prompt` would cause, then those that were sent last."""
        return await self.bridge.requests(session_id, prompt)

    async def models(self) -> tuple[OfferedModel, ...]:
        """What can be picked."""
        return await self.bridge.models()

    async def doctor(self) -> tuple[Check, ...]:
        """Keys, servers, folders, database."""
        return await self.bridge.doctor()


def is_like(snapshot: SessionSnapshot, other: SessionSnapshot) -> bool:
    """Whether both say the same, if not for the same event number."""
    return replace(snapshot, seq=other.seq) == other
