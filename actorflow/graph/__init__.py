"""The language: nodes, graphs, tensors, ops, variables, control flow, gradients; how graphs travel, and questions about them.

codec.py            graphs as msgpack: nodes as lists, and the few kinds of attribute values as extension types
constant_value.py   the value of a tensor where the graph alone decides it: what shape rules need of `reshape(x, [-1, 10])`
convert.py          from values to tensors: what an op does with an argument that is no tensor yet, or another library's array
default_graph.py    the default graph, and its scopes as functions: `af.name_scope`, `af.device`, `af.control_dependencies`, ...
device_spec.py      names of devices: `/job:worker/replica:0/task:17/device:GPU:3`, partial names, merging and matching (paper
                    section 3)
elements.py         `Elements`: the part of a `Graph` that finds what is in it, by name, by consumer, by collection
graph.py            `Graph`: an append-only list of nodes (paper section 2)
interchange.py      `Interchange`: the part of a `Graph` that hands it to others: as bytes, as TensorFlow's message, to the lint
node.py             A node of a graph as an immutable record, and the line of the user's program that made it
overloads.py        Python's operators on tensors build nodes: `a + b` makes an Add (paper Figure 1)
scopes.py           the names and scopes under which nodes are made: default graph, names, devices, control dependencies,
                    colocation, containers
sparse_tensor.py    `SparseTensor`: a tensor of which only some elements are stored, as three tensors
tensor.py           the handles that a program holds: `Operation`, a node of a graph, and `Tensor`, one of its outputs
analysis/           the part of a graph that a run needs, and questions about it
autodiff/           gradients: the walk through a graph, by the rules of its ops
control_flow/       branches, loops and functions
graphdef/           graphs as TensorFlow's messages
linear_operators/   matrices that are known by their structure
lint/               what the runs of a graph do that their program can't mean
losses/             losses (`af.losses`)
ops/                the declarations of all ops, and the functions over them
structure/          feeds, fetches and modules: from a program's structures to tensors and variables, and back
variables/          variables and their scopes
"""
