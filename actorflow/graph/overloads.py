"""Python's operators on tensors build nodes: `a + b` makes an Add (paper Figure 1). Numbers of Python are refused: a tensor of a
graph has none yet.

The ops register the functions here (`actorflow.graph.ops.operators`), because a graph knows no ops.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from actorflow.errors import with_topic

if TYPE_CHECKING:
    from actorflow.graph.tensor import Tensor

_functions: dict[str, Callable[..., Any]] = {}


def register(functions: dict[str, Callable[..., Any]]) -> None:
    """Says which function builds the node of each operator: `add` for `+`, and so on. Nodes have TensorFlow 1's names, which
    differ from those of the functions: `x + 1` is `add`, and `af.add(x, 1)` is `Add`."""
    _functions.update(functions)


def _call(name: str, *args: Any) -> Tensor:
    tensor: Tensor = _functions[name](*args)
    return tensor


_ONE_WAY = ("abs", "ge", "getitem", "gt", "invert", "le", "lt", "neg")
_BOTH_WAYS = ("add", "and", "div", "floordiv", "matmul", "mod", "mul", "or", "pow", "sub", "truediv", "xor")
OPERATORS = frozenset(f"__{name}__" for name in (*_ONE_WAY, *_BOTH_WAYS, *(f"r{name}" for name in _BOTH_WAYS)))
"""The methods of `Overloads` that build nodes."""


def _delegating(method: Callable[..., Any], reflected: str) -> Callable[..., Any]:
    """The operator, which leaves an object that is no value to the object's own operator, as TensorFlow's do."""

    @functools.wraps(method)
    def operator(self: Any, other: Any) -> Any:
        try:
            return method(self, other)
        except TypeError:
            kind = type(other)
            is_foreign = not isinstance(other, _VALUES) and not kind.__module__.startswith("actorflow.")
            if is_foreign and hasattr(kind, reflected):
                return NotImplemented
            raise

    return operator


_VALUES = (bool, int, float, complex, str, bytes, list, tuple, np.ndarray, np.generic)


class Overloads:
    """The operators, for `Tensor` and `Variable`. Eager tensors and variables, which have their values, answer for themselves."""

    __slots__ = ()
    _kind: ClassVar[str] = "tensor"

    # ---- Python's numbers and arrays, which a graph has in a run only

    def __bool__(self) -> bool:
        why = (
            "has no truth value while the graph is built: it gets one in a run. Use af.cond to choose between two parts of a "
            "graph, af.while_loop to repeat one, or af.logical_and/or/not to combine conditions."
        )
        self._refuse(with_topic(why, "tensor-as-condition"))

    __nonzero__ = __bool__  # its name in Python 2, under which libraries copy it

    def __float__(self) -> float:
        self._refuse_number("float(x)")

    def __int__(self) -> int:
        self._refuse_number("int(x)")

    def __complex__(self) -> complex:
        self._refuse_number("complex(x)")

    def __index__(self) -> int:
        self._refuse_number("an index or a range of Python")

    def __round__(self, digits: int | None = None) -> Any:
        self._refuse_number("round(x)", "af.round gives a tensor")

    def __format__(self, spec: str) -> str:
        return str(self) if not spec else self._refuse_number(f"the format {spec!r}", "af.print shows values in a run")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse(with_topic(f"is symbolic and can't become a numpy array: {self._fetched()}", "tensor-as-list"))

    def _refuse_number(self, purpose: str, instead: str = "af.cast changes the type of a tensor") -> NoReturn:
        why = (
            f"has no number for {purpose} while the graph is built: it gets one in a run. For a number, {self._fetched()[:-1]}; "
            f"{instead}."
        )
        self._refuse(with_topic(why, "tensor-as-list"))

    def _fetched(self) -> str:
        fetch = repr(self.name) if self._kind == "tensor" else self._kind  # type: ignore[attr-defined]
        return f"fetch it with session.run({fetch})."

    def _refuse(self, why: str) -> NoReturn:
        raise TypeError(f"The {self._kind} {self.name} {why}")  # type: ignore[attr-defined]

    # ---- the operators

    def __add__(self, other: Any) -> Tensor:
        return _call("add", self, other)

    def __radd__(self, other: Any) -> Tensor:
        return _call("add", other, self)

    def __sub__(self, other: Any) -> Tensor:
        return _call("subtract", self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return _call("subtract", other, self)

    def __mul__(self, other: Any) -> Tensor:
        if hasattr(other, "dense_shape"):
            return NotImplemented  # a sparse tensor multiplies itself
        return _call("multiply", self, other)

    def __rmul__(self, other: Any) -> Tensor:
        return _call("multiply", other, self)

    def __truediv__(self, other: Any) -> Tensor:
        return _call("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return _call("truediv", other, self)

    __div__, __rdiv__ = __truediv__, __rtruediv__  # of Python 2, which libraries copy too

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


for _name in _BOTH_WAYS:
    setattr(Overloads, f"__{_name}__", _delegating(getattr(Overloads, f"__{_name}__"), f"__r{_name}__"))


# ---- equality, which goes by identity unless a program switches it


def _comparison(name: str, apart: bool) -> Callable[..., Any]:
    """`==` or `!=` by values, whose answer is `apart` for values that no op compares, such as a text and a number."""

    def operator(self: Any, other: Any) -> Any:
        if not isinstance(other, (*_VALUES, Overloads)):
            return NotImplemented
        try:
            return _call(name, self, other)
        except (TypeError, ValueError):
            return apart

    return operator


_COMPARISONS = {"__eq__": _comparison("equal", apart=False), "__ne__": _comparison("not_equal", apart=True)}


def compare(by_values: bool) -> None:
    """Makes `==` and `!=` of tensors and variables compare values, or identities again. `hash` goes by identity in either case.

    Args:
        by_values: whether the operators compare values.
    """
    for name, operator in _COMPARISONS.items():
        if by_values:
            setattr(Overloads, name, operator)
        elif name in vars(Overloads):
            delattr(Overloads, name)
