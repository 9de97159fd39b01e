"""The common helpers of functions that build several nodes: their name scope, constants, and a look at values known early."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.graph.constant_value import constant_value
from actorflow.graph.convert import convert_to_tensor, graph_of
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Operation, Tensor


@contextmanager
def composite(name: str | None, default: str, *values: Any) -> Iterator[str]:
    """Builds in the graph of `values` (else the default graph) under a name scope.

    Gives the scope's name with a `/` at its end. A node of that name is called as the scope itself: so the
    result of several nodes gets the name that the user asked for.
    """
    graph = graph_of(values)
    with graph.as_default(), graph.name_scope(name or default) as scope:
        yield scope


def small_constant(graph: Graph, value: Any, dtype: DType, name: str) -> Tensor:
    """A constant in `graph`, whatever the default graph is."""
    return convert_to_tensor(np.asarray(value, dtype.numpy_dtype), dtype, name, graph=graph)


def known_value(tensor: Tensor) -> np.ndarray[Any, Any] | None:
    """The value of `tensor` where the graph alone decides it, else None."""
    return constant_value(tensor.graph.nodes, tensor.tensor_id)


def outputs_of(result: Any) -> list[Tensor]:
    """The outputs of an op with any number of them (calling it gives one tensor, several, or the bare operation)."""
    if isinstance(result, Operation):
        return []
    return [result] if isinstance(result, Tensor) else list(result)


def or_zeros(gradients: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> list[Tensor]:
    """The gradients of several outputs, zeros for those that nothing used."""
    from actorflow.graph.ops.array.constant import zeros_like

    return [zeros_like(y) if dy is None else dy for dy, y in zip(gradients, outputs, strict=True)]
