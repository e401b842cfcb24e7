"""Control sequences of terminals, as grammar.

Answers what stands at an ESC or an 8-bit control character: a colour change, another complete
sequence, the beginning of one that may still be completed, or none of these. Grammar after
ECMA-48 and the parsers of xterm-like terminals: a string ends with ST (an operating system command
also with BEL) and is broken off by CAN, SUB, another ESC or a C1 control. Nothing here acts on a
sequence, and every pattern reads a character once (possessive repeats), so hostile input costs
linear time.
"""

import re
from typing import Final

LONGEST_SEQUENCE: Final = 4096
"""Characters; what is longer is text that happens to begin like a sequence."""

INTRODUCERS: Final = frozenset("\x1b\x90\x98\x9b\x9d\x9e\x9f")
"""Characters that begin a sequence of more than one character."""

_CSI = r"(?:\x1b\[|\x9b)"
_OSC = r"(?:\x1b\]|\x9d)[^\x07\x18\x1a\x1b\x80-\x9f]*+"
_STRING = r"(?:\x1b[PX^_k]|[\x90\x98\x9e\x9f])[^\x18\x1a\x1b\x80-\x9f]*+"

COMPLETE: Final = re.compile(
    rf"{_CSI}(?P<colours>[0-9;:]*+)m"
    rf"|{_CSI}[0-?]*+[ -/]*+[@-~]"
    rf"|{_OSC}(?:\x07|\x1b\\|\x9c)"
    rf"|{_STRING}(?:\x1b\\|\x9c)"
    r"|\x1b(?:[ -/]++[0-~]|(?![\[\]PX^_k])[0-~])"
)
"""Group `colours` holds the parameters of an SGR sequence and is None for all others."""

BEGUN: Final = re.compile(
    rf"{_CSI}[0-?]*+[ -/]*+|{_OSC}\x1b?|{_STRING}\x1b?|\x1b[ -/]*+",
)
"""Full match to the end of a chunk: more input may complete it."""

VOID_ESCAPES: Final = re.compile(r"\x1b+(?=\x1b)")
"""An ESC before another ESC begins nothing."""
