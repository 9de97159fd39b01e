"""Nodes on their way between actorflow's form and TensorFlow's, where one node is not one node there.

attributes.py    `Attributes`: what a node says beside its inputs
builder.py       `ExpansionBuilder`: the nodes that stand for a single node
control_flow.py  `write_if`, `write_while`: branches and loops that are functions, in the primitives of graphs
datasets.py      Datasets, whose iterators are fed on the other side
examples.py      `ParseExample` with its keys as attributes and as inputs
expansion.py     ops of actorflow's own as several of TensorFlow's
forms.py         TensorFlow's ops that actorflow has in another form
framed.py        constants of loops, as TensorFlow wants them
functions.py     `inlined`: the nodes of functions in the place of their calls
gradient_forms.py  ops that TensorFlow has for gradients alone
lists.py         lists of tensors in the ops that TensorFlow has
ordered.py       reads of variables before updates
outputs.py       the numbers of outputs that bodies of functions name
"""
