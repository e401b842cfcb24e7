"""The small parts: lines, marks, themes, the table of commands, arrangement, ticker, asking."""

from __future__ import annotations

import subprocess
import sys
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.color import Color

from tests.ui import scenes
from tui_agent.text import cell_width, exact
from tui_agent.ui.arrangement import ALL_PANES, Pane, arrange
from tui_agent.ui.asking import Asker
from tui_agent.ui.commands import BY_ID, COMMANDS, completions, key_words, parse_slash
from tui_agent.ui.lines import Line, Piece, Tone, fit, line, text_of, wrapped
from tui_agent.ui.marks import ASCII_SPINNER, SPINNER, Mark, Marks
from tui_agent.ui.projection import words
from tui_agent.ui.screens.help import help_lines
from tui_agent.ui.state import WorkspaceState
from tui_agent.ui.stylesheets import stylesheets
from tui_agent.ui.themes import SURFACES, THEMES, colour_of
from tui_agent.ui.ticker import Ticker

pieces = st.lists(st.builds(Piece, st.text(max_size=20)), max_size=4).map(tuple)


@given(st.builds(Line, pieces, pieces), st.integers(0, 60))
def test_a_fitted_line_is_exactly_as_wide_as_asked(content: Line, width: int) -> None:
    fitted = fit(content, width)
    assert sum(cell_width(piece.text) for piece in fitted) == width


@given(st.builds(Line, pieces), st.integers(1, 20))
def test_wrapping_leaves_nothing_out(content: Line, width: int) -> None:
    whole = "".join(exact(piece.text) for piece in content.left)
    parts = wrapped(content, width)
    assert "".join(piece.text for part in parts for piece in part.left) == whole
    if width > 1:  # one cell is too little for a wide character
        assert all(cell_width(text_of([part])) <= width for part in parts)


def test_wrapping_breaks_behind_blanks_and_cuts_only_what_is_wider_than_a_row() -> None:
    content = line("what can be ", Piece("mad", Tone.STRONG), "e here")
    assert text_of(wrapped(content, 14)) == "what can be \nmade here"
    assert text_of(wrapped(line("one two three"), 7)) == "one \ntwo \nthree"
    assert text_of(wrapped(line("    abcdefghij"), 8)) == "    abcd\nefghij"
    assert text_of(wrapped(line("12 + abcdefghijkl"), 8)) == "12 + abc\ndefghijk\nl"


def test_the_right_part_is_never_cut() -> None:
    content = line("a long subject that does not fit", right=("12.3s",))
    assert text_of([Line(fit(content, 20))]) == "a long subjec… 12.3s"
    assert "12" not in text_of([Line(fit(content, 8))])


def test_every_mark_is_one_cell_wide() -> None:
    glyphs = [Marks(ascii_only=plain).glyph(mark) for mark, plain in product(Mark, (True, False))]
    for glyph in (*glyphs, *SPINNER, *ASCII_SPINNER):
        assert cell_len(glyph) == cell_width(glyph) == 1


def test_a_spinner_turns_only_for_what_runs() -> None:
    assert Marks(frame=0).glyph(Mark.RUNNING) != Marks(frame=1).glyph(Mark.RUNNING)
    assert Marks(frame=0).glyph(Mark.DONE) == Marks(frame=1).glyph(Mark.DONE)


def luminance(colour: str) -> float:
    """Relative luminance, after WCAG 2."""
    channels = [value / 255 for value in Color.parse(colour).rgb]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_every_tone_can_be_read_on_every_surface(theme: object) -> None:
    from textual.theme import Theme

    assert isinstance(theme, Theme)
    variables = {**theme.to_color_system().generate(), **theme.variables}
    for tone, surface in product(Tone, SURFACES):
        ratio = contrast(colour_of(tone, variables), variables[surface])
        assert ratio >= 4.5, f"{tone} on {surface}: {ratio:.2f}"


