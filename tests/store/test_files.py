"""The file is private, and whatever is wrong with it is said in one line and left alone."""

import asyncio
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.store.kit import said, session
from tui_agent.store import Store, schema
from tui_agent.vocabulary.errors import StoreError


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_files_are_private_whatever_the_umask(path: Path) -> None:
    before = os.umask(0o000)
    try:
        store = await Store.open(path)
        await store.create_session(session())
        await store.acquire("ses_a")
        beside = {file: mode_of(file) for file in path.parent.rglob("*")}
        assert beside[path] == 0o600
        assert beside[path.with_name("sessions.db-wal")] == 0o600
        assert beside[path.with_name("sessions.db-shm")] == 0o600
        assert beside[path.parent / "locks"] == 0o700
        assert beside[path.parent / "locks" / "ses_a.lock"] == 0o600
        assert mode_of(path.parent) == 0o700
        await store.close()
    finally:
        os.umask(before)


async def test_a_file_that_others_can_read_is_closed_to_them(path: Path) -> None:
    await (await Store.open(path)).close()
    path.chmod(0o644)
    path.parent.chmod(0o755)
    store = await Store.open(path)
    assert mode_of(path) == 0o600
    assert await store.quick_check() == (f"{path.parent} is open to other users (mode 0755)",)
    await store.close()


async def test_commits_are_durable_and_references_are_checked(store: Store) -> None:
    def pragmas(c: sqlite3.Connection) -> tuple[object, ...]:
        names = ("journal_mode", "synchronous", "foreign_keys")
        return tuple(c.execute(f"PRAGMA {name}").fetchone()[0] for name in names)

    assert await store._db.write(pragmas) == ("wal", 2, 1)


async def test_what_was_stored_is_there_again(path: Path) -> None:
    store = await Store.open(path)
    await store.create_session(session())
    stored = await store.append_message("ses_a", said("m1", "hello"))
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.messages("ses_a")
    store = await Store.open(path)
    assert await store.messages("ses_a") == (stored,)
    assert await store.quick_check() == ()
    await store.close()


async def refusal(path: Path) -> str:
    with pytest.raises(StoreError) as caught:
        await Store.open(path)
    text = str(caught.value)
    assert "\n" not in text
    assert str(path) in text
    return text


async def test_a_folder_is_no_database(tmp_path: Path) -> None:
    assert "folder" in await refusal(tmp_path)


