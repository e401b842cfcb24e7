"""Everything that is not Markdown, as lines: what people wrote, tool calls, thoughts, notices.

The first two cells of every line belong to marks and bars, so that all text starts in one column
and the marks can be read down. Pure functions of frozen items.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, assert_never

from tui_agent.text import Colour, StyledText, TextStyle, cell_width, truncate
from tui_agent.ui.marks import Mark
from tui_agent.ui.transcript.blocks import (
    Body,
    DiffBody,
    DiffLine,
    DiffSign,
    MatchesBody,
    Notice,
    NoticeKind,
    OutputBody,
    Thinking,
    ToolCard,
    UserText,
)
from tui_agent.ui.transcript.glyphs import Glyphs
from tui_agent.ui.transcript.lines import EMPTY, Line, Run, prefixed, wrap_hard, wrap_runs

INDENT: Final = 2
"""Cells before all text: the column of marks and bars."""

_MARK_STYLES: Final = {
    Mark.RUNNING: "state-running",
    Mark.WAITING: "state-waiting",
    Mark.DONE: "state-done",
    Mark.FAILED: "state-failed",
    Mark.DENIED: "state-failed",
    Mark.UNKNOWN: "state-unknown",
    Mark.QUEUED: "muted",
    Mark.IDLE: "muted",
}
_NOTICE_STYLES: Final = {
    NoticeKind.INFO: "muted",
    NoticeKind.WARNING: "state-waiting",
    NoticeKind.ERROR: "state-failed",
    NoticeKind.BOUNDARY: "muted",
}
_DIFF_STYLES: Final = {
    DiffSign.ADDED: "added",
    DiffSign.REMOVED: "removed",
    DiffSign.CONTEXT: "",
    DiffSign.SKIPPED: "muted",
}


def margin(lines: Iterable[Line], sign: str = " ", style: str = "") -> list[Line]:
    """`lines` behind the column of marks; `sign` stands in it on every line."""
    return prefixed(lines, (Run(f"{sign} ", style, is_drawn=True),))


def ends(left: tuple[Run, ...], right: tuple[Run, ...], width: int) -> Line:
    """A line with a right-hand part at its end, left out where there is no room for both."""
    used = sum(cell_width(run.text) for run in left)
    size = sum(cell_width(run.text) for run in right)
    if not right or used + size + 1 > width:
        return Line(left)
    return Line((*left, Run(" " * (width - used - size), is_drawn=True), *right))


def label_line(label: str, time: str, width: int, style: str) -> Line:
    """Who speaks, and when."""
    return ends(
        (Run(label, style, is_drawn=True),),
        (Run(time, "muted", is_drawn=True),) if time else (),
        width,
    )


def user_lines(item: UserText, width: int, glyphs: Glyphs) -> list[Line]:
    """A person's words behind a bar, with nothing in them read as markup."""
    room = max(1, width - INDENT)
    lines = [label_line(item.label, item.time, room, "user-label")] if item.label else []
    for row in item.text.expandtabs(4).split("\n"):
        lines.extend(wrap_runs([Run(row, "user")], room))
    return margin(lines, glyphs.bar, "user-bar")


def thinking_lines(item: Thinking, width: int, glyphs: Glyphs, *, is_open: bool) -> list[Line]:
    """One muted line that says so; unfolded, the thoughts below it."""
    sign = glyphs.unfolded if is_open else glyphs.folded
    words = f"Thought for {item.duration}" if item.duration else "Thought"
    room = max(1, width - INDENT)
    left = [Run(words, "thinking-label")]
    if not is_open and item.text:
        first = " ".join(item.text.split("\n", 3)[0].split())
        spare = room - cell_width(words) - 2
        if spare >= 12:
            left += [Run("  "), Run(truncate(first, spare, ellipsis=glyphs.ellipsis), "thinking")]
    head = margin([Line(tuple(left))], sign, "muted")
    if not is_open:
        return head
    body: list[Line] = []
    for row in item.text.expandtabs(4).strip("\n").split("\n"):
        body.extend(wrap_runs([Run(row, "thinking")], max(1, room - INDENT)))
    return [*head, *margin(_behind_gutter(body, glyphs))]


def notice_lines(item: Notice, width: int, glyphs: Glyphs) -> list[Line]:
    """A notice in its tone; a boundary runs across the whole width."""
    style = _NOTICE_STYLES[item.kind]
    room = max(1, width - INDENT)
    match item.kind:
        case NoticeKind.BOUNDARY:
            lines = [_boundary(item.text, room, glyphs)]
            sign = " "
        case NoticeKind.ERROR:
            lines = wrap_runs([Run(item.text, style)], room)
            sign = glyphs.marks.glyph(Mark.FAILED)
        case NoticeKind.WARNING:
            lines = wrap_runs([Run(item.text, style)], room)
            sign = glyphs.marks.glyph(Mark.WAITING)
        case NoticeKind.INFO:
            lines = wrap_runs([Run(item.text, style)], room)
            sign = glyphs.marks.glyph(Mark.IDLE)
        case _:
            assert_never(item.kind)
    out = [*margin(lines[:1], sign, style), *margin(lines[1:])]
    for row in item.detail.split("\n") if item.detail else ():
        out.extend(margin(wrap_runs([Run(row, "muted")], room)))
    return out


def cut_line(width: int) -> list[Line]:
    """Says that the text above was interrupted."""
    return margin([Line((Run(truncate("cut here", width), "state-waiting"),))])


