"""`py_func`: a function of Python as a node, in the process that built the graph (`tf.py_func`)."""

from __future__ import annotations

import inspect
import traceback
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from actorflow.base.dtypes import DType, as_dtype, variant
from actorflow.base.process import machine
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape
from actorflow.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
)
from actorflow.graph.convert import convert_to_tensor, graph_of
from actorflow.graph.default_graph import colocate_with
from actorflow.graph.graph import Graph
from actorflow.graph.ops.declare import op
from actorflow.graph.tensor import Operation, Tensor
from actorflow.public import public

Types = tuple[DType, ...]


class PythonFunction:
    """The function that a token stands for. The graph in which its node was made keeps it alive."""

    __slots__ = ("__weakref__", "call", "name", "token")

    def __init__(self, call: Callable[..., Any], name: str | None = None) -> None:
        self.call = call
        self.name = name or getattr(call, "__qualname__", type(call).__qualname__)
        self.token = machine.fresh_hex(16)  # in no other process the same

    @classmethod
    def known(cls, call: Callable[..., Any], name: str | None = None) -> PythonFunction:
        """A function that is found by its token as long as someone holds it."""
        function = cls(call, name)
        _known[function.token] = function
        return function

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.call) or inspect.iscoroutinefunction(type(self.call).__call__)


_known: weakref.WeakValueDictionary[str, PythonFunction] = weakref.WeakValueDictionary()
_KEPT = "_python_functions"


def function_of(token: str) -> PythonFunction:
    """The function of a node. Raises FailedPreconditionError where another process has it, or its graph is gone."""
    function = _known.get(token)
    if function is None:
        raise FailedPreconditionError(
            "The function of this node lives in the process that built its graph, and with that graph; it is neither sent nor "
            "stored.",
            hint="Run it in a session without a target, or declare an op and its kernel (af.op, af.kernel) in a module that all "
            "tasks import.",
        )
    return function


_KINDS: tuple[tuple[type[BaseException], type[OpError]], ...] = (
    (TypeError, InvalidArgumentError),
    (ValueError, InvalidArgumentError),
    (StopIteration, OutOfRangeError),
    (StopAsyncIteration, OutOfRangeError),
    (MemoryError, ResourceExhaustedError),
    (NotImplementedError, UnimplementedError),
    (BaseException, UnknownError),
)
_CALLERS = ("flow/py_func.py", "functions/callers.py", "stages/generators.py")
"""The modules that call functions of Python."""


def raised(function: PythonFunction, error: BaseException) -> OpError:
    """The error that stands for what a function of Python raised."""
    if isinstance(error.__cause__, StopIteration):
        error = error.__cause__  # which can't leave a coroutine otherwise
    kind = next(kind for exception, kind in _KINDS if isinstance(error, exception))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.endswith(_CALLERS)]
    details = [f"raised at {frames[-1].filename}:{frames[-1].lineno}"] if frames else []
    hint = "What py_func gives a function can't be written to: copy it first." if "read-only" in str(error) else None
    return kind(f"The function {function.name} raised {type(error).__name__}: {error}", details=details, hint=hint)


def _types(c: Inference) -> Types:
    types: Types = c.attrs["Tout"]
    return types


def _shapes(c: Inference) -> list[Shape]:
    return [None] * len(c.attrs["Tout"])


@op("PyFunc", shape=_shapes, result=_types, gradient=None, stateful=True, asynchronous=True, work=0)
def py_func_op(input: Sequence[Any], *, token: str, Tout: Types, name: str | None = None) -> Any:
    """The results of the function `token` for the inputs, as numpy arrays and scalars. See `py_func`."""


@op("PyFuncStateless", shape=_shapes, result=_types, gradient=None, asynchronous=True, work=0)
def py_func_stateless(input: Sequence[Any], *, token: str, Tout: Types, name: str | None = None) -> Any:
    """`PyFunc` for a function that always gives the same for the same inputs, and does nothing else."""


class FunctionRecord(Protocol):
    """A call of a function, from which the gradients of its inputs can be taken."""

    name: str

    def gradients(self, places: Sequence[int], seeds: Sequence[Any]) -> list[Any]:
        """The gradients of the inputs at `places`, from those of the results that have a gradient."""


@op(
    "EagerPyFunc",
    shape=lambda c: [*_shapes(c), ()],
    result=lambda c: (*_types(c), variant),
    stateful=True,
    asynchronous=True,
    work=0,
)
def eager_py_func(input: Sequence[Any], *, token: str, Tout: Types, name: str | None = None) -> Any:
    """`PyFunc` for a function that gives a pair: its results, and the `FunctionRecord` of the call, which is the last output."""


