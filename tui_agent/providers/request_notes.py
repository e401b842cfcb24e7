"""What a request leaves out or puts in other words, told to people.

The builders of a body write down each time they drop something that another maker made, or send
something otherwise than it is stored; out come a few lines, each with how many messages it is true
of. Nothing here decides anything.
"""

from __future__ import annotations

from collections import Counter

from tui_agent.providers.base import ModelRequest, RequestMessage
from tui_agent.vocabulary.agents import ModelFacts
from tui_agent.vocabulary.blocks import ThinkingBlock

_ANOTHERS = "it goes back only to the model that made it"
_NOBODYS = "its maker is not known, or did not take it back"
_CHANGED = "the conversation before it has changed since"


class RequestNotes:
    """The notes of one request, in the order in which their causes were met."""

    def __init__(self) -> None:
        self._places: Counter[tuple[str, str]] = Counter()

    def left_out(self, what: str, why: str) -> None:
        """`what` was left out of one more message."""
        self._places[f"{what} left out", why] += 1

    def changed(self, what: str, why: str) -> None:
        """`what` was done to one more message."""
        self._places[what, why] += 1

    def about_request(self, line: str) -> None:
        """Something that is true of the request as a whole."""
        self._places[line, ""] += 1

    def of_foreign(self, message: RequestMessage) -> None:
        """A message of another maker, or one that was made under another beginning, goes without
        what only its maker understands."""
        parts = _private_parts(message)
        if not parts:
            return
        if message.provider is None:
            self.left_out(parts, _NOBODYS)
        elif message.prefix_changed:
            self.left_out(parts, _CHANGED)
        else:
            self.left_out(f"{parts} by {message.provider} {message.model}", _ANOTHERS)

    def lines(self) -> tuple[str, ...]:
        """One line a cause."""
        return tuple(
            f"{what} ({count} {'message' if count == 1 else 'messages'}): {why}" if why else what
            for (what, why), count in self._places.items()
        )


def is_makers_own(message: RequestMessage, provider: str, request: ModelRequest) -> bool:
    """Whether `provider` and the asked model made `message`: only they take back what they put
    beside its text."""
    return message.provider == provider and message.model == request.model


def effort_to_ask(facts: ModelFacts) -> tuple[str | None, str]:
    """The level of thinking to ask for, and what to tell about one that cannot be asked for."""
    if facts.effort is None or facts.efforts is None or facts.effort in facts.efforts:
        return facts.effort, ""
    known = ", ".join(facts.efforts) or "no level"
    return None, f"thinking effort {facts.effort} not asked for: this model knows {known}"


def _private_parts(message: RequestMessage) -> str:
    has_thinking = any(isinstance(block, ThinkingBlock) for block in message.blocks)
    has_signatures = any(
        getattr(block, "provider_data", None) is not None
        for block in message.blocks
        if not isinstance(block, ThinkingBlock)
    )
    names = ("reasoning" if has_thinking else "", "signatures" if has_signatures else "")
    return " and ".join(filter(None, names))
