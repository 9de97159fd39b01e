"""Builds an op in a graph of its own, runs it, and compares. `run` is the only place that knows who runs a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from interpreter import Interpreter

from actorflow.base.dtypes import DType, as_dtype
from actorflow.blocking import Session
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.constant import constant, placeholder
from actorflow.graph.tensor import Tensor

# How the inputs enter the graph: placeholders of their shapes (fixed ones as constants), of their ranks, of no shape.
Knowledge: TypeAlias = Literal["shape", "rank", "nothing"]
KNOWLEDGE: tuple[Knowledge, ...] = ("shape", "rank", "nothing")
Runner: TypeAlias = Literal["session", "interpreter"]
TOLERANCE = {
    "float16": 4e-3,
    "bfloat16": 3e-2,
    "float32": 2e-5,
    "float64": 1e-10,
    "complex64": 2e-5,
    "complex128": 1e-10,
}


def run(graph: Graph, fetches: Sequence[Tensor], feeds: Mapping[Tensor, Any], by: Runner = "session") -> list[Any]:
    """The values of `fetches`. The runner of the graph is decided here and nowhere else."""
    if by == "interpreter":
        return Interpreter(graph).run(fetches, feeds)
    with Session(graph=graph) as session:
        return session.run(list(fetches), dict(feeds))  # type: ignore[no-any-return]


class Built:
    """A row's op in a graph of its own, with the arrays to feed."""

    def __init__(
        self, build: Callable[..., Any], arrays: Sequence[Any], known: Knowledge, fixed: Sequence[bool]
    ) -> None:
        self.graph = Graph()
        self.feeds: dict[Tensor, Any] = {}
        self.inputs: list[Tensor] = []
        with self.graph.as_default():
            for array, is_fixed in zip(arrays, fixed, strict=True):
                self.inputs.append(self._input(array, known, is_fixed))
            result = build(*self.inputs)
        self.outputs: list[Tensor] = list(result) if isinstance(result, (list, tuple)) else [result]

    def _input(self, array: Any, known: Knowledge, is_fixed: bool) -> Tensor:
        if is_fixed and known == "shape":
            return constant(array)
        shape = {"shape": np.shape(array), "rank": (None,) * np.ndim(array), "nothing": None}[known]
        tensor = placeholder(as_dtype(np.asarray(array).dtype), shape)
        self.feeds[tensor] = array
        return tensor

    def run(self, by: Runner = "session") -> list[Any]:
        return run(self.graph, self.outputs, self.feeds, by)


def evaluate(build: Callable[..., Any], arrays: Sequence[Any], known: Knowledge = "shape") -> list[Any]:
    """The values of what `build` makes of tensors that hold `arrays`."""
    return Built(build, arrays, known, [False] * len(arrays)).run()


def compare(what: str, actual: Any, expected: Any, dtype: DType, loose: float = 1.0) -> None:
    """`actual` has exactly this type and, within the type's tolerance, the expected shape and values."""
    kind = dtype.numpy_dtype
    if not (dtype.kind == "S" and isinstance(actual, bytes)):
        assert isinstance(actual, (np.ndarray, np.generic)), f"{what}: a {type(actual).__name__} is no array"
        assert actual.dtype == kind, f"{what}: the value is {actual.dtype}, declared is {dtype}"
    expected = np.asarray(expected)
    assert np.shape(actual) == expected.shape, f"{what}: the shape is {np.shape(actual)}, expected is {expected.shape}"
    if dtype.kind in "iu" and expected.dtype.kind in "Oiu":
        modulus = 2 ** (8 * dtype.size)
        wrapped = np.asarray([int(v) % modulus for v in expected.flat], np.uint64)
        expected = wrapped.astype(kind).reshape(expected.shape)
    if dtype.kind in "fc":
        wide = np.complex128 if dtype.is_complex else np.float64
        tolerance = TOLERANCE[dtype.name] * loose
        with np.errstate(invalid="ignore"):  # a signaling NaN becomes a quiet one
            given, wanted = np.asarray(actual).astype(wide), expected.astype(wide)
        np.testing.assert_allclose(given, wanted, rtol=tolerance, atol=tolerance, err_msg=what)
    else:
        if isinstance(actual, bytes):
            actual = np.array(actual, dtype=object)  # numpy's own strings lose trailing NULs
        np.testing.assert_array_equal(actual, expected, err_msg=what)
