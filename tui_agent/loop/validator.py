"""The last look at a request: is it one that every provider accepts?

Independent of how the request was made. Returns what is wrong, in words; an empty list is a pass.
"""

from __future__ import annotations

from tui_agent.providers.base import ModelRequest, RequestMessage
from tui_agent.vocabulary.blocks import TextBlock, ToolResultBlock, tool_uses


def violations(request: ModelRequest) -> list[str]:
    """Everything about `request` that a strict provider would refuse."""
    messages = request.messages
    if not messages:
        return ["there is no message to send"]
    wrong = []
    if messages[0].role != "user":
        wrong.append("the first message is not the person's")
    if messages[-1].role != "user":
        wrong.append("the last message is the model's own: there is nothing to answer")
    seen: set[str] = set()
    awaited: list[str] = []
    previous = None
    for message in messages:
        if message.role == previous:
            wrong.append(f"two {message.role} messages stand side by side")
        previous = message.role
        wrong += _of_message(message, awaited)
        awaited = [use.id for use in tool_uses(message.blocks)]
        for call_id in awaited:
            if call_id in seen:
                wrong.append(f"the call id {call_id} is used twice")
            seen.add(call_id)
    if awaited:
        wrong.append(f"the call {awaited[0]} has no answer")
    return wrong


def _of_message(message: RequestMessage, awaited: list[str]) -> list[str]:
    wrong = []
    if not message.blocks:
        wrong.append(f"a {message.role} message is empty")
    if any(isinstance(block, TextBlock) and not block.text.strip() for block in message.blocks):
        wrong.append("a text is blank")
    answers = [b.tool_use_id for b in message.blocks if isinstance(b, ToolResultBlock)]
    if answers != awaited:
        wrong.append(f"the calls {awaited} are answered as {answers}")
    return wrong
