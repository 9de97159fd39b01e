"""Models on their way out: frozen graphs, and graphs that are made for inference.

A frozen graph is a `GraphDef` in which variables are constants, branches for training are gone, and nothing writes state. It is
made by functions from messages to messages, so graphs of TensorFlow's pass through them as well: cut at the inputs,
`fold_branches`, variables to constants, `fold_constants`, `fold_scales` (batch normalization), copies left out.

batch_norm.py  `fold_scales`: batch normalization goes into the weights of the product or convolution before it
branches.py    `fold_branches`: branches whose predicate is known become straight lines
constants.py   `fold_constants`: nodes that depend on constants alone are computed once
freezing.py    `freeze`, `optimize_for_inference`, and the refusal of nodes that write state
messages.py    `Messages`: the nodes of a GraphDef by name, with their order, users and constants
quantization/  `quantize`: weights of int8 in the products and convolutions of a frozen graph
numpy_module/  `standalone`: a model as one module of Python that needs numpy alone
"""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.export", __name__)
