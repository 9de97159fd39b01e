# `make names` writes this file from the marks in the sources.

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

from actorflow.exchange.export.batch_norm import fold_scales as fold_scales
from actorflow.exchange.export.branches import fold_branches as fold_branches
from actorflow.exchange.export.constants import fold_constants as fold_constants
from actorflow.exchange.export.freezing import freeze as freeze
from actorflow.exchange.export.freezing import optimize_for_inference as optimize_for_inference
from actorflow.exchange.export.numpy_module.module import standalone as standalone
from actorflow.exchange.export.quantization.quantize import quantize as quantize
from actorflow.exchange.export.quantization.report import OutputError as OutputError
from actorflow.exchange.export.quantization.report import QuantizationReport as QuantizationReport
from actorflow.exchange.export.quantization.report import QuantizedNode as QuantizedNode

__all__ = [
    "OutputError",
    "QuantizationReport",
    "QuantizedNode",
    "fold_branches",
    "fold_constants",
    "fold_scales",
    "freeze",
    "optimize_for_inference",
    "quantize",
    "standalone",
]
