"""From signatures of runs to plans.

builder.py           from the parts of a divided graph to plans: what a process does for its own devices, whoever divided the
                     graph
planner.py           from signatures to plans, each made once: runs 2 to 1,000,000 find theirs in a dictionary
planning_thread.py   planning on a thread of its own, so that the event loop goes on while a large graph is planned
"""
