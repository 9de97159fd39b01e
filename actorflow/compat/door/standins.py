"""Functions of TensorFlow's inner modules that have little to do here: fixed answers, decorators, names, shapes."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any

import actorflow.compat.v1 as v1
from actorflow.compat.door.protos import NUMBERS
from actorflow.graph.structure.composites import is_composite

KERNEL = "kernel"
BIAS = "bias"
FALSE = False
TRUE = True
_numbers = itertools.count(1)
_proto_functions: dict[str, tuple[Any, Any, Any]] = {}


# ---- answers that are always the same


def nothing(*arguments: Any, **named: Any) -> None:
    """Does nothing: for registrations and checks without a counterpart here."""


def never(*arguments: Any, **named: Any) -> bool:
    """False: for questions about XLA, TensorFlow 2's control flow, and summaries that are skipped."""
    return False


def always(*arguments: Any, **named: Any) -> bool:
    """True: each variable is what TensorFlow calls a resource."""
    return True


def no_list(*arguments: Any, **named: Any) -> list[Any]:
    """An empty list."""
    return []


def no_dict(*arguments: Any, **named: Any) -> dict[str, Any]:
    """An empty dictionary."""
    return {}


def no_names(*arguments: Any, **named: Any) -> Any:
    """A tensor of no names."""
    return v1.constant([], v1.string)


def as_it_is(function: Any = None, *arguments: Any, **named: Any) -> Any:
    """A decorator that changes nothing, with arguments or without."""
    return function if callable(function) else as_it_is


def _decorator(*arguments: Any, **named: Any) -> Callable[[Any], Any]:
    return as_it_is


deprecated = deprecated_args = deprecated_arg_values = exporter = _decorator
"""Decorators of TensorFlow's own sources. The functions stay as they are."""


def deprecated_alias(deprecated_name: str, name: str, func_or_class: Any, warn_once: bool = True) -> Any:
    """The function itself under its former name."""
    return func_or_class


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """The argument under its new name or its former name. Raises ValueError for both."""
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old_value


def refuse_v2() -> None:
    """Raises NotImplementedError: there is only the behaviour of version 1."""
    raise NotImplementedError("TensorFlow 2's behaviour is not offered: actorflow.compat.v1 has that of version 1.")


def register_conversions(
    tensor_type: type[Any], fetch_function: Any, feed_function: Any = None, feed_function_for_partial_run: Any = None
) -> None:
    """Has sessions fetch and feed objects of a class: a run sees the tensors of `fetch_function(object)[0]` in their place.

    Raises ValueError if sessions know the class already.
    """
    if hasattr(tensor_type, "__tensor_components__"):
        raise ValueError(f"{tensor_type} has already been registered so ignore it.")

    def to_components(self: Any, value: Any) -> list[Any]:
        return [part for _, part in feed_function(self, value)] if feed_function else []

    kind: Any = tensor_type
    kind.__tensor_components__ = lambda self: list(fetch_function(self)[0])
    kind.__from_components__ = lambda self, *values: fetch_function(self)[1](list(values))
    kind.__to_components__ = to_components


# ---- functions about functions


def make_all(module_name: str, doc_string_modules: Any = None) -> list[str]:
    """The public names of a loaded module."""
    import sys

    return [name for name in dir(sys.modules[module_name]) if not name.startswith("_")]


class _Composites(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or (cls is CompositeTensor and is_composite(instance))


class CompositeTensor(metaclass=_Composites):
    """The class of things made of several tensors, such as a `SparseTensor`, for `isinstance`."""


class LazyLoader(ModuleType):
    """A module that is imported when the first of its names is asked for."""

    def __init__(self, local_name: str, parent_module_globals: dict[str, Any], name: str) -> None:
        super().__init__(name)
        self._local_name, self._parent = local_name, parent_module_globals

    def _load(self) -> ModuleType:
        module = importlib.import_module(self.__name__)
        self._parent[self._local_name] = module
        self.__dict__.update(module.__dict__)
        return module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)

    def __dir__(self) -> list[str]:
        return dir(self._load())


def make_decorator(target: Any, decorator_func: Any, *arguments: Any, **named: Any) -> Any:
    """`decorator_func` with the name and the documentation of `target`."""
    return functools.wraps(target)(decorator_func)


