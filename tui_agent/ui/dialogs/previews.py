"""What a person sees of a call before deciding, and the other long texts about a call.

Everything is shown through `exact`: what could be hidden in a command or a path is visible. Pure
functions from items to lines.
"""

from __future__ import annotations

import json

from tui_agent.ui.lines import Line, Piece, Tone, body, line, note
from tui_agent.ui.marks import CALL_WORDS, Marks, of_call, tone_of
from tui_agent.ui.panes.cards import diff_lines
from tui_agent.ui.projection.items import CallItem
from tui_agent.ui.projection.words import duration
from tui_agent.ui.transcript.blocks import DiffSign
from tui_agent.vocabulary.blocks import JsonObject
from tui_agent.vocabulary.decisions import PendingItem

_DIFF_TONES = {
    DiffSign.ADDED: Tone.ADDED,
    DiffSign.REMOVED: Tone.REMOVED,
    DiffSign.CONTEXT: Tone.TEXT,
    DiffSign.SKIPPED: Tone.MUTED,
}


def preview_lines(item: PendingItem) -> list[Line]:
    """The exact thing that is asked for: the whole command, the diff, or the input."""
    preview = item.preview
    match preview.get("kind"):
        case "command":
            return _command(preview)
        case "diff":
            return _diff(preview)
        case "text" if preview.get("text"):
            return [*body(str(preview["text"])), line(), *input_lines(item.input)]
        case _:
            return input_lines(item.input)


def input_lines(tool_input: JsonObject) -> list[Line]:
    """Every field of an input: short ones beside their name, long ones below it."""
    if not tool_input:
        return [note("(no input)")]
    lines: list[Line] = []
    for key, value in tool_input.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
        rows = body(text)
        if len(rows) == 1:
            lines.append(line(Piece(f"{key}: ", Tone.MUTED), *rows[0].left))
        else:
            lines.append(line(Piece(f"{key}:", Tone.MUTED)))
            lines.extend(line("  ", *row.left) for row in rows)
    return lines


def call_lines(call: CallItem, marks: Marks) -> list[Line]:
    """Everything about a call: state, decision, timing, input, output."""
    mark = of_call(call.state)
    lines = [
        line(marks.piece(mark), Piece(f" {CALL_WORDS[call.state]}", tone_of(mark))),
        _fact("took", duration(call.duration) if call.duration is not None else ""),
        *_decision(call),
        line(),
        _title("Input"),
        *input_lines(call.input),
        line(),
        _title("Output"),
        *_output(call),
    ]
    return [each for each in lines if each is not _NOTHING]


_NOTHING = Line((Piece("\0"),))


def _command(preview: JsonObject) -> list[Line]:
    lines = body(str(preview.get("command", "")), Tone.STRONG)
    description = preview.get("description")
    if description:
        lines.extend([line(), note(str(description))])
    return lines


def _diff(preview: JsonObject) -> list[Line]:
    rows = diff_lines(str(preview.get("diff", "")))
    said = "new file" if preview.get("is_new") else "changes"
    head = line(
        Piece(str(preview.get("path", "")), Tone.STRONG),
        Piece(f"  {said}  ", Tone.MUTED),
        Piece(f"+{preview.get('added', 0)}", Tone.ADDED),
        Piece(f" −{preview.get('removed', 0)}", Tone.REMOVED),
    )
    lines = [head, line()]
    size = max((len(str(row.number)) for row in rows if row.number), default=1)
    for row in rows:
        number = "" if row.number is None else str(row.number)
        tone = _DIFF_TONES[row.sign]
        sign = " " if row.sign is DiffSign.SKIPPED else row.sign.value
        lines.append(
            line(Piece(f"{number:>{size}} ", Tone.MUTED), Piece(f"{sign} {row.text}", tone))
        )
    return lines


def _decision(call: CallItem) -> list[Line]:
    verdict = call.verdict
    if verdict is None:
        return []
    lines = [_fact("decision", f"{verdict.action.value} by {verdict.source.value}")]
    if verdict.rule:
        lines.append(_fact("rule", verdict.rule))
    if verdict.reason:
        lines.append(_fact("because", verdict.reason))
    if call.comment:
        lines.append(_fact("you said", call.comment))
    return lines


def _output(call: CallItem) -> list[Line]:
    text = call.details.get("output")
    shown = text if isinstance(text, str) and text.strip() else call.output
    diff = call.details.get("diff")
    if call.details.get("kind") == "diff" and isinstance(diff, str):
        return _diff(call.details)
    return body(shown) if shown.strip() else [note("(nothing yet)")]


def _fact(name: str, value: str) -> Line:
    return line(Piece(f"{name}: ", Tone.MUTED), value) if value else _NOTHING


def _title(text: str) -> Line:
    return line(Piece(text, Tone.STRONG))
