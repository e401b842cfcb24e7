"""Lone surrogates: code points that Python strings can hold and UTF-8 cannot.

They come from file names that are not UTF-8 and from JSON escapes that were cut in the middle.
In: any string. Out: a string that can be stored, sent and hashed as UTF-8.
"""


def safe_surrogates(text: str) -> str:
    """`text` with surrogate pairs joined and each lone surrogate written out as `\\udXXX`.

    A text without surrogates comes back as it is.
    """
    if _is_encodable(text):
        return text
    return join_pairs(text).encode("utf-8", "backslashreplace").decode("utf-8")


def join_pairs(text: str) -> str:
    """`text` with each high surrogate and the low one after it made one character."""
    if _is_encodable(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