async def test_a_pipe_is_no_database(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in await refusal(tmp_path / "pipe")


async def test_a_text_file_is_no_database_and_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("a list of things to do\n" * 200)
    before = path.read_bytes()
    assert "not a database" in await refusal(path)
    assert path.read_bytes() == before


async def test_an_empty_file_becomes_a_database(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    store = await Store.open(path)
    assert await store.summaries() == ()
    await store.close()


async def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    assert "another program" in await refusal(path)
    assert path.read_bytes() == before


async def test_a_newer_database_is_refused_with_both_versions_and_never_written(
    path: Path,
) -> None:
    await (await Store.open(path)).close()
    with closing(sqlite3.connect(path)) as newer:
        newer.execute("PRAGMA user_version = 99")
        # a newer program may keep its journal in another way: even that must stay
        newer.execute("PRAGMA journal_mode = DELETE")
    before = path.read_bytes()
    text = await refusal(path)
    assert "99" in text
    assert str(len(schema.STEPS)) in text
    assert path.read_bytes() == before


async def look_at_all(path: Path) -> None:
    """Open and read everything."""
    store = await Store.open(path)
    try:
        assert await store.quick_check() != ()
        await store.messages("ses_a")
    finally:
        await store.close()


@pytest.mark.parametrize("damage", ["header", "truncated", "pages"])
async def test_a_damaged_database_is_named_and_left_alone(path: Path, damage: str) -> None:
    store = await Store.open(path)
    await store.create_session(session())
    for n in range(50):
        await store.append_message("ses_a", said(f"m{n}", "text " * 300))
    await store.close()
    content = bytearray(path.read_bytes())
    match damage:
        case "header":
            content[:100] = bytes(100)
        case "truncated":
            del content[len(content) // 2 :]
        case _:
            content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"damaged|not a database"):
        await look_at_all(path)
    assert path.read_bytes() == content


async def test_a_damaged_row_is_reported_and_the_rest_stays_usable(store: Store) -> None:
    await store.create_session(session())
    await store.create_session(session("ses_b"))
    await store._db.write(
        lambda c: c.execute("UPDATE sessions SET limits = '{' WHERE id = 'ses_a'").rowcount
    )
    with pytest.raises(StoreError, match="session is damaged"):
        await store.session("ses_a")
    assert (await store.session("ses_b")).id == "ses_b"


def as_nobody(path: Path) -> subprocess.CompletedProcess[str]:
    """Open the database and write to it in a process that permissions bind."""
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from tests.store.kit import session\n"
        "from tui_agent.store import Store\n"
        "async def main():\n"
        "    store = await Store.open(Path(sys.argv[1]))\n"
        "    await store.create_session(session('ses_z'))\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, "-c", script, str(path)]
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("needs setpriv to give up root")
        command = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", *command]
    root = Path(__file__).resolve().parents[2]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder that another user can reach."""
    place = Path(tempfile.mkdtemp(prefix="tui-agent-store-"))
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


async def test_a_read_only_place_is_named(open_place: Path) -> None:
    path = open_place / "state" / "sessions.db"
    await (await Store.open(path)).close()
    path.chmod(0o444)
    path.parent.chmod(0o555)
    for place in (path, path.with_name("missing.db")):
        done = as_nobody(place)
        last = done.stderr.strip().splitlines()[-1]
        assert done.returncode == 1
        assert "StoreError: The database" in last, done.stderr
        assert str(place) in last
    path.parent.chmod(0o755)


async def test_a_full_disk_is_said_and_what_was_saved_stays(store: Store) -> None:
    def limit(pages: int) -> Callable[[sqlite3.Connection], None]:
        # the engine's own limit stands for the disk's
        return lambda c: c.execute(f"PRAGMA max_page_count={pages}").close()

    await store.create_session(session())
    await store.append_message("ses_a", said("m1", "before"))
    await store._db.write(limit(1))  # never below what is in use
    with pytest.raises(StoreError, match="disk is full"):
        await store.append_message("ses_a", said("m2", "x" * 100_000))
    assert not await store._db.is_in_transaction()
    assert [m.id for m in await store.messages("ses_a")] == ["m1"]
    await store._db.write(limit(1_000_000))
    await store.append_message("ses_a", said("m2", "x" * 100_000))


async def test_a_lock_that_stays_is_said_and_one_that_goes_away_is_waited_out(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.create_session(session())
    await store._db.write(lambda c: c.execute("PRAGMA busy_timeout=10").close())
    other = sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked by another program"):
        await store.append_message("ses_a", said("m1", "hello"))

    # the whole unit is tried again: the other lets go between two attempts
    monkeypatch.setattr("time.sleep", lambda _seconds: other.execute("COMMIT"))
    stored = await store.append_message("ses_a", said("m1", "hello"))
    assert stored.seq == 1
    assert not other.in_transaction
    other.close()


async def test_a_migration_copies_first_and_goes_on_where_it_stopped(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await Store.open(path)
    await store.create_session(session())
    await store.close()
    first = schema.STEPS
    good = ("ALTER TABLE sessions ADD COLUMN one TEXT",)
    bad = ("ALTER TABLE sessions ADD COLUMN two TEXT", "SELECT no_such_function()")
    monkeypatch.setattr(schema, "STEPS", (*first, good, bad))
    with pytest.raises(StoreError, match="no_such_function"):
        await Store.open(path)
    with closing(sqlite3.connect(path)) as look:
        assert look.execute("PRAGMA user_version").fetchone()[0] == len(first) + 1
        columns = [row[1] for row in look.execute("PRAGMA table_info(sessions)")]
    assert ("one" in columns, "two" in columns) == (True, False)
    copy = schema.backup_path(path, len(first))
    assert mode_of(copy) == 0o600
    with closing(sqlite3.connect(copy)) as look:
        assert look.execute("SELECT id FROM sessions").fetchall() == [("ses_a",)]
        assert look.execute("PRAGMA user_version").fetchone()[0] == len(first)
    monkeypatch.setattr(schema, "STEPS", (*first, good, bad[:1]))
    store = await Store.open(path)
    assert (await store.session("ses_a")).id == "ses_a"
    await store.close()
    assert schema.backup_path(path, len(first) + 1).exists()
    assert not list(path.parent.glob("*.part"))


async def test_two_processes_may_make_the_database_at_the_same_moment(path: Path) -> None:
    stores = await asyncio.gather(*(Store.open(path) for _ in range(4)))
    await stores[0].create_session(session())
    assert [s.id for s in await stores[3].summaries()] == ["ses_a"]
    for store in stores:
        await store.close()
