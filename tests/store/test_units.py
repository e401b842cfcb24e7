"""A write is whole or absent: under cancellation, under SIGKILL, beside other processes."""

import asyncio
import inspect
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import aiosqlite
import pytest

from tests.store.kit import (
    FOLDER,
    approved,
    ask,
    asked,
    ended,
    reply,
    results,
    said,
    session,
    turn,
    with_batch,
)
from tui_agent.store import Store
from tui_agent.store.values import Closing
from tui_agent.vocabulary.blocks import Outcome
from tui_agent.vocabulary.decisions import Choice, Decision, Scope
from tui_agent.vocabulary.errors import ConflictError
from tui_agent.vocabulary.events import QueuedMessage
from tui_agent.vocabulary.messages import Origin
from tui_agent.vocabulary.records import Clearing, Partial
from tui_agent.vocabulary.states import CallState, DoneReason
from tui_agent.vocabulary.usage import Usage

ROOT = Path(__file__).resolve().parents[2]


def test_aiosqlite_still_has_what_the_connection_room_reaches_for() -> None:
    """Private names; when one goes, `connection.py` must find another way."""
    assert list(inspect.signature(aiosqlite.Connection._execute).parameters)[:2] == ["self", "fn"]
    made = aiosqlite.Connection(lambda: sqlite3.connect(":memory:"), 64)
    assert isinstance(made._thread, threading.Thread)
    assert made._connection is None
    assert isinstance(inspect.getattr_static(made, "_conn"), property)


Call = Callable[[Store], Awaitable[object]]


async def _review(store: Store) -> object:
    runs = await store.tool_runs("ses_a")
    return await store.record_review(
        "ses_a", [replace(runs[3], state=CallState.ASKED)], [ask("c4")]
    )


async def _close(store: Store) -> object:
    runs = await store.tool_runs("ses_a")
    return await store.close_batch(
        "ses_a", results("m9", "c1", "c2", "c3", "c4"), settled=[ended(run) for run in runs]
    )


async def _close_two(store: Store) -> object:
    runs = await store.tool_runs("ses_a")
    answer = results("m9", "c1", "c2", "c3", "c4")
    note = said("m10", "may have run", Origin.RECOVERY)
    return await store.close_batches(
        [Closing("ses_a", answer, tuple(ended(run) for run in runs), note)]
    )


WRITES: dict[str, Call] = {
    "create_session": lambda s: s.create_session(session("ses_new")),
    "create_child": lambda s: s.create_child(
        session("ses_child", parent=session()),
        parent_run=("ses_a", "c1"),
        started=6.0,
        turn_id="turn_ses_a",
    ),
    "update_session": lambda s: s.update_session("ses_a", title="new"),
    "fork": lambda s: s.fork("ses_a", session("ses_new")),
    "delete_session": lambda s: s.delete_session("ses_a"),
    "begin_turn": lambda s: s.begin_turn(turn("turn_new")),
    "end_turn": lambda s: s.end_turn(
        "turn_ses_a", reason=DoneReason.ERROR, usage=Usage(), rounds=1, ended=7.0
    ),
    "save_turn_usage": lambda s: s.save_turn_usage("turn_ses_a", Usage(99), 9),
    "append_message": lambda s: s.append_message("ses_b", said("m9", "hello"), dequeue="q1"),
    "append_reply": lambda s: s.append_reply(
        "ses_b", reply("m9", "c8", "c9"), turn_id="turn_b", usage=Usage(1), rounds=1
    ),
    "end_cut_stream": lambda s: s.end_cut_stream("ses_b", said("m9", "x", Origin.ASSISTANT)),
    "save_partials": lambda s: s.save_partials(
        [Partial(name, "t", "c", "x", "", 1.0) for name in ("ses_a", "ses_b")]
    ),
    "drop_partial": lambda s: s.drop_partial("ses_b"),
    "record_review": _review,
    "mark_started": lambda s: s.mark_started("ses_a", "c1", at=6.0, turn_id="turn_ses_a"),
    "note_waiting": lambda s: s.note_waiting("ses_a", "c2", "ses_child"),
    "record_outcome": lambda s: s.record_outcome(
        "ses_a", "c3", state=CallState.DONE, outcome=Outcome.OK, content=(), at=7.0
    ),
    "close_batch": _close,
    "close_batches": _close_two,
    "decide": lambda s: s.decide("ask_c3", Decision(Choice.DENY), at=6.0),
    "enqueue": lambda s: s.enqueue("ses_b", QueuedMessage("q9", "x")),
    "edit_queue": lambda s: s.edit_queue("ses_b", (), dropped=("q1",)),
    "save_draft": lambda s: s.save_draft("ses_b", "x"),
    "save_view": lambda s: s.save_view("ses_b", {"x": 1}),
    "add_grant": lambda s: s.add_grant("ses_a", FOLDER, "Edit", Scope.SESSION, 1.0),
    "remove_grant": lambda s: s.remove_grant(1),
    "clear_results": lambda s: s.clear_results("ses_a", Clearing(("c1",), 1, 2)),
    "store_summary": lambda s: s.store_summary(
        "ses_b",
        said("s9", "short", Origin.SUMMARY),
        kept_from=1,
        trigger="auto",
        tokens_before=1,
        tokens_after=1,
    ),
    "acquire": lambda s: s.acquire("ses_a"),
}

