"""The system prompt, as layers with a name and an origin.

The text is byte-stable within a session: no clock, no changing state, so that a provider's prompt
cache holds. A replaced system prompt takes the place of the base layer only.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_agent.context.budget import text_tokens
from tui_agent.vocabulary.agents import AgentConfig
from tui_agent.vocabulary.records import SessionRecord
from tui_agent.vocabulary.states import Mode

BASE_PROMPT = """\
You are an agent that works in a person's project folder through tools.

- Look before you act: read the files that matter, search instead of guessing.
- Use the file tools for files and Bash for commands. Calls that do not depend on each other can \
be made in one reply; they run side by side where that is safe.
- The person decides about every call that changes something. When a call is denied, do not try \
the same thing another way: take the reason into account or ask.
- A call whose outcome is unknown may have run. Check the state of things before you repeat it.
- Keep changes small and in the style of the code around them. Say what you did and what you did \
not check.
- Answer in Markdown, briefly. No preamble."""

PLAN_PROMPT = """\
Plan mode is on: only reading is allowed. Study what is needed, then answer with a plan that the \
person can approve. Do not try to change anything."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One part of the prompt: where it came from and what it says."""

    name: str
    source: str
    text: str

    @property
    def tokens(self) -> int:
        """An estimate of its size."""
        return text_tokens(self.text)


def prompt_layers(session: SessionRecord, agent: AgentConfig) -> tuple[Layer, ...]:
    """The layers of the system prompt, in order."""
    layers: list[Layer] = []
    if session.system_prompt is not None:
        layers.append(Layer("system", "replaced", session.system_prompt))
    elif not agent.prompt:
        layers.append(Layer("base", "built in", BASE_PROMPT))
    if agent.prompt:
        layers.append(Layer("agent", agent.name, agent.prompt))
    layers.append(Layer("environment", "this machine", _environment(session)))
    if session.append_system_prompt:
        layers.append(Layer("appended", "appended", session.append_system_prompt))
    if session.mode is Mode.PLAN:
        layers.append(Layer("mode", "plan", PLAN_PROMPT))
    return tuple(layer for layer in layers if layer.text.strip())


def system_prompt(layers: Sequence[Layer]) -> tuple[str, ...]:
    """The layers as the texts of a request."""
    return tuple(layer.text for layer in layers)


def _environment(session: SessionRecord) -> str:
    folders = "".join(f"\nFurther folder: {folder}" for folder in session.extra_folders)
    return (
        f"Working folder: {session.folder}{folders}\n"
        f"Git repository: {'yes' if (Path(session.folder) / '.git').exists() else 'no'}\n"
        f"Platform: {platform.system()} {platform.machine()}"
    )
