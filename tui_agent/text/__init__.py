"""Foreign text made safe to show, and text cut to fit.

Whatever a model, a tool, a file or another program wrote comes in here before a widget, a listing,
a log or a window title gets it. Three strengths: `exact` shows every odd character, `output` keeps
colours only, `prose` keeps words only. All take linear time, none reads markup, none does I/O.
"""

from tui_agent.text.exact import exact
from tui_agent.text.excerpts import head_tail
from tui_agent.text.foreign import StreamSanitizer, output, plain, prose
from tui_agent.text.lookalikes import lookalike_notices
from tui_agent.text.styles import (
    PALETTE_NAMES,
    Colour,
    Span,
    StyledText,
    TextStyle,
    palette_rgb,
)
from tui_agent.text.surrogates import safe_surrogates
from tui_agent.text.widths import cell_width, truncate, wrap

__all__ = [
    "PALETTE_NAMES",
    "Colour",
    "Span",
    "StreamSanitizer",
    "StyledText",
    "TextStyle",
    "cell_width",
    "exact",
    "head_tail",
    "lookalike_notices",
    "output",
    "palette_rgb",
    "plain",
    "prose",
    "safe_surrogates",
    "truncate",
    "wrap",
]
