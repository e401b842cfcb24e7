"""Which characters are odd, as data.

Three questions are answered here and nowhere else: which code points draw nothing, which ones may
stay although they draw nothing (inside an emoji, between letters of a joining script), and which
ones are spelled out because hiding them would be worse than showing them. The code point ranges
come from the Unicode character database (General_Category, Default_Ignorable_Code_Point,
Extended_Pictographic). The module knows nothing about control sequences.
"""

import re
from typing import Final

C0_AND_C1: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f"
"""Every control character except line feed and tab, as the inside of a regex class."""

SPELLED_OUT: Final = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
"""Bidirectional controls reorder what a reader sees and surrogates cannot be encoded: both are
shown as `<U+XXXX>` wherever they stand."""

INVISIBLE: Final = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2028\u2029\u2060-\u2065"
    "\u206a-\u206f\u3164\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Draws nothing: format characters, variation selectors, tags, fillers, noncharacters."""

UNSEEN_MARKS_AND_LETTERS: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef"
)
"""What `str.isprintable` calls printable although a reader sees nothing."""

EMOJI_BASE: Final = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u2388\u23cf"
    "\u23e9-\u23f3\u23f8-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2605"
    "\u2607-\u2612\u2614-\u2685\u2690-\u2705\u2708-\u2712\u2714\u2716\u271d\u2721\u2728\u2733"
    "\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763-\u2767\u2795-\u2797\u27a1\u27b0\u27bf"
    "\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001f0ff\U0001f10d-\U0001f10f\U0001f12f\U0001f16c-\U0001f171\U0001f17e\U0001f17f"
    "\U0001f18e\U0001f191-\U0001f19a\U0001f201-\U0001f20f\U0001f21a\U0001f22f\U0001f232-\U0001f23a"
    "\U0001f300-\U0001f53d\U0001f546-\U0001f64f\U0001f680-\U0001f6ff\U0001f7e0-\U0001f7ff"
    "\U0001f90c-\U0001f93a\U0001f93c-\U0001f945\U0001f947-\U0001faff"
)
"""Pictographs and skin tones: what a selector or a joiner may follow."""

JOINING_SCRIPTS: Final = (
    "\u0620-\u06ff\u0700-\u074f\u0750-\u077f\u07c0-\u07ff\u0840-\u085f\u0860-\u08ff\u0900-\u0dff"
    "\u0f00-\u0fff\u1000-\u109f\u1780-\u17b3\u17b6-\u17d3\u1820-\u18aa\u1b00-\u1bff\ua840-\ua87f"
    "\ua8e0-\ua8ff\ua9e0-\ua9ff\uaa60-\uaa7f\ufb50-\ufdcf\ufe70-\ufefc"
    "\U00010a00-\U00010a5f\U00011000-\U0001134f\U0001e900-\U0001e95f"
)
"""Arabic, Indic and related scripts, where ZWJ and ZWNJ change the shape of real words."""

_TAG_FLAGS: Final = (
    "\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)\U000e007f"
)

_ODD: Final = re.compile(f"[{C0_AND_C1}{SPELLED_OUT}{INVISIBLE}]")
_ODD_ASCII: Final = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f]")

CONTROL: Final = re.compile(f"[{C0_AND_C1}]")

UNSEEN: Final = re.compile(
    f"(?P<flag>{_TAG_FLAGS})"
    f"|(?P<emoji>(?<=[{EMOJI_BASE}])[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    f"|(?:(?<=[{EMOJI_BASE}])|(?<=[{EMOJI_BASE}]\ufe0f))\u200d(?=[{EMOJI_BASE}]))"
    f"|(?P<joiner>(?<=[{JOINING_SCRIPTS}])[\u200c\u200d](?=[{JOINING_SCRIPTS}]))"
    f"|(?P<spelled>[{SPELLED_OUT}])"
    f"|(?P<gone>[{INVISIBLE}])"
)
"""The unseen characters of a text, sorted into what stays, what is spelled out and what goes.
Looks at most two characters back and, beyond the match, one ahead."""

UNDECIDED_TAIL: Final = re.compile(
    "(?:\U0001f3f4[\U000e0061-\U000e007a]{0,5}|[\ufe0f\u200c\u200d])\\Z"
)
"""The end of a chunk whose fate depends on characters that have not come yet."""
UNDECIDED_TAIL_LENGTH: Final = 6


def is_safe(text: str) -> bool:
    """Whether there is nothing odd in `text`, so that it may be shown as it stands."""
    odd = _ODD_ASCII if text.isascii() else _ODD
    return odd.search(text) is None


def spelled(character: str) -> str:
    """The visible name of one character: `<U+202E>`."""
    return f"<U+{ord(character):04X}>"
