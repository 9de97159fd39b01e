"""Builders of ONNX's ops over public ops, by family. Each module enters its own into the table of `actorflow.onnx.nodes`.

common.py       sizes that may be known in a run only, axes, casts
elementwise.py  arithmetic, comparisons, logic, activations
reductions.py   reductions, places of extremes, sums along a dimension, softmax
shapes.py       shapes and types: casts, reshapes, joins, slices, padding, constants
gathers.py      elements by their places: gathers, scatters, one-hot vectors
windows.py      convolutions and pools
unpooling.py    what undoes windows
products.py     products of matrices, normalisations, losses
control.py      branches and loops
sequences.py    sequences and optionals
"""

from __future__ import annotations

from actorflow.onnx.builders import (
    control,
    elementwise,
    gathers,
    products,
    reductions,
    sequences,
    shapes,
    unpooling,
    windows,
)

__all__ = ["control", "elementwise", "gathers", "products", "reductions", "sequences", "shapes", "unpooling", "windows"]
