"""Answering an open item from the command line, and going on with the turn.

In comes what was typed; the item is answered through the workspace, and when that was the last one
of its batch and nobody else owns the session, the turn is run on to its end as `run` would.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO, assert_never

from tui_agent.headless.exits import ExitCode
from tui_agent.headless.request import OutputFormat, RunRequest
from tui_agent.headless.run import follow
from tui_agent.headless.shapes import dumps, pending_shapes
from tui_agent.headless.words import PROGRAM, is_question, one_line, pending_lines
from tui_agent.vocabulary.blocks import JsonObject
from tui_agent.vocabulary.decisions import Choice, Decision, PendingItem, Scope
from tui_agent.vocabulary.errors import ConflictError, StoreError, UsageError, UserError
from tui_agent.vocabulary.typed_json import parse_typed_object
from tui_agent.workspace.api import DecideResult, WorkspaceApi


@dataclass(frozen=True, slots=True)
class Resolution:
    """What was typed. `input` is JSON: the edited input of an approval, or `{"answers": …}`."""

    pending_id: str
    choice: Choice
    message: str | None = None
    stop: bool = False
    input: str | None = None
    scope: Scope = Scope.ONCE


async def resolve(
    workspace: WorkspaceApi,
    resolution: Resolution,
    output: OutputFormat,
    out: TextIO,
    err: TextIO,
    *,
    interrupted: asyncio.Event | None = None,
) -> int:
    """Answer one item and return the exit code. Raises `UsageError` for an answer that cannot be
    taken; the item is then still open."""
    items = {item.pending_id: item for item in await workspace.pending()}
    item = items.get(resolution.pending_id)
    decision = decision_of(resolution, item)

    has_begun = False

    async def begin() -> int | None:
        nonlocal has_begun
        result = await _decide(workspace, resolution.pending_id, decision)
        if not result.applied:
            err.write(one_line(result.message) + "\n")
            return ExitCode.ERROR
        has_begun = result.goes_on
        return None if has_begun else _recorded(session_id, result, output, out, err)

    if item is None:
        # Answered, dead or never there: the workspace knows which, and no turn comes of it.
        session_id = ""
        return await begin() or ExitCode.FINISHED
    session_id = item.agent_path[0] if item.agent_path else item.session_id
    code = await follow(
        workspace,
        session_id,
        begin,
        request=RunRequest(None, output=output),
        out=out,
        err=err,
        interrupted=interrupted or asyncio.Event(),
    )
    if has_begun and code == ExitCode.ERROR:
        err.write(f"the answer is kept; go on with: {PROGRAM} run --resume {session_id}\n")
    return code


def decision_of(resolution: Resolution, item: PendingItem | None) -> Decision:
    """The typed answer as a decision on `item`. Raises `UsageError` when it does not fit."""
    values = _object(resolution.input)
    stop = True if resolution.stop else None
    match resolution.choice:
        case Choice.APPROVE:
            _fits(item, is_question_wanted=False)
            if stop:
                raise UsageError("--stop goes with deny")
            return Decision(
                Choice.APPROVE,
                comment=resolution.message,
                scope=resolution.scope,
                edited_input=values,
            )
        case Choice.DENY:
            if values is not None:
                raise UsageError("--input goes with approve or answer")
            return Decision(Choice.DENY, comment=resolution.message, stop=stop)
        case Choice.ANSWER:
            _fits(item, is_question_wanted=True)
            return Decision(Choice.ANSWER, answers=_answers(resolution.message, values, item))
        case _:
            assert_never(resolution.choice)


async def _decide(workspace: WorkspaceApi, pending_id: str, decision: Decision) -> DecideResult:
    try:
        return await workspace.decide(pending_id, decision)
    except (ConflictError, StoreError):
        raise
    except UserError as error:
        # Other words would help: an edit that is refused leaves the item open.
        raise UsageError(str(error)) from error


def _recorded(
    session_id: str, result: DecideResult, output: OutputFormat, out: TextIO, err: TextIO
) -> int:
    """Say that the answer is kept and what is still open; the turn does not go on from here."""
    if output is OutputFormat.TEXT:
        lines = pending_lines(result.outstanding)
        out.write("\n".join(["recorded; still open:" if lines else "recorded", *lines]) + "\n")
    else:
        shape = {"session_id": session_id, "pending": pending_shapes(result.outstanding)}
        out.write(dumps(shape) + "\n")
    out.flush()
    if result.obstacle:
        why = one_line(result.obstacle).rstrip(".")
        err.write(
            f"the answer is kept, but the turn does not go on yet: {why}; "
            f"then go on with: {PROGRAM} run --resume {session_id}\n"
        )
    return ExitCode.FINISHED


def _fits(item: PendingItem | None, *, is_question_wanted: bool) -> None:
    if item is None or is_question(item) is is_question_wanted:
        return
    if is_question_wanted:
        raise UsageError("this waits for approval: answer approve or deny")
    raise UsageError("this is a question: use answer --message TEXT, or deny")


def _object(text: str | None) -> JsonObject | None:
    if text is None:
        return None
    try:
        return parse_typed_object(text)
    except ValueError as error:
        raise UsageError(f"--input cannot be taken: {one_line(str(error))}") from error


def _answers(
    message: str | None, values: JsonObject | None, item: PendingItem | None
) -> JsonObject:
    """Answers by the text of their question."""
    if values is not None:
        answers = values.get("answers")
        if not isinstance(answers, dict) or not answers:
            raise UsageError('--input of an answer is {"answers": {QUESTION: TEXT}}')
        return answers
    if not message:
        raise UsageError("say the answer with --message TEXT")
    questions = question_texts(item.input) if item is not None else ("",)
    if len(questions) != 1:
        listed = "; ".join(map(one_line, questions))
        raise UsageError(f"there are {len(questions)} questions, use --input: {listed}")
    return {questions[0]: message}


def question_texts(values: JsonObject) -> tuple[str, ...]:
    """The questions that an AskUserQuestion call puts."""
    questions = values.get("questions")
    if not isinstance(questions, list):
        return ()
    return tuple(
        str(question.get("question", "")) for question in questions if isinstance(question, Mapping)
    )
