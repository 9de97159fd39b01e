"""Kernels of variables, their updates, and other state of a task.

accumulators.py        conditional accumulators: gradients are summed until enough have come, then taken, and the sum starts
                       anew
mutex.py               mutexes: a lock that steps take turns to hold, across sessions and threads where its container is shared
scatter.py             change some rows of a variable, count it up, or read it if it has a value
scatter_nd.py          multiply, divide or bound rows of a variable, and those that change elements or slices of it
training.py            the optimizers' updates (the formulas are with the ops, in `actorflow.ops.state.training`)
training_adaptive.py   Adadelta, AdaMax, AddSign and PowerSign (the formulas are with the ops, in
                       `actorflow.ops.state.training_adaptive`)
training_proximal.py   optimizers that shrink weights to zero (the formulas are with the ops, in
                       `actorflow.ops.state.training_proximal`)
update_formulas.py     what optimizers' dense updates compute, element by element: one description for the CPU's loops and for
                       the GPU's kernels
variable.py            variables
"""
