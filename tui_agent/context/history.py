"""What a session's requests are made from: messages since the last boundary, and what is cleared.

Loaded anew for every request and never kept; the same rows always give the same request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tui_agent.context.clearing import choose_clearing, edited_spans, with_markers
from tui_agent.context.projection import Projection, project
from tui_agent.store import Store
from tui_agent.vocabulary.blocks import ToolResultBlock
from tui_agent.vocabulary.messages import Message
from tui_agent.vocabulary.records import Boundary, Clearing


@dataclass(frozen=True, slots=True)
class History:
    """Stored messages, a summary first where there is one, with what stands in for some of them."""

    boundary: Boundary | None
    stored: tuple[Message, ...]
    clearings: tuple[Clearing, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages as requests show them: cleared results as markers."""
        return with_markers(self.stored, self.clearings)

    @property
    def boundary_seq(self) -> int:
        """The number of the summary that the history begins with, or 0."""
        return self.stored[0].seq if self.boundary is not None and self.stored else 0

    @property
    def counted_after(self) -> int:
        """A provider's count of an answer up to this number was made with a longer history."""
        return max([self.boundary_seq, *(each.newest_seq for each in self.clearings)])

    @property
    def cleared(self) -> int:
        """How many of the results stand as markers."""
        ids = {call_id for each in self.clearings for call_id in each.tool_use_ids}
        return sum(
            isinstance(block, ToolResultBlock) and block.tool_use_id in ids
            for message in self.stored
            for block in message.blocks
        )

    def due(self) -> Clearing | None:
        """What has to be cleared before the next request."""
        return choose_clearing(self.messages)

    def plus(self, clearing: Clearing | None) -> History:
        """The history with this cleared too."""
        if clearing is None:
            return self
        return replace(self, clearings=(*self.clearings, clearing))

    def followed_by(self, messages: Sequence[Message]) -> History:
        """The history with messages behind it that are not stored."""
        return replace(self, stored=(*self.stored, *messages))

    def projected(self) -> Projection:
        """The messages of the request."""
        return project(
            self.messages,
            boundary_seq=self.boundary_seq,
            edited=edited_spans(self.clearings),
        )


async def load_history(store: Store, session_id: str) -> History:
    """The history of a session as it is stored now."""
    boundary, messages = await store.history(session_id)
    return History(boundary, messages, await store.clearings(session_id))