@eager_py_func.gradient
def _(node: Operation, *seeds: Any) -> list[Any]:
    places = tuple([place for place, tensor in enumerate(node.inputs) if tensor.dtype.kind in "fc"])
    shapes = tuple([node.inputs[place].static_shape for place in places])
    types = tuple([node.inputs[place].dtype for place in places])
    present = [seed for seed, tensor in zip(seeds, node.outputs) if tensor.dtype.kind in "fc"]
    with colocate_with(node):
        result = eager_py_func_grad(node.outputs[-1], present, places=places, shapes=shapes, Tout=types)
    by_place = dict(zip(places, result if isinstance(result, tuple) else [result]))
    return [by_place.get(place) for place in range(len(node.inputs))]


@op(
    "EagerPyFuncGrad",
    shape=lambda c: list(c.attrs["shapes"]),
    result=_types,
    types={"record": variant},
    gradient=None,
    stateful=True,
    asynchronous=True,
    work=0,
)
def eager_py_func_grad(
    record: Tensor,
    seeds: Sequence[Any],
    *,
    places: Sequence[int],
    shapes: Any,
    Tout: Types,
    name: str | None = None,
) -> Any:
    """The gradients of inputs of an `EagerPyFunc`, from those of its results that are floats or complex numbers."""


@public("af")
def py_func(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Calls `func` in each step with the values of `inp` (`tf.py_func`).

    `func` gets arrays that can't be written to, numpy scalars for tensors of rank 0, and `bytes` for scalars of strings. It
    gives what is an array of the stated type, or a list or tuple of them. Nothing is converted but text, to UTF-8: for
    float32 it has to give float32. It is called on a thread of its own, so it may take its time, and up to 256 are called at
    once. A step that is stopped does not wait for it, but it keeps its thread until it ends, or the process does: that waits
    for a second. An `async def` function is awaited on the session's event loop, and cancelled with its step.

    Example:
        >>> x = af.placeholder(af.float32, [None])
        >>> median = af.py_func(lambda values: np.median(values).astype(np.float32), [x], af.float32)
        >>> await session.run(median, {x: [1.0, 5.0, 3.0]})
        3.0

    Args:
        func: a function of as many arguments as `inp` has; it may be an `async def`.
        inp: a list of tensors.
        Tout: the element type of the result, or a list of those of several results. With an empty list there is none.
        stateful: False where the function always gives the same for the same inputs, so that it may be called less often.

    Returns:
        A tensor of unknown shape; a list of tensors if `Tout` is a list; the operation if `func` has no result. There is
        no gradient: see `af.custom_gradient`, or `Graph.gradient_override_map`.

    Raises:
        ValueError: `func` is not callable.
        TypeError: `inp` is not a list of tensors.

    In a run it raises what stands for what `func` raised: InvalidArgumentError for a TypeError or ValueError, OutOfRangeError for
    StopIteration, ResourceExhaustedError for MemoryError, UnimplementedError for NotImplementedError, UnknownError for others,
    and an `OpError` as it is. It raises InvalidArgumentError where the number of results or their types are not those stated, and
    FailedPreconditionError in another process than that in which the graph was built: the function is not stored or sent with it.
    """
    return called(py_func_op if stateful else py_func_stateless, func, inp, Tout, name)


def called(
    made_by: Callable[..., Any],
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,
    name: str | None,
    called_as: str | None = None,
) -> Any:
    """A node that calls a function. `made_by` is the function of its op, and errors name the function `called_as`; see `py_func`
    for the rest.

    Raises:
        ValueError: `func` is not callable.
        TypeError: `inp` is not a list of tensors.
    """
    if not callable(func):
        raise ValueError(f"The function of py_func has to be callable; {func!r:.60} is a {type(func).__name__}.")
    if not isinstance(inp, (list, tuple)):
        raise TypeError(f"The inputs of py_func are a list of tensors; {inp!r:.60} is a {type(inp).__name__}.")
    several = isinstance(Tout, (list, tuple))
    types = tuple([as_dtype(dtype) for dtype in (Tout if several else [Tout])])
    graph = graph_of(list(inp))
    function = PythonFunction.known(func, called_as)
    with graph.as_default():
        inputs = [convert_to_tensor(value) for value in inp]
        result = made_by(inputs, token=function.token, Tout=types, name=name)
    keep(graph, function)
    outputs = list(result) if isinstance(result, tuple) else [result]
    if made_by is eager_py_func:
        outputs = outputs[:-1] or [result.op]
    return outputs if several and types else outputs[0]


def keep(graph: Graph, function: PythonFunction) -> None:
    """Has a graph hold a function of one of its nodes."""
    graph.get_collection_ref(_KEPT).append(function)


def kept(graph: Graph) -> list[PythonFunction]:
    """The functions that a graph keeps alive."""
    functions: list[PythonFunction] = graph.get_collection(_KEPT)
    return functions


@public("af")
def numpy_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None) -> Any:
    """`py_func` for a function with effects (`tf.numpy_function`). Results and errors are those of `py_func`.

    Example:
        >>> af.numpy_function(np.linalg.norm, [[3.0, 4.0]], af.float32)
        5.0

    Args:
        func: a function of as many arguments as `inp` has.
        inp: a list of tensors.
        Tout: the element type of the result, or a list of those of several results.
    """
    return py_func(func, inp, Tout, True, name)