def unwrap(maybe_decorated: Any) -> tuple[list[Any], Any]:
    """The decorators, of which none is known, and the function behind them."""
    return [], inspect.unwrap(maybe_decorated)


def rewrap(decorator_func: Any, previous_target: Any, new_target: Any) -> Any:
    """`new_target`: the decorators are not known."""
    return new_target


def full_arguments(function: Any) -> inspect.FullArgSpec:
    """The arguments of a function; those of ours as TensorFlow's sources have them, with which libraries compare their own.

    They have no annotations, and `name`, which ours take by position too, is no argument by name only.
    """
    spec = inspect.getfullargspec(function)
    if not str(getattr(function, "__module__", "")).startswith("actorflow."):
        return spec
    defaults = (*(spec.defaults or ()), *(spec.kwonlydefaults or {}).values())
    return inspect.FullArgSpec([*spec.args, *spec.kwonlyargs], spec.varargs, spec.varkw, defaults or None, [], None, {})


def fn_args(function: Any) -> tuple[str, ...]:
    """The names of a function's arguments."""
    return tuple(inspect.signature(function).parameters)


def has_kwargs(function: Any) -> bool:
    """Whether a function takes any keyword."""
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values())


def function_name(function: Any) -> str:
    """The name of a function, of a function with arguments bound, or of an object that is called."""
    return str(getattr(getattr(function, "func", function), "__name__", type(function).__name__))


# ---- graphs


def list_local_devices(session_config: Any = None) -> list[Any]:
    """The devices of this process, with `name`, `device_type` and `memory_limit`."""
    with v1.Session(graph=v1.Graph(), config=session_config) as session:
        return [_Device(str(device.name), str(device.type)) for device in session.list_devices()]


class _Device:
    def __init__(self, name: str, device_type: str) -> None:
        self.name = f"/{name.rpartition('/')[2]}"
        self.device_type = device_type
        self.memory_limit = 0
        self.incarnation = 0
        self.physical_device_desc = ""

    def __repr__(self) -> str:
        return f"name: {self.name!r} device_type: {self.device_type!r} memory_limit: {self.memory_limit}"


def num_gpus() -> int:
    """The number of GPUs of this process."""
    return sum(device.device_type == "GPU" for device in list_local_devices())


class context:
    """`eager.context.context()`: whether ops run at once."""

    def executing_eagerly(self) -> bool:
        """Whether ops run at once."""
        return bool(v1.executing_eagerly())

    def num_gpus(self) -> int:
        """The number of GPUs of this process."""
        return num_gpus()


def in_graph_mode() -> bool:
    """Whether ops become nodes of a graph."""
    return not v1.executing_eagerly()


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    """Inside, ops become nodes of a new graph if they would run at once, else of the default graph."""
    if not v1.executing_eagerly():
        yield
        return
    with v1.Graph().as_default():
        yield


def eager_mode() -> Any:
    """Inside, ops run at once."""
    import actorflow as af

    return af.eager()


def collection_keys() -> list[str]:
    """The names of the default graph's collections."""
    return list(v1.get_default_graph().get_all_collection_keys())


def graph_of_inputs(op_input_list: Sequence[Any], graph: Any = None) -> Any:
    """The graph of the first input that has a graph, or the default graph."""
    if graph is not None:
        return graph
    graphs = (getattr(each, "graph", None) for each in op_input_list)
    return next((each for each in graphs if each is not None), v1.get_default_graph())


def uid() -> int:
    """A number that this process has not given before."""
    return next(_numbers)


def name_from_scope_name(name: str) -> str:
    """The name of a scope without the slash at its end."""
    return name.removesuffix("/")


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """`name` without the scope `export_scope` at its beginning."""
    return name.removeprefix(f"{export_scope.rstrip('/')}/") if export_scope else name


def convert_n_to_tensor(values: Iterable[Any], dtype: Any = None, name: str | None = None, **named: Any) -> list[Any]:
    """A tensor of each value."""
    return [v1.convert_to_tensor(value, dtype) for value in values]


def register_type(tensor_type: Any) -> None:
    """Does nothing: a conversion function is enough for a type to be an operand."""


