"""The command line, and the place where the parts are put together.

Parses arguments, builds settings, a workspace and a surface, and owns signals and exit codes. It
holds no rule of its own: what a flag means is decided in the room it is handed to.
"""

import click

from tui_agent import __version__


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tui-agent")
def main() -> None:
    """Work with LLM agents from a terminal."""
