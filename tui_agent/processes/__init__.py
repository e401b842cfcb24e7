"""Child processes.

Starts, watches, bounds and ends them, each in its own process group and with an allow-listed
environment, inside a sandbox where there is one. In come a command and limits; out come output and
an exit. No child outlives the call that owns it unless that was asked for.
"""
