"""From values to tensors: what an op does with an argument that is no tensor yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.byte_strings import NoStringError, byte_strings
from actorflow.base.dtypes import DType
from actorflow.base.shapes import TensorShape
from actorflow.graph import scopes
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Operation, Tensor
from actorflow.public import public

_CONVERSIONS: list[tuple[int, type | tuple[type, ...], Callable[..., Any]]] = []
"""Registered functions with their priorities, in the order in which they are asked."""


@public("af")
def register_tensor_conversion_function(
    base_type: type | tuple[type, ...], conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """`conversion_func(value, dtype=None, name=None)` makes tensors of values of this type, wherever an op takes a tensor.

    Example:
        >>> class Celsius:
        ...     def __init__(self, degrees):
        ...         self.degrees = degrees
        >>> def kelvin(value, dtype=None, name=None):
        ...     return af.constant(value.degrees + 273.15, dtype, name=name)
        >>> af.register_tensor_conversion_function(Celsius, kelvin)
        >>> af.convert_to_tensor(Celsius(20.0)), 1.0 + af.negative(Celsius(0.0))
        (293.15, -272.15)

    Args:
        base_type: the type, or several; subclasses count.
        conversion_func: gives a tensor in the default graph, of the type `dtype` where that is not None. It may give
            NotImplemented: then the next function is asked.
        priority: functions with a smaller number are asked first; among equal numbers, the function registered first.

    Raises:
        TypeError: `base_type` is no type, or `conversion_func` can't be called.
    """
    kinds = base_type if isinstance(base_type, tuple) else (base_type,)
    if not kinds or not all(isinstance(kind, type) for kind in kinds):
        raise TypeError(f"base_type must be a type or a tuple of types, but it is {base_type!r:.60}.")
    if not callable(conversion_func):
        raise TypeError(f"conversion_func must be callable, but it is {conversion_func!r:.60}.")
    _CONVERSIONS.append((priority, base_type, conversion_func))
    _CONVERSIONS.sort(key=lambda row: row[0])


def is_symbolic(value: Any) -> bool:
    """Whether `value` is a tensor, or a registered function converts it to a tensor."""
    return isinstance(value, Tensor) or any(isinstance(value, kind) for _, kind, _ in _CONVERSIONS)


def graph_of(values: Sequence[Any]) -> Graph:
    """The graph of the first tensor, variable or operation among `values` (lists looked into), else the default graph. While
    a function is traced that takes tensors from around, it is that function's."""
    for value in values:
        if isinstance(value, (list, tuple)):
            if any(map(_has_graph, value)):
                return graph_of(value)
        elif _has_graph(value):
            entered = scopes.entered_graph()
            graph: Graph = value.graph if entered is None or not entered.takes_outer else entered
            return graph
    return get_default_graph()


def _has_graph(value: Any) -> bool:
    """Whether a value is in a graph already. Values of a program's own types become tensors of any graph."""
    if isinstance(value, (Tensor, Operation)):
        return True
    return is_symbolic(value) and isinstance(getattr(value, "graph", None), Graph)


def symbolic_dtype(value: Any) -> DType | None:
    """The element type of a symbolic value, else None; also None where only the conversion will tell."""
    if is_symbolic(value):
        dtype = getattr(value, "dtype", None)
        return dtype.base_dtype if isinstance(dtype, DType) else None
    return None


def shared_read(reference: Tensor) -> Tensor | None:
    """The read of a variable that all its uses share: the first read in its graph, or None."""
    nodes = reference.graph.consumers(reference.tensor_id)
    return next((n.outputs[0] for n in nodes if n.type == "ReadVariableOp"), None)


def read_reference(reference: Tensor) -> Tensor:
    """The value behind a variable's reference: the shared read, or under control dependencies one of its own."""
    graph = reference.graph
    snapshot = None if scopes.of(graph).controls else shared_read(reference)
    return graph.create_op("ReadVariableOp", (reference,), name="read").outputs[0] if snapshot is None else snapshot


