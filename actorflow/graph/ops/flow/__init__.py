"""Ops of control flow, functions, checks, Send and Recv.

asserts.py          assertions about tensors: operations that fail in the run, or at once where the graph alone decides
                    (`tf.assert_*`)
asserts_static.py   assertions about ranks, types and kinds of values: most are decided as the graph is built (`tf.assert_rank`,
                    ...)
control.py          ops that carry, order and observe other ops: identity, groups, shapes that are checked, custom gradients
functions.py        nodes that stand for other nodes: parameters and calls of functions, and the regions and loops that passes
                    make
lists.py            lists of tensors as values: the ops under `TensorArray`, and what the gradients of loops keep of their
                    iterations
mutable_arrays.py   arrays and stacks of tensors that change in place, as TensorFlow 1's graphs keep them
numerics.py         checks of numbers: NaN and infinities (`tf.check_numerics` and its family)
primitives.py       the primitives of control flow: Switch, Merge, Enter, Exit, NextIteration, LoopCond (paper section 4.4)
printing.py         `print_` and `Print`: tensors printed as a step computes them (`tf.print`, `tf.Print`)
py_func.py          `py_func`: a function of Python as a node, in the process that built the graph (`tf.py_func`)
send_recv.py        nodes that move tensors: Send and Recv between devices (paper section 3.2.2), and copies to the host and
                    back (4.1)
"""
