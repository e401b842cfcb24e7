"""tui-agent: a full-screen workspace for working with LLM agents from a terminal.

Importing the package costs next to nothing: rooms load what they need when they are used. The way
in is `tui_agent.cli.main`; the house and its layers are described in CONTRIBUTING.md.
"""

__version__ = "0.1.0"
