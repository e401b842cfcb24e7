"""What is kept.

Sessions, turns, messages, tool runs, pending decisions and search in SQLite. In come frozen values,
one closed transaction a write; out come the same values. Nothing else in the process opens the
database.
"""
