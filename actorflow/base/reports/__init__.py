"""Reports for people: logs, tracebacks, the lines of their programs, HTML for notebooks.

logs.py        the package's log, which goes to the standard `logging`
markup.py      HTML for notebooks: `card`, `table`, `fold` and `picture`
tracebacks.py  which frames of an error its reader sees
user_line.py   the line of the user's program that made a node
"""