def test_stylesheets_name_colours_by_variables_only() -> None:
    for sheet in stylesheets():
        for number, row in enumerate(sheet.read_text().splitlines(), 1):
            rule = row.partition(":")[2] if row.startswith(" ") else ""
            assert "#" not in rule, f"{sheet.name}:{number}: {row}"


def test_no_two_commands_share_an_id_a_key_or_a_name() -> None:
    keys = [key for command in COMMANDS for key in command.keys]
    names = [command.slash for command in COMMANDS if command.slash]
    assert len(BY_ID) == len(COMMANDS)
    assert len(set(keys)) == len(keys)
    assert len(set(names)) == len(names)


def test_help_shows_every_command_of_the_table() -> None:
    said = text_of(help_lines(Marks()))
    for command in COMMANDS:
        assert command.title in said
        assert all(key_words(key) in said for key in command.keys)
        assert f"/{command.slash}" in said


def test_a_slash_names_a_command_only_at_the_start_of_one_line() -> None:
    named = parse_slash("/rename  A new title ")
    assert named is not None
    assert (named[0].id, named[1]) == ("rename", "A new title")
    assert parse_slash("/no-such") is None
    assert parse_slash("/etc/hosts has\ntwo lines") is None
    assert parse_slash("see /help") is None


def test_completion_offers_what_begins_alike() -> None:
    assert [each.slash for each in completions("/re")] == ["rename", "request", "resume", "retry"]
    assert completions("/rename x") == ()
    assert completions("hello") == ()


def test_what_fits_is_shown() -> None:
    assert arrange(160, Pane.CONVERSATION).panes == frozenset(ALL_PANES)
    assert Pane.SESSIONS not in arrange(119, Pane.CONVERSATION).panes
    assert arrange(100, Pane.AGENTS).panes >= {Pane.CONVERSATION, Pane.ACTIVITY, Pane.AGENTS}
    for width in (99, 40, 1):
        assert arrange(width, Pane.AGENTS).panes == {Pane.AGENTS}


def test_the_ticker_sleeps_until_somebody_wakes_it() -> None:
    ticker = Ticker()
    seen: list[int] = []

    def needs_two(count: int) -> bool:
        seen.append(count)
        return count < 2

    ticker.listen(needs_two)
    states = [ticker.is_awake]
    for step in (ticker.tick, ticker.tick, ticker.wake):
        step()
        states.append(ticker.is_awake)
    assert states == [True, True, False, True]
    assert seen == [1, 2]


def test_an_item_comes_up_once_and_only_when_typing_rests() -> None:
    now = [100.0]
    state = WorkspaceState()
    state.shown_id = scenes.SHOP
    asker = Asker(state, 0.4, clock=lambda: now[0])
    item = scenes.item()
    state.inbox.add((item,))
    asker.typed()
    assert asker.next_item() is None
    assert asker.is_waiting
    now[0] += 0.39
    assert asker.next_item() is None
    now[0] += 0.02
    assert asker.next_item() == item
    asker.put_aside(item)
    assert asker.next_item() is None
    assert not asker.is_waiting


def test_figures_are_short_and_true() -> None:
    assert [words.duration(s) for s in (0.02, 1.44, 12, 70, 7500)] == [
        "0.02s",
        "1.4s",
        "12s",
        "1m10s",
        "2h05m",
    ]
    assert [words.tokens(n) for n in (980, 1_200, 41_000, 1_200_000)] == [
        "980",
        "1.2k",
        "41k",
        "1.2M",
    ]
    assert [words.money(n) for n in (0, 0.0021, 0.08, 12.4)] == [
        "$0.00",
        "$0.0021",
        "$0.08",
        "$12.40",
    ]
    assert words.elapsed(3_723) == "1:02:03"


def test_projections_and_the_way_in_load_without_textual() -> None:
    modules = (
        "tui_agent.ui",
        "tui_agent.ui.state",
        "tui_agent.ui.commands",
        "tui_agent.ui.projection.session",
        "tui_agent.ui.projection.inbox",
        "tui_agent.ui.projection.sessions",
    )
    script = f"import sys, {', '.join(modules)}; sys.exit('textual' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
