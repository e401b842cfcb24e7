"""What the model sees: the prompt's layers, the projected history, its size, compaction.

Everything here is computed from stored messages and settings; nothing here changes a message.
"""
