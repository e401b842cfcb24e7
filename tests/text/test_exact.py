"""What a person approves is shown to the last character."""

import pytest

from tui_agent.text import exact


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("git status", "git status"),
        ("a\tb\nc", "a\\tb\\nc"),
        ("\x00\x7f\x85\x9b", "\\x00\\x7f\\x85\\x9b"),
        ("a\u00a0b\u3000c", "a<U+00A0>b<U+3000>c"),
        ("x\u202ey\u2066z", "x<U+202E>y<U+2066>z"),
        ("\U000e0041", "<U+E0041>"),
        ("\ue000\ufdd0", "<U+E000><U+FDD0>"),
        ("a\ufe0fb\u2800", "a<U+FE0F>b<U+2800>"),
        ("name\udcff", "name<U+DCFF>"),
        ("漢字 é 🚀", "漢字 é 🚀"),
        (" " * 32, " " * 32),
        ("a" + " " * 33 + "b", "a⟨33 spaces⟩b"),
        ("a" + "\t " * 20 + "b", "a⟨40 blanks⟩b"),
        ("a\n\n\nb", "a\\n\\n\\nb"),
        ("a\n\n\n\nb", "a⟨4 line breaks⟩b"),
        ("e" + "\u0301" * 4, "e" + "\u0301" * 4),
        ("e" + "\u0301" * 5, "e" + "\u0301" * 4 + "⟨1 mark⟩"),
    ],
)
def test_every_odd_character_is_spelled_out(text: str, shown: str) -> None:
    assert exact(text) == shown


def test_a_command_body_keeps_its_lines_and_nothing_else() -> None:
    assert exact("if x\r\n\ty\nfi", one_line=False) == "if x\\x0d\n\\ty\nfi"


def test_lines_of_blanks_cannot_push_the_rest_out_of_view() -> None:
    shown = exact("ls" + "\n " * 500 + "\nrm -rf /", one_line=False)
    assert shown == "ls⟨501 line breaks, 500 blanks⟩rm -rf /"
