"""The independent judge of requests: would every provider accept this?

A request body of either wire comes in, the violations go out, each as `where: what`; none means
that a strict provider accepts it. It shares no code with the program under test, on purpose: a
mistake there must not be repeated here. Tests also call it on stored histories that they have made
into a request.

`rules` narrows what is judged; the tests of the rules use it to show that each one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.scripted import anthropic_rules, chat_rules
from tests.scripted.issued import Issued
from tests.scripted.subject import Rule, Subject, messages_are_a_list_of_objects


def check_anthropic(
    body: Mapping[str, Any],
    issued: Issued | None = None,
    *,
    bind_thinking: bool = False,
    rules: Iterable[Rule] = anthropic_rules.RULES,
) -> list[str]:
    """Violations of a Messages request.

    `issued` is what the server gave out; without it only signatures that prove themselves count as
    genuine.
    """
    subject = Subject(body, issued or Issued(), bind_thinking=bind_thinking)
    return _violations(subject, rules)


def check_chat(
    body: Mapping[str, Any],
    issued: Issued | None = None,
    *,
    demand_reasoning: bool = False,
    sign_calls: bool = False,
    rules: Iterable[Rule] = chat_rules.RULES,
) -> list[str]:
    """Violations of a Chat Completions request; `demand_reasoning` judges as DeepSeek does,
    `sign_calls` as Gemini."""
    subject = Subject(
        body, issued or Issued(), demand_reasoning=demand_reasoning, sign_calls=sign_calls
    )
    return _violations(subject, rules)


def _violations(subject: Subject, rules: Iterable[Rule]) -> list[str]:
    shape = list(messages_are_a_list_of_objects(subject))
    return shape or [text for rule in rules for text in rule(subject)]
