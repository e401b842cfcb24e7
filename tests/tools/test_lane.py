"""What of a batch may start now, and that two agents take turns at one file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.tools.base import EXCLUSIVE, NO_EFFECTS, Effects
from tui_agent.tools.lane import LaneCall, Standing, startable
from tui_agent.tools.locks import PathLocks

A, B = Path("/w/a"), Path("/w/b")


def reads(*paths: Path) -> Effects:
    return Effects(reads=frozenset(paths))


def writes(*paths: Path) -> Effects:
    return Effects(writes=frozenset(paths))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (reads(A), reads(A), False),
        (reads(A), writes(A), True),
        (writes(A), reads(A), True),
        (writes(A), writes(A), True),
        (writes(A), writes(B), False),
        (writes(A, B), reads(B), True),
        (EXCLUSIVE, reads(A), True),
        (EXCLUSIVE, EXCLUSIVE, True),
        (NO_EFFECTS, EXCLUSIVE, False),
        (NO_EFFECTS, NO_EFFECTS, False),
    ],
)
def test_what_conflicts(first: Effects, second: Effects, expected: bool) -> None:
    assert first.conflicts_with(second) is expected
    assert second.conflicts_with(first) is expected


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        ("", ""),
        ("ready a", "1"),
        ("ready a, ready a", "1"),
        ("ready a, ready b", "12"),
        ("read a, read a", "12"),
        ("asked a, ready a, ready b", "3"),
        ("asked a, read a", ""),
        ("settled a, ready a", "2"),
        ("running a, ready a, ready b", "3"),
        ("asked exclusive, ready b, none", "3"),
        ("ready a, running exclusive", ""),
        ("running none, ready exclusive", "2"),
        ("ready exclusive, ready exclusive", "1"),
        ("settled exclusive, ready exclusive, ready a", "2"),
    ],
)
def test_what_may_start_now(batch: str, expected: str) -> None:
    """Each call is a standing and what it writes; `read` is a ready call that reads."""
    touched = {"a": writes(A), "b": writes(B), "exclusive": EXCLUSIVE, "none": NO_EFFECTS}
    standings = {
        "ready": Standing.READY,
        "read": Standing.READY,
        "none": Standing.READY,
        "asked": Standing.UNDECIDED,
        "running": Standing.RUNNING,
        "settled": Standing.SETTLED,
    }
    calls, effects = [], {}
    for number, words in enumerate(filter(None, batch.split(", ")), start=1):
        kind, _, target = words.partition(" ")
        calls.append(LaneCall(str(number), standings[kind]))
        effects[str(number)] = reads(A) if kind == "read" else touched[target or "none"]
    assert "".join(startable(calls, effects)) == expected


EFFECTS = st.one_of(
    st.just(NO_EFFECTS),
    st.just(EXCLUSIVE),
    st.builds(
        Effects,
        reads=st.frozensets(st.sampled_from([A, B])),
        writes=st.frozensets(st.sampled_from([A, B])),
    ),
)


@given(st.lists(st.tuples(EFFECTS, st.sampled_from([Standing.READY, Standing.SETTLED]))))
def test_a_batch_without_asks_always_comes_to_its_end_in_order(
    batch: list[tuple[Effects, Standing]],
) -> None:
    effects = {str(n): touched for n, (touched, _) in enumerate(batch)}
    left = [LaneCall(str(n), standing) for n, (_, standing) in enumerate(batch)]
    while any(call.standing is Standing.READY for call in left):
        chosen = startable(left, effects)
        assert chosen, "nothing may start though nothing is undecided"
        for place, one in enumerate(chosen):
            assert not any(effects[one].conflicts_with(effects[o]) for o in chosen[:place])
            earlier = [c.id for c in left if int(c.id) < int(one)]
            ready = [c for c in earlier if left[int(c)].standing is Standing.READY]
            assert not any(effects[one].conflicts_with(effects[c]) for c in ready)
        left = [
            LaneCall(call.id, Standing.SETTLED if call.id in chosen else call.standing)
            for call in left
        ]


async def test_two_that_write_one_file_take_turns() -> None:
    locks = PathLocks()
    inside: set[str] = set()
    most = 0

    async def work(name: str, *paths: Path) -> None:
        nonlocal most
        async with locks.hold(writes(*paths)):
            inside.add(name)
            most = max(most, len(inside))
            await asyncio.sleep(0)
            inside.discard(name)

    await asyncio.gather(*(work(str(n), *((A, B) if n % 2 else (B, A))) for n in range(20)))
    assert most == 1
    assert not locks._locks
    assert not locks._users


async def test_who_waits_for_a_file_can_be_cancelled_and_leaves_nothing_behind() -> None:
    locks = PathLocks()
    async with locks.hold(writes(A)):

        async def wait() -> None:
            async with locks.hold(writes(B, A)):
                raise AssertionError("it is held")

        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        async with locks.hold(writes(B)):
            pass
    assert not locks._locks
