"""The tests of tui-agent, one folder a room of the package."""
