"""What the parts of a workspace share: the store, the models, and who is open."""

from __future__ import annotations

import asyncio

from tui_agent.store import Store
from tui_agent.tools.registry import ToolRegistry, default_tools
from tui_agent.vocabulary.events import Event
from tui_agent.vocabulary.ids import Clock
from tui_agent.vocabulary.records import SessionRecord
from tui_agent.workspace.bus import EventBus
from tui_agent.workspace.config import WorkspaceConfig
from tui_agent.workspace.models import ModelBroker
from tui_agent.workspace.runner import SessionRunner
from tui_agent.workspace.watching import Watch


class Shared:
    """The state behind a workspace. `_unsaved` are sessions without a message yet, `_opened` the
    roots whose tree this process owns, `_runners` the live sides of sessions by their id."""

    _watch: Watch

    def __init__(self, config: WorkspaceConfig, store: Store, clock: Clock) -> None:
        self._config = config
        self.store = store
        self.clock = clock
        self.bus = EventBus(clock)
        self._broker = ModelBroker(config.loaded.settings, config.environ, store)
        self.tools = ToolRegistry(default_tools((store.path,)))
        self._runners: dict[str, SessionRunner] = {}
        self._unsaved: dict[str, SessionRecord] = {}
        self._opened: set[str] = set()
        self._saving = asyncio.Lock()

    @property
    def folder(self) -> str:
        """The workspace folder, an absolute real path."""
        return str(self._config.folder)

    def publish(self, event: Event) -> None:
        """Put an event on the bus."""
        self._watch.note(event)
        self.bus.publish(event)
