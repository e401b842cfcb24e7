"""The `scripted` fixture for the tests of this folder."""

from tests.scripted.plugin import scripted

__all__ = ["scripted"]
