"""The place on screen stays, whatever happens around it; estimates become exact without a jump."""

from hypothesis import given
from hypothesis import strategies as st

from tui_agent.ui.marks import Mark
from tui_agent.ui.transcript.blocks import (
    AssistantMarkdown,
    Item,
    StreamingText,
    ToolCard,
    UserText,
)
from tui_agent.ui.transcript.glyphs import UNICODE_GLYPHS
from tui_agent.ui.transcript.model import Entry, Place, Transcript
from tui_agent.ui.transcript.render import lines_of


def make(items: list[Item], width: int = 40) -> Transcript:
    def measure(entry: Entry, number: int) -> int:
        return len(
            lines_of(
                entry.item,
                model.resolve(entry),
                number,
                width=model.width,
                glyphs=UNICODE_GLYPHS,
                references=entry.references,
                is_open=entry.is_open,
            )
        )

    model = Transcript(measure)
    model.width = width
    model.set_items(items)
    return model


def message(number: int) -> AssistantMarkdown:
    paragraph = f"Message {number} " + "with some **words** in it " * (number % 5)
    return AssistantMarkdown(f"m{number}", f"{paragraph}\n\n- one\n- two\n\n```\ncode\n```\n")


def name(place: Place) -> tuple[str, int, int]:
    return place.entry.item.item_id, place.part, place.row


def everything(model: Transcript) -> list[tuple[str, int, int]]:
    return [name(place) for place in model.rows(Place(model.entries[0], 0, 0), 10**6)]


def test_walking_up_from_the_end_meets_every_row_once() -> None:
    model = make([message(number) for number in range(30)])
    place = model.bottom(1)
    assert place is not None
    met = [name(place)]
    while (above := model.moved(place, -1)) != place:
        place = above
        met.append(name(place))
    assert met[::-1] == everything(model)


@given(st.lists(st.integers(-30, 30), max_size=30))
def test_moves_add_up(steps: list[int]) -> None:
    model = make([message(number) for number in range(12)])
    rows = everything(model)
    place, at = Place(model.entries[0], 0, 0), 0
    for step in steps:
        place = model.moved(place, step)
        at = max(0, min(len(rows) - 1, at + step))
        assert name(place) == rows[at]


def test_an_offset_counts_the_rows_above() -> None:
    model = make([message(number) for number in range(10)])
    rows = everything(model)
    for at in (0, 7, 23, len(rows) - 1):
        place = model.at(at)
        assert place is not None
        assert name(place) == rows[at]
        assert model.offset(place) == at
    assert model.total == len(rows)


def test_older_items_move_nothing_but_the_offset() -> None:
    model = make([message(number) for number in range(10, 20)])
    place = model.at(17)
    assert place is not None
    before = [name(each) for each in model.rows(place, 20)]
    model.prepend([message(number) for number in range(10)])
    assert [name(each) for each in model.rows(place, 20)] == before
    assert [entry.ordinal for entry in model.entries] == list(range(-10, 10))
    assert [entry.index for entry in model.entries] == list(range(20))


def test_a_stream_grows_below_without_moving_what_is_settled() -> None:
    model = make([message(1), StreamingText("s", "First.\n\nSec")])
    entry = model.get("s")
    assert entry is not None
    assert entry.stream is not None
    model.resolve(entry)
    place = Place(entry, 0, 1)
    for text in ("ond.\n\n", "Third.\n", "\nFourth\n"):
        entry.stream.feed(text)
        model.grow(entry)
        assert model.settled(place) == place
    assert [part.source.strip() for part in entry.parts or ()] == [
        "First.",
        "Second.",
        "Third.",
        "Fourth",
    ]
    assert len(everything(model)) == model.total


def test_a_row_in_the_tail_keeps_its_line_when_the_tail_settles() -> None:
    model = make([StreamingText("s", "One.\n\nTwo.\n")])
    entry = model.get("s")
    assert entry is not None
    assert entry.stream is not None
    model.grow(entry)
    rows = everything(model)
    place = Place(entry, 1, 1)
    assert name(place) in rows
    entry.stream.feed("\nThree.\n\nFour.\n")
    model.grow(entry)
    assert name(model.settled(place)) == ("s", 1, 1)


def test_calls_of_one_line_stand_close_and_open_ones_apart() -> None:
    def card(key: str) -> ToolCard:
        return ToolCard(key, key, Mark.DONE, "Read", "a.py")

    model = make([UserText("u", "hi"), card("a"), card("b"), card("c")])
    assert [entry.gap for entry in model.entries] == [0, 1, 0, 0]
    model.fold(model.entries[2], is_open=True)
    assert [entry.gap for entry in model.entries] == [0, 1, 1, 1]


def test_removing_and_replacing_keep_the_order_and_the_gaps() -> None:
    model = make([UserText("a", "1"), UserText("b", "2"), UserText("c", "3")])
    model.remove("a")
    model.replace("b", UserText("d", "4"))
    assert [entry.item.item_id for entry in model.entries] == ["d", "c"]
    assert [entry.gap for entry in model.entries] == [0, 1]
    assert model.get("b") is None
    assert len(everything(model)) == model.total


def test_a_long_message_is_measured_only_where_it_is_seen() -> None:
    measured: list[int] = []

    def measure(entry: Entry, number: int) -> int:
        measured.append(number)
        return 3

    model = Transcript(measure)
    text = "\n\n".join(f"paragraph {number}" for number in range(500))
    model.set_items([AssistantMarkdown("m", text)])
    place = model.bottom(30)
    assert place is not None
    assert list(model.rows(place, 30))
    assert len(measured) < 15
