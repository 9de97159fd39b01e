"""How ops and kernels are declared, registered and found.

kernel.py       kernels: what an op computes on a device type, and the table in which the runtime finds them (paper section 2)
library.py      kernels from optimised libraries: which of an op's kernels a node gets, once the shapes of its inputs are known
opdef.py        what an op is: its declaration, and the table of all that are registered
plugins.py      finds implementations through entry points, so that the core names none: kernels, devices, transports,
                checkpoints
roles.py        roles of ops: what the runtime, the passes and sessions treat apart
series.py       steps: the work of neighbouring nodes whose kernels are prepared, done in one call
standard.py     actorflow's own entry points: `make names` writes this file from `pyproject.toml`
traits.py       `Gpu`: what a device with memory of its own, such as a GPU, may do with a kernel
type_attrs.py   `type_attr`: the attributes of TensorFlow's op definitions that say an element type or a number of inputs
"""