READS: dict[str, Call] = {
    "session": lambda s: s.session("ses_a"),
    "summaries": lambda s: s.summaries(search="look"),
    "latest_session": lambda s: s.latest_session(FOLDER),
    "children": lambda s: s.children("ses_a"),
    "tree": lambda s: s.tree("ses_a"),
    "resolve_id": lambda s: s.resolve_id("ses_b"),
    "last_turn": lambda s: s.last_turn("ses_a"),
    "sent_prompts": lambda s: s.sent_prompts(FOLDER, 10),
    "turns": lambda s: s.turns("ses_a"),
    "chain_rounds": lambda s: s.chain_rounds("turn_ses_a"),
    "tree_usage": lambda s: s.tree_usage("ses_a"),
    "usage_below": lambda s: s.usage_below("ses_a"),
    "usage_by_model": lambda s: s.usage_by_model("ses_a"),
    "messages": lambda s: s.messages("ses_a"),
    "first_seq": lambda s: s.first_seq("ses_a"),
    "history": lambda s: s.history("ses_a"),
    "partial": lambda s: s.partial("ses_a"),
    "open_batch": lambda s: s.open_batch("ses_a"),
    "tool_runs": lambda s: s.tool_runs("ses_a"),
    "tool_run": lambda s: s.tool_run("ses_a", "c1"),
    "known_files": lambda s: s.known_files("ses_a"),
    "taken_call_ids": lambda s: s.taken_call_ids("ses_a", ["c1", "c9"]),
    "pending": lambda s: s.pending(),
    "pending_item": lambda s: s.pending_item("ask_c3"),
    "queue": lambda s: s.queue("ses_b"),
    "draft": lambda s: s.draft("ses_b"),
    "view": lambda s: s.view("ses_b"),
    "grants": lambda s: s.grants("ses_a", FOLDER),
    "all_grants": lambda s: s.all_grants(FOLDER),
    "boundaries": lambda s: s.boundaries("ses_a"),
    "clearings": lambda s: s.clearings("ses_a"),
    "search": lambda s: s.search("look"),
    "is_owned": lambda s: s.is_owned("ses_a"),
    "data_version": lambda s: s.data_version(),
    "quick_check": lambda s: s.quick_check(),
}
OTHERS = {"open", "close", "release", "path"}


async def furnished(store: Store) -> None:
    """A batch with a call approved, one started, one asked, one planned; a second session with a
    queue, a partial reply, a running turn."""
    runs = await with_batch(store, "c1", "c2", "c3", "c4")
    await approved(store, runs[:2])
    await asked(store, runs[2:3])
    await store.mark_started("ses_a", "c2", at=6.0, turn_id="turn_ses_a")
    await store.create_session(session("ses_b"))
    await store.begin_turn(turn("turn_b", "ses_b"))
    await store.append_message("ses_b", said("m1", "hello"))
    await store.enqueue("ses_b", QueuedMessage("q1", "next"))
    await store.save_partials([Partial("ses_b", "turn_b", "call", "half", "", 1.0)])
    await store.add_grant("ses_b", FOLDER, "Bash(ls)", Scope.SESSION, 1.0)


def dump_of(path: Path) -> list[str]:
    """Every row, as another process sees it, without the times that a clock gave."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as look:
        look.create_function("blur", 1, lambda _x: 0)
        rows = []
        for (table,) in look.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'messages_fts%'"
        ).fetchall():
            cursor = look.execute(f"SELECT * FROM {table}")
            names = [d[0] for d in cursor.description]
            clocked = {"updated", "acquired", "resolved", "released"}
            rows += [
                f"{table} {[v for n, v in zip(names, row, strict=True) if n not in clocked]}"
                for row in cursor
            ]
    look.close()
    return sorted(rows)


def test_every_public_call_is_cancelled_below() -> None:
    public = {name for name in dir(Store) if not name.startswith("_")}
    assert public == WRITES.keys() | READS.keys() | OTHERS


@pytest.mark.parametrize("name", WRITES)
async def test_a_cancelled_write_is_whole_or_absent(path: Path, name: str) -> None:
    store = await Store.open(path)
    await furnished(store)
    before = after = dump_of(path)
    write = WRITES[name]
    for resumptions in range(6):
        task = asyncio.ensure_future(write(store))
        for _ in range(resumptions):
            await asyncio.sleep(0.0005 if resumptions > 3 else 0)
        task.cancel()
        outcome = (await asyncio.gather(task, return_exceptions=True))[0]
        assert not await store._db.is_in_transaction()
        after = dump_of(path)
        if after != before:
            break
        assert isinstance(outcome, asyncio.CancelledError)
    if after == before:  # every cancellation came before the unit was handed over
        await write(store)
        after = dump_of(path)
    await store.close()
    # the same write, not disturbed, on the same rows
    calm_path = path.with_name("calm.db")
    calm = await Store.open(calm_path)
    await furnished(calm)
    await write(calm)
    assert not await calm._db.is_in_transaction()
    assert after == dump_of(calm_path)
    await calm.close()


@pytest.mark.parametrize("name", READS)
async def test_a_cancelled_read_leaves_nothing_open(store: Store, name: str) -> None:
    await furnished(store)
    for resumptions in range(3):
        task = asyncio.ensure_future(READS[name](store))
        for _ in range(resumptions):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not await store._db.is_in_transaction()
    await READS[name](store)


async def test_an_error_in_the_middle_rolls_everything_back(store: Store) -> None:
    await furnished(store)
    before = dump_of(store.path)

    def unit(c: sqlite3.Connection) -> None:
        c.execute("DELETE FROM queue")
        raise ConflictError("no")

    with pytest.raises(ConflictError):
        await store._db.write(unit)
    assert dump_of(store.path) == before


APPENDING = """
import asyncio, sys
from pathlib import Path
from tests.store.kit import said, session
from tui_agent.store import Store

