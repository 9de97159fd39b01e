"""Builders of ONNX's ops over public ops, by family. Each module enters its own into the table of
`actorflow.exchange.onnx.nodes`.

common.py       sizes that may be known in a run only, axes, casts
elementwise.py  arithmetic, comparisons, logic, activations
reductions.py   reductions, places of extremes, sums along a dimension, softmax
shapes.py       shapes and types: casts, reshapes, joins, constants
slices.py       slices, splits, padding, dimensions of one element
gathers.py      elements by their places: gathers, scatters, one-hot vectors
products.py     products of matrices, normalisations, losses
signals.py      Fourier transforms, windows
texts.py        strings
training.py     steps of optimizers, gradients
control.py      branches and loops
sequences.py    sequences and optionals
microsoft.py    ops of `com.microsoft`: whole numbers with scales, fused ops
ml/             the models of `ai.onnx.ml`: linear models, trees, support vector machines, encoders
nn/             what networks are made of: convolutions, pools, attention, recurrent layers, images, whole numbers
"""

from __future__ import annotations

from actorflow.exchange.onnx.builders import (
    control,
    elementwise,
    gathers,
    microsoft,
    ml,
    nn,
    products,
    reductions,
    sequences,
    shapes,
    signals,
    slices,
    texts,
    training,
)

__all__ = [
    "control", "elementwise", "gathers", "microsoft", "ml", "nn", "products", "reductions", "sequences", "shapes", "signals",
    "slices", "texts", "training",
]  # fmt: skip
