"""What the model can do.

One module for each family of tools, a registry that knows them, and the lane that schedules a batch
of calls. In come checked inputs; out come results for the model and details for the screen. A tool
never decides whether it may run: that is the gate's.
"""
