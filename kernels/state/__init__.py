"""Kernels of variables, their updates, and other state of a task.

accumulators.py        conditional accumulators: gradients are summed until enough have come, then taken, and the sum starts
                       again
mutex.py               mutexes: a lock that steps take turns to hold, across sessions and threads where its container is shared
paged.py               attention over pages
scatter.py             change some rows of a variable, count it up, or read it if it has a value
scatter_nd.py          multiply, divide or bound rows of a variable, and those that change elements or slices of it
session_handles.py     tensors that a session keeps between runs
training.py            optimizers' updates, from the rows of `actorflow.graph.ops.state.training`
update_program.py      from an optimizer's formula to what computes it: numpy's calls, or a recipe for a compiler
variable.py            variables
"""
