"""`EagerTensor`: a tensor that has its value already."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, cast

import numpy as np

from actorflow.base import shapes
from actorflow.base.dtypes import DType, as_dtype
from actorflow.base.reports import markup
from actorflow.base.shapes import ShapeLike
from actorflow.engine.eager.operation import EagerOperation
from actorflow.engine.eager.scope import graph_for_values
from actorflow.graph.graph import Graph
from actorflow.graph.node import TensorId
from actorflow.graph.tensor import Operation, Tensor


class EagerTensor(Tensor):
    """A tensor whose value is known: what an op gives under `af.eager()`.

        with af.eager():
            x = af.constant([1.0, 2.0]) * 3.0
            print(x.numpy(), float(x[0]), len(x))

    It has all operators and methods of a `Tensor`, and becomes a number, a truth value, an array or text where Python asks for
    it. It can be pickled and copied. As in TensorFlow 1, `==` and `hash` go by identity.
    """

    __slots__ = ("_dtype", "_operation", "_value")

    _value: Any
    _dtype: DType
    _operation: EagerOperation | None

    def __init__(self, value: Any, dtype: DType) -> None:
        self._value = value
        self._dtype = dtype
        self._operation = None

    # Properties

    @property
    def op(self) -> Operation:  # type: ignore[override]
        """The operation that gave the tensor, as far as a tape kept it; else a constant."""
        if self._operation is None:
            self._operation = EagerOperation("Const", {"value": self._value, "dtype": self._dtype}, (), (self,))
        return self._operation

    @property
    def value_index(self) -> int:  # type: ignore[override]
        return next((index for index, output in enumerate(self.op.outputs) if output is self), 0)

    @property
    def name(self) -> str:
        return "eager_tensor:0" if self._operation is None else f"{self._operation.name}:{self.value_index}"

    @property
    def graph(self) -> Graph:
        """The graph to which an op of this tensor adds: the graph that runs at once, or the graph of a function that is being
        traced.

        Raises RuntimeError inside of another graph, which can't hold the value.
        """
        return graph_for_values()

    @property
    def tensor_id(self) -> TensorId:
        return TensorId(cast(str, self), 0)  # `EagerNodes` finds the value by it

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def static_shape(self) -> shapes.Shape:
        shape: shapes.Shape = getattr(self._value, "shape", ())
        return shape

    @property
    def known_shape(self) -> shapes.Shape:
        """The shape as far as it is known now: in full, unless the tensor is still computed."""
        return self.static_shape

    def known_value(self) -> Any:
        """The value as an array, or None if it is still computed."""
        return np.asarray(self._value)

    def set_shape(self, shape: ShapeLike) -> None:
        """Raises ValueError unless the tensor has such a shape."""
        expected = shapes.as_shape(shape)
        if not self._dtype.is_ref and not shapes.compatible(self.static_shape, expected):
            raise ValueError(f"The tensor has shape {self.static_shape}, which is not {shapes.show(expected)}.")

    @property
    def device(self) -> str:
        from actorflow.engine.eager.graph import GRAPH

        return GRAPH.device_of(self)

    # Its value

    def __await__(self) -> Generator[Any, None, EagerTensor]:
        """The tensor itself, with its value: it waits for a value that a thread computes (see `af.eager`)."""
        return self
        yield

    def numpy(self) -> Any:
        """The value: a read-only array, a numpy scalar for rank 0, `bytes` for a byte string.

        Raises TypeError for the handle of a variable or another resource.
        """
        value = self._value
        if isinstance(value, np.ndarray):
            if value.ndim == 0:
                return value[()]
            value.flags.writeable = False
            return value
        if isinstance(value, np.generic):
            return value
        as_array = getattr(value, "__array__", None)
        if self._dtype.is_ref or as_array is None and not isinstance(value, bytes):
            raise TypeError(f"A {self._dtype} has no value as an array.")
        return value if as_array is None else np.asarray(value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = np.asarray(self.numpy(), dtype=object) if self._dtype.kind == "S" else np.asarray(self.numpy())
        if dtype is not None and array.dtype != dtype:
            array = array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, **keywords: Any) -> Any:
        array = np.asarray(self.numpy())
        return array.copy().__dlpack__(**keywords)  # a consumer may write into what it takes

    def __dlpack_device__(self) -> Any:
        return np.asarray(self.numpy()).__dlpack_device__()

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __int__(self) -> int:
        return int(self.numpy())

    def __float__(self) -> float:
        return float(self.numpy())

    def __complex__(self) -> complex:
        return complex(self.numpy())

    def __index__(self) -> int:
        value: int = np.asarray(self.numpy()).__index__()
        return value

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.numpy(), digits) if digits is not None else round(float(self))

    def __len__(self) -> int:
        shape = self.static_shape
        if not shape:
            raise TypeError("A scalar tensor has no len().")
        return cast(int, shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        from actorflow.graph.ops.array.join import unstack

        if not self.static_shape:
            raise TypeError("A scalar tensor can't be iterated over.")
        return iter(unstack(self))

    def __format__(self, spec: str) -> str:
        return format(self.numpy(), spec) if spec else str(self)

    def __str__(self) -> str:
        return f"actorflow.Tensor({self._text()}, shape={self.static_shape}, dtype={self._dtype})"

    def __repr__(self) -> str:
        return f"<actorflow.Tensor: shape={self.static_shape}, dtype={self._dtype}, numpy={self._text(repr)}>"

    def _text(self, form: Any = str) -> str:
        return str(self._value) if self._dtype.is_ref or self._dtype.kind == "V" else form(self.numpy())

    def _repr_html_(self) -> str:
        facts = {"type": self._dtype, "shape": self.static_shape}
        return markup.card("Tensor", facts, markup.text(self._text()))

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Raises NotImplementedError: there is no session in it; `numpy()` gives the value."""
        raise NotImplementedError("eval is not supported when eager execution is enabled: numpy() gives the value.")

    def consumers(self) -> list[Operation]:
        """Raises NotImplementedError: nothing remembers which ops took a value."""
        raise NotImplementedError("An eager tensor does not know which operations take it.")

    def cpu(self) -> EagerTensor:
        """The same value in the memory of the host."""
        return eager_tensor(np.asarray(self._value)) if not isinstance(self._value, (np.ndarray, np.generic)) else self

    def __copy__(self) -> EagerTensor:
        return self

    def __deepcopy__(self, memo: Any) -> EagerTensor:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _unpickled, (np.asarray(self), self._dtype.name)


def eager_tensor(value: Any) -> EagerTensor:
    """A tensor that holds an array, a numpy scalar or a handle."""
    return EagerTensor(value, as_dtype(value.dtype))


def _unpickled(array: Any, dtype: str) -> EagerTensor:
    return EagerTensor(array, as_dtype(dtype))
