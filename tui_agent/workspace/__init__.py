"""Open sessions and what happens in them.

Owns the running turns, the queue of prompts, the pending decisions, the subagents and the bus that
carries events to the surfaces. In come prompts and decisions; out go events and snapshots. It knows
nothing of screens or terminals.
"""
