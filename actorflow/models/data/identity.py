"""`identity`: a digest of a description, by which an iterator knows the input of which a checkpoint has the place.

Two descriptions are of one input where their stages, functions and values are the same. The lines of the program that made them
don't count, nor do the names of nodes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType
from actorflow.errors import FailedPreconditionError
from actorflow.graph.ops.flow.py_func import PythonFunction, function_of
from actorflow.graph.tensor import Operation, Tensor
from actorflow.models.data.functions.function import DatasetFunction
from actorflow.models.data.node import DatasetNode, encode_spec

SAMPLE = 1 << 22
"""The bytes of an array that are read: of a larger one a sample, evenly spread."""


def identity(node: DatasetNode) -> bytes:
    """The digest of a description whose tensors have values."""
    digest = hashlib.blake2b(digest_size=16)
    _add_node(digest.update, node)
    return digest.digest()


Add = Callable[[bytes], object]


def _add_node(add: Add, node: DatasetNode) -> None:
    _add_value(add, ["node", node.kind, encode_spec(node.spec), sorted(node.options.items())])
    for tensor in node.tensors:
        _add_value(add, tensor)
    if isinstance(node.function, PythonFunction):
        _add_callable(add, node.function.call)
    elif node.function is not None:
        _add_function(add, node.function)
    for below in node.inputs:
        _add_node(add, below)


def _add_function(add: Add, function: DatasetFunction) -> None:
    places: dict[Operation, int] = {}
    for operation in function.graph.get_operations():
        places[operation] = len(places)
        inputs = [(places.get(tensor.op, -1), tensor.value_index) for tensor in operation.inputs]
        _add_value(add, [operation.type, inputs])
        for name, value in sorted(operation.attrs.items()):
            if name == "token":
                try:
                    _add_callable(add, function_of(value).call)
                except FailedPreconditionError:
                    continue
            elif name != "shared_name":
                _add_value(add, [name, value])
    outputs = [(places[tensor.op], tensor.value_index) for tensor in function.outputs]
    _add_value(add, ["function", outputs])
    for leaf in function.leaves:
        _add_node(add, leaf) if isinstance(leaf, DatasetNode) else _add_value(add, leaf)


def _add_callable(add: Add, call: Any) -> None:
    """A function of Python: its code, and the values that it holds."""
    for _ in range(8):  # of wrappers around each other
        if not hasattr(call, "func"):
            break
        _add_value(
            add, [list(call.args), sorted((call.keywords or {}).items())] if hasattr(call, "args") else "wrapped"
        )
        call = call.func
    code = getattr(getattr(call, "__func__", call), "__code__", None)
    _add_value(add, getattr(call, "__qualname__", type(call).__qualname__))
    if isinstance(code, CodeType):
        _add_code(add, code)
    for cell in getattr(call, "__closure__", None) or ():
        try:
            _add_value(add, cell.cell_contents)
        except ValueError:  # it is empty
            continue
    _add_value(add, list(getattr(call, "__defaults__", None) or ()))


def _add_code(add: Add, code: CodeType) -> None:
    _add_value(add, [code.co_code, list(code.co_names)])
    for value in code.co_consts:
        _add_code(add, value) if isinstance(value, CodeType) else _add_value(add, value)


def _add_value(add: Add, value: Any) -> None:
    """A value with its type. Objects that are no values count by their class."""
    if isinstance(value, DatasetNode):
        _add_node(add, value)
    elif isinstance(value, (np.ndarray, np.generic)):
        _add_array(add, np.asarray(value))
    elif isinstance(value, (list, tuple)):
        add(b"(")
        for part in value:
            _add_value(add, part)
        add(b")")
    elif isinstance(value, Mapping):
        _add_value(add, sorted(value.items(), key=repr))
    elif value is None or isinstance(value, (bool, int, float, complex, str, bytes, DType)):
        add(f"{type(value).__name__}:{value!r};".encode("utf-8", "surrogatepass"))
    elif isinstance(value, Tensor):
        add(f"{value.dtype.name};".encode())
    else:
        add(f"{type(value).__qualname__};".encode())


def _add_array(add: Add, array: np.ndarray[Any, Any]) -> None:
    add(f"{array.dtype.str}{array.shape};".encode())
    flat = array.reshape(-1)
    step = max(1, -(-flat.size * max(1, array.dtype.itemsize) // SAMPLE))
    sample = flat[::step]
    if array.dtype == object:
        for part in sample:
            _add_value(add, part)
    else:
        add(np.ascontiguousarray(sample).tobytes())
