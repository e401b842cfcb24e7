"""Tokens spent, in one shape for every provider.

`input + cache_read + cache_write` is the whole prompt; `reasoning` is a part of `output`. `None`
means that the provider did not say, which is not the same as zero.
"""

from __future__ import annotations

from dataclasses import dataclass

CHARACTERS_PER_TOKEN = 3.6
IMAGE_TOKENS = 1_600
"""What to reckon with where nobody counted."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one model call, or a sum of several. `estimated`: the provider left counts
    out, and some of these are reckoned from lengths; people see a "~" before them."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    estimated: bool = False

    @property
    def prompt(self) -> int:
        """All tokens of the prompt, cached or not; what the provider left out counts as 0."""
        return (self.input or 0) + (self.cache_read or 0) + (self.cache_write or 0)

    @property
    def total(self) -> int:
        """Prompt and output together."""
        return self.prompt + (self.output or 0)

    @property
    def cached_share(self) -> float | None:
        """The part of the prompt that was read from the provider's cache, from 0 to 1; `None`
        where the provider did not say."""
        if self.cache_read is None or not self.prompt:
            return None
        return self.cache_read / self.prompt

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            _sum(self.input, other.input),
            _sum(self.output, other.output),
            _sum(self.cache_read, other.cache_read),
            _sum(self.cache_write, other.cache_write),
            _sum(self.reasoning, other.reasoning),
            self.estimated or other.estimated,
        )


def _sum(left: int | None, right: int | None) -> int | None:
    if left is None:
        return right
    return left if right is None else left + right
