"""Search over what people and models wrote.

In comes what a person typed, never query syntax: every word must occur, the last one may be the
beginning of a word. Words of scripts that are written without blanks (Chinese, Thai, …) and words
without any letter (`->`) are looked for as they stand, wherever they occur: the index knows only
words between blanks, so those are looked for in the text itself. Out come hits, best first.
"""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass
from typing import Final

from tui_agent.store.excerpt import excerpt
from tui_agent.text.surrogates import safe_surrogates
from tui_agent.vocabulary.records import SearchHit

MOST_WORDS: Final = 32
"""Words of one query that count: a pasted page must not become a query of a thousand parts."""

_WITHOUT_BLANKS: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff]"
)
"""Thai, Lao, Myanmar, Khmer, Chinese, Japanese, and Korean, whose words carry their endings."""


@dataclass(frozen=True, slots=True)
class Query:
    """What was typed: `match` is the full-text query, empty when no word is in the index;
    `pieces` must occur as they stand; `words` are all of them as typed."""

    match: str
    pieces: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was asked for."""
        return not self.words


def query_of(text: str) -> Query:
    """What `text` asks for; quotes, operators and brackets in it are plain characters."""
    # a NUL would end the query early
    words = tuple(dict.fromkeys(safe_surrogates(text).replace("\0", " ").split()))[:MOST_WORDS]
    indexed = [word for word in words if any(map(str.isalnum, word)) and not _is_piece(word)]
    quoted = " ".join('"{}"'.format(word.replace('"', '""')) for word in indexed)
    return Query(f"{quoted}*" if indexed else "", tuple(filter(_is_piece, words)), words)


def _is_piece(word: str) -> bool:
    return not any(map(str.isalnum, word)) or _WITHOUT_BLANKS.search(word) is not None


def search(
    connection: sqlite3.Connection,
    text: str,
    *,
    folder: str | None,
    limit: int,
    root_ids: tuple[str, ...] | None,
    each: int | None,
) -> tuple[SearchHit, ...]:
    """Messages with all words of `text`: in every session, in those of `folder`, or in the trees of
    `root_ids`, and then at most `each` of one tree."""
    query = query_of(text)
    if query.is_empty:
        return ()
    place = None if folder is None else safe_surrogates(folder)
    source, condition, values = _found(query)
    order = "rank, m.number DESC" if query.match else "m.number DESC"
    rows = connection.execute(
        f"SELECT m.number, s.root_id FROM {source} JOIN sessions s ON s.id = m.session_id"  # noqa: S608 - ours
        f" WHERE {condition} AND (? IS NULL OR s.folder = ?) ORDER BY {order}",
        (*values, place, place),
    )
    chosen: list[int] = []
    of_tree = dict.fromkeys(root_ids, 0) if root_ids is not None else {}
    for row in rows:
        count = of_tree.get(row["root_id"], None if root_ids is not None else 0)
        if count is None or (each is not None and count >= each):
            continue
        of_tree[row["root_id"]] = count + 1
        chosen.append(row["number"])
        if len(chosen) >= limit:
            break
    return tuple(_hit(connection, number, query) for number in chosen)


def _found(query: Query) -> tuple[str, str, tuple[str, ...]]:
    """The messages `m` that fit, as SQL: after FROM, after WHERE, and its values."""
    source, condition, values = "messages m", "m.text <> ''", query.pieces
    if query.match:
        source = "messages_fts JOIN messages m ON m.number = messages_fts.rowid"
        condition, values = "messages_fts MATCH ?", (query.match, *query.pieces)
    return source, condition + " AND instr(lower(m.text), lower(?)) > 0" * len(query.pieces), values


def _hit(connection: sqlite3.Connection, number: int, query: Query) -> SearchHit:
    row = connection.execute(
        "SELECT m.session_id, m.id, m.seq, m.created, m.text, s.root_id, s.title, s.folder"
        " FROM messages m JOIN sessions s ON s.id = m.session_id WHERE m.number = ?",
        (number,),
    ).fetchone()
    snippet, matches = excerpt(row["text"], query.words)
    return SearchHit(
        session_id=row["session_id"],
        root_id=row["root_id"],
        message_id=row["id"],
        seq=row["seq"],
        title=row["title"],
        folder=row["folder"],
        snippet=snippet,
        created=row["created"],
        matches=matches,
    )


def matching(text: str) -> tuple[str, list[str]]:
    """A condition on sessions `s` for a listing: by every word of the title, the beginning of the
    id, or content."""
    query = query_of(text)
    if query.is_empty:
        return "FALSE", []
    # not LIKE, whose patterns have a greatest length and characters of their own
    titled = " AND ".join(["instr(lower(s.title), lower(?)) > 0"] * len(query.words))
    source, condition, values = _found(query)
    by_content = (
        f"s.id IN (SELECT o.root_id FROM {source} JOIN sessions o ON o.id = m.session_id"  # noqa: S608 - ours
        f" WHERE {condition})"
    )
    whole = safe_surrogates(text).strip()
    by_id = "substr(s.id, 1, length(?)) = ?"
    return f"({titled} OR {by_id} OR {by_content})", [*query.words, whole, whole, *values]
