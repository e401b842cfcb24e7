"""Textual's command palette, fed from the table of commands."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from tui_agent.ui.commands import COMMANDS, Command, key_words

if TYPE_CHECKING:
    from tui_agent.ui.app import TuiAgentApp


class TableProvider(Provider):
    """Offers every command that may run now."""

    async def discover(self) -> Hits:
        """All of them, before anything is typed."""
        for command in self._offered():
            yield DiscoveryHit(
                Content(command.title), self._runner(command), command.title, _help(command)
            )

    async def search(self, query: str) -> Hits:
        """Those whose title or slash name matches."""
        matcher = self.matcher(query)
        for command in self._offered():
            score = max(matcher.match(command.title), matcher.match(command.slash))
            if score > 0:
                yield Hit(
                    score,
                    Content(command.title),
                    self._runner(command),
                    command.title,
                    _help(command),
                )

    def _offered(self) -> list[Command]:
        is_running = self._app.is_turn_running
        return [each for each in COMMANDS if each.may_run(is_running=is_running)]

    def _runner(self, command: Command) -> partial[None]:
        return partial(self._app.run_command, command, "")

    @property
    def _app(self) -> TuiAgentApp:
        return cast("TuiAgentApp", self.app)


def _help(command: Command) -> str:
    names = [key_words(key) for key in command.keys]
    if command.slash:
        names.append(f"/{command.slash}")
    return "  ".join(names)
