"""The screen.

A Textual application that draws what the workspace reports and hands back what a person decides.
In come events and snapshots; out go calls on the workspace. It never calls a model, a tool or the
database itself, and it never waits for the engine on its own loop.

`run_app` (in `entry`) is the way in; nothing here imports Textual before it is called.
"""

from tui_agent.ui.entry import run_app

__all__ = ["run_app"]
