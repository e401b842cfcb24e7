"""Foreign text made safe to show.

Takes text of models, tools and files and gives it back without terminal controls, in three
strengths; measures widths and cuts on character bounds. Pure functions: no I/O, no state.
"""
