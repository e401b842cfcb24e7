"""What a person can have done on the workspace screen, by what it is about.

`pages` opens something over the workspace, `sessions` shows, makes and ends sessions, `turns` works
in the shown one, `queue` changes what waits there, `choices` picks its mode and model; `desk` puts
them together and moves between the panes. Each calls the engine in a worker, so that no key waits
for it.
"""
