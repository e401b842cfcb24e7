"""The floor of the workspace's figures: the smallest Textual application to type in."""

from textual.app import App, ComposeResult
from textual.widgets import Static, TextArea


class Floor(App[None]):
    """One line of text and an editor."""

    def compose(self) -> ComposeResult:
        """The two widgets."""
        yield Static("floor ready")
        yield TextArea()

    def on_mount(self) -> None:
        """Ready to be typed to."""
        self.query_one(TextArea).focus()


if __name__ == "__main__":
    Floor().run()
