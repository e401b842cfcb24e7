"""What the model sees.

Builds the prompt from layers and the request from the stored messages: instructions, skills,
budget, clearing, compaction. In come messages and settings; out goes a projection. It never changes
a stored message.
"""
