"""Branches and loops in the graph, on TensorFlow 1's primitives (paper section 4.4).

cond.py            `cond`, `case` and `switch_case`: parts of the graph of which a run takes one (`tf.cond`, `tf.case`)
context.py         where nodes are made: inside of a branch, or of a loop
function.py        `Defun`: a function of Python becomes a named part of the graph, which is called several times (`tf.Defun` of
                   version 1)
function_body.py   the bodies of functions: where their nodes are made, what the graph knows of each function, and its calls
functional.py      `map_fn`, `scan`, `foldl` and `foldr`: loops over the rows of tensors (`tf.map_fn` and others)
lifting.py         values of branches outside of them, for gradients that are made elsewhere
loop_context.py    the context of a while loop: its variables, each a circle of primitives (paper section 4.4)
tensor_array.py    `TensorArray`: an array of tensors for loops (`tf.TensorArray`)
variable_reads.py  reads of variables where a program names them: in loops, branches and functions
while_loop.py      `while_loop` (`tf.while_loop`)
writes.py          the variables whose writes an operation is behind
"""
