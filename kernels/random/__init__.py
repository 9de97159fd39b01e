"""Kernels of random numbers (`tf.random`).

distributions.py   random ops
philox.py          streams of random numbers, defined bit for bit, so that a kernel of any device can draw the same numbers in
                   any order
sampling.py        chooses tokens by their logits
stateless.py       the stateless random ops: the streams of `philox`, of the kind that no node with state draws from
"""
