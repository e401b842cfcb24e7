"""Thin first cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.scripted.issued import Issued


def check_anthropic(
    body: Mapping[str, Any], issued: Issued | None = None, *, bind_thinking: bool = False
) -> list[str]:
    return []


def check_chat(
    body: Mapping[str, Any], issued: Issued | None = None, *, demand_reasoning: bool = False
) -> list[str]:
    return []
