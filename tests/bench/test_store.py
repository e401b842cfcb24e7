"""What it costs to open a long session: figures, not promises."""

import sqlite3
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.store.kit import said, session
from tui_agent.store import Store
from tui_agent.store.rows import insert, message_row

pytestmark = pytest.mark.bench


async def test_ten_thousand_messages(tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "state" / "sessions.db")
    await store.create_session(session())
    rows = [
        message_row("ses_a", replace(said(f"m{n}", f"message {n} " * 170), seq=n))
        for n in range(1, 10_001)
    ]

    def fill(connection: sqlite3.Connection) -> None:
        for row in rows:
            insert(connection, "messages", row)

    await store._db.write(fill)
    print()
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "history": lambda: store.history("ses_a"),
        "last 200": lambda: store.messages("ses_a", last=200),
        "summaries": store.summaries,
        "search": lambda: store.search("message 4711"),
        "append": lambda: store.append_message("ses_a", said(f"x{time.time()}", "text")),
    }
    for name, call in calls.items():
        times = []
        for _ in range(5):
            began = time.perf_counter()
            await call()
            times.append((time.perf_counter() - began) * 1000)
        print(f"{name}: best {min(times):.1f} ms, worst {max(times):.1f} ms")
    await store.close()
