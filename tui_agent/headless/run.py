"""A prompt without a screen: `run`, and what goes on after the last decision.

In come a workspace, a request and two streams; out comes the exit code. A run is over when the
*session* has come to rest (phase idle or requires_action after a turn's end), never because text
stopped coming; with `wait=False` at the end of the turn. Events are followed from before the prompt
is handed over, so that none is missed. Raises `UserError` for what could not be begun.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TextIO, assert_never

from tui_agent.headless.exits import ExitCode, exit_code_of
from tui_agent.headless.output import RunPrinter, RunResult, tell_pending
from tui_agent.headless.request import (
    ExistingSession,
    NewSession,
    OutputFormat,
    RunRequest,
    Unattended,
)
from tui_agent.headless.shapes import dumps
from tui_agent.headless.shapes import pending_shapes as shapes_of
from tui_agent.settings import Overrides
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.decisions import Choice, Decision, PendingItem, Source
from tui_agent.vocabulary.errors import UsageError, UserError
from tui_agent.vocabulary.events import DoneEvent, Event, SessionPhase
from tui_agent.vocabulary.states import DoneReason, Phase
from tui_agent.vocabulary.usage import Usage
from tui_agent.workspace.api import Subscription, WorkspaceApi

NOBODY: Final = "nobody is there to decide"
Begin = Callable[[], Awaitable[int | None]]
"""Sets something going; an exit code means that there is nothing to follow."""


async def run(
    workspace: WorkspaceApi,
    request: RunRequest,
    out: TextIO,
    err: TextIO,
    *,
    interrupted: asyncio.Event | None = None,
) -> int:
    """Do what `request` asks and return the exit code. Setting `interrupted` ends the turn as a
    person's Esc would: everything is committed and the code is 130."""
    session_id = await _session(workspace, request)
    begin = _goes_on(workspace, session_id)
    if request.prompt is not None:
        open_items = await pending_below(workspace, session_id)
        if open_items and request.unattended is Unattended.PEND:
            return _still_open(session_id, open_items, request.output, out, err)
        if isinstance(request.target, ExistingSession):
            await _clear_open_batch(workspace, session_id, open_items)
        begin = _asks(workspace, session_id, request.prompt)
    elif request.unattended is Unattended.DENY:
        begin = _refuses(workspace, session_id)
    return await follow(
        workspace,
        session_id,
        begin,
        request=request,
        out=out,
        err=err,
        interrupted=interrupted or asyncio.Event(),
    )


async def follow(
    workspace: WorkspaceApi,
    session_id: str,
    begin: Begin,
    *,
    request: RunRequest,
    out: TextIO,
    err: TextIO,
    interrupted: asyncio.Event,
) -> int:
    """Call `begin` and print what comes of it until the session has come to rest; an exit code that
    `begin` returns is the end of it."""
    printer = RunPrinter(session_id, request.output, out, err)
    run = _Run(session_id, printer, wait=request.wait, interrupted=interrupted)
    subscription = workspace.subscribe()
    watch: asyncio.Task[None] | None = None
    try:
        if (code := await begin()) is not None:
            return code
        watch = asyncio.create_task(_interrupt(workspace, run, subscription))
        await run.take_all(subscription)
    finally:
        subscription.close()
        if watch is not None:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
    if run.done is None:
        raise UserError(f"the turn came to no end: go on with run --resume {session_id}")
    open_items = await pending_below(workspace, session_id)
    printer.result(RunResult(session_id, run.done, run.usage, open_items))
    if run.done.reason is DoneReason.MODEL_STOP and run.phase is Phase.REQUIRES_ACTION:
        return ExitCode.WAITING
    return exit_code_of(run.done.reason)


async def pending_below(workspace: WorkspaceApi, session_id: str) -> tuple[PendingItem, ...]:
    """The open items of a session and its subagents, oldest first."""
    items = await workspace.pending()
    return tuple(item for item in items if item.is_below(session_id))


