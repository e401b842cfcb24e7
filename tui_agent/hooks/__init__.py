"""The user's own commands around events.

Runs configured commands before and after tools, prompts and turns, and reads what they answer. In
comes an event; out comes block, allow, ask or a rewritten input. A hook can tighten what the rules
say; it cannot overrule a deny.
"""
