"""Whether a call may run.

Judges a tool call in a fixed order: rules, protected paths, mode, grants, a person. In comes the
call with its effects; out comes allow, ask, deny or pending, with its reason. Nothing in here, and
no failure of it, turns an ask into an allow.
"""
