"""The screens: the workspace, and those that lie over it for a closer look."""
