"""The engine on real parts, with a model that says what a test told it to.

Real are the database, the tools, the workspace, its runners and its deciding. The only fake is the
model behind the client protocol: it plays replies back, remembers every request, and has each of
them judged as both wires would carry it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel

from tests.loop.told import PATIENCE, brief, dishonesties
from tests.scripted.issued import signature_for
from tests.scripted.validator import check_anthropic, check_chat
from tui_agent.loop.turn import ModelAccess, Turn
from tui_agent.providers import anthropic_request, chat_request
from tui_agent.providers.base import (
    ListedModel,
    ModelRequest,
    PreparedRequest,
    StreamEnd,
    StreamItem,
    TextPiece,
    ThinkingPiece,
    ToolInputPiece,
)
from tui_agent.providers.presets import PRESETS
from tui_agent.providers.retry import RetryPolicy
from tui_agent.settings.load import load_settings
from tui_agent.tools.base import Effects, ToolContext, text_result
from tui_agent.tools.registry import ToolRegistry, default_tools
from tui_agent.vocabulary.agents import Limits, ModelChoice, ModelFacts
from tui_agent.vocabulary.blocks import (
    Block,
    JsonObject,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUseBlock,
    tool_uses,
)
from tui_agent.vocabulary.decisions import Choice, Decision, PendingItem
from tui_agent.vocabulary.errors import ErrorClass, ProviderError
from tui_agent.vocabulary.events import ApprovalPending, DoneEvent, Event, QuestionPending
from tui_agent.vocabulary.messages import StopReason
from tui_agent.vocabulary.records import SessionRecord
from tui_agent.vocabulary.states import DoneReason, LoopState
from tui_agent.vocabulary.usage import Usage
from tui_agent.workspace.api import DecideResult, SessionOptions
from tui_agent.workspace.config import WorkspaceConfig
from tui_agent.workspace.workspace import Workspace

MODEL = "scripted-1"
SPENT = Usage(10, 5)
QUICK = RetryPolicy(
    attempts={ErrorClass.SERVER: 2, ErrorClass.INCOMPLETE: 2}, first_delay=0.0, longest_delay=0.0
)
APPROVE = Decision(Choice.APPROVE)
PLAIN_NO = Decision(Choice.DENY)
NO_BECAUSE = Decision(Choice.DENY, comment="use the other file")
Kind = TypeVar("Kind")


# --- what the model says --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hold:
    """Nothing more is said until `Engine.release(name)`."""

    name: str


Said = StreamItem | ProviderError | Hold
Reply = Sequence[Said]


def end(
    *blocks: Block, stop: StopReason = StopReason.END_TURN, usage: Usage = SPENT, note: str = ""
) -> StreamEnd:
    """The end of a response that was made of `blocks`."""
    return StreamEnd(blocks, stop, usage, note)


def say(text: str, stop: StopReason = StopReason.END_TURN, usage: Usage = SPENT) -> list[Said]:
    """A plain answer."""
    return [TextPiece(text), end(TextBlock(text), stop=stop, usage=usage)]


def call(call_id: str, name: str, problem: str | None = None, **arguments: Any) -> ToolUseBlock:
    """One requested call."""
    return ToolUseBlock(call_id, name, {} if problem else arguments, problem)


def calls(
    *made: ToolUseBlock, text: str = "", thought: str = "", usage: Usage = SPENT
) -> list[Said]:
    """A reply that makes calls, with text beside them and thinking before them when given."""
    blocks: list[Block] = []
    pieces: list[Said] = []
    if thought:
        blocks.append(ThinkingBlock(thought, signature_for(thought)))
        pieces.append(ThinkingPiece(thought))
    if text:
        blocks.append(TextBlock(text))
        pieces.append(TextPiece(text))
    pieces.extend(ToolInputPiece(use.id, use.name, "") for use in made)
    return [*pieces, end(*blocks, *made, stop=StopReason.TOOL_USE, usage=usage)]


def nothing() -> list[Said]:
    """An answer without text or calls."""
    return [end()]


def fail(kind: ErrorClass = ErrorClass.AUTH, message: str = "it broke") -> list[Said]:
    """A call that fails."""
    return [ProviderError(kind, message, "Mend it.")]


def question(call_id: str, text: str = "Which one?") -> ToolUseBlock:
    """A question with two options."""
    options = [{"label": "red"}, {"label": "blue"}]
    return call(call_id, "AskUserQuestion", questions=[{"question": text, "options": options}])


def answer(text: str = "Which one?", label: str = "red") -> Decision:
    """The answer to it."""
    return Decision(Choice.ANSWER, answers={text: label})


class ScriptedModel:
    """A model client that plays replies back, one a call, and judges what it is asked.

    Replies end the script; a call beyond it answers "the script is over". `summaries` are for calls
    that offer no tools, which only a compaction makes.
    """

    provider = "anthropic"

    def __init__(self, replies: Iterable[Reply], summaries: Iterable[Reply] = ()) -> None:
        self.replies = list(replies)
        self.summaries = list(summaries)
        self.requests: list[ModelRequest] = []
        self.violations: list[str] = []
        self._gates: dict[str, asyncio.Event] = {}
        self._arrivals: dict[str, asyncio.Event] = {}

    def gate(self, name: str) -> asyncio.Event:
        return self._gates.setdefault(name, asyncio.Event())

    def arrival(self, name: str) -> asyncio.Event:
        return self._arrivals.setdefault(name, asyncio.Event())

    async def hold(self, name: str) -> None:
        """Tell that this place was reached and wait for its release."""
        self.arrival(name).set()
        await self.gate(name).wait()

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        self.requests.append(request)
        self.violations += refusals(request)
        script = self.replies if request.tools else self.summaries
        reply = script.pop(0) if script else say("the script is over")
        for item in reply:
            if isinstance(item, ProviderError):
                raise item
            if isinstance(item, Hold):
                await self.hold(item.name)
                continue
            await asyncio.sleep(0)
            yield item

    async def prepare(self) -> None:
        """Nothing to load."""

    async def models(self) -> tuple[ListedModel, ...]:
        return (ListedModel(MODEL),)

    def request_body(self, request: ModelRequest) -> PreparedRequest:
        return PreparedRequest(anthropic_request.build_body(request, self.provider))

    async def describe(self, model: str) -> ListedModel | None:
        return ListedModel(model)

    async def aclose(self) -> None:
        """Nothing to close."""


def refusals(request: ModelRequest) -> list[str]:
    """What strict providers of either wire would refuse about this request."""
    as_messages = anthropic_request.build_body(request, "anthropic")
    as_chat = chat_request.build_body(request, PRESETS["openai"])
    return [
        *(f"messages wire: {text}" for text in check_anthropic(as_messages)),
        *(f"chat wire: {text}" for text in check_chat(as_chat)),
    ]


# --- a tool that leaves a mark --------------------------------------------------------------------


class AppendInput(BaseModel):
    """Input of Append."""

    line: str
    steps: int = 0
    hold: str | None = None


class Append:
    """A side effect that can be counted: appends a line to a file that no model can touch."""

    name: ClassVar[str] = "Append"
    description: ClassVar[str] = "Appends a line."
    input_model: ClassVar[type[AppendInput]] = AppendInput
    is_read_only: ClassVar[bool] = False

    def __init__(self, path: Path, hold: Callable[[str], Any]) -> None:
        self.path = path
        self._hold = hold

    def effects(self, args: AppendInput, context: ToolContext) -> Effects:
        return Effects(writes=frozenset({context.folder / args.line}))

    def subject(self, args: AppendInput) -> str:
        return args.line

    def preview(self, args: AppendInput, context: ToolContext) -> JsonObject:
        return {"kind": "text", "text": args.line}

    async def run(self, args: AppendInput, context: ToolContext) -> ToolResult:
        with self.path.open("a", encoding="utf-8") as ledger:
            ledger.write(f"{context.tool_use_id} {args.line}\n")
        for _ in range(args.steps):
            await asyncio.sleep(0)
        if args.hold is not None:
            await self._hold(args.hold)
        return text_result(f"appended {args.line}")


# --- the engine -----------------------------------------------------------------------------------


@dataclass
class Engine:
    """A workspace whose model is scripted, and everything that it told, in order and unmerged.
    `marks_kept` is what side effects had left when it was closed."""

    workspace: Workspace
    model: ScriptedModel
    ledger: Path
    facts: ModelFacts
    events: list[Event] = field(default_factory=list)
    watchers: list[Callable[[Event], None]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    hold_access: str | None = None
    marks_kept: list[str] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    @asynccontextmanager
    async def opened(
        cls,
        root: Path,
        replies: Iterable[Reply],
        *,
        summaries: Iterable[Reply] = (),
        facts: ModelFacts | None = None,
        honest: bool = True,
        attended: bool = True,
        denies: bool = False,
    ) -> AsyncIterator[Engine]:
        """An engine under `root`; closed at the end, and what it told is judged then."""
        folder = root / "project"
        folder.mkdir(exist_ok=True)
        environ = {
            "PATH": os.environ["PATH"],
            "TUI_AGENT_HOME": str(root / "program"),
            "ANTHROPIC_API_KEY": "never-used",
        }
        config = WorkspaceConfig(
            folder.resolve(), load_settings(folder, environ), environ, attended, denies
        )
        workspace = await Workspace.open(config)
        model = ScriptedModel(replies, summaries)
        ledger = root / "ledger"
        ledger.touch()
        engine = cls(workspace, model, ledger, facts or ModelFacts())
        tools = ToolRegistry((*default_tools((workspace.store.path,)), Append(ledger, model.hold)))
        workspace.tools = tools
        workspace.services = replace(workspace.services, models=engine, tools=tools, retry=QUICK)
        tell = workspace.bus.publish
        workspace.bus.publish = lambda event: engine.told(event, tell)  # type: ignore[method-assign]
        try:
            yield engine
        finally:
            async with asyncio.timeout(PATIENCE):
                await workspace.close()
            engine.marks_kept = engine.marks()
        if honest:
            wrong = [*dishonesties(engine.events), *model.violations]
            assert not wrong, "\n".join(wrong)

    def told(self, event: Event, tell: Callable[[Event], None]) -> None:
        """Take an event on its way to the bus."""
        tell(event)
        self.events.append(event)
        for watch in self.watchers:
            watch(event)
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def access(self, session: SessionRecord) -> ModelAccess:
        """The scripted model, whatever the session says."""
        if self.hold_access is not None:
            await self.model.hold(self.hold_access)
        return ModelAccess(self.model, MODEL, self.facts)

    async def session(self, limits: Limits | None = None, **options: Any) -> str:
        """A new session; returns its id."""
        record = await self.workspace.create_session(
            SessionOptions(
                model=ModelChoice("anthropic", MODEL), limits=limits or Limits(), **options
            )
        )
        return record.id

    async def begin(self, text: str = "please", **options: Any) -> str:
        """A new session with its first prompt."""
        session_id = await self.session(**options)
        await self.workspace.submit(session_id, text)
        return session_id

    async def run(self, text: str = "please", **options: Any) -> str:
        """A new session, its first prompt, and the end of that turn."""
        session_id = await self.begin(text, **options)
        await self.rest(session_id)
        return session_id

    async def until(self, holds: Callable[[Event], bool]) -> Event:
        """The first event for which this holds, told already or yet to come."""
        place = 0
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    news = self._news
                    for event in self.events[place:]:
                        if holds(event):
                            return event
                    place = len(self.events)
                    await news.wait()
        except TimeoutError:
            told = "\n".join(map(brief, self.events[-40:]))
            raise AssertionError(f"the awaited event never came; told so far:\n{told}") from None

    async def asked(self) -> PendingItem:
        """The next ask that was not taken up yet."""
        event = await self.until(
            lambda e: (
                isinstance(e, ApprovalPending | QuestionPending) and e.pending_id not in self.seen
            )
        )
        assert isinstance(event, ApprovalPending | QuestionPending)
        self.seen.add(event.pending_id)
        return event.item

    async def state(self, session_id: str, state: LoopState) -> None:
        """Wait until the session's turn is in this state."""
        async with asyncio.timeout(PATIENCE):
            while True:
                news = self._news
                turn = self.turn(session_id)
                if turn is not None and turn.state is state:
                    return
                await news.wait()

    async def reached(self, name: str) -> None:
        """Wait until a place that holds was reached."""
        async with asyncio.timeout(PATIENCE):
            await self.model.arrival(name).wait()

    def release(self, name: str) -> None:
        """Let what holds go on."""
        self.model.gate(name).set()

    async def decide(self, item: PendingItem, decision: Decision = APPROVE) -> DecideResult:
        return await self.workspace.decide(item.pending_id, decision)

    def turn(self, session_id: str) -> Turn | None:
        """The turn that runs."""
        runner = self.workspace.runner(session_id)
        return None if runner is None else runner.turn

    async def rest(self, session_id: str) -> None:
        """Wait until nothing runs."""
        runner = self.workspace.runner(session_id)
        assert runner is not None
        async with asyncio.timeout(PATIENCE):
            await runner.finished()

    def reasons(self) -> list[DoneReason]:
        """Why turns ended, in order."""
        return [event.reason for event in self.all(DoneEvent)]

    def all(self, kind: type[Kind]) -> list[Kind]:
        """The events of a type."""
        return [event for event in self.events if isinstance(event, kind)]

    def marks(self) -> list[str]:
        """What side effects left: a call id and a line for each."""
        return self.ledger.read_text(encoding="utf-8").splitlines()


async def open_calls(engine: Engine, session_id: str) -> tuple[str, ...] | None:
    """The calls of the open batch, or `None` when there is none."""
    batch = await engine.workspace.store.open_batch(session_id)
    return None if batch is None else tuple(use.id for use in tool_uses(batch[0].blocks))


def inputs_of(items: Iterable[PendingItem]) -> Mapping[str, JsonObject]:
    """The input of each item by its call."""
    return {item.tool_use_id: item.input for item in items}
