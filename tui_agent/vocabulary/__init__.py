"""The nouns that every room uses: blocks, messages, events, states, usage, errors, ids.

Everything here is frozen data or a pure function of it. No I/O, no third-party import: this room is
loaded before the first paint.
"""
