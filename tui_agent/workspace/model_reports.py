"""What providers say of their models, asked when a model is used and kept.

Comes in: a client and the model that is about to answer. Goes out: facts to lay over the shipped
ones, as far as they are known by now. A slow or silent provider holds a call up for a moment at
most: the question goes on by itself, and the next call knows the answer.
"""

from __future__ import annotations

import asyncio
import logging

from tui_agent.providers.base import ListedModel, ModelClient
from tui_agent.vocabulary.agents import ModelChoice
from tui_agent.vocabulary.errors import UserError
from tui_agent.vocabulary.ids import Clock

log = logging.getLogger(__name__)

WAIT_SECONDS = 1.5
"""How long a call may be held up by the question what its model can do."""
ASK_AGAIN_SECONDS = 300.0
"""After a question that failed."""


class ModelReports:
    """Answers by model. A provider that was asked once is not asked again, unless it failed."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answers: dict[ModelChoice, ListedModel | None] = {}
        self._questions: dict[ModelChoice, asyncio.Task[None]] = {}
        self._failed: dict[ModelChoice, float] = {}

    def told(self, choice: ModelChoice) -> dict[str, object]:
        """Fields of `ModelFacts`; none while nothing is known."""
        answer = self._answers.get(choice)
        return {} if answer is None else answer.facts()

    def note(self, choice: ModelChoice, model: ListedModel) -> None:
        """Keep what a listing said."""
        self._answers[choice] = model

    async def learn(self, client: ModelClient, choice: ModelChoice) -> None:
        """Ask about this model unless that was done, and wait a moment for the answer."""
        if choice in self._answers:
            return
        failed = self._failed.get(choice)
        if failed is not None and self._clock.monotonic() - failed < ASK_AGAIN_SECONDS:
            return
        question = self._questions.get(choice)
        if question is None:
            question = asyncio.create_task(self._ask(client, choice))
            self._questions[choice] = question
        await asyncio.wait({question}, timeout=WAIT_SECONDS)

    async def aclose(self) -> None:
        """Ask no more."""
        questions, self._questions = list(self._questions.values()), {}
        for question in questions:
            question.cancel()
        await asyncio.gather(*questions, return_exceptions=True)

    async def _ask(self, client: ModelClient, choice: ModelChoice) -> None:
        try:
            self._answers[choice] = await client.describe(choice.model)
        except UserError as error:
            # the call itself will say what is wrong; what the program ships with holds meanwhile
            log.info("%s tells nothing of %s: %s", choice.provider, choice.model, error)
            self._failed[choice] = self._clock.monotonic()
        finally:
            self._questions.pop(choice, None)
