"""Which image a file is, and how large its picture is, from its first bytes."""

from __future__ import annotations

import struct
from dataclasses import dataclass

MAX_BYTES = 5 * 1024 * 1024
MAX_SIDE = 8000
"""Pixels. Model providers refuse larger pictures."""


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """`width` and `height` are in pixels; 0 when the header does not say."""

    media_type: str
    width: int = 0
    height: int = 0


def image_facts(data: bytes) -> ImageFacts | None:
    """What image `data` is; `None` when it is none of the four kinds that models take."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return ImageFacts("image/png", *struct.unpack(">II", data[16:24]))
        if data[:6] in (b"GIF87a", b"GIF89a"):
            return ImageFacts("image/gif", *struct.unpack("<HH", data[6:10]))
        if data.startswith(b"\xff\xd8\xff"):
            return ImageFacts("image/jpeg", *_jpeg_size(data))
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return ImageFacts("image/webp", *_webp_size(data))
    except (struct.error, IndexError):
        return None  # cut within its own header
    return None


def _jpeg_size(data: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        # start of frame, in any of its kinds; C4, C8 and CC are tables
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return 0, 0


def _webp_size(data: bytes) -> tuple[int, int]:
    kind = data[12:16]
    if kind == b"VP8X":
        return (
            int.from_bytes(data[24:27], "little") + 1,
            int.from_bytes(data[27:30], "little") + 1,
        )
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return 0, 0
