"""Markdown as lines of styled runs.

In: text that is already safe to show, and a width. Out: wrapped `Line`s whose styles are role
names. HTML is shown as the text it is, an image as its alternative text, a link as its text with
the address kept beside it. Parsing is markdown-it's; entities are decoded there, after the text was
made safe, so every piece of text that comes out of the parser is made safe once more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from tui_agent.text import cell_width, prose
from tui_agent.ui.transcript.glyphs import UNICODE_GLYPHS, Glyphs
from tui_agent.ui.transcript.highlight import highlighted
from tui_agent.ui.transcript.lines import EMPTY, Line, Run, prefixed, wrap_hard, wrap_runs
from tui_agent.ui.transcript.tables import Cell, table_lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MEASURE: Final = 100
"""Text is never set wider than this many cells."""

References = dict[str, Any]
"""Link definitions seen so far, as markdown-it keeps them in its environment."""

_ADDRESS: Final = re.compile(r"https?://[^\s<>\"'`|\\^{}]*[^\s<>\"'`|\\^{}.,;:!?)\]]")
_TASK: Final = re.compile(r"\[([ xX])\] ")
_INLINE_STYLES: Final = {"em_open": "em", "strong_open": "strong", "s_open": "strike"}
_INLINE_ENDS: Final = frozenset({"em_close", "strong_close", "s_close"})


@lru_cache(maxsize=1)
def parser() -> MarkdownIt:
    """The one parser. Building it costs as much as parsing a message; it keeps no state."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


@lru_cache(maxsize=1)
def block_parser() -> MarkdownIt:
    """Finds blocks only and leaves the text in them alone: a third of the cost."""
    from markdown_it import MarkdownIt

    only_blocks = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    only_blocks.core.ruler.enableOnly(["normalize", "block"])
    return only_blocks


def warm_up() -> None:
    """Loads what the first message needs; meant for a thread, after the first paint."""
    render_markdown("# a\n\n- b `c`\n\n```python\nd = 1\n```\n\n|e|\n|-|\n|f|\n", 40)


def render_markdown(
    text: str,
    width: int,
    *,
    glyphs: Glyphs = UNICODE_GLYPHS,
    references: References | None = None,
    highlight: bool = True,
) -> list[Line]:
    """The lines of `text`, none wider than `width` cells nor than the measure.

    `references` are link definitions from other parts of the same message.
    """
    env = {"references": dict(references or {})}
    tokens = parser().parse(text, env)
    renderer = _Renderer(min(MEASURE, max(1, width)), glyphs, highlight, text.split("\n"))
    return renderer.blocks(tokens, renderer.width)


@dataclass(slots=True)
class _Renderer:
    width: int
    glyphs: Glyphs
    highlight: bool
    source: list[str]

    def blocks(self, tokens: Sequence[Token], width: int, *, list_depth: int = 0) -> list[Line]:
        """Sibling blocks, one empty line between them."""
        lines: list[Line] = []
        for start, end in siblings(tokens):
            block = self._block(tokens[start:end], width, list_depth)
            if block and lines:
                lines.append(EMPTY)
            lines.extend(block)
        return lines

    def _block(self, tokens: Sequence[Token], width: int, list_depth: int) -> list[Line]:
        head = tokens[0]
        match head.type:
            case "paragraph_open":
                return self._text(tokens[1], width)
            case "heading_open":
                level = int(head.tag[1])
                return self._text(tokens[1], width, f"heading heading-{level}")
            case "bullet_list_open" | "ordered_list_open":
                return self._list(tokens, width, list_depth)
            case "blockquote_open":
                inner = self.blocks(tokens[1:-1], max(1, width - 2))
                bar = (Run(f"{self.glyphs.gutter} ", "gutter", is_drawn=True),)
                quoted = [
                    line._replace(
                        runs=tuple(run._replace(style=f"quote {run.style}") for run in line.runs)
                    )
                    for line in inner
                ]
                return prefixed(quoted, bar)
            case "fence" | "code_block":
                return self._code(head, width)
            case "hr":
                return [Line((Run(self.glyphs.rule * width, "rule"),))]
            case "table_open":
                return table_lines(self._cells(tokens), width, self.glyphs.rule)
            case _:
                # A block of a kind we never enabled: its source is better than nothing.
                return wrap_runs([Run(prose(head.content))], width) if head.content else []

    def _text(self, token: Token, width: int, style: str = "") -> list[Line]:
        lines: list[Line] = []
        for runs in inline_lines(token, style):
            lines.extend(wrap_runs(runs, width))
        return lines

    def _list(self, tokens: Sequence[Token], width: int, depth: int) -> list[Line]:
        items = list(siblings(tokens[1:-1], offset=1))
        ordered = tokens[0].type == "ordered_list_open"
        first = int(tokens[0].attrs.get("start", 1)) if ordered else 0
        number_width = len(str(first + len(items) - 1))
        bullets = self.glyphs.bullets
        lines: list[Line] = []
        for number, (start, end) in enumerate(items, first):
            item = tokens[start:end]
            if ordered:
                marker = f"{number:>{number_width}}. "
            else:
                marker = f"{bullets[min(depth, len(bullets) - 1)]} "
            if lines and self._is_apart(item[0]):
                lines.append(EMPTY)
            lines.extend(self._item(item, marker, width, depth))
        return lines

    def _item(self, tokens: Sequence[Token], marker: str, width: int, depth: int) -> list[Line]:
        indent = cell_width(marker)
        room = max(1, width - indent)
        lines: list[Line] = []
        for start, end in siblings(tokens[1:-1], offset=1):
            block = tokens[start:end]
            content = self._block(block, room, depth + 1)
            if lines and content and self._is_apart(block[0]):
                lines.append(EMPTY)
            lines.extend(content)
        first = (Run(marker, "marker"),)
        lines, is_finished = _task(lines or [EMPTY])
        if is_finished:
            lines = [
                line._replace(
                    runs=tuple(run._replace(style=f"muted {run.style}") for run in line.runs)
                )
                for line in lines
            ]
        out = [lines[0]._replace(runs=first + lines[0].runs)]
        written, drawn = Run(" " * indent), Run(" " * indent, is_drawn=True)
        for line in lines[1:]:
            # The indent of a wrapped row is only drawn, that of a row of its own was written.
            before = written if line.joint == "\n" else drawn
            out.append(line._replace(runs=(before, *line.runs)) if line.runs else line)
        return out

    def _is_apart(self, token: Token) -> bool:
        """Whether the source has an empty line before this block.

        Markdown calls a whole list loose when one pair of its items is apart. Taking the source at
        its word for each pair looks better, and the look of one item never changes because of a
        later one.
        """
        if not token.map or not 0 < token.map[0] <= len(self.source):
            return False
        return not self.source[token.map[0] - 1].strip("> \t")

    def _code(self, token: Token, width: int) -> list[Line]:
        language = prose(token.info).split(maxsplit=1)[0] if token.info.strip() else ""
        code = prose(token.content).removesuffix("\n").expandtabs(4)
        inset = 1 if width > 4 else 0
        pad = (Run(" " * inset, "code-block", is_drawn=True),)
        lines: list[Line] = []
        for runs in highlighted(code, language if self.highlight else ""):
            styled = [run._replace(style=f"code-block {run.style}") for run in runs]
            lines.extend(wrap_hard(styled, width - 2 * inset))
        return [line._replace(fill="code-block") for line in prefixed(lines or [EMPTY], pad)]

    def _cells(self, tokens: Sequence[Token]) -> list[list[Cell]]:
        rows: list[list[Cell]] = []
        for index, token in enumerate(tokens):
            if token.type == "tr_open":
                rows.append([])
            elif token.type in ("th_open", "td_open"):
                align = str(token.attrs.get("style", "")).removeprefix("text-align:")
                style = "table-head" if token.type == "th_open" else ""
                lines = list(inline_lines(tokens[index + 1], style))
                rows[-1].append(Cell(lines[0] if lines else [], align or "left"))
        return rows


