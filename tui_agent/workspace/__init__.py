"""Open sessions and what happens in them: the workspace, session runners, the event bus.

A surface talks to `WorkspaceApi` and follows events; everything below is reached through here.
"""
