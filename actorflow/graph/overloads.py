"""Python's operators on tensors build nodes: `a + b` makes an Add (paper Figure 1).

The ops register the functions here (`actorflow.ops.operators`), because a graph knows no ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from actorflow.graph.tensor import Tensor

_functions: dict[str, Callable[..., Any]] = {}


def register(functions: dict[str, Callable[..., Any]]) -> None:
    """Says which function builds the node of each operator: `add` for `+`, and so on. Nodes have TensorFlow 1's names, which
    differ from those of the functions: `x + 1` is `add`, and `af.add(x, 1)` is `Add`."""
    _functions.update(functions)


def _call(name: str, *args: Any) -> Tensor:
    made: Tensor = _functions[name](*args)
    return made


class Overloads:
    """The operators, for `Tensor` and `Variable`."""

    __slots__ = ()

    def __add__(self, other: Any) -> Tensor:
        return _call("add", self, other)

    def __radd__(self, other: Any) -> Tensor:
        return _call("add", other, self)

    def __sub__(self, other: Any) -> Tensor:
        return _call("subtract", self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return _call("subtract", other, self)

    def __mul__(self, other: Any) -> Tensor:
        return _call("multiply", self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return _call("multiply", other, self)

    def __truediv__(self, other: Any) -> Tensor:
        return _call("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return _call("truediv", other, self)

    def __floordiv__(self, other: Any) -> Tensor:
        return _call("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Tensor:
        return _call("floordiv", other, self)

    def __mod__(self, other: Any) -> Tensor:
        return _call("floormod", self, other)

    def __rmod__(self, other: Any) -> Tensor:
        return _call("floormod", other, self)

    def __pow__(self, other: Any) -> Tensor:
        return _call("pow", self, other)

    def __rpow__(self, other: Any) -> Tensor:
        return _call("pow", other, self)

    def __matmul__(self, other: Any) -> Tensor:
        return _call("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return _call("matmul", other, self)

    def __neg__(self) -> Tensor:
        return _call("negative", self)

    def __abs__(self) -> Tensor:
        return _call("abs", self)

    def __invert__(self) -> Tensor:
        return _call("logical_not", self)

    def __and__(self, other: Any) -> Tensor:
        return _call("logical_and", self, other)

    def __rand__(self, other: Any) -> Tensor:
        return _call("logical_and", other, self)

    def __or__(self, other: Any) -> Tensor:
        return _call("logical_or", self, other)

    def __ror__(self, other: Any) -> Tensor:
        return _call("logical_or", other, self)

    def __xor__(self, other: Any) -> Tensor:
        return _call("logical_xor", self, other)

    def __rxor__(self, other: Any) -> Tensor:
        return _call("logical_xor", other, self)

    def __lt__(self, other: Any) -> Tensor:
        return _call("less", self, other)

    def __le__(self, other: Any) -> Tensor:
        return _call("less_equal", self, other)

    def __gt__(self, other: Any) -> Tensor:
        return _call("greater", self, other)

    def __ge__(self, other: Any) -> Tensor:
        return _call("greater_equal", self, other)

    def __getitem__(self, key: Any) -> Tensor:
        return _call("getitem", self, key)
