"""Ids and times, behind functions that a test can replace.

Ids sort by creation time: 10 base-32 characters of milliseconds, then 8 random ones.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def _base32(value: int, length: int) -> str:
    digits = []
    for _ in range(length):
        value, digit = divmod(value, 32)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))


def new_id(prefix: str) -> str:
    """A fresh id such as `ses_01jbd2k3m4n5p6q7r8`; `prefix` says what it names."""
    stamp = _base32(int(time.time() * 1000), 10)
    return f"{prefix}_{stamp}{_base32(secrets.randbits(40), 8)}"


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall time for people, monotonic time for durations; both in seconds."""

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic


SYSTEM_CLOCK = Clock()
