"""Ops of variables, their updates, and other state of a task.

accumulators.py        conditional accumulators: gradients of many steps, summed until enough have come
                       (`tf.ConditionalAccumulator`)
assign.py              TensorFlow's functions that change a variable: `assign`, `assign_add`, `scatter_add` and so on
                       (`tf.assign`, ...)
checkpoint.py          save and Restore as nodes (paper section 3.3)
copies.py              copies of variables in the memory of other tasks
mutex.py               `CriticalSection`: parts of graphs that exclude each other, in all steps and sessions
                       (`tf.CriticalSection`)
paged.py               attention over keys and values that are kept in pages
scatter.py             updates of some rows of a variable, and other ways to change it: scatter, count up, read or compute
scatter_nd.py          more updates of parts of a variable: rows multiplied, divided or bounded, and elements or slices by full
                       indices
session_handles.py     tensors that a session keeps between runs, and their handles (`tf.get_session_handle`)
training.py            the table of optimizers' updates: each row is an op for a gradient, an op for its rows, and their formula
update.py              `update`: one row makes an optimizer's update
variable.py            variables as ops: a handle, reads of it, and atomic updates (paper section 2)
"""