@public("af")
def convert_to_tensor(
    value: Any,
    dtype: dtypes.DTypeLike | None = None,
    name: str | None = None,
    preferred_dtype: dtypes.DTypeLike | None = None,
    dtype_hint: dtypes.DTypeLike | None = None,
    graph: Graph | None = None,
) -> Tensor:
    """`value` as a tensor: itself, a variable's read, or a constant.

    Python numbers become float32, int32 (int64 beyond 32 bits), complex128, bool; so do numpy's scalars of float64 and int64
    in a list of a graph. `True` and `False` become 1 and 0 where numbers are needed. Numpy arrays keep their type, unless
    `dtype` asks for another. The same holds for arrays of other libraries: all that has `__array__` or `__dlpack__` (pandas,
    Arrow, torch), and buffers. A list that holds tensors is stacked.

    Example:
        >>> af.convert_to_tensor([1.0, 2.0]), af.convert_to_tensor([1, 2], dtype=af.float64).dtype
        ([1. 2.], actorflow.float64)

    Args:
        value: a tensor, a variable, a number, a string, an array, or a nested list of these.
        dtype: the type of the tensor; found from the value unless given.
        name: the name of the constant's node.
        preferred_dtype: the type of the tensor if the value can have it and `dtype` is not given.
        dtype_hint: the newer name of `preferred_dtype`.
        graph: the graph of the constant; the default graph unless given.

    Raises:
        TypeError: a tensor has another type than `dtype`, or a value does not have such a type.
        ValueError: a list is ragged, or the value is None.
    """
    expected = None if dtype is None else dtypes.as_dtype(dtype)
    if isinstance(value, Tensor):
        if expected is not None and value.dtype.base_dtype is not expected.base_dtype:
            raise TypeError(
                f"{value.name} has type {value.dtype}, but {expected} is needed; convert it with af.cast(x, af.{expected})."
            )
        return value
    for _, kind, function in _CONVERSIONS:
        if (
            isinstance(value, kind)
            and (converted := _converted(function, value, expected, name, graph)) is not NotImplemented
        ):
            return convert_to_tensor(converted, expected)
    if isinstance(value, Operation):
        raise TypeError(f"{value.name} is an operation, which is no tensor; its outputs are {list(value.outputs)}.")
    graph = get_default_graph() if graph is None else graph
    if isinstance(value, (list, tuple)) and _holds_symbols(value):
        return _stack(value, expected, name, graph)
    preferred = dtype_hint if preferred_dtype is None else preferred_dtype
    array = as_array(value, expected, None if preferred is None else dtypes.as_dtype(preferred))
    attrs = {"value": array, "dtype": dtypes.as_dtype(array.dtype)}
    return graph.create_op("Const", (), attrs, name or "Const").outputs[0]


def _converted(
    function: Callable[..., Any], value: Any, dtype: DType | None, name: str | None, graph: Graph | None
) -> Any:
    """The tensor that a registered function makes of a value; NotImplemented if it leaves that to another function."""
    if graph is None or graph is get_default_graph() or _has_graph(value):
        tensor = function(value, dtype=dtype, name=name)
    else:
        with graph.as_default():
            tensor = function(value, dtype=dtype, name=name)
    if tensor is not NotImplemented and not is_symbolic(tensor):
        raise TypeError(
            f"The conversion of a {type(value).__name__} by {_name(function)} gave no tensor, but {_short(tensor)}."
        )
    return tensor


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", repr(function))


def convert_alike(*values: Any) -> list[Tensor]:
    """All as tensors of one type and graph: a value takes the type of the first tensor beside it, else that of the first value.

    Raises:
        TypeError: the types differ, or a value does not have such a type.
    """
    graph = graph_of(values)
    dtype = next((kind for value in values if (kind := symbolic_dtype(value)) is not None), None)
    tensors: dict[int, Tensor] = {}
    for place in sorted(range(len(values)), key=lambda place: not is_symbolic(values[place])):
        tensors[place] = tensor = convert_to_tensor(values[place], dtype, graph=graph)
        dtype = dtype or tensor.dtype.base_dtype
    return [tensors[place] for place in range(len(values))]


