"""The agents that come with the program."""

from __future__ import annotations

from tui_agent.vocabulary.agents import AgentConfig, Limits

_CHILD = (
    "You are a subagent: another agent gave you one task. Do it with your tools, then answer with "
    "what it needs to know: findings first, with paths and line numbers, then what you did not "
    "check. Nobody reads anything but your last message."
)

MAIN = AgentConfig("main", "The agent you talk to.")

BUILT_IN: tuple[AgentConfig, ...] = (
    AgentConfig(
        "general-purpose",
        "Works on a task of several steps on its own, with every tool.",
        _CHILD,
        limits=Limits(),
    ),
    AgentConfig(
        "explore",
        "Searches and reads the project and reports; changes nothing.",
        f"{_CHILD} You only read.",
        tools=("Read", "Glob", "Grep"),
        limits=Limits(),
    ),
)

ALIASES = {"general": "general-purpose", "Explore": "explore"}


def find_agent(name: str) -> AgentConfig | None:
    """The agent of that name or alias."""
    wanted = ALIASES.get(name, name)
    return next((agent for agent in (MAIN, *BUILT_IN) if agent.name == wanted), None)