def siblings(tokens: Sequence[Token], offset: int = 0) -> Iterator[tuple[int, int]]:
    """Start and end of each block at the outermost level of `tokens`."""
    depth = start = 0
    for index, token in enumerate(tokens):
        if depth == 0:
            start = index
        depth += token.nesting
        if depth == 0:
            yield start + offset, index + 1 + offset


def inline_lines(token: Token, style: str = "") -> Iterator[list[Run]]:
    """The runs of an inline token, one list for each line that the source breaks by hand."""
    styles = [style] if style else []
    runs: list[Run] = []
    href: str | None = None
    for child in token.children or ():
        match child.type:
            case "text":
                runs.extend(_plain_runs(prose(child.content), " ".join(styles), href))
            case "code_inline":
                runs.append(Run(prose(child.content), " ".join([*styles, "code"]), href))
            case "softbreak":
                runs.append(Run(" ", " ".join(styles), href))
            case "hardbreak":
                yield runs
                runs = []
            case "link_open":
                href = str(child.attrs.get("href", "")) or None
                styles.append("link")
            case "link_close":
                href = None
                styles.pop()
            case "image":
                alt = prose(child.content) or str(child.attrs.get("src", ""))
                runs.append(Run(f"[{prose(alt)}]", " ".join([*styles, "image"]), href))
            case opening if opening in _INLINE_STYLES:
                styles.append(_INLINE_STYLES[opening])
            case closing if closing in _INLINE_ENDS:
                styles.pop()
            case _:
                runs.append(Run(prose(child.content), " ".join(styles), href))
    yield [run for run in runs if run.text]


def _plain_runs(text: str, style: str, href: str | None) -> Iterator[Run]:
    """Text with bare web addresses made into links."""
    text = text.replace("\n", " ").replace("\t", " ")
    if href is None and "://" in text:
        at = 0
        for match in _ADDRESS.finditer(text):
            yield Run(text[at : match.start()], style)
            yield Run(match.group(), f"{style} link".strip(), match.group())
            at = match.end()
        text = text[at:]
    yield Run(text, style, href)


def _task(lines: list[Line]) -> tuple[list[Line], bool]:
    """`lines` with a task's box set apart from its text, and whether the task is finished."""
    first = lines[0]
    if not first.runs or first.joint != "\n":
        return lines, False
    match = _TASK.match(first.runs[0].text)
    if match is None or first.runs[0].style:
        return lines, False
    is_finished = match[1] != " "
    box = Run("[x] " if is_finished else "[ ] ", "state-done" if is_finished else "marker")
    rest = first.runs[0]._replace(text=first.runs[0].text[match.end() :])
    return [first._replace(runs=(box, rest, *first.runs[1:])), *lines[1:]], is_finished
