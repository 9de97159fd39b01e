"""Variables and tensors of the backend, and the conversions between them, arrays and symbolic tensors of Keras."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from keras.src import tree
from keras.src.backend.common import KerasVariable, standardize_dtype
from keras.src.backend.common.dtypes import result_type
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.backend.common.stateless_scope import StatelessScope
from keras.src.backend.common.symbolic_scope import SymbolicScope

import actorflow as af
from actorflow.engine.eager.functions.func_graph import FuncGraph

SUPPORTS_GRADIENT = True
SUPPORTS_SPARSE_TENSORS = False
SUPPORTS_RAGGED_TENSORS = False
SUPPORTS_COMPLEX_DTYPES = True
IS_THREAD_SAFE = True

SIZES = (83, 89)
"""The sizes that stand for an unknown one: where outputs differ, their size is unknown too."""


class Variable(KerasVariable):
    """A variable of Keras, which holds one of actorflow."""

    def _initialize(self, value: Any) -> None:
        if isinstance(value, af.Variable):
            self._value = value
            return
        self._value = af.Variable(value, name=self._name, dtype=self._dtype)

    def _initialize_with_initializer(self, initializer: Callable[..., Any]) -> None:
        with af.init_scope():  # a trace makes variables once, at once
            super()._initialize_with_initializer(initializer)

    def _direct_assign(self, value: Any) -> None:
        self._value.assign(convert_to_tensor(value, self._dtype), read_value=False)

    def _convert_to_tensor(self, value: Any, dtype: Any = None) -> Any:
        return convert_to_tensor(value, dtype=dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(convert_to_numpy(self), dtype=dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        clone = object.__new__(type(self))
        memo[id(self)] = clone
        state = dict(self.__dict__)
        value = state.pop("_value", None)
        clone.__dict__.update(state)
        clone._value = None if value is None else af.Variable(value.numpy(), name=self._name, dtype=self._dtype)
        return clone


def _as_tensor(variable: Variable, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    return convert_to_tensor(variable, dtype)


af.register_tensor_conversion_function(Variable, _as_tensor)


def convert_to_tensor(x: Any, dtype: Any = None, sparse: bool | None = None, ragged: bool | None = None) -> Any:
    """A tensor of the value, in `dtype` if that is given; else in the type that Keras infers."""
    if sparse:
        raise ValueError("`sparse=True` is not supported with actorflow backend")
    if ragged:
        raise ValueError("`ragged=True` is not supported with actorflow backend")
    if isinstance(x, KerasVariable):
        x = x.value
    if isinstance(x, af.Variable):
        x = x.read_value()
    if isinstance(x, af.SparseTensor):
        x = af.sparse.to_dense(x)
    if dtype is not None:
        dtype = standardize_dtype(dtype)
    if isinstance(x, af.Tensor):
        return x if dtype is None or x.dtype.name == dtype else af.cast(x, dtype)
    if isinstance(x, KerasTensor):
        raise ValueError(f"A symbolic tensor of Keras has no value: {x}. Call it through a function of `keras.ops`.")
    if isinstance(x, af.IndexedSlices):
        return convert_to_tensor(af.convert_to_tensor(x), dtype)
    if isinstance(x, (list, tuple)):
        flat = tree.flatten(x)
        if any(isinstance(part, (af.Tensor, af.Variable, KerasVariable)) for part in flat):
            kind = dtype or result_type(*[getattr(part, "dtype", type(part)) for part in flat])
            return af.stack([convert_to_tensor(part, kind) for part in x])
        if dtype is None and flat and not any(isinstance(part, (str, bytes, np.str_)) for part in flat):
            dtype = result_type(*[getattr(part, "dtype", type(part)) for part in flat])
        elif dtype is None and not flat:
            dtype = result_type(float)
    elif dtype is None and isinstance(x, (bool, int, float, complex)):
        dtype = result_type(type(x))
    if hasattr(x, "__array__") or hasattr(x, "__dlpack__"):
        x = np.asarray(x)
    if dtype is None or dtype == "string":
        array = np.asarray(x)
        if array.dtype.kind in "USO":
            return af.constant(array, af.string)
        return af.constant(np.array(array))
    array = np.asarray(x)
    if array.dtype.name == dtype:
        return af.constant(np.array(array))
    if array.dtype.kind in "fc" and af.as_dtype(dtype).is_integer:
        return af.constant(array.astype(dtype))
    if dtype == "complex64" or dtype == "complex128":
        return af.constant(array.astype(dtype))
    try:
        return af.constant(array.astype(dtype))
    except TypeError:
        return af.cast(af.constant(array), dtype)  # a type that numpy itself lacks, such as bfloat16


def convert_to_numpy(x: Any) -> Any:
    """An array of the value."""
    if isinstance(x, KerasVariable):
        x = x.value
    if isinstance(x, (af.SparseTensor, af.IndexedSlices)):
        x = convert_to_tensor(x)
    if isinstance(x, (af.Tensor, af.Variable)):
        if not hasattr(x, "numpy"):
            raise ValueError(f"The tensor {x.name} belongs to a function that is being traced: it has no value yet.")
        return np.array(x.numpy())
    return np.array(x)


def is_tensor(x: Any) -> bool:
    """Whether the value is a tensor of actorflow, or a variable of actorflow."""
    return isinstance(x, (af.Tensor, af.Variable, af.SparseTensor))


def shape(x: Any) -> tuple[Any, ...]:
    """The sizes; a size that only a run tells is a tensor."""
    if isinstance(x, KerasTensor):
        return x.shape
    if not is_tensor(x):
        if hasattr(x, "shape"):
            return tuple(x.shape)  # an array, or a tensor of `tf.data`, which may have no value
        x = convert_to_tensor(x)
    sizes = tuple(x.shape)
    if None in sizes:
        now = af.shape(x)
        return tuple(now[number] if size is None else size for number, size in enumerate(sizes))
    return sizes


def cast(x: Any, dtype: Any) -> Any:
    """The tensor in another type."""
    return convert_to_tensor(x, dtype=dtype)


def has_value(x: Any) -> bool:
    """Whether the tensor has its value now: it belongs to no function that is being traced."""
    return hasattr(x, "numpy")


def compute_output_spec(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The outputs of a function as symbolic tensors: it is traced, and nothing is computed.

    A trace has all sizes. If an input has an unknown size, two traces with two sizes tell which outputs depend on it.
    """
    flat = [x for x in tree.flatten((args, kwargs)) if isinstance(x, KerasTensor)]
    unknown = any(None in x.shape for x in flat)
    first = _traced(fn, args, kwargs, SIZES[0])
    second = _traced(fn, args, kwargs, SIZES[1]) if unknown else first
    others = iter(tree.flatten(second))

    def symbolic(x: Any) -> Any:
        other = next(others)
        if not is_tensor(x):
            return x
        sizes = [a if a == b else None for a, b in zip(tuple(x.shape), tuple(other.shape), strict=True)]
        return KerasTensor(sizes, standardize_dtype(x.dtype))

    return tree.map_structure(symbolic, first)


