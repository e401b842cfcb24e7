"""Hundreds of turns against a model that fails in every way that providers do.

`faults` says what the model answers, `server` plays it in a process of its own, `endurance` works
with it and measures: the program has to stay as large as it was, and nothing it sends is refused.
"""
