"""What the panes show, folded from snapshots and events.

A snapshot and the events after it go in, frozen view models come out; a session that is loaded and
one that is followed live go through the same folds. Nothing here draws, waits or knows Textual.
"""
