"""Prompts on their way to the engine: one after the other, in the order in which they were typed.

A prompt may be sent before the first session is open; it goes when that is. One that is refused
goes back into the composer, and with it what was typed after it, so that nothing is answered out of
order.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from tui_agent.ui.desk.around import Around
from tui_agent.vocabulary.errors import UserError


@dataclass(frozen=True, slots=True)
class Prompt:
    """What was typed. `session_id` of `None` means the first session, which is not open yet;
    `draft` is the text as the composer takes it back."""

    session_id: str | None
    text: str
    draft: str
    after_turn: bool


class Outbox:
    """Sends prompts in order."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._prompts: deque[Prompt] = deque()
        self._is_sending = False

    def put(self, text: str, draft: str, *, after_turn: bool) -> None:
        """Send `text` to the session that is shown, after what is here already."""
        shown_id = self._around.state.shown_id
        self._prompts.append(Prompt(shown_id, text, draft, after_turn))
        if shown_id is None:
            self._around.screen.has_early_prompts = True
            self._around.screen.redraw()
        else:
            self.send()

    def send(self) -> None:
        """A session is shown: what waits can go."""
        if self._prompts and not self._is_sending:
            self._is_sending = True
            self._around.stage.start(self._send())

    def give_back(self) -> None:
        """Nothing more is sent: what waits is in the composer again."""
        first = self._prompts.popleft() if self._is_sending else None
        waiting = [prompt.draft for prompt in self._prompts]
        self._prompts.clear()
        if first is not None:
            self._prompts.append(first)  # on its way: the engine has it
        if waiting:
            self._around.give_back("\n".join(waiting))

    async def _send(self) -> None:
        try:
            while self._prompts:
                prompt = self._prompts[0]
                session_id = prompt.session_id or self._around.state.shown_id
                if session_id is None:
                    return
                await self._around.take_over(session_id)
                await self._around.operations.submit(
                    session_id, prompt.text, after_turn=prompt.after_turn
                )
                self._prompts.popleft()
                await self._keep_draft(session_id)
        except UserError:
            await self._take_back()
            raise
        finally:
            self._is_sending = False

    async def _keep_draft(self, session_id: str) -> None:
        """What was sent is no draft any more."""
        view = self._around.state.view(session_id)
        if view is not None:
            is_shown = session_id == self._around.state.shown_id
            draft = self._around.screen.composer.draft if is_shown else ""
            await self._around.operations.save_draft(view, draft)

    async def _take_back(self) -> None:
        """One was refused: it and those after it are drafts of their sessions again."""
        shown_id = self._around.state.shown_id
        drafts: dict[str | None, list[str]] = {}
        for prompt in self._prompts:
            drafts.setdefault(prompt.session_id or shown_id, []).append(prompt.draft)
        self._prompts.clear()
        for session_id, parts in drafts.items():
            view = self._around.state.view(session_id or "")
            if session_id == shown_id or view is None:
                self._around.give_back("\n".join(parts))
            else:
                await self._around.operations.save_draft(view, "\n".join(parts))
