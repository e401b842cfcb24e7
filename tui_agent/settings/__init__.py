"""Settings files, environment and flags as one validated object.

Reads TOML from the user's and the project's files, lays environment and flags over them, and
reloads when a file changes. A project that is not trusted can only tighten. A broken file is
reported with its place and never stops the program.
"""
