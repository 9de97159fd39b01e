"""Derivatives by extending the graph (paper section 4.1).

branches.py      the place of a gradient, and gradients of branches
chains.py        gradients of chains: ops in a row that compute one function have one gradient together
custom.py        `custom_gradient`: a function that says itself how to differentiate it (`tf.custom_gradient`)
functions.py     gradients of functions: another function, traced once when a gradient is first asked for
gradients.py     `gradients`: derivatives by extending the graph (paper section 4.1)
hessians.py      second derivatives (`tf.hessians`), made of gradients of gradients
loops.py         gradients of while loops: a loop that goes the iterations back
lstm.py         second derivatives of the LSTM over all steps: its first gradients once more, as those of a loop
override.py      gradient rules by name: `RegisterGradient`, `NotDifferentiable`, and which rule a node goes by
reasons.py       `why_none`: why a gradient is None: there is no way from the tensor to the result, or no derivative goes along
                 it
recompute.py     `recompute`: tensors that a gradient computes again instead of keeping them (paper section 4.1)
unbroadcast.py   undoing broadcasting: an operand that was stretched to the output's shape gets the sum over what it was
                 stretched to
walk.py          the backward walk: from the gradients of some tensors to those of others, one node or loop at a time
"""
