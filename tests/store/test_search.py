"""What a search finds, whatever is typed, and the line that it shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.store.kit import said, session, turn
from tui_agent.store import Store
from tui_agent.store.excerpt import LENGTH, excerpt
from tui_agent.vocabulary.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from tui_agent.vocabulary.messages import Message, Origin
from tui_agent.vocabulary.records import SearchHit
from tui_agent.vocabulary.usage import Usage


async def told(store: Store, *texts: str, session_id: str = "ses_a") -> None:
    """A session in which these messages were said, with the ids m1, m2, …"""
    await store.create_session(session(session_id))
    for number, text in enumerate(texts, 1):
        await store.append_message(session_id, said(f"m{number}", text))


async def ids(store: Store, text: str) -> set[str]:
    return {hit.message_id for hit in await store.search(text)}


def shown(hit: SearchHit) -> str:
    """The snippet with its matches in brackets."""
    text = hit.snippet
    for start, end in reversed(hit.matches):
        text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
    return text


async def test_scripts_without_blanks_are_found_inside_a_sentence(store: Store) -> None:
    await told(
        store, "データベースの設定を変更する", "请修复登录页面的错误", "학교에서 만나요", "ภาษาไทย"
    )
    assert await ids(store, "設定") == {"m1"}
    assert await ids(store, "登录") == {"m2"}
    assert await ids(store, "错") == {"m2"}
    assert await ids(store, "학교") == {"m3"}
    assert await ids(store, "ไทย") == {"m4"}
    (hit,) = await store.search("変更")
    assert shown(hit) == "データベースの設定を[変更]する"


async def test_short_words_and_bare_signs_are_words(store: Store) -> None:
    await told(store, "go on", "a -> b", "CI is red 🎉", "nothing here")
    assert await ids(store, "go") == {"m1"}
    assert await ids(store, "->") == {"m2"}
    assert await ids(store, "ci") == {"m3"}
    assert await ids(store, "🎉") == {"m3"}
    assert await ids(store, "CI 🎉") == {"m3"}
    assert await ids(store, "CI ->") == set()
    assert await ids(store, "%") == set()


@pytest.mark.parametrize(
    "typed",
    [
        *(
            '"',
            "'",
            "''",
            '""',
            "NEAR(",
            "a OR",
            "OR",
            "NOT x",
            "-x",
            "*",
            "^a",
            "text:x",
            "(",
            ")",
        ),
        *("{a b}", "a + b", 'quoted" AND', "\0", "a\0b", "\udc80", ";", "--", "x" * 100_000),
        *("a " * 5_000, "%" * 60_000, "[" * 60_000, "漢" * 60_000, '"' * 60_000),
        " ".join(f"word{number}" for number in range(5_000)),
        " ".join("漢" * (1 + number % 50) for number in range(5_000)),
    ],
    ids=lambda typed: ascii(typed[:12]).strip("'"),
)
async def test_what_is_typed_is_never_syntax(store: Store, typed: str) -> None:
    await told(store, "plain words")
    await store.search(typed)
    await store.summaries(search=typed)


async def test_quotes_and_operators_are_plain_words(store: Store) -> None:
    await told(store, "this or that", 'he said "stop" twice', "salt NOT sugar")
    assert await ids(store, "OR") == {"m1"}
    assert await ids(store, '"stop"') == {"m2"}
    assert await ids(store, "NOT pepper") == set()


async def test_only_what_a_person_sees_as_words_is_found(store: Store) -> None:
    await store.create_session(session())
    blocks = (
        ThinkingBlock("secretthought"),
        TextBlock("I look."),
        ToolUseBlock("c1", "Bash", {"command": "secretcommand"}),
    )
    reply = Message("m1", "assistant", blocks, Origin.ASSISTANT, 1.0)
    await store.begin_turn(turn())
    await store.append_reply("ses_a", reply, turn_id="turn_1", usage=Usage(), rounds=1)
    assert await ids(store, "look") == {"m1"}
    for hidden in ("secretthought", "secretcommand", "Bash"):
        assert await ids(store, hidden) == set()


async def test_hits_can_be_had_for_each_tree(store: Store) -> None:
    await told(store, *("needle " * n for n in range(1, 6)))
    await told(store, "one needle", session_id="ses_b")
    await told(store, "another needle", session_id="ses_c")
    hits = await store.search("needle", root_ids=("ses_a", "ses_b"), each=2)
    assert sorted(hit.root_id for hit in hits) == ["ses_a", "ses_a", "ses_b"]
    assert len(await store.search("needle", limit=3)) == 3


async def test_what_is_deleted_is_not_found_in_any_script(store: Store) -> None:
    await told(store, "a needle", "針を探す")
    await told(store, "a needle", "針を探す", session_id="ses_b")
    await store.delete_session("ses_a")
    for typed in ("needle", "針"):
        assert {hit.session_id for hit in await store.search(typed)} == {"ses_b"}


async def test_titles_are_found_by_their_words(store: Store) -> None:
    await store.create_session(replace(session(), title="Repair the % parser"))
    for typed in ("parser repair", "%", "REPAIR", "ses_a", "ses_"):
        assert [each.id for each in await store.summaries(search=typed)] == ["ses_a"], typed
    for typed in ("parser other", "_", "ses_b"):
        assert await store.summaries(search=typed) == (), typed


def test_an_excerpt_is_one_line_around_the_match() -> None:
    text = "first line\n\n" + "before " * 50 + "Das Café\tist zu " + "after " * 100
    snippet, matches = excerpt(text, ["cafe", "zu"])
    assert "\n" not in snippet
    assert len(snippet) <= LENGTH + 2
    assert [snippet[start:end] for start, end in matches] == ["Café", "zu"]
    assert snippet.startswith("…before")
    assert snippet.endswith("…")


def test_an_excerpt_without_a_match_is_the_beginning() -> None:
    assert excerpt("short  text", ["none"]) == ("short text", ())
    assert excerpt("", ["x"]) == ("", ())
    assert excerpt("İstanbul ẞ", ["istanbul"]) == ("İstanbul ẞ", ((0, 8),))
