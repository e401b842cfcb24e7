"""The conversation of one session as a list of items, kept up to date by events.

`load` takes a snapshot, `apply` one event; both use the same folds for messages. What changed is
kept until `take_changes`. Text that streams is an item of its own until the message that it becomes
is stored; a retry withdraws it.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import assert_never

from tui_agent.ui.projection.calls import CallBook
from tui_agent.ui.projection.endings import end_notice
from tui_agent.ui.projection.items import (
    Added,
    AnswerItem,
    CallItem,
    Change,
    Changed,
    ConversationItem,
    Gone,
    Grew,
    NoticeItem,
    NoticeKind,
    Reset,
    StreamItem,
    ThinkingItem,
    UserItem,
)
from tui_agent.ui.projection.words import plural, tokens
from tui_agent.vocabulary.blocks import (
    Block,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    text_of,
)
from tui_agent.vocabulary.events import (
    ContextCleared,
    DoneEvent,
    ErrorEvent,
    Event,
    LoopAborted,
    LoopBudgetExceeded,
    LoopDenied,
    LoopDetected,
    LoopDone,
    LoopError,
    LoopHookStopped,
    LoopMaxTurns,
    LoopPendingApproval,
    LoopPendingQuestion,
    MessageStored,
    PromptCompaction,
    ProviderRetry,
    TextDelta,
    ThinkingDelta,
)
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.records import Boundary, SessionSnapshot, TurnRecord
from tui_agent.vocabulary.states import DoneReason


class Conversation:
    """Items of one session, oldest first. `calls` is shared with the activity of the session."""

    def __init__(self, calls: CallBook) -> None:
        self._calls = calls
        self._items: dict[str, ConversationItem] = {}
        self._streams: dict[str, list[str]] = {}
        self._drafted: list[str] = []
        """Calls whose arguments still stream: they belong to no message yet."""
        self._changes: list[Change] = []
        self._boundaries: dict[str, Boundary] = {}
        self._last_summary: str | None = None
        self.first_seq = 0
        """The lowest message number that is shown; 0 without messages."""
        self.lowest_seq = 0
        """The lowest message number that exists."""

    @property
    def items(self) -> tuple[ConversationItem, ...]:
        """Everything there is to show, streams with all of their text so far."""
        for key, parts in self._streams.items():
            known = self._items.get(key)
            if isinstance(known, StreamItem):
                self._items[key] = StreamItem(key, "".join(parts), known.is_thinking)
        return tuple(self._items.values())

    @property
    def has_older(self) -> bool:
        """Whether the store holds messages before the first one shown."""
        return self.first_seq > self.lowest_seq > 0

    def take_changes(self) -> tuple[Change, ...]:
        """What changed since the last call, in order."""
        changes = tuple(self._changes)
        self._changes.clear()
        return changes

    def load(self, snapshot: SessionSnapshot) -> None:
        """Start anew from a snapshot."""
        self._items.clear()
        self._streams.clear()
        self._drafted.clear()
        self._boundaries = {each.summary_message_id: each for each in snapshot.boundaries}
        self.lowest_seq = snapshot.first_seq
        self.first_seq = snapshot.messages[0].seq if snapshot.messages else 0
        self._fold_history(snapshot.messages, snapshot.turns)
        if snapshot.partial is not None:
            call = snapshot.partial.model_call_id
            self._stream(call, snapshot.partial.thinking, is_thinking=True)
            self._stream(call, snapshot.partial.text, is_thinking=False)
        self._changes = [Reset()]

    def prepend(self, messages: tuple[Message, ...]) -> tuple[ConversationItem, ...]:
        """Older messages of the store, before everything shown; the new items. No change tells
        of them."""
        if not messages:
            self.lowest_seq = self.first_seq
            return ()
        later = dict(self._items)
        pending = list(self._changes)
        self._items.clear()
        self._fold_history(messages, ())
        older = self.items
        self._items.update(later)
        self._changes = pending
        self.first_seq = messages[0].seq
        return older

    def apply(self, event: Event) -> None:
        """Fold one event of this session."""
        match event:
            case MessageStored():
                self._store(event.message)
            case TextDelta():
                self._stream(event.model_call_id, event.text, is_thinking=False)
            case ThinkingDelta():
                self._stream(event.model_call_id, event.text, is_thinking=True)
            case ProviderRetry():
                self._withdraw()
                self._put(_retry_notice(event))
            case PromptCompaction():
                self._compaction(event)
            case ContextCleared():
                text = f"{plural(len(event.tool_use_ids), 'older tool result')} left the context"
                self._put(NoticeItem(f"cleared:{event.seq}", NoticeKind.INFO, text))
            case ErrorEvent() if event.turn_id is None:  # a turn's own is told at its end
                self._put(
                    NoticeItem(f"error:{event.seq}", NoticeKind.ERROR, event.message, event.action)
                )
            case DoneEvent():
                self._withdraw()
            case _:
                self._end(event)

    def show_call(self, call: CallItem) -> None:
        """A call changed, or is drafted by the model right now."""
        if call.key not in self._items and call.key not in self._drafted:
            self._drafted.append(call.key)
        self._put(call)

    def _fold_history(self, messages: Iterable[Message], turns: tuple[TurnRecord, ...]) -> None:
        ends = {turn.id: turn for turn in turns}
        turn_id: str | None = None
        for message in messages:
            if turn_id is not None and message.turn_id not in (None, turn_id):
                self._end_of_stored(ends.get(turn_id))
            turn_id = message.turn_id or turn_id
            self._message(message)
        if turn_id is not None:
            self._end_of_stored(ends.get(turn_id))

    def _end_of_stored(self, turn: TurnRecord | None) -> None:
        if turn is not None and turn.reason is not None:
            self._end_notice(turn.id, turn.reason, turn.cause or "")

    def _store(self, message: Message) -> None:
        if message.origin is Origin.ASSISTANT:
            self._adopt_streams(message)
        self._message(message)
        if message.seq and not self.first_seq:
            self.first_seq = self.lowest_seq = message.seq

    def _adopt_streams(self, message: Message) -> None:
        """The streams of this response become the first items of its message, in their place."""
        keys = [_block_key(message, at) for at, _ in _shown_blocks(message)]
        shown = dict(zip(keys, (block for _, block in _shown_blocks(message)), strict=True))
        for stream_key in tuple(self._streams):
            stream = self._items.get(stream_key)
            if not isinstance(stream, StreamItem):
                continue
            wanted = ThinkingBlock if stream.is_thinking else TextBlock
            match_ = next((key for key, block in shown.items() if isinstance(block, wanted)), None)
            if match_ is None:
                self._remove(stream_key)
                continue
            self._become(stream_key, _item_of(match_, shown.pop(match_), message))
        self._streams.clear()
        made = {block.id for block in message.blocks if isinstance(block, ToolUseBlock)}
        self._drop_drafted(but=made)

    def _message(self, message: Message) -> None:
        match message.origin:
            case Origin.USER:
                self._put(UserItem(message.id, _words(message.blocks), message.created))
            case Origin.ASSISTANT:
                for at, block in enumerate(message.blocks):
                    self._assistant_block(_block_key(message, at), block, message)
            case Origin.TOOL_RESULTS:
                for block in message.blocks:
                    if isinstance(block, ToolResultBlock):
                        call = self._calls.add_result(block)
                        if call is not None and call.key in self._items:
                            self._put(call)
            case Origin.NOTIFICATION:
                self._notice(message, NoticeKind.INFO, "From an agent in the background")
            case Origin.HOOK:
                self._notice(message, NoticeKind.INFO, "From a hook")
            case Origin.RECOVERY:
                self._notice(message, NoticeKind.WARNING, "Recovered after the program ended")
            case Origin.SUMMARY:
                self._summary(message)
            case _:
                assert_never(message.origin)

    def _assistant_block(self, key: str, block: Block, message: Message) -> None:
        match block:
            case ToolUseBlock():
                self._put(self._calls.add_block(block))
            case TextBlock() | ThinkingBlock():
                if block.text.strip():
                    self._put(_item_of(key, block, message))
            case ToolResultBlock() | ImageBlock():
                pass  # no assistant message has these
            case _:
                assert_never(block)

    def _notice(self, message: Message, kind: NoticeKind, text: str) -> None:
        self._put(NoticeItem(message.id, kind, text, text_of(message.blocks)))

    def _summary(self, message: Message) -> None:
        boundary = self._boundaries.get(message.id)
        before, after = (
            (boundary.tokens_before, boundary.tokens_after) if boundary is not None else (0, 0)
        )
        self._last_summary = message.id
        self._put(_boundary_notice(message.id, before, after, text_of(message.blocks)))

    def _compaction(self, event: PromptCompaction) -> None:
        key = f"compaction:{event.turn_id or event.session_id}"
        match event.phase:
            case "started":
                self._put(NoticeItem(key, NoticeKind.INFO, "Compacting older messages …"))
            case "progress":
                pass  # the waiting line shows that it goes on
            case "completed":
                self._remove(key)
                summary = self._items.get(self._last_summary or "")
                if isinstance(summary, NoticeItem):
                    self._put(
                        _boundary_notice(
                            summary.key, event.tokens_before, event.tokens_after, summary.detail
                        )
                    )
            case "failed":
                self._remove(key)
                text = "Compaction failed; the history is kept as it was"
                self._put(NoticeItem(f"{key}:{event.seq}", NoticeKind.WARNING, text, event.message))
            case _:
                assert_never(event.phase)

    def _end(self, event: Event) -> None:
        match event:
            case LoopDone():
                if event.cut:
                    text = "The answer was cut by the output limit. Send a message to go on."
                    self._put(NoticeItem(_end_key(event.turn_id), NoticeKind.WARNING, text))
            case LoopMaxTurns():
                self._end_notice(event.turn_id, DoneReason.MAX_TURNS, str(event.limit))
            case LoopDenied():
                self._end_notice(event.turn_id, DoneReason.DENIED, ", ".join(event.tools))
            case LoopPendingApproval():
                self._end_notice(event.turn_id, DoneReason.PENDING_APPROVAL)
            case LoopPendingQuestion():
                self._end_notice(event.turn_id, DoneReason.PENDING_QUESTION)
            case LoopAborted():
                self._end_notice(event.turn_id, DoneReason.USER_ABORT, event.cause)
            case LoopBudgetExceeded():
                spent = f"{tokens(event.spent)} of {tokens(event.limit)} tokens"
                self._end_notice(event.turn_id, DoneReason.BUDGET_EXCEEDED, spent)
            case LoopDetected():
                said = f"{event.tool}, {event.count} times"
                self._end_notice(event.turn_id, DoneReason.LOOP_DETECTED, said)
            case LoopHookStopped():
                self._end_notice(event.turn_id, DoneReason.HOOK_STOPPED, event.reason)
            case LoopError():
                said = f"{event.message.rstrip('.')}. {event.action}".strip()
                self._end_notice(event.turn_id, DoneReason.ERROR, said)
            case _:
                pass  # tells nothing that the conversation shows

    def _end_notice(self, turn_id: str | None, reason: DoneReason, detail: str = "") -> None:
        notice = end_notice(reason, detail)
        if notice is not None:
            self._put(NoticeItem(_end_key(turn_id), *notice))

    def _stream(self, model_call_id: str, text: str, *, is_thinking: bool) -> None:
        if not text:
            return
        key = f"{'thinking' if is_thinking else 'text'}:{model_call_id}"
        parts = self._streams.setdefault(key, [])
        parts.append(text)
        if key in self._items:
            self._changes.append(Grew(key, text))
        else:
            self._put(StreamItem(key, text, is_thinking))

    def _withdraw(self) -> None:
        """What streamed and was not stored is taken back."""
        for key in self._streams:
            self._remove(key)
        self._streams.clear()
        self._drop_drafted(but=frozenset())

    def _drop_drafted(self, *, but: AbstractSet[str]) -> None:
        """Calls whose arguments streamed and that were not made in the end."""
        for key in self._drafted:
            if key not in but:
                self._remove(key)
                self._calls.drop(key)
        self._drafted.clear()

    def _put(self, item: ConversationItem) -> None:
        if self._items.get(item.key) == item:
            return
        is_known = item.key in self._items
        self._items[item.key] = item
        self._changes.append(Changed(item.key, item) if is_known else Added(item))

    def _become(self, key: str, item: ConversationItem) -> None:
        self._items = {
            (item.key if old == key else old): (item if old == key else each)
            for old, each in self._items.items()
        }
        self._changes.append(Changed(key, item))

    def _remove(self, key: str) -> None:
        if self._items.pop(key, None) is not None:
            self._changes.append(Gone(key))


def _words(blocks: tuple[Block, ...]) -> str:
    images = sum(isinstance(block, ImageBlock) for block in blocks)
    said = text_of(blocks)
    return f"{said}\n[{plural(images, 'image')}]".strip() if images else said


def _shown_blocks(message: Message) -> list[tuple[int, Block]]:
    return [
        (at, block)
        for at, block in enumerate(message.blocks)
        if isinstance(block, TextBlock | ThinkingBlock) and block.text.strip()
    ]


def _item_of(key: str, block: Block, message: Message) -> ConversationItem:
    if isinstance(block, ThinkingBlock):
        return ThinkingItem(key, block.text)
    text = block.text if isinstance(block, TextBlock) else ""
    return AnswerItem(key, text, is_cut=message.cut)


def _block_key(message: Message, at: int) -> str:
    return f"{message.id}:{at}"


def _end_key(turn_id: str | None) -> str:
    return f"end:{turn_id}"


def _retry_notice(event: ProviderRetry) -> NoticeItem:
    text = f"{event.message.rstrip('.')}. Trying again in {event.delay:.0f} s."
    return NoticeItem(f"retry:{event.turn_id}", NoticeKind.WARNING, text, event.error_class)


def _boundary_notice(key: str, before: int, after: int, summary: str) -> NoticeItem:
    text = "Older messages were summarised for the model"
    if before and after:
        text += f": {tokens(before)} → {tokens(after)} tokens"
    return NoticeItem(key, NoticeKind.BOUNDARY, text, summary)
