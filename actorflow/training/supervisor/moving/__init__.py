"""Values of variables that go to other tasks while a training lives, and copies of them in the memory of other tasks.

balance.py        which groups of variables go where, so that tasks can leave and the others have about as many bytes
copies.py         `StateCopies`: copies of all variables beside each step, and variables that get their values from copies
doubt.py          `Doubt`: whether variables may have a part of a run only, because the run has failed and may be a loss
effects.py        `Effect`: which of the state that copies have a run may change
layout.py         `Layout`: which task keeps which variables
move.py           `StateMoves`: a move of variables between two steps
state_groups.py   `StateGroup`: variables that share a task, with all that is kept beside them
"""
