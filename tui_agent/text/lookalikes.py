"""Letters that pass for others, said in words beside the exact text.

`exact` shows what cannot be seen; this tells of what can be seen and misread. In: the text a person
is asked to judge. Out: short notices, themselves safe to show. A notice accuses nobody: words of
one script are ordinary, and only scripts whose letters are drawn like Latin ones are named.
"""

import re
import unicodedata
from typing import Final

from tui_agent.text.exact import exact

MOST_NOTICES: Final = 8

_WORD: Final = re.compile(r"\w*[^\W\x00-\x7f]\w*")
_HOST: Final = re.compile(r"://(?:[^/\s@]*@)?([^/\s:?#\"'<>|;]+)")
# First words of Unicode character names.
_LATIN_LIKE: Final = frozenset(
    ("ARMENIAN", "CHEROKEE", "COPTIC", "CYRILLIC", "FULLWIDTH", "GREEK", "LISU", "MATHEMATICAL")
)
# Cyrillic and Greek letters that most fonts draw like a Latin one.
_DRAWN_LIKE_LATIN: Final = frozenset(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u04bb\u0501\u051b\u051d"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0405\u0406\u0408"
    "\u03bf\u03bd\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
)


def lookalike_notices(text: str) -> tuple[str, ...]:
    """What in `text` may be misread: words of mixed scripts, and hosts in their ASCII form.

    In order of appearance, each once, at most `MOST_NOTICES`.
    """
    if text.isascii():
        return ()
    notices: dict[str, None] = {}
    for host in _HOST.findall(text):
        if not host.isascii():
            notices[f"the host {exact(host)} is {exact(_ascii_host(host))}"] = None
    for word in _WORD.findall(text):
        if len(notices) >= MOST_NOTICES:
            break
        if (notice := _word_notice(word)) is not None:
            notices[notice] = None
    return tuple(notices)[:MOST_NOTICES]


def _word_notice(word: str) -> str | None:
    foreign = [letter for letter in word if not letter.isascii() and _script(letter) in _LATIN_LIKE]
    if not foreign:
        return None
    letter = foreign[0]
    named = f"U+{ord(letter):04X} {unicodedata.name(letter)}"
    if any(_script(other) == "LATIN" for other in word):
        return f"mixed scripts in {exact(word)}: {named}"
    if _script(letter) in ("FULLWIDTH", "MATHEMATICAL") or _DRAWN_LIKE_LATIN.issuperset(word):
        return f"{exact(word)} is not Latin: {named}"
    return None


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").split(" ", 1)[0] if letter.isalpha() else ""


def _ascii_host(host: str) -> str:
    return ".".join(
        label if label.isascii() else f"xn--{_punycode(label)}" for label in host.split(".")
    )


def _punycode(label: str) -> str:
    folded = unicodedata.normalize("NFKC", label).casefold()
    return folded.encode("punycode", "replace").decode("ascii", "replace")
