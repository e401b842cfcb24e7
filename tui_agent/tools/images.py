"""Which image a file is, how large its picture is, and whether it is whole.

Only the structure is looked at, not the picture: that every part is there and the checksums of a
PNG hold. A provider refuses an image that is cut off, and with it every later request of the
session, so it must not get into a result. In come the bytes of a file; nothing is opened here.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

MAX_BYTES = 5 * 1024 * 1024 // 4 * 3
"""Providers count 5 MiB in base64, where three bytes become four characters."""
MAX_SIDE = 8000
"""Pixels. Model providers refuse larger pictures."""


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """`width` and `height` are in pixels. `problem` says what is wrong with a broken image."""

    media_type: str
    width: int = 0
    height: int = 0
    problem: str = ""


class _Broken(Exception):  # noqa: N818 - never leaves this module
    """`str()` is the problem."""


def image_facts(data: bytes) -> ImageFacts | None:
    """What image `data` is; `None` when it is none of the four kinds that models take."""
    kind = _kind(data)
    if kind is None:
        return None
    media_type, measure = kind
    try:
        width, height = measure(data)
    except _Broken as broken:
        return ImageFacts(media_type, problem=str(broken))
    except (struct.error, IndexError):
        return ImageFacts(media_type, problem="it is cut off")
    if not (width and height):
        return ImageFacts(media_type, problem="its picture has no size")
    return ImageFacts(media_type, width, height)


def _kind(data: bytes) -> tuple[str, Callable[[bytes], tuple[int, int]]] | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png", _png_size
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif", _gif_size
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg", _jpeg_size
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp", _webp_size
    return None


def _png_size(data: bytes) -> tuple[int, int]:
    size = (0, 0)
    at, has_picture = 8, False
    while True:
        (length,) = struct.unpack_from(">I", data, at)
        name, body_end = data[at + 4 : at + 8], at + 8 + length
        (checksum,) = struct.unpack_from(">I", data, body_end)
        if zlib.crc32(memoryview(data)[at + 4 : body_end]) != checksum:
            raise _Broken("a part of it is damaged")
        if name == b"IHDR":
            size = struct.unpack_from(">II", data, at + 8)
        has_picture = has_picture or name == b"IDAT"
        if name == b"IEND":
            if not has_picture:
                raise _Broken("there is no picture in it")
            return size
        at = body_end + 4


def _gif_size(data: bytes) -> tuple[int, int]:
    width, height, flags = struct.unpack_from("<HHB", data, 6)
    at = 13 + _table_bytes(flags)
    has_picture = False
    while True:
        introducer = data[at]
        if introducer == 0x3B:
            if not has_picture:
                raise _Broken("there is no picture in it")
            return width, height
        if introducer == 0x21:
            at += 2
        elif introducer == 0x2C:
            has_picture = True
            # descriptor, its own colour table, and the byte before the picture's data
            at += 10 + _table_bytes(data[at + 9]) + 1
        else:
            raise _Broken("a part of it is damaged")
        while data[at]:
            at += data[at] + 1
        at += 1


def _table_bytes(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _jpeg_size(data: bytes) -> tuple[int, int]:
    size = (0, 0)
    at = 2
    while True:
        while data[at] == 0xFF and data[at + 1] == 0xFF:
            at += 1  # any number of these may stand before a marker
        if data[at] != 0xFF:
            raise _Broken("a part of it is damaged")
        marker = data[at + 1]
        (length,) = struct.unpack_from(">H", data, at + 2)
        # start of frame, in any of its kinds; C4, C8 and CC are tables
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            size = struct.unpack_from(">HH", data, at + 5)[::-1]
        at += 2 + length
        if marker == 0xDA:
            # within the picture's data this pair of bytes can only be the end
            if data.find(b"\xff\xd9", at) < 0:
                raise _Broken("it is cut off")
            return size


def _webp_size(data: bytes) -> tuple[int, int]:
    (length,) = struct.unpack_from("<I", data, 4)
    if len(data) < length + 8:
        raise _Broken("it is cut off")
    kind = data[12:16]
    if kind == b"VP8X":
        return (
            int.from_bytes(data[24:27], "little") + 1,
            int.from_bytes(data[27:30], "little") + 1,
        )
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    raise _Broken("a part of it is damaged")
