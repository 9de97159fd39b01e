"""Eager execution: ops run at once, and Python is the control flow.

Eager execution is a graph of a kind of its own: `EagerGraph` runs each node as it is made, and keeps none. A program is eager
if an `EagerGraph` is the default graph. So every op, and every function that is made of ops, has this second target without a
line of its own. Gradients go by the one rule that each op has: a tape remembers the operations that ran, and the rules, which
build nodes, build them in the same graph and so run at once too.

dispatch.py    the short way from a call of an op to its kernel: what was resolved for the same types and shapes before
graph.py       `EagerGraph`: a graph that runs each node as it is made
launches.py    ops that run on a thread, in the order of the program, while that goes on
operation.py   `EagerOperation`: an op that has run, with the face that gradient rules know of a node
py_function.py a function of Python that gets tensors which have values
quiet.py       `call_quietly`: a call of a kernel in a context in which numpy warns of nothing, as in a session
scope.py       `eager`: where ops run at once, and whether they do here
tensor.py      `EagerTensor`: a tensor that has its value already
variable.py    `EagerVariable`: a variable that is an object of the program, and is collected when no one holds it
functions/     functions of Python that run as compiled plans (`tf.function`)
tapes/         gradients of what ran at once
"""