def card_lines(card: ToolCard, width: int, glyphs: Glyphs, *, is_open: bool) -> list[Line]:
    """The line of a call and, unfolded, its body."""
    style = _MARK_STYLES[card.mark]
    room = max(1, width - INDENT)
    right: list[Run] = []
    if card.word:
        right.append(Run(card.word, style))
    if card.duration:
        right.append(Run(f"{card.duration:>7}" if right else card.duration, "muted"))
    used = sum(cell_width(run.text) for run in right)
    if used + cell_width(card.name) + 8 > room:
        right, used = [], 0
    spare = room - cell_width(card.name) - used - (2 if right else 0)
    left = [Run(truncate(card.name, room, ellipsis=glyphs.ellipsis), "tool")]
    note = f"  {card.note}" if card.note else ""
    subject_room = spare - 2 - cell_width(note)
    if card.subject and subject_room >= 6:
        subject = truncate(card.subject.replace("\n", " "), subject_room, ellipsis=glyphs.ellipsis)
        left += [Run("  "), Run(subject, "subject")]
        if note:
            left.append(Run(note, "muted"))
    sign = glyphs.marks.glyph(card.mark)
    head = margin([ends(tuple(left), tuple(right), room)], sign, style)
    if card.body is None or not is_open:
        return head
    body = _body(card.body, max(1, room - INDENT))
    return [*head, *margin(_behind_gutter(body, glyphs))]


def _behind_gutter(lines: Iterable[Line], glyphs: Glyphs) -> list[Line]:
    return prefixed(lines, (Run(f"{glyphs.gutter} ", "gutter", is_drawn=True),))


def _boundary(text: str, width: int, glyphs: Glyphs) -> Line:
    words = truncate(f" {text} ", max(1, width - 4), ellipsis=glyphs.ellipsis)
    rest = width - cell_width(words)
    before = min(2, rest)
    return Line(
        (
            Run(glyphs.rule * before, "rule", is_drawn=True),
            Run(words, "muted"),
            Run(glyphs.rule * max(0, rest - before), "rule", is_drawn=True),
        )
    )


def _body(body: Body, width: int) -> list[Line]:
    match body:
        case DiffBody():
            lines = _diff_lines(body.lines, width)
            return [*lines, *_hidden(body.hidden, "line")]
        case OutputBody():
            lines = list(output_lines(body.head, width))
            lines += _hidden(body.hidden, "line")
            if body.tail is not None:
                lines += output_lines(body.tail, width)
            return lines
        case MatchesBody():
            lines = []
            for match in body.matches:
                gap = "  " if match.text else ""
                runs = [Run(match.where + gap, "subject"), Run(match.text.strip(), "output")]
                lines += wrap_runs(runs, width)
            return [*lines, *_hidden(body.hidden, "match", "matches")]
        case _:
            assert_never(body)


def _hidden(count: int, one: str, many: str = "") -> list[Line]:
    if not count:
        return []
    words = one if count == 1 else many or f"{one}s"
    return [Line((Run(f"{count} more {words}", "muted", is_drawn=True),))]


def _diff_lines(diff: tuple[DiffLine, ...], width: int) -> list[Line]:
    numbers = [line.number for line in diff if line.number is not None]
    size = len(str(max(numbers))) if numbers else 0
    lines: list[Line] = []
    for line in diff:
        style = _DIFF_STYLES[line.sign]
        number = "" if line.number is None else str(line.number)
        if line.sign is DiffSign.SKIPPED:
            lines += wrap_runs([Run(line.text, style)], width)
            continue
        fill = f"{style}-line" if style else ""
        style = f"{fill} {style}".strip()
        lead = f"{number:>{size}} " if size else ""
        before = (Run(lead, "muted", is_drawn=True), Run(f"{line.sign} ", style))
        after = (Run(" " * len(lead), is_drawn=True), Run("  ", style, is_drawn=True))
        room = max(1, width - len(lead) - 2)
        text = wrap_hard([Run(line.text.expandtabs(4), style)], room)
        lines += [each._replace(fill=fill) for each in prefixed(text, before, after)]
    return lines


def output_lines(text: StyledText, width: int) -> Iterator[Line]:
    """Printed text with the colours it brought."""
    at = 0
    spans = list(text.spans)
    for row in text.text.split("\n"):
        end = at + len(row)
        runs: list[Run] = []
        place = at
        while spans and spans[0].start < end:
            span = spans[0]
            start = max(place, span.start)
            if start > place:
                runs.append(Run(text.text[place:start], "output"))
            place = min(span.end, end)
            runs.append(Run(text.text[start:place], f"output {_foreign_style(span.style)}"))
            if span.end > end:
                break
            spans.pop(0)
        if place < end:
            runs.append(Run(text.text[place:end], "output"))
        yield from wrap_hard(_expanded(runs), width) if runs else [EMPTY]
        at = end + 1


def _expanded(runs: list[Run]) -> list[Run]:
    """`runs` with tabs made blanks; stops are counted from the start of the line."""
    out: list[Run] = []
    column = 0
    for run in runs:
        if "\t" in run.text:
            parts = run.text.split("\t")
            text = parts[0]
            for part in parts[1:]:
                text += " " * (8 - (column + cell_width(text)) % 8) + part
            run = run._replace(text=text)
        column += cell_width(run.text)
        out.append(run)
    return out


def _foreign_style(style: TextStyle) -> str:
    """Role names of a style that a program asked for."""
    names = [
        name
        for name in ("bold", "italic", "underline", "strike", "reverse")
        if getattr(style, name)
    ]
    if style.dim:
        names.append("muted")
    if style.fg is not None:
        names.append(f"fg:{_colour_name(style.fg)}")
    if style.bg is not None:
        names.append(f"bg:{_colour_name(style.bg)}")
    return " ".join(names)


def _colour_name(colour: Colour) -> str:
    return str(colour) if isinstance(colour, int) else "#{:02x}{:02x}{:02x}".format(*colour)
