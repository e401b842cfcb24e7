"""A person who decides is told of letters that pass for others."""

from tui_agent.text import lookalike_notices


def test_a_cyrillic_letter_in_a_latin_word_is_named() -> None:
    assert lookalike_notices("\u0441at README.md") == (
        "mixed scripts in \u0441at: U+0441 CYRILLIC SMALL LETTER ES",
    )


def test_a_word_drawn_only_with_lookalikes_is_named() -> None:
    (notice,) = lookalike_notices("\u0441\u0443\u0440 x")
    assert "is not Latin: U+0441" in notice


def test_a_host_is_shown_in_its_ascii_form() -> None:
    notices = lookalike_notices("curl https://me@g\u0456thub.com:80/x")
    assert notices[0] == "the host g\u0456thub.com is xn--gthub-n2e.com"


def test_ordinary_text_of_any_script_gives_no_notice() -> None:
    for text in ("git status", "caf\u00e9 na\u00efve", "漢字.md README", "привет мир", "Καλημέρα"):
        assert lookalike_notices(text) == ()


def test_many_odd_words_stay_a_short_list() -> None:
    assert len(lookalike_notices(" ".join(f"a{number}\u0441" for number in range(99)))) == 8


def test_a_notice_is_itself_safe() -> None:
    for notice in lookalike_notices("https://\u0441\u202e\x1b[2J.com/ a\u0441"):
        assert notice.isprintable()
