"""Ops of variables, their updates, and other state of a task.

accumulators.py        conditional accumulators: gradients of many steps, summed until enough have come
                       (`tf.ConditionalAccumulator`)
assign.py              TensorFlow's functions that change a variable: `assign`, `assign_add`, `scatter_add` and so on
                       (`tf.assign`, ...)
checkpoint.py          save and Restore as nodes (paper section 3.3)
mutex.py               `CriticalSection`: parts of graphs that exclude each other, in all steps and sessions
                       (`tf.CriticalSection`)
scatter.py             updates of some rows of a variable, and other ways to change one: scatter, count up, read or compute
scatter_nd.py          more updates of parts of a variable: rows multiplied, divided or bounded, and elements or slices by full
                       indices
training.py            the updates of optimizers, one op each: a step of training is one pass over a variable and its slots
training_adaptive.py   more updates of optimizers with a rate for each weight: Adadelta, AdaMax, AddSign, PowerSign
training_proximal.py   the updates of optimizers that shrink weights to zero: proximal steps, dual averaging, FTRL
variable.py            variables as ops: a handle, reads of it, and atomic updates (paper section 2)
"""
