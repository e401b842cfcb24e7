"""Dialogs: what needs a person's word. Closing one is never an answer."""
