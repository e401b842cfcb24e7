"""The real program in a real pseudo terminal: typed to, read from its screen, resized, ended."""
