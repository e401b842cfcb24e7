"""Names of the tools that the loop and the gate treat in a way of their own."""

BASH = "Bash"
READ = "Read"
GLOB = "Glob"
GREP = "Grep"
TASK = "Task"
TODO_WRITE = "TodoWrite"
ASK_USER_QUESTION = "AskUserQuestion"
