"""The declarations of all ops, and the public functions over them, in TensorFlow's families.

arguments.py        the arguments of an op's call: inputs become tensors, and attributes what nodes keep
arriving.py         products and quotients for gradients: where no gradient arrives, none goes on
building.py         what functions that build several nodes share: their name scope, constants, and a look at values known early
declare.py          `@op`: a typed function without a body is the declaration of an op, and calling it adds a node
indexed_slices.py   `IndexedSlices`: a gradient that is zero except in some rows, such as that of a gather from a large table
operators.py        says which function builds the node of each of Python's operators on tensors
shape_rules.py      shape rules that several ops share
static.py           questions about tensors that are answered as the graph is built, and shapes that broadcasting would give
array/              ops of shapes, parts, joins, orders and constants
flow/               ops of control flow, functions, checks, Send and Recv
image/              ops of images (`tf.image`)
io/                 ops of queues, readers, files and formats
linalg/             ops of matrices: inverses, factors, systems of equations, norms
lookup/             ops of lookup tables (`tf.lookup`)
math/               ops of arithmetic, elementwise functions, reductions, products of matrices
nn/                 ops of neural networks: activations, convolutions, pools, normalization, losses
quantize/           ops of floats as integers of few bits
random/             ops of random numbers (`tf.random`)
signal/             ops of Fourier transforms (`tf.signal`)
sparse/             ops of sparse tensors (`tf.sparse`)
state/              ops of variables, their updates, and other state of a task
strings/            ops of byte strings (`tf.strings`)
"""
