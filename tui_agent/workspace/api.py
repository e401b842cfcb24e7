"""What a surface may do with the engine: the seam between the screen (or a script) and the rest.

A surface calls a `WorkspaceApi`, loads snapshots, and follows events; it touches nothing else. All
values that cross are frozen. Methods raise `UserError` (one line for a person) and nothing else
that a surface should handle.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tui_agent.vocabulary.rules import Rules

if TYPE_CHECKING:
    # What crosses is made by others: the command line needs the seam and not its nouns.
    from tui_agent.vocabulary.agents import Limits, ModelChoice
    from tui_agent.vocabulary.blocks import JsonObject
    from tui_agent.vocabulary.decisions import Decision, Grant, PendingItem
    from tui_agent.vocabulary.events import Event, QueuedMessage
    from tui_agent.vocabulary.inspection import InspectedRequest
    from tui_agent.vocabulary.messages import Message
    from tui_agent.vocabulary.records import (
        SearchHit,
        SessionRecord,
        SessionSnapshot,
        SessionSummary,
    )
    from tui_agent.vocabulary.states import Mode
    from tui_agent.vocabulary.usage import Usage


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """How a new session should be; `None` means what the settings say."""

    model: ModelChoice | None = None
    mode: Mode | None = None
    agent: str = "main"
    extra_folders: tuple[str, ...] = ()
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    limits: Limits | None = None
    rules: Rules = field(default_factory=Rules)


@dataclass(frozen=True, slots=True)
class DecideResult:
    """What a decision did. `applied` is false when the item was already resolved or is dead, and
    `message` then says so. `outstanding` are the open items of the same batch, its subagents'
    included; when it is empty the turn can go on, and `goes_on` tells that it does so in this
    process. `obstacle` says in words why it does not, when it could."""

    applied: bool
    message: str
    item: PendingItem | None = None
    outstanding: tuple[PendingItem, ...] = ()
    goes_on: bool = False
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """A model that can be picked. `problem` says why not, when it cannot."""

    choice: ModelChoice
    title: str
    window: int | None = None
    price: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of `doctor`: what was looked at, how it stands, what to type next."""

    name: str
    ok: bool | None
    text: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A session that a search found. `hits` are the best of its messages, its subagents' included;
    none when only its title or id fits."""

    session: SessionSummary
    hits: tuple[SearchHit, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionUsage:
    """Tokens of a session: its `own`, and those of the whole `tree` below it."""

    own: Usage
    tree: Usage


class Subscription(Protocol):
    """Events from a given number on, batched; a slow reader gets merged deltas, never fewer
    control events."""

    def __aiter__(self) -> AsyncIterator[tuple[Event, ...]]:
        """Batches of one or more events, in order."""
        ...

    def close(self) -> None:
        """End the iteration."""
        ...


class WorkspaceApi(Protocol):
    """The engine behind a folder."""

    @property
    def folder(self) -> str:
        """The workspace folder, an absolute real path."""
        ...

    def subscribe(self, *, after: int | None = None) -> Subscription:
        """Every event of every session from `after` (exclusive; `None`: from now) on."""
        ...

    async def create_session(self, options: SessionOptions | None = None) -> SessionRecord:
        """A new session; it is stored with its first message, not before."""
        ...

    async def fork_session(self, session_id: str) -> SessionRecord:
        """A new session with the history up to the last closed batch."""
        ...

    async def sessions(
        self, *, everywhere: bool = False, search: str = "", limit: int = 200
    ) -> tuple[SessionSummary, ...]:
        """Root sessions, newest first, with their live state; of this folder unless everywhere."""
        ...

    async def search(
        self, text: str, *, everywhere: bool = False, limit: int = 200
    ) -> tuple[Match, ...]:
        """As `sessions` with `search`, each with what fits in it."""
        ...

    async def titles(self, session_ids: Iterable[str]) -> dict[str, str]:
        """The titles of stored sessions by id, roots or not; unknown ids are left out."""
        ...

    async def usage(self, session_id: str) -> SessionUsage:
        """Tokens of a session and of what works for it."""
        ...

    async def latest_session(self) -> str | None:
        """The session of this folder that was used last."""
        ...

    async def snapshot(self, session_id: str, *, last: int = 200) -> SessionSnapshot:
        """A session as it is now. Opening one for the first time recovers it (a cut batch)."""
        ...

    async def commits_elsewhere(self, since: int | None = None) -> int:
        """A number that is another one after other processes have committed something. With the
        number `since` it is told once it is another one, or after a few seconds."""
        ...

    async def messages_before(
        self, session_id: str, seq: int, limit: int = 200
    ) -> tuple[Message, ...]:
        """Up to `limit` messages that come before message number `seq`, oldest first."""
        ...

    async def submit(self, session_id: str, text: str, *, after_turn: bool = False) -> None:
        """A prompt: starts a turn, or is queued while one runs. Raises `ConflictError` when items
        are undecided (answer or `discard_open` first)."""
        ...

    async def resume(self, session_id: str) -> None:
        """Go on with an open batch, a cut turn, or what is queued."""
        ...

    async def discard_open(self, session_id: str) -> None:
        """Close the open batch: every undecided or unstarted call becomes "not run"."""
        ...

    async def interrupt(self, session_id: str) -> None:
        """End the foreground turn of this session and its foreground children."""
        ...

    async def retry_now(self, session_id: str) -> None:
        """End the wait before a failed model call is tried again; nothing when none waits."""
        ...

    async def decide(self, pending_id: str, decision: Decision) -> DecideResult:
        """Answer an open item. The last answer of a batch lets the turn go on here and now."""
        ...

    async def pending(self, *, everywhere: bool = True) -> tuple[PendingItem, ...]:
        """Every open item, oldest first."""
        ...

    async def compact(self, session_id: str, focus: str = "") -> None:
        """Summarise older messages; in a turn, at the next batch boundary."""
        ...

    async def set_mode(self, session_id: str, mode: Mode) -> None:
        """Change the permission mode from the next call on. `auto` raises `UserError`."""
        ...

    async def set_model(self, session_id: str, model: ModelChoice) -> None:
        """Change the model from the next model call on."""
        ...

    async def rename(self, session_id: str, title: str) -> None:
        """Give the session a title; one bounded line is made of it."""
        ...

    async def delete(self, session_id: str) -> None:
        """Delete a root session, of whatever folder, its subagents and their rows. Raises
        `ConflictError` while it runs, here or elsewhere, and for a subagent's session."""
        ...

    async def edit_queue(
        self,
        session_id: str,
        messages: tuple[QueuedMessage, ...],
        *,
        dropped: tuple[str, ...] = (),
    ) -> tuple[QueuedMessage, ...]:
        """Put queued messages into this order, each with its `after_turn`, and drop those whose ids
        are `dropped`. Returns the ones that were still there to be dropped: the others have been
        delivered. What was queued meanwhile stands after the named ones."""
        ...

    async def sent_prompts(self, limit: int = 500) -> tuple[str, ...]:
        """What people sent in the sessions of this folder, oldest first, the newest `limit`."""
        ...

    async def save_draft(self, session_id: str, text: str) -> None:
        """Keep what is typed but not sent."""
        ...

    async def save_view(self, session_id: str, view: JsonObject) -> None:
        """Keep where the person was: scroll place, open tiles, folds."""
        ...

    async def list_grants(self, *, everywhere: bool = False) -> tuple[Grant, ...]:
        """What a person allowed from then on, oldest first; of this folder unless everywhere."""
        ...

    async def remove_grant(self, grant_id: int) -> Grant:
        """Take a standing permission back; the next call is judged without it. Returns what it
        was. Raises `NotFoundError`."""
        ...

    async def requests(self, session_id: str, prompt: str = "") -> tuple[InspectedRequest, ...]:
        """The request that `prompt` would cause now, then those that this process sent last, the
        newest first. Nothing is sent. Raises `UserError` when the provider cannot be used."""
        ...

    async def models(self) -> tuple[OfferedModel, ...]:
        """What can be picked now: configured providers, local servers, the demo."""
        ...

    async def doctor(self) -> tuple[Check, ...]:
        """Keys, reachability, folders, database."""
        ...

    async def close(self) -> None:
        """Pause what runs (asks stay open), end children, close the database."""
        ...
