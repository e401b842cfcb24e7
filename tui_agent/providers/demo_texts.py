"""The words of the demo. Everything it says is here; what it does is in `demo_tour`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tui_agent.providers.presets import PRESETS

GREETING = """\
Hello! **This is a demo: no model is connected, and nothing leaves this machine.** What you read \
is a script. What it *does* is real, though: real tools, in this folder, with your permission.

The tour takes a minute or two. You can stop it at any time with `Esc`, and say No to anything."""

LOOK = "First I look at what is here. Reading inside the folder needs no permission."

LOOK_THINKING = (
    "A model's reasoning would be shown here, apart from its answer. "
    "A good first step in an unknown folder is to look at what it contains."
)

SUMMARY_HEADING = "## What is here"

ASK = "Now a question, as an agent asks it when only you can know the answer."

PERMISSIONS = "Permissions"
SUBAGENTS = "Subagents"

QUESTION: Mapping[str, Any] = {
    "question": "What would you like to see?",
    "header": "Tour",
    "multiSelect": False,
    "options": [
        {"label": PERMISSIONS, "description": "How a change to a file waits for your yes"},
        {"label": SUBAGENTS, "description": "Two agents at work side by side"},
        {"label": "Everything", "description": "The whole tour, one step after the other"},
    ],
}

WRITE = (
    "Next I write a small file. **This one changes something, so it waits for you**: look at it, "
    "edit it if you like, and say yes or no. With a comment, a No comes back to me and I go on; "
    "a plain No ends my turn."
)

DEMO_FILE_CONTENT = """\
# A note from the tui-agent demo

This file was written by the demo, after somebody approved it.
It can be deleted.
"""

DELEGATE = (
    "Now two subagents at once. Each is a session of its own, with a pane of its own; "
    "I get only their final reports."
)

CHILD_TASKS = (
    ("Find the open ends", "look for TODO notes in Markdown files and report them."),
    ("Survey the documents", "list the Markdown files of this folder and report how many."),
)

SHELL = (
    "Now a shell command. One that no rule allows asks first and is shown whole. “Always” shows "
    "you the exact rule that it would store."
)

SUMMARY = (
    "This session ran the demo: no model took part. The tour looked at the folder, read a file, "
    "asked a question and made calls that needed approval. Nothing is left open."
)


def _connect() -> str:
    names = [("anthropic", "ANTHROPIC_API_KEY")]
    names += [(preset.name, preset.key_names[0]) for preset in PRESETS.values() if preset.key_names]
    rows = "\n".join(f"| {provider} | `{name}` |" for provider, name in names)
    return f"""\
Set the key of a provider in the environment and start again:

| provider | variable |
|---|---|
{rows}

```sh
export ANTHROPIC_API_KEY=...
tui-agent

# any server that speaks Chat Completions, such as one on this machine; no key needed
tui-agent --base-url http://127.0.0.1:8080/v1 --model NAME
```

- `tui-agent models` lists what can be used, `tui-agent doctor` says what is missing."""


CONNECT = _connect()

ENDING_HEADING = "## That was the tour"

_KINDS = {
    "Read": "reading",
    "AskUserQuestion": "a question",
    "Write": "a change to a file",
    "Task": "subagents",
    "Bash": "a shell command",
}


def ending(tools: Collection[str]) -> str:
    """The last reply of the tour; `tools` are those that it has called."""
    kinds = ", ".join(kind for tool, kind in _KINDS.items() if tool in tools) or "nothing but text"
    return f"""\
{ENDING_HEADING}

It showed {kinds}, with the machinery that a real model would use. To work with one:

{CONNECT}

Type `tour` to see this again."""


def remark(words: str) -> str:
    """On a message that came in while the tour ran."""
    return f"(A message came in: “{_short(words)}”. A model would take it into account now.)"


def other_prompt(words: str) -> str:
    """On a prompt outside the tour."""
    return f"""\
This is still the demo, so nobody understood “{_short(words)}”. A model would now look at the \
files that matter, and propose or make changes, asking you where it has to.

{CONNECT}