async def main():
    store = await Store.open(Path(sys.argv[1]))
    await store.create_session(session())
    for n in range(1, 100_000):
        stored = await store.append_message("ses_a", said(f"m{n}", f"text {n} " * 50))
        sys.stdout.write(f"{stored.seq}\\n")
        sys.stdout.flush()

asyncio.run(main())
"""


def start(script: str, path: Path) -> subprocess.Popen[str]:
    """A process of its own that runs `script` on the database."""
    return subprocess.Popen(
        [sys.executable, "-c", script, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("acknowledged", [1, 40, 250])
async def test_what_was_acknowledged_survives_sigkill(path: Path, acknowledged: int) -> None:
    child = start(APPENDING, path)
    assert child.stdout is not None
    for _ in range(acknowledged):
        assert child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    said_so = child.stdout.read().split("\n")
    child.stdout.close()
    assert child.wait() == -signal.SIGKILL
    last = acknowledged + sum(1 for line in said_so[:-1] if line)
    store = await Store.open(path)
    assert await store.quick_check() == ()
    numbers = [m.seq for m in await store.messages("ses_a")]
    assert numbers == list(range(1, len(numbers) + 1))
    # one more may have been committed whose answer did not get out
    assert last <= len(numbers) <= last + 1
    assert len(await store.search("text", limit=1000)) == min(len(numbers), 1000)
    await store.close()


def test_a_program_that_forgets_to_close_still_ends(path: Path) -> None:
    script = APPENDING.replace("range(1, 100_000)", "range(1, 3)")
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "1\n2\n"), done.stderr


async def test_two_writers_lose_nothing_and_number_without_gaps(store: Store) -> None:
    await store.create_session(session())
    other = await Store.open(store.path)
    await asyncio.gather(
        *(
            each.append_message("ses_a", said(f"{name}{n}", "text"))
            for n in range(40)
            for name, each in (("x", store), ("y", other))
        )
    )
    await other.close()
    assert [m.seq for m in await store.messages("ses_a")] == list(range(1, 81))


async def test_a_commit_of_another_process_is_noticed_and_an_own_one_is_not(store: Store) -> None:
    await store.create_session(session())
    seen = await store.data_version()
    await store.append_message("ses_a", said("m1", "mine"))
    assert await store.data_version() == seen
    other = await Store.open(store.path)
    await other.append_message("ses_a", said("m2", "theirs"))
    assert await store.data_version() != seen
    assert [m.id for m in await store.messages("ses_a")] == ["m1", "m2"]
    await other.close()


# --- ownership -----------------------------------------------------------------------------------


async def test_a_tree_has_one_owner(store: Store) -> None:
    other = await Store.open(store.path)
    assert not await store.is_owned("ses_a")
    mine = await store.acquire("ses_a")
    assert mine is not None
    assert (mine.is_held, mine.epoch) == (True, 1)
    assert await store.acquire("ses_a") is mine
    assert await other.acquire("ses_a") is None
    assert await store.is_owned("ses_a")
    assert await other.is_owned("ses_a")
    await store.release("ses_a")
    assert not mine.is_held
    assert not await other.is_owned("ses_a")
    theirs = await other.acquire("ses_a")
    assert theirs is not None
    assert theirs.epoch == 2
    await other.close()
    assert not await store.is_owned("ses_a")


OWNING = """
import asyncio, sys, time
from pathlib import Path
from tui_agent.store import Store

async def main():
    store = await Store.open(Path(sys.argv[1]))
    print((await store.acquire("ses_a")).epoch, flush=True)
    time.sleep(60)

asyncio.run(main())
"""


async def test_a_killed_owner_owns_no_more(store: Store) -> None:
    child = start(OWNING, store.path)
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "1\n"
        assert await store.acquire("ses_a") is None
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
    mine = await store.acquire("ses_a")
    assert mine is not None
    assert mine.epoch == 2
