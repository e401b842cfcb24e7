"""Permission rules as data.

Parses rule syntax, shell commands and paths, and matches one against the other. In come strings;
out come frozen values and yes or no. It reads no settings, asks nobody and starts nothing.
"""
