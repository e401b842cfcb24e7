"""Whether a call may run: the order of judgement, modes, grants, and what an answer is bound to.

The gate is code. Text from models, tools or files cannot answer it.
"""
