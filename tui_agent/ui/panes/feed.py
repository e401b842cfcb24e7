"""What a transcript is fed with: the items of one session, and what changed of them since.

Streamed text is made safe chunk by chunk, so that an escape sequence cut in two is no way through.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from tui_agent.text import StreamSanitizer
from tui_agent.ui.panes.cards import transcript_item
from tui_agent.ui.projection.items import (
    Added,
    Change,
    Changed,
    ConversationItem,
    Gone,
    Grew,
    Reset,
    StreamItem,
)
from tui_agent.ui.projection.session import SessionView
from tui_agent.ui.transcript.blocks import Item, StreamingText
from tui_agent.ui.transcript.view import TranscriptView


@dataclass(slots=True)
class _Stream:
    """Text that is being written: what was made safe of it so far."""

    sanitizer: StreamSanitizer
    is_thinking: bool
    shown: str = ""


class Feed:
    """Puts the conversation of `session` into `transcript`, all of it at once."""

    def __init__(self, session: SessionView, transcript: TranscriptView) -> None:
        self._session = session
        self._transcript = transcript
        self._streams: dict[str, _Stream] = {}
        self._take_all()

    def take(self) -> bool:
        """Take the changes since the last time; `False` when all items were taken anew."""
        changes = self._session.conversation.take_changes()
        if any(isinstance(change, Reset) for change in changes):
            self._take_all()
            return False
        for change in changes:
            self._take(change)
        return True

    def prepend(self, items: tuple[ConversationItem, ...]) -> None:
        """Older items."""
        self._transcript.prepend([self._item(item) for item in items])

    def _take_all(self) -> None:
        self._streams.clear()
        self._session.conversation.take_changes()
        items = self._session.conversation.items
        self._transcript.set_items([self._item(item) for item in items])

    def _take(self, change: Change) -> None:
        match change:
            case Added():
                self._transcript.append(self._item(change.item))
            case Changed():
                self._streams.pop(change.key, None)
                self._transcript.replace(change.key, self._item(change.item))
            case Grew():
                self._grow(change.key, change.text)
            case Gone():
                self._streams.pop(change.key, None)
                self._transcript.remove_item(change.key)
            case Reset():
                pass  # `take` has taken everything anew
            case _:
                assert_never(change)

    def _item(self, item: ConversationItem) -> Item:
        if not isinstance(item, StreamItem):
            return transcript_item(item)
        stream = _Stream(StreamSanitizer(), item.is_thinking)
        stream.shown = stream.sanitizer.feed(item.text)
        self._streams[item.key] = stream
        return StreamingText(item.key, stream.shown, is_thinking=item.is_thinking)

    def _grow(self, key: str, text: str) -> None:
        stream = self._streams.get(key)
        if stream is None:
            return
        added = stream.sanitizer.feed(text)
        taken_back = stream.sanitizer.retracted
        if taken_back:
            stream.shown = stream.shown[:-taken_back] + added
            self._transcript.replace(
                key, StreamingText(key, stream.shown, is_thinking=stream.is_thinking)
            )
        elif added:
            stream.shown += added
            self._transcript.stream_append(key, added)
