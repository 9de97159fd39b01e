"""How steps wait: for their turn, until a deadline, for other steps; reports of it; and what their callers get.

admission.py   admission: how many steps run at once, how many wait for their turn or for something else, and the refusal of
               more
deadline.py    deadlines, and the report of a wait that ended before its time
deadlock.py    `DeadlockDetector`: the log's word on steps that only wait, when nothing that the session runs would end their
               wait
diagnosis.py   reports of waiting steps for people: at which resource a node waits, in what state that is, and which nodes use
               it
values.py      from what a step computed to what its caller gets: read-only arrays, numpy scalars, bytes
"""