def as_array(value: Any, dtype: DType | None = None, preferred: DType | None = None) -> np.ndarray[Any, Any]:
    """`value` as a read-only numpy array of a tensor's element type (see `convert_to_tensor`)."""
    if not isinstance(value, (np.ndarray, np.generic)) and is_foreign(value):
        value = _taken(value)
    if isinstance(value, TensorShape):
        if not value.is_fully_defined():
            raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {value}")
        value = np.array(value.as_list(), np.int32 if dtype is None else dtype.numpy_dtype)
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind in "SUO" or dtype is dtypes.string:
            return _strings(value)
        array = np.array(value, dtype=None if dtype is None else dtype.numpy_dtype, order="C")
        dtypes.as_dtype(array.dtype)
    else:
        array = _from_python(value, dtype)
        if dtype is None and preferred is not None and _fits(array, preferred):
            array = array.astype(preferred.numpy_dtype)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    array.flags.writeable = False
    return array


def _taken(value: Any) -> np.ndarray[Any, Any]:
    """An array of another library."""
    try:
        return host_array(value)
    except Exception as error:  # of that library
        raise TypeError(f"A {type(value).__name__} can't become a tensor: {error}") from error


def _from_python(value: Any, dtype: DType | None) -> np.ndarray[Any, Any]:
    if value is None:
        raise ValueError("None values not supported: None can't become a tensor.")
    try:
        natural = np.array(value)
    except UnicodeDecodeError:  # text beside bytes
        natural = np.array(value, dtype=object)
    except ValueError:
        raise ValueError(
            f"{_short(value)} must be a dense array: its parts have different shapes (setting an array element with a sequence)."
        ) from None
    if natural.dtype.kind in "SUO":
        if natural.dtype.kind == "O" and not all(isinstance(v, (bytes, str)) for v in natural.flat):
            if dtype is not None and dtype is not dtypes.string and _is_number_like(natural):
                return natural.astype(dtype.numpy_dtype)
            raise TypeError(f"{_short(value)} (a {type(value).__name__}) can't become a tensor.")
        if dtype is not None and dtype is not dtypes.string:
            raise TypeError(f"{_short(value)} is text, but {dtype} is needed.")
        return _strings(np.array(value, dtype=object))
    kind = natural.dtype.kind
    if dtype is None:
        if natural.size == 0 and kind == "f":
            return natural.astype(np.float32)
        defaults = {"f": np.float32, "i": np.int32, "u": np.int64, "c": np.complex128, "b": np.bool_}
        if _typed_parts(value, natural):
            return natural
        target: np.dtype[Any] = np.dtype(defaults[kind])
        if kind in "iu" and natural.size and not (-(2**31) <= natural.min() and natural.max() < 2**31):
            if natural.max() >= 2**63:
                raise TypeError(f"{_short(value)} does not fit int64; say af.constant(..., dtype=af.uint64).")
            target = np.dtype(np.int64)  # times in milliseconds, and identities
        return natural.astype(target)
    if natural.size == 0 and not _typed_parts(value, natural):
        return np.empty(natural.shape, dtype.numpy_dtype)
    if not _fits(natural, dtype):
        raise TypeError(f"{_short(value)} is of type {natural.dtype}, but {dtype} is needed; convert it first.")
    if dtype.is_integer and natural.size and kind in "iu":
        if not (dtype.min <= natural.min() and natural.max() <= dtype.max):
            raise TypeError(f"{_short(value)} does not fit {dtype}.")
    return natural.astype(dtype.numpy_dtype)


def _fits(array: np.ndarray[Any, Any], dtype: DType) -> bool:
    """Whether Python values of this kind may become `dtype`: booleans each type of numbers (as 0 and 1), floats no integers,
    and integers only a type that has them all."""
    kind = array.dtype.kind
    if array.size == 0:
        return True
    if kind in "iu" and dtype.is_integer:
        return int(array.min()) >= int(dtype.min) and int(array.max()) <= int(dtype.max)
    fits: bool = {
        "b": dtype.kind in "biufc",
        "i": dtype.kind in "iufc",
        "u": dtype.kind in "iufc",
        "f": dtype.kind in "fc",
    }.get(kind, dtype.kind == kind)
    return fits


