"""The turn: one state machine from a prompt to an honest end.

`run_turn` is the only way in, for a new prompt and for a batch that goes on days later alike.
"""
