"""Which escape sequences in a terminal stream are not the app's own.

For tests that collect every byte a surface wrote: a full-screen app may set colours, move the
cursor, switch its modes and mark synchronized frames. Whatever else is found came from outside.
"""

import re

_OWN = re.compile(
    r"\x1b\[[0-9;:]*m"  # colours
    r"|\x1b\[(?:[0-9]+(?:;[0-9]+)?)?H"  # cursor position
    r"|\x1b\[\?(?:7|25|1000|1002|1003|1004|1006|1015|1016|1049|2004|2026|2048)[hl]"  # modes
    r"|\x1b\[\?(?:2026|2048)\$p"  # asks whether the terminal knows a mode
    r"|\x1b\[[<>=]?[0-9;]*u"  # kitty keyboard protocol
)
_ANY = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_k][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x9f]"
    r"|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def foreign_sequences(stream: bytes | str) -> list[str]:
    """Every control sequence, control character and bidi control that is not the app's own.

    Backspace, tab, line ends and carriage return are ordinary movement and not listed.
    """
    text = stream.decode("utf-8", "replace") if isinstance(stream, bytes) else stream
    return [found for found in _ANY.findall(text) if not _OWN.fullmatch(found)]
