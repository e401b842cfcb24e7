"""`python -m tui_agent` is the `tui-agent` command."""

from tui_agent.cli import main

if __name__ == "__main__":
    main()
