"""A session of 10,000 messages, made directly in the store."""

from __future__ import annotations

from pathlib import Path

from tui_agent.store import Store
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.blocks import TextBlock
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.records import SessionRecord

MESSAGES = 10_000
ANSWER = (
    "## Part {n}\n\n" + "Some words about the work, *with* `code` and a list.\n\n- one\n- two\n" * 8
)


async def store_long_session(folder: Path, database: Path) -> None:
    """Store it as the newest session of `folder`."""
    database.parent.mkdir(parents=True, mode=0o700)
    store = await Store.open(database)
    place = str(folder.resolve())
    record = SessionRecord("ses_long", place, ModelChoice("demo", "demo"), "ses_long", 1.0, 1.0)
    await store.create_session(record)
    for number in range(MESSAGES):
        is_prompt = number % 2 == 0
        message = Message(
            f"msg_{number}",
            "user" if is_prompt else "assistant",
            (TextBlock(f"Question {number}?" if is_prompt else ANSWER.format(n=number)),),
            Origin.USER if is_prompt else Origin.ASSISTANT,
            float(number),
        )
        await store.append_message("ses_long", message)
    await store.close()
