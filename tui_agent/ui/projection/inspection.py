"""The request inspector in lines: the layers with their sizes, what was changed, the exact body."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from tui_agent.ui.lines import Line, Piece, Tone, body, line, note
from tui_agent.ui.marks import Marks
from tui_agent.ui.projection.words import tokens
from tui_agent.vocabulary.codec import to_json
from tui_agent.vocabulary.inspection import InspectedRequest, PromptLayer

_BAR = 16
"""Cells of the bar that shows a layer's share of the whole."""
_NAME = 14


def request_title(request: InspectedRequest, place: int, count: int) -> Line:
    """Which request this is and whose model gets it."""
    if request.sent is None:
        which = "The next request"
    else:
        which = f"Sent {datetime.fromtimestamp(request.sent, UTC).astimezone():%H:%M:%S}"
    model = f"  {request.model.provider} · {request.model.model}"
    return line(
        Piece(which, Tone.STRONG),
        Piece(model, Tone.MUTED),
        right=(Piece(f"{place + 1} of {count}", Tone.MUTED),),
    )


def layer_lines(request: InspectedRequest, marks: Marks) -> list[Line]:
    """What it is made of, then what was changed on the way, then the texts of the prompt."""
    share = 100 * request.tokens / request.window if request.window else 0
    total = sum(layer.tokens for layer in request.layers) or 1
    full = "#" if marks.ascii_only else "▪"
    lines = [
        line(
            Piece(f"{request.tokens:,}", Tone.STRONG),
            f" of {request.window:,} tokens",
            Piece(f"  {share:.1f} % of the window · its parts are estimates", Tone.MUTED),
        ),
        line(),
    ]
    lines += [_layer(layer, layer.tokens / total, full) for layer in request.layers]
    lines += [line(), line(Piece("Changed on the way", Tone.STRONG))]
    if request.notes:
        lines += [line(Piece(" - ", Tone.WAITING), text) for text in request.notes]
    else:
        lines.append(note(" nothing: it goes out as it is stored"))
    for layer in request.layers:
        if layer.text:
            title = line(Piece(layer.name, Tone.STRONG), Piece(f"  {layer.source}", Tone.MUTED))
            lines += [line(), title, *body(layer.text)]
    return lines


def body_lines(request: InspectedRequest) -> list[Line]:
    """The exact body, as indented JSON."""
    value = to_json(request.body)
    sent = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    size = len(sent.encode(errors="surrogatepass"))
    shown = json.dumps(value, ensure_ascii=False, indent=2)
    return [note(f"{size:,} bytes when sent without the indents"), line(), *body(shown)]


def _layer(layer: PromptLayer, share: float, full: str) -> Line:
    return line(
        Piece(f" {layer.name:<{_NAME}}"),
        Piece(f"{tokens(layer.tokens):>6} "),
        Piece((full * round(_BAR * share)).ljust(_BAR), Tone.ACCENT),
        Piece(f"  {layer.source}", Tone.MUTED),
    )