def register_proto_function(
    collection_name: str, proto_type: Any = None, to_proto: Any = None, from_proto: Any = None
) -> None:
    """Keeps how the values of a collection become messages and come back."""
    _proto_functions[collection_name] = (proto_type, to_proto, from_proto)


def proto_function(collection_name: str) -> Any:
    """The function that `register_proto_function` keeps for a collection, or None."""
    return _proto_functions.get(collection_name, (None, None, None))[1]


def gradient_function(op: Any) -> Any:
    """Raises NotImplementedError: a gradient's rule is called by `tf.gradients` only."""
    raise NotImplementedError(f"The gradient function of {op.name} can't be called by itself: use tf.gradients.")


def declare(*arguments: Any, **named: Any) -> Any:
    """Raises NotImplementedError: a function is defined before it is called."""
    raise NotImplementedError("A function can't be declared before it is defined: use tf.while_loop for recursion.")


def merge_device(spec: Any) -> Callable[[Any], Any]:
    """A device function that adds `spec` to the device of a node."""
    text = spec if isinstance(spec, str) else spec.to_string()

    def device_of(node: Any) -> str:
        own = v1.DeviceSpec.from_string(node.device or "")
        merged = v1.DeviceSpec.from_string(text)
        merged.merge_from(own)
        return str(merged.to_string())

    return device_of


def canonical_name(device: Any) -> str:
    """The whole name of a device, such as `/job:a/device:CPU:0`."""
    if device is None:
        return ""
    return str((v1.DeviceSpec.from_string(device) if isinstance(device, str) else device).to_string())


# ---- shapes and constants


def constant_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a tensor that is known while the graph is built, or None."""
    if isinstance(tensor, (bool, int, float)):
        return tensor
    return v1.get_static_value(tensor, partial)


def constant_shape(tensor: Any) -> Any:
    """The shape that a tensor of sizes is known to be."""
    value = v1.get_static_value(tensor, True)
    if value is None:
        length = tensor.shape.as_list()[0] if tensor.shape.ndims else None
        return v1.TensorShape(None if length is None else [None] * length)
    return v1.TensorShape([None if size is None or size < 0 else int(size) for size in value])


def shape_list(shape: Any) -> list[int]:
    """The sizes of a message of a shape; -1 where unknown."""
    return [dimension.size for dimension in shape.dim]


def scalar_shape() -> Any:
    """The shape of a scalar."""
    return v1.TensorShape([])


def vector_shape(length: Any) -> Any:
    """The shape of a vector."""
    return v1.TensorShape([length])


def matrix_shape(rows: Any, cols: Any) -> Any:
    """The shape of a matrix."""
    return v1.TensorShape([rows, cols])


def unknown_shape(rank: int | None = None, ndims: int | None = None, **named: Any) -> Any:
    """The shape of which only the rank is known, or nothing."""
    count = ndims if rank is None else rank
    return v1.TensorShape(None if count is None else [None] * count)


def smart_cond(
    pred: Any, true_fn: Any = None, false_fn: Any = None, name: str | None = None, fn1: Any = None, fn2: Any = None
) -> Any:
    """`tf.cond`, but only the branch itself where the predicate is known while the graph is built."""
    true_fn, false_fn = true_fn or fn1, false_fn or fn2
    value = pred if isinstance(pred, (bool, int)) else v1.get_static_value(v1.convert_to_tensor(pred))
    if value is None:
        return v1.cond(pred, true_fn, false_fn, name=name)
    return true_fn() if value else false_fn()


class DataType:
    """The numbers of element types in messages: `types_pb2.DataType.Value("DT_FLOAT")`."""

    @staticmethod
    def Value(name: str) -> int:
        """The number of a type."""
        return NUMBERS[name]

    @staticmethod
    def Name(number: int) -> str:
        """The name of a type."""
        return next(name for name, own in NUMBERS.items() if own == number)


globals().update(NUMBERS)


# ---- files


def write_string_to_file(filename: str, file_content: Any) -> None:
    """Writes text or bytes to a file."""
    with v1.gfile.GFile(filename, "wb" if isinstance(file_content, bytes) else "w") as file:
        file.write(file_content)


def read_file_to_string(filename: str, binary_mode: bool = False) -> Any:
    """The content of a file."""
    with v1.gfile.GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()