Type `tour` to see the tour again, or `go on` if it stopped half-way."""


def read(path: str) -> str:
    """Before a file is read."""
    return f"I open `{_code(path)}`, as it probably says what this folder is about."


def findings(entries: Sequence[str], found: int, path: str, excerpt: str) -> str:
    """The summary of what the first two calls brought; `found` may be more than `entries`."""
    shown = "\n".join(f"- `{_code(entry)}`" for entry in entries[:6]) or "- nothing that I can see"
    more = f"\n- … and {found - len(entries[:6]):,} more" if found > len(entries[:6]) else ""
    rows = f"| files at the top of the folder | {found:,} |"
    quoted = ""
    if path:
        lines = excerpt.splitlines()
        rows += f"\n| lines read of `{_code(path)}` | {len(lines)} |"
        quoted = "\n\n`````text\n" + "\n".join(lines[:6]).replace("`````", "````") + "\n`````"
    return f"""\
{SUMMARY_HEADING}

{shown}{more}

| measured | value |
|---|---|
{rows}{quoted}"""


def answered(result: str, *, worked: bool) -> str:
    """On the answer to the question."""
    if not worked:
        return "No answer: that is fine too, I go on."
    return f"Thank you. Your answer came back to me like any result:\n\n> {_short(result, 160)}"


def wrote(result: str, *, worked: bool, was_denied: bool) -> str:
    """On the outcome of the approval to write."""
    if worked:
        return (
            "Exactly what you allowed was written. "
            f"What I was told: “{_short(result.partition(chr(10))[0], 160)}”"
        )
    if was_denied:
        return f"You said no, so nothing was written. What I was told: “{_short(result, 160)}”"
    return f"The file was not written. What I was told: “{_short(result, 160)}”"


def ran(result: str, *, worked: bool, was_denied: bool) -> str:
    """On the outcome of the command."""
    if worked:
        return f"The command ran; {len(result.splitlines())} lines came back to me."
    if was_denied:
        return f"You said no, so nothing ran. What I was told: “{_short(result, 160)}”"
    return f"The command gave no good result. What I was told: “{_short(result, 160)}”"


def reported(reports: Sequence[str]) -> str:
    """On what the subagents brought home."""
    last_lines = [(report.strip().splitlines() or ["nothing"])[-1] for report in reports]
    return "They are back:\n\n" + "\n".join(f"- {_short(line, 160)}" for line in last_lines)


@dataclass(frozen=True, slots=True)
class ChildTask:
    """One subagent of the tour: `marker` is in its task, `first` comes before its call."""

    marker: str
    tool: str
    input: Mapping[str, Any]
    first: str
    subject: str

    def report(self, found: Sequence[str]) -> str:
        """What it says at last; the last line is the result."""
        shown = "\n".join(f"- `{_code(entry)}`" for entry in found[:4])
        steps = "\n".join(f"{number}. {step}" for number, step in enumerate(_CHILD_STEPS, 1))
        return (
            f"I have gone through the result.\n\n{steps}\n\n"
            + (f"{shown}\n\n" if shown else "")
            + f"**Report:** {len(found)} {self.subject}."
        )


_CHILD_STEPS = (
    "I was started fresh, with my own prompt and none of the parent's messages.",
    "I have no tool and no right that my parent lacks.",
    "You can open my session, write to me, or stop me alone.",
    "My parent waits for the last line of this.",
)

CHILDREN = (
    ChildTask(
        "TODO",
        "Grep",
        {"pattern": "TODO", "glob": "*.md"},
        "I search the documents for open ends.",
        "lines or files with open ends found",
    ),
    ChildTask(
        "Markdown files of this folder",
        "Glob",
        {"pattern": "*.md"},
        "I list the documents at the top of the folder.",
        "documents found",
    ),
)

ANY_CHILD = ChildTask("", "Glob", {"pattern": "*"}, "I look at the folder.", "entries found")


def _short(words: str, longest: int = 80) -> str:
    line = " ".join(words.split()).replace("`", "'")
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _code(name: str) -> str:
    return name.replace("`", "'")
