"""Asking a person, and the answer: the durable items of the inbox."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tui_agent.vocabulary.blocks import JsonObject


class Action(StrEnum):
    """What the gate says of one call. `PENDING` is `ASK` with nobody there."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"
    PENDING = "pending"


class Source(StrEnum):
    """Who or what made a decision."""

    PERSON = "person"
    RULE = "rule"
    GRANT = "grant"
    MODE = "mode"
    HOOK = "hook"
    DEFAULT = "default"
    POLICY = "policy"
    PROTECTED = "protected"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judgement on one call, kept with it. `rule` is the rule as written, when one decided.

    `stop` on a denial ends the turn; it is set only by a person's plain No.
    """

    action: Action
    source: Source
    reason: str
    rule: str | None = None
    stop: bool = False


class PendingKind(StrEnum):
    """What is being waited for."""

    APPROVAL = "approval"
    QUESTION = "question"


class Scope(StrEnum):
    """How far an approval reaches."""

    ONCE = "once"
    SESSION = "session"
    ALWAYS = "always"


class Choice(StrEnum):
    """A person's answer to a pending item."""

    APPROVE = "approve"
    DENY = "deny"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's (or a policy's) answer.

    `stop` of `None` means the default of a denial: a No without a comment stops the turn, a No with
    one goes back to the model. `answers` maps a question's text to a label, several labels, or free
    text.
    """

    choice: Choice
    comment: str | None = None
    stop: bool | None = None
    scope: Scope = Scope.ONCE
    edited_input: JsonObject | None = None
    answers: JsonObject | None = None
    rule: str | None = None
    source: Source = Source.PERSON

    @property
    def stops_turn(self) -> bool:
        """Whether this denial ends the turn."""
        if self.choice is not Choice.DENY or self.source is not Source.PERSON:
            return False
        return (not (self.comment or "").strip()) if self.stop is None else self.stop


@dataclass(frozen=True, slots=True)
class PendingItem:
    """One open approval or question. `input` is the exact input that will run; `digest` binds the
    answer to tool, input and folder. `rule` is what "always" would store."""

    pending_id: str
    session_id: str
    agent_path: tuple[str, ...]
    kind: PendingKind
    tool: str
    tool_use_id: str
    input: JsonObject
    preview: JsonObject
    reason: str
    digest: str
    rule: str | None
    folder: str
    created: float
    agent: str = "main"
    details: JsonObject = field(default_factory=dict)

    def is_below(self, session_id: str) -> bool:
        """Whether that session, or a subagent that works for it, waits for this."""
        return session_id in (self.session_id, *self.agent_path)


@dataclass(frozen=True, slots=True)
class Grant:
    """A person's standing permission. `session_id` of `None`: for every session of the folder. `id`
    is the store's number for it; `None` before it is stored."""

    session_id: str | None
    folder: str
    rule: str
    scope: Scope
    at: float
    id: int | None = None
