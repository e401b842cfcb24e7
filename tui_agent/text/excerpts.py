"""Cutting long text to its head and tail.

In: text of any length. Out: text of bounded length that says how much it left out. Meant for tool
output before it is stored or sent to a model, so lengths are characters, not cells.
"""

import unicodedata


def head_tail(text: str, limit_chars: int, *, head: int, tail: int) -> tuple[str, int]:
    """`text` itself if it has at most `limit_chars` characters, else its ends around a notice.

    At most `head` characters of the start and `tail` of the end stay, cut at a line end where one
    lies in the far half of them, else between characters. The number says how many characters were
    left out. A `head` and `tail` that together reach `limit_chars` are cut down in proportion.
    """
    if min(limit_chars, head, tail) < 0:
        raise ValueError("lengths are numbers of characters, at least 0")
    if len(text) <= limit_chars:
        return text, 0
    if head + tail > limit_chars:
        head, tail = limit_chars * head // (head + tail), limit_chars * tail // (head + tail)
    end = _end_of_head(text, head)
    begin = _begin_of_tail(text, len(text) - tail)
    before = "" if end == 0 or text[end - 1] == "\n" else "\n"
    after = "\n" if begin < len(text) else ""
    notice = f"{before}[{begin - end} characters left out]{after}"
    return text[:end] + notice + text[begin:], begin - end


def _end_of_head(text: str, limit: int) -> int:
    line_end = text.rfind("\n", limit // 2, limit) + 1
    if line_end:
        return line_end
    while limit > 0 and _continues(text, limit):
        limit -= 1
    return limit


def _begin_of_tail(text: str, limit: int) -> int:
    line_begin = text.find("\n", max(0, limit - 1), (limit + len(text)) // 2) + 1
    if line_begin:
        return line_begin
    while limit < len(text) and _continues(text, limit):
        limit += 1
    return limit


def _continues(text: str, at: int) -> bool:
    """Whether the character at `at` belongs to the one before it."""
    return text[at - 1] == "\u200d" or unicodedata.category(text[at]) in ("Mn", "Me", "Cf")