class _Run:
    """What has been seen of a run so far."""

    def __init__(
        self, session_id: str, printer: RunPrinter, *, wait: bool, interrupted: asyncio.Event
    ) -> None:
        self.session_id = session_id
        self.done: DoneEvent | None = None
        self.phase = Phase.RUNNING
        self.usage = Usage()
        self.interrupted = interrupted
        self._is_running = False
        self._printer = printer
        self._wait = wait

    async def take_all(self, subscription: Subscription) -> None:
        """Take events until the run is over."""
        async for batch in subscription:
            for event in batch:
                if self.session_id not in (event.session_id, *event.agent_path):
                    continue
                self._printer.event(event)
                if self._is_last(event):
                    self._printer.flush()
                    return
            self._printer.flush()

    def _is_last(self, event: Event) -> bool:
        if event.session_id != self.session_id:
            return False
        match event:
            case DoneEvent():
                self.done = event
                self.usage += event.usage
                return not self._wait or self.interrupted.is_set()
            case SessionPhase(phase=phase):
                was_running, self._is_running = self._is_running, phase is Phase.RUNNING
                self.phase = phase
                is_at_rest = phase in (Phase.IDLE, Phase.REQUIRES_ACTION)
                # A session that failed comes to rest without a turn's end.
                return is_at_rest and (self.done is not None or was_running)
            case _:
                return False


async def _interrupt(workspace: WorkspaceApi, run: _Run, subscription: Subscription) -> None:
    """Hand an interrupt on. With the turn already over there is nothing left to wait for."""
    await run.interrupted.wait()
    if run.done is not None and run.phase is not Phase.RUNNING:
        subscription.close()
        return
    await workspace.interrupt(run.session_id)


# --- the session and what is done with it --------------------------------------------------------


async def _session(workspace: WorkspaceApi, request: RunRequest) -> str:
    match request.target:
        case NewSession(options=options):
            if request.prompt is None:
                raise UsageError("there is no prompt: give one, or - to read it from input")
            return (await workspace.create_session(options)).id
        case ExistingSession() as target:
            if target.fork and request.prompt is None:
                raise UsageError("there is no prompt: a fork starts with one")
            return await existing_session(workspace, target)
        case _:
            assert_never(request.target)


async def existing_session(workspace: WorkspaceApi, target: ExistingSession) -> str:
    """The id of the session that `target` means, forked and changed as it says. Raises
    `UserError`."""
    session_id = target.session_id or await workspace.latest_session()
    if session_id is None:
        raise UsageError("there is no session in this folder to continue: leave --continue out")
    if target.fork:
        session_id = (await workspace.fork_session(session_id)).id
    # Opening recovers what a crash left behind, and says whether the session exists.
    record = (await workspace.snapshot(session_id, last=1)).session
    if target.model != Overrides():
        await workspace.set_model(session_id, _changed(record.model, target.model))
    if target.mode is not None:
        await workspace.set_mode(session_id, target.mode)
    return session_id


def _changed(now: ModelChoice, overrides: Overrides) -> ModelChoice:
    provider = overrides.provider or now.provider
    if overrides.base_url is not None and overrides.provider is None:
        provider = "compatible"
    if provider == now.provider:
        base_url = overrides.base_url or now.base_url
        return ModelChoice(provider, overrides.model or now.model, base_url)
    if overrides.model is None:
        raise UsageError(f"the session used {now.provider}: with {provider} also give --model")
    return ModelChoice(provider, overrides.model, overrides.base_url)


async def _clear_open_batch(
    workspace: WorkspaceApi, session_id: str, open_items: tuple[PendingItem, ...]
) -> None:
    snapshot = await workspace.snapshot(session_id, last=1)
    if open_items or any(not call.state.is_settled for call in snapshot.tool_runs):
        await workspace.discard_open(session_id)


def _still_open(
    session_id: str,
    items: tuple[PendingItem, ...],
    output: OutputFormat,
    out: TextIO,
    err: TextIO,
) -> int:
    """Say that the prompt was not taken because of `items`; nothing is changed."""
    if output is OutputFormat.JSON:
        shape = {"session_id": session_id, "reason": None, "text": "", "usage": None}
        out.write(dumps({**shape, "pending": shapes_of(items), "counts": None}) + "\n")
        out.flush()
    err.write("the prompt was not sent: answer these first, or give --unattended deny\n")
    tell_pending(items, err)
    return ExitCode.WAITING


def _asks(workspace: WorkspaceApi, session_id: str, prompt: str) -> Begin:
    async def begin() -> None:
        await workspace.submit(session_id, prompt)

    return begin


def _goes_on(workspace: WorkspaceApi, session_id: str) -> Begin:
    async def begin() -> None:
        await workspace.resume(session_id)

    return begin


def _refuses(workspace: WorkspaceApi, session_id: str) -> Begin:
    """Answer what is open with a policy's No; the last answer lets the turn go on."""

    async def begin() -> None:
        open_items = await pending_below(workspace, session_id)
        refusal = Decision(Choice.DENY, comment=NOBODY, stop=False, source=Source.POLICY)
        for item in open_items:
            await workspace.decide(item.pending_id, refusal)
        if not open_items:
            await workspace.resume(session_id)

    return begin
