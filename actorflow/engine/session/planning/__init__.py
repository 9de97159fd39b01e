"""From signatures of runs to plans.

builder.py   from the parts of a divided graph to plans: what a process does for its own devices, whoever divided the graph
freezing.py  `Freezing`: while nothing writes the variables that a plan reads, another plan is run in which their values are
             constants
planner.py   from signatures to plans, each made once: runs 2 to 1,000,000 find theirs in a dictionary
predicates.py  predicates that are fed: a plan is made for each of their values
prepared.py  `PreparedSignature`: a signature as `run` needs it, and the plan for each value of the predicates that it feeds
trial.py     `PlacementTrial`: steps run by the present placement and by the result of a search, in turns, until a sign test
             decides
"""
