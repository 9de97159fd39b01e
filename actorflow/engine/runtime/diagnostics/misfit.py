"""`misfit`: what does not fit in the inputs that a kernel failed with, in the words of the op's own rules.

A mistake in shapes that are known as the graph is built is told by the op's shape rule. If a run is the first to know
them, an array library notices, in words of its own ("gufunc signature", "core dimension"): then the rule is asked
again, with the shapes of the arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, as_dtype
from actorflow.base.registry.opdef import Inference, lookup
from actorflow.graph.node import Node

_MOST_SIZES = 32
_JARGON = ("gufunc", "core dimension", "operands could not be broadcast", "broadcast together")


@dataclass(frozen=True, slots=True)
class Given:
    """The value that a kernel was given for one input. `value` is kept of short lists of integers, such as the sizes of
    a shape."""

    text: str
    dtype: DType | None = None
    shape: tuple[int, ...] | None = None
    value: np.ndarray[Any, Any] | None = None

    def __str__(self) -> str:
        return self.text


def given(value: Any) -> Given:
    """The facts of a value on an edge that are remembered when a kernel fails with it."""
    dtype = getattr(value, "dtype", None)
    if not isinstance(dtype, np.dtype):
        return Given(type(value).__name__)
    shape = tuple(np.shape(value))
    few = isinstance(value, (np.ndarray, np.generic)) and dtype.kind in "iu" and value.size <= _MOST_SIZES
    kept = np.array(value) if few else None
    return Given(f"{dtype} {shape}", None if dtype.kind == "O" else as_dtype(dtype), shape, kept)


def misfit(node: Node, inputs: Sequence[Given]) -> str | None:
    """Why the node's op refuses inputs of these types and shapes, or None where its rules have nothing against them."""
    if len(inputs) != len(node.inputs):
        return None
    dtypes: Any = [each.dtype for each in inputs]  # a rule that needs an unknown type fails
    context = Inference(
        lookup(node.op),
        node.attrs,
        dtypes,
        [each.shape for each in inputs],
        lambda index: inputs[index].value,
    )
    try:
        context.op.infer(context)
    except (TypeError, ValueError) as error:
        return str(error)
    except Exception:  # it asked for what is not known of the inputs
        return None
    return None


def translated(op: str, message: str) -> str | None:
    """A message of an array library in plain words, if the message is about shapes and full of terms of its own."""
    if any(term in message for term in _JARGON):
        return f"The shapes of the inputs of {op} don't fit each other."
    return None