def _typed_parts(value: Any, natural: np.ndarray[Any, Any]) -> bool:
    """Whether a list's values are numpy's, which bring their own type. In a graph lists of numpy's scalars of its default
    types, float64 and int64, are read as lists of Python's numbers, and eagerly those of int64 (as in TensorFlow)."""
    while isinstance(value, (list, tuple)):
        if not value:
            return False
        value = value[0]
    if isinstance(value, np.ndarray) and value.ndim:
        return True
    if not isinstance(value, (np.ndarray, np.generic)):
        return False
    return natural.dtype != np.int64 and (natural.dtype != np.float64 or get_default_graph().eager)


def _is_number_like(array: np.ndarray[Any, Any]) -> bool:
    return all(isinstance(v, (int, float, complex, np.generic)) for v in array.flat)


def _strings(value: Any) -> np.ndarray[Any, Any]:
    try:
        array = byte_strings(value)
    except NoStringError as error:
        raise TypeError(f"{_short(error.item)} (a {type(error.item).__name__}) is no byte string.") from None
    array.flags.writeable = False
    return array


def _holds_symbols(value: Sequence[Any]) -> bool:
    return any(is_symbolic(v) or isinstance(v, (list, tuple)) and _holds_symbols(v) for v in value)


def _stack(value: Sequence[Any], dtype: DType | None, name: str | None, graph: Graph) -> Tensor:
    hint = dtype or next((d for v in value if (d := symbolic_dtype(v)) is not None), None)
    parts = [convert_to_tensor(v, hint, graph=graph) for v in value]
    attrs = {"axis": 0, "N": len(parts)}
    return parts[0].graph.create_op("Pack", parts, attrs, name or "Pack").outputs[0]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


# ---- Arrays of other libraries: what offers numpy's protocols, Python's buffers or DLPack becomes a numpy array.
#
# Memory is shared where the other library allows it. The caller must not write to such an array, and copies what it keeps.


_HOST_MEMORY = (1, 3, 11, 13)


"""DLPack's numbers for devices whose memory a processor reads: its own, what is pinned for CUDA or ROCm, and CUDA's managed."""


_DEVICES = {2: "CUDA device", 4: "OpenCL device", 7: "Vulkan device", 8: "Metal device", 10: "ROCm device"}


_PROTOCOLS = ("__array__", "__array_interface__", "__array_struct__", "__dlpack__")


_PLAIN = (list, tuple, int, float, complex, str, bytes, bytearray)


def is_foreign(value: Any) -> bool:
    """Whether `value` is an array of another library, or a buffer, which has a dtype and a shape of its own."""
    if isinstance(value, _PLAIN):
        return False
    if any(hasattr(type(value), protocol) for protocol in _PROTOCOLS):
        return True
    try:
        memoryview(value).release()
    except TypeError:
        return False
    return True


def host_array(value: Any) -> np.ndarray[Any, Any]:
    """`value` as a numpy array, which may share its memory.

    Raises:
        TypeError: its memory is that of a device.
        Exception: what numpy or the library of `value` says of a value that can't become an array.
    """
    if (device_of := getattr(type(value), "__dlpack_device__", None)) is not None:
        kind, number = device_of(value)
        if kind not in _HOST_MEMORY:
            device = _DEVICES.get(int(kind), f"device of DLPack's kind {int(kind)},")
            raise TypeError(
                f"it is in the memory of {device} {number}. Copy it to the host first (torch: x.cpu(), CuPy: x.get())."
            )
    array = np.asarray(value)
    if array.dtype.kind == "O" and not array.ndim and array is not value and hasattr(type(value), "__dlpack__"):
        array = np.from_dlpack(value)  # which has no other protocol
    return array
