"""Drafts, views, queue and standing permissions survive."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.store.kit import FOLDER, said, session
from tui_agent.store import Store
from tui_agent.vocabulary.decisions import Scope
from tui_agent.vocabulary.errors import NotFoundError, StoreError
from tui_agent.vocabulary.events import QueuedMessage
from tui_agent.vocabulary.messages import Origin


async def test_what_is_typed_survives_even_before_the_session_is_stored(path: Path) -> None:
    store = await Store.open(path)
    await store.save_draft("ses_new", "half a thou")
    await store.save_draft("ses_new", "half a thought")
    await store.save_view("ses_new", {"top": 7, "open": ["a"]})
    await store.close()
    store = await Store.open(path)
    assert await store.draft("ses_new") == "half a thought"
    assert await store.view("ses_new") == {"top": 7, "open": ["a"]}
    await store.save_draft("ses_new", "")
    assert await store.draft("ses_new") == ""
    await store.close()


async def test_the_queue_keeps_its_order_and_takes_a_new_one(store: Store) -> None:
    await store.create_session(session())
    items = [QueuedMessage(f"q{n}", f"text {n}", after_turn=n == 2) for n in range(1, 4)]
    for item in items:
        await store.enqueue("ses_a", item)
    assert await store.queue("ses_a") == tuple(items)
    order = (items[2], replace(items[0], after_turn=True), QueuedMessage("q_gone", "gone"))
    assert await store.edit_queue("ses_a", order, dropped=("q2", "q_gone")) == (items[1],)
    assert await store.queue("ses_a") == order[:2]
    await store.enqueue("ses_a", items[1])
    assert await store.edit_queue("ses_a", order[1::-1]) == (), "what came meanwhile stays"
    assert [q.id for q in await store.queue("ses_a")] == ["q1", "q3", "q2"]
    with pytest.raises(StoreError):
        await store.enqueue("ses_none", items[0])


async def test_what_people_sent_in_a_folder_is_found_for_the_next_session(store: Store) -> None:
    root, child = session("ses_a"), session("ses_c", parent=session("ses_a"))
    elsewhere = replace(session("ses_e"), folder="/elsewhere")
    for each in (root, session("ses_b"), child, elsewhere):
        await store.create_session(each)
    for name, text in (("ses_a", "one"), ("ses_b", "two"), ("ses_c", "a task"), ("ses_e", "no")):
        await store.append_message(name, said("m1", text))
    await store.append_message("ses_a", said("m2", "an answer", Origin.ASSISTANT))
    await store.append_message("ses_a", said("m3", "three"))
    assert await store.sent_prompts(FOLDER, 10) == ("one", "two", "three")
    assert await store.sent_prompts(FOLDER, 2) == ("two", "three")
    assert await store.sent_prompts("/nowhere", 2) == ()


async def test_grants_hold_for_their_session_or_their_folder(store: Store) -> None:
    for name in ("ses_a", "ses_b"):
        await store.create_session(session(name))
    await store.add_grant("ses_a", FOLDER, "Bash(ls)", Scope.SESSION, 1.0)
    await store.add_grant("ses_a", FOLDER, "Bash(ls)", Scope.SESSION, 2.0)
    await store.add_grant(None, FOLDER, "Bash(git status)", Scope.ALWAYS, 3.0)
    await store.add_grant(None, "/elsewhere", "Edit", Scope.ALWAYS, 4.0)
    mine = await store.grants("ses_a", FOLDER)
    assert [(g.rule, g.at) for g in mine] == [("Bash(ls)", 1.0), ("Bash(git status)", 3.0)]
    assert [g.rule for g in await store.grants("ses_b", FOLDER)] == ["Bash(git status)"]


async def test_a_grant_is_listed_and_taken_back(store: Store) -> None:
    await store.create_session(session())
    await store.add_grant("ses_a", FOLDER, "Bash(ls)", Scope.SESSION, 1.0)
    await store.add_grant(None, "/elsewhere", "Edit", Scope.ALWAYS, 2.0)
    first, second = await store.all_grants()
    assert await store.all_grants(FOLDER) == (first,)
    assert (first.rule, second.folder) == ("Bash(ls)", "/elsewhere")
    assert first.id is not None
    assert await store.remove_grant(first.id) == first
    assert await store.all_grants() == (second,)
    for unknown in (first.id, 0, -1, 10**30):
        with pytest.raises(NotFoundError, match=str(unknown)):
            await store.remove_grant(unknown)
    await store.delete_session("ses_a")