def _traced(fn: Callable[..., Any], args: Any, kwargs: Any, size: int) -> Any:
    def placeholder(x: Any) -> Any:
        if not isinstance(x, KerasTensor):
            return x
        return af.placeholder(x.dtype, [size if part is None else part for part in x.shape])

    with StatelessScope(), SymbolicScope(), FuncGraph("spec", may_make=True, target=None).as_default():
        inner_args, inner_kwargs = tree.map_structure(placeholder, (args, kwargs))
        return fn(*inner_args, **inner_kwargs)


def stop_gradient(variable: Any) -> Any:
    """The value, as a constant for gradients."""
    return af.stop_gradient(convert_to_tensor(variable))


def random_seed_dtype() -> str:
    """The type of seeds."""
    return "uint32"


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the gradient that it returns beside its result."""
    return af.custom_gradient(f)


def remat(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose inner values are computed again for the gradient, instead of kept."""
    return af.recompute(f)


def device_scope(device_name: str | None) -> AbstractContextManager[None]:
    """A block whose ops run on a device, such as `cpu:0` or `gpu:1`."""
    if device_name is None or "/" in device_name:
        return af.device(device_name)
    kind, _, number = device_name.lower().partition(":")
    kind = "gpu" if kind == "cuda" else kind
    return af.device(f"/device:{kind}:{number or 0}")


from keras_actorflow.src.control import (  # noqa: E402, F401  (Keras looks for these here)
    associative_scan,
    cond,
    fori_loop,
    map,
    scan,
    switch,
    vectorized_map,
    while_loop,
)
from keras_actorflow.src.slices import scatter, scatter_update, slice, slice_update, unstack  # noqa: E402, F401
