"""The turn as one state machine.

Takes a committed user message, drives model and tools from `thinking` to `done`, and yields events.
Everything it needs from above is handed in. It never shows anything, and it never leaves a stored
history that a provider would reject.
"""
