"""Text as bytes: which encoding a file has, and how a changed text goes back into it.

A file that is UTF-8 is UTF-8. For others the encoding is guessed, and accepted only if the text
goes back to the very same bytes. A guess is good enough to change what is ASCII, or to repeat
characters the file already has; other characters go in only where the guess is sure, else the
change is refused: never a replacement character, never two encodings in one file.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from tui_agent.tools.errors import FileError, FileErrorCode

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MULTI_BYTE = frozenset(
    {"cp932", "shift_jis", "euc_jp", "gb18030", "gbk", "gb2312", "big5", "cp949", "euc_kr", "johab"}
)
_SAMPLE = 64 * 1024
_MANY = 24
"""So many non-ASCII bytes in a file make the guess of a one-byte encoding sure."""

_ODD_BYTES = bytes(range(0x80, 0x100))
_TEXT_CONTROLS = frozenset(b"\t\n\v\f\r\x1b\b")


@dataclass(frozen=True, slots=True)
class TextFile:
    """A decoded file. `codec` and `mark` (a byte order mark, or nothing) turn it into bytes."""

    text: str
    codec: str
    mark: bytes = b""
    is_sure: bool = True


def decode(data: bytes, *, is_part: bool = False) -> TextFile:
    """The text of a file; `is_part` when `data` is only its start. Raises `FileError`."""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return _marked(data, mark, codec, is_part=is_part)
    if is_binary(data):
        raise _binary()
    try:
        return TextFile(_strict(data, "utf-8", is_part=is_part), "utf-8")
    except UnicodeDecodeError:
        codec = guess(data)
    odd = len(data) - len(data.translate(None, _ODD_BYTES))
    is_sure = codec in _MULTI_BYTE or (codec != "latin-1" and odd >= _MANY)
    for candidate in (codec, "latin-1") if is_sure else ("cp1252", "latin-1"):
        try:
            text = _strict(data, candidate, is_part=is_part)
        except UnicodeDecodeError:
            continue
        if is_part or text.encode(candidate) == data:
            return TextFile(text, candidate, is_sure=is_sure and candidate == codec)
    raise AssertionError("latin-1 has a character for every byte")


def encode(file: TextFile, text: str) -> bytes:
    """`text` as bytes of the encoding of `file`, its mark kept. Raises `FileError`."""
    check_text(text)
    if not file.is_sure:
        strange = sorted(set(text) - set(file.text) - _ASCII)
        if strange:
            raise FileError(
                FileErrorCode.NOT_UTF8,
                f"The file is not UTF-8 and its encoding is not certain, so {strange[0]!r} cannot"
                " be put into it. Nothing was changed.",
            )
    try:
        return file.mark + text.encode(file.codec)
    except UnicodeEncodeError as error:
        raise FileError(
            FileErrorCode.NOT_UTF8,
            f"The file is in {file.codec}, which has no {text[error.start]!r}. Nothing was"
            " changed.",
        ) from None


def check_text(text: str) -> None:
    """Raises `FileError` when `text` has half a character, which no encoding can write."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FileError(
            FileErrorCode.INVALID_TEXT,
            f"The text contains half of a character (a lone surrogate,"
            f" U+{ord(text[error.start]):04X}) at position {error.start}.",
        ) from None


def is_binary(data: bytes) -> bool:
    """Whether the start of `data` looks like anything but text of a byte encoding."""
    sample = data[:8192]
    if b"\0" in sample:
        return True
    controls = sum(byte < 0x20 and byte not in _TEXT_CONTROLS for byte in sample)
    return controls > len(sample) * 0.1


def guess(data: bytes) -> str:
    """The likely encoding of text that is not UTF-8; latin-1, which fits any, when in doubt."""
    from charset_normalizer import from_bytes

    best = from_bytes(data[:_SAMPLE]).best()
    if best is None or best.encoding in ("utf_7", "hz") or best.encoding.startswith("iso2022"):
        return "latin-1"
    try:
        data.decode(best.encoding)
    except (UnicodeDecodeError, LookupError):
        return "latin-1"
    return best.encoding


def _marked(data: bytes, mark: bytes, codec: str, *, is_part: bool) -> TextFile:
    body = data[len(mark) :]
    try:
        text = _strict(body, codec, is_part=is_part)
    except UnicodeDecodeError:
        raise _binary() from None
    if "\0" in text:
        raise _binary()
    return TextFile(text, codec, mark)


def _strict(data: bytes, codec: str, *, is_part: bool) -> str:
    return codecs.getincrementaldecoder(codec)("strict").decode(data, final=not is_part)


def _binary() -> FileError:
    return FileError(
        FileErrorCode.BINARY_FILE,
        "This is a binary file; only text and images (PNG, JPEG, GIF, WebP) can be read.",
    )


_ASCII = frozenset(map(chr, range(128)))
