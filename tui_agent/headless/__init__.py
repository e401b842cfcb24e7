"""The surface for scripts.

Runs a prompt without a screen and prints the listings. In come parsed command line values and a
workspace; out go text, JSON or one event a line on standard output, and an exit code. It sees the
engine only through the workspace, and foreign text reaches the terminal only through `text`.
"""
