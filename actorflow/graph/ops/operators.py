"""Says which function builds the node of each of Python's operators on tensors. Importing this module is enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from actorflow.graph import overloads
from actorflow.graph.convert import symbolic_dtype
from actorflow.graph.ops.array.index import getitem
from actorflow.graph.ops.declare import Op, call_instead
from actorflow.graph.ops.math import arithmetic, logic, matmul
from actorflow.graph.ops.math import elementwise as unary
from actorflow.graph.ops.math import logic as bitwise
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Tensor


def _by_kind(of_bools: Callable[..., Tensor], of_integers: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`&`, `|`, `^` and `~` combine truth values of bool tensors, and the bits of integers."""

    def build(*values: Any, name: str | None = None) -> Tensor:
        dtype = next((d for v in values if (d := symbolic_dtype(v)) is not None), None)
        return (of_integers if dtype is not None and dtype.is_integer else of_bools)(*values, name=name)

    return build


def _sparse(name: str) -> Callable[..., Any]:
    """An operator on sparse tensors, whose module is imported when it is first used."""

    def build(*values: Any) -> Any:
        from actorflow.graph.ops.sparse import math

        return getattr(math, name)(*values)

    return build


overloads.register(
    {
        "add": partial(arithmetic.add, name="add"),
        "subtract": partial(arithmetic.subtract, name="sub"),
        "multiply": partial(arithmetic.multiply, name="mul"),
        "truediv": arithmetic.truediv,
        "floordiv": arithmetic.floordiv,
        "floormod": partial(arithmetic.floormod, name="mod"),
        "pow": partial(arithmetic.pow, name="pow"),
        "matmul": partial(matmul.matmul, name="matmul"),
        "negative": unary.negative,
        "abs": unary.abs,
        "logical_not": _by_kind(logic.logical_not, bitwise.invert),
        "logical_and": partial(_by_kind(logic.logical_and, bitwise.bitwise_and), name="and"),
        "logical_or": partial(_by_kind(logic.logical_or, bitwise.bitwise_or), name="or"),
        "logical_xor": partial(_by_kind(logic.logical_xor, bitwise.bitwise_xor), name="xor"),
        "equal": logic.equal,
        "not_equal": logic.not_equal,
        "less": logic.less,
        "less_equal": logic.less_equal,
        "greater": logic.greater,
        "greater_equal": logic.greater_equal,
        "getitem": getitem,
        "sparse_multiply": _sparse("sparse_multiply"),
        "sparse_divide": _sparse("sparse_divide"),
    }
)


_ON_VALUES = ("Neg", "Sign", "Square", "Sqrt", "Erf", "Tanh")
"""Functions that are 0 at 0, and so take sparse tensors as TensorFlow's do."""


def _on_values(called: Op[Any, Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    if called.definition.type not in _ON_VALUES:
        return NotImplemented
    return args[0].with_values(called(args[0].values, *args[1:], **kwargs))


call_instead((SparseTensor,), _on_values)
