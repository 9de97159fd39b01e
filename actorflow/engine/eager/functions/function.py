"""`function`: a function of Python that runs as a compiled plan (`tf.function`)."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from actorflow.base import dialect
from actorflow.base.process import forks
from actorflow.base.reports.tracebacks import leave_out
from actorflow.base.reports.user_line import user_line
from actorflow.base.unpicklable import unpicklable
from actorflow.engine.eager.functions.concrete import ConcreteFunction
from actorflow.engine.eager.functions.func_graph import FuncGraph
from actorflow.engine.eager.functions.home import ElsewhereError
from actorflow.engine.eager.functions.open_shapes import OpenShapes
from actorflow.engine.eager.functions.signature import BoundCall, FunctionSignature, TensorSpec, in_order
from actorflow.engine.eager.tapes.recording import only
from actorflow.errors import describe
from actorflow.graph import scopes
from actorflow.graph.ops.array.constant import placeholder_op
from actorflow.graph.tensor import Tensor
from actorflow.public import public

_MOST_TRACES = 64
_MANY = 6


@public("af")
class RetracingWarning(UserWarning):
    """A function is traced again and again, which takes far longer than a call.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", af.RetracingWarning)  # a test fails whose function is traced again and again
        ...     double = af.function(lambda x: x * 2.0)
        ...     print(float(double(3.0)))
        6.0
    """


@public("af:Function")
class Function:
    """The function that `af.function` makes. `await f.run(...)` is a call that does not hold up the event loop.

    Example:
        >>> @af.function
        ... def area(x, y):
        ...     return x * y
        >>> area(2.0, 3.0), await area.run(2.0, 4.0)
        (6.0, 8.0)
    """

    __reduce_ex__ = unpicklable(
        "A traced function is not pickled: hand over the Python function, and decorate it there."
    )

    def __init__(
        self,
        python_function: Callable[..., Any],
        input_signature: Sequence[Any] | None,
        numbers_are_tensors: bool,
        static: Sequence[str],
        target: str | None,
        reduce_retracing: bool = False,
    ) -> None:
        """Made by `af.function`.

        Args:
            python_function: the function that is traced.
            input_signature: a `TensorSpec` for each argument, or None.
            numbers_are_tensors: whether numbers of Python become tensors.
            static: names of arguments that stay values of Python.
            target: the target of the sessions that run it; None is this process.
            reduce_retracing: whether calls that differ in sizes share a trace.
        """
        self.python_function = python_function
        functools.update_wrapper(self, python_function)
        self.input_signature = None if input_signature is None else tuple(input_signature)
        self._options = (input_signature, numbers_are_tensors, static, target, reduce_retracing)
        self._signature = FunctionSignature(python_function, input_signature, numbers_are_tensors, static)
        self._target = target
        self._open = OpenShapes() if reduce_retracing and input_signature is None else None
        self._traces: OrderedDict[Any, ConcreteFunction] = OrderedDict()
        self._lock = forks.new_lock()
        self._count = 0
        self._warn_at = _MANY
        self._last: tuple[Any, ...] | None = None
        self._bound: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
        self._made: list[Any] = []

    @property
    def trace_count(self) -> int:
        """How often the function was traced."""
        return self._count

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        entered = scopes.entered_graph()
        if entered is not None and not entered.eager:
            return self.python_function(*args, **kwargs)  # its nodes belong to the graph around
        call = self._signature.call(args, kwargs)
        concrete = self._traces.get(call.key) or self._trace(call)
        try:
            return concrete.call(call.tensors)
        except ElsewhereError:
            self._forget(call, concrete)
            return self(*args, **kwargs)
        except Exception as error:
            leave_out(error)
            raise

    async def run(self, *args: Any, **kwargs: Any) -> Any:
        """The result of a call, computed while other coroutines run: heavy kernels are on the device's thread.

        A deadline (`anyio.fail_after`) or a cancellation stops it. Tapes do not see it.

        Example:
            >>> @af.function
            ... def double(x):
            ...     return x * 2.0
            >>> await double.run(4.0)
            8.0
        """
        call = self._signature.call(args, kwargs)
        concrete = self._traces.get(call.key) or self._trace(call)
        try:
            return await concrete.run(call.tensors)
        except ElsewhereError:
            self._forget(call, concrete)
            return await self.run(*args, **kwargs)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for arguments like these; a `TensorSpec` stands for a tensor of its type and shape.

        Example:
            >>> @af.function
            ... def double(x):
            ...     return x * 2.0
            >>> concrete = double.get_concrete_function(af.TensorSpec([2], af.float32))
            >>> concrete(af.constant([1.0, 2.0]))
            [2. 4.]
            >>> concrete.outputs[0].shape
            TensorShape([2])
        """
        if self.input_signature is not None and not args and not kwargs:
            args = self.input_signature
        call = self._signature.call(args, kwargs)
        return self._traces.get(call.key) or self._trace(call)

    def _trace(self, call: BoundCall) -> ConcreteFunction:
        with self._lock:  # other threads wait for a trace that they need, too
            shared = None if self._open is None else self._open.trace_for(call)
            return self._traces.get(call.key) or shared or self._traced(call)

    def _forget(self, call: BoundCall, concrete: ConcreteFunction) -> None:
        """Lets the next call like this one trace again."""
        with self._lock:
            if self._traces.get(call.key) is concrete:
                del self._traces[call.key]
            if self._open is not None:
                self._open.forget(concrete)

    def _traced(self, call: BoundCall) -> ConcreteFunction:
        name = getattr(self.python_function, "__name__", "function")
        graph = FuncGraph(name, may_make=self._count == 0, target=self._target)
        symbols: list[Tensor] = []
        shapes = None if self._open is None else self._open.shapes_for(call)
        tensors = iter(call.tensors)

        def symbol(label: str) -> Tensor:
            tensor = next(tensors)
            number = len(symbols)
            spec = self._signature.specs[number] if self._signature.specs is not None else tensor
            shape = spec.static_shape if shapes is None else shapes[number]
            placeholder = placeholder_op(dtype=spec.dtype, shape=shape, name=_label(label))
            symbols.append(placeholder)
            return placeholder

        with graph.as_default(), only(()):
            arguments = []
            for number, arg in enumerate(call.arguments):
                label = self._signature.names[number] if number < len(self._signature.names) else "x"
                specified = self._signature.specs is not None and number < len(self.input_signature or ())
                given_as = self.input_signature[number] if specified and self.input_signature else arg
                arguments.append(self._replaced(given_as, number, specified, functools.partial(symbol, label)))
            args, kwargs = self._signature.spread(arguments)
            try:
                result = self.python_function(*args, **kwargs)
            except Exception as error:
                error.add_note(f"  while {name} was traced, which {user_line()} calls")
                raise
        concrete = ConcreteFunction(name, graph, symbols, result, self._target)
        self._count += 1
        self._made.extend(graph.made)
        self._warn(call)
        if self._open is not None and shapes is not None and self._open.keep(call, shapes, concrete):
            return concrete
        self._traces[call.key] = concrete
        if len(self._traces) > _MOST_TRACES:
            self._traces.popitem(last=False)
        return concrete

    def _replaced(self, arg: Any, number: int, specified: bool, symbol: Callable[[], Tensor]) -> Any:
        """An argument with nodes in place of its tensors."""
        if number in self._signature.static:
            return arg
        if isinstance(arg, (list, tuple)):
            parts = [self._replaced(part, number, specified, symbol) for part in arg]
            return type(arg)(*parts) if hasattr(arg, "_fields") else type(arg)(parts)
        if isinstance(arg, dict):
            replaced = {key: self._replaced(arg[key], number, specified, symbol) for key in in_order(arg)}
            return {key: replaced[key] for key in arg}
        if specified or isinstance(arg, TensorSpec) or self._signature.is_tensor(arg):
            return symbol()
        return arg

    def _warn(self, call: BoundCall) -> None:
        before, self._last = self._last, call.key
        if self._count >= self._warn_at and before is not None:
            self._warn_at *= 4
            why = self._signature.difference(before, call.key, call.arguments)
            warnings.warn(
                describe(
                    f"{getattr(self.python_function, '__name__', 'A function')} was traced {self._count} times, which takes far "
                    f"longer than a call: {why}.",
                    where=user_line(),
                    hint="Pass tensors of one shape, or give reduce_retracing=True, or input_signature=[af.TensorSpec(...)] with "
                    "None for what differs.",
                ),
                RetracingWarning,
                stacklevel=3,
            )

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        bound = self._bound.get(instance)
        if bound is None:
            method = _weak_method(self.python_function, instance)
            bound = self._bound[instance] = Function(method, *self._options)
        return bound

    def __repr__(self) -> str:
        return f"<actorflow function {getattr(self.python_function, '__name__', self.python_function)!s}>"


@public("af")
def function(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
    experimental_compile: bool | None = None,
    *,
    numbers_are_tensors: bool | None = None,
    static_argnames: Sequence[str] = (),
    device: str | None = None,
    reduce_retracing: bool = False,
) -> Any:
    """Lets a function of Python run as a compiled plan (`tf.function`).

    The function is traced for each combination of types, shapes and other arguments of calls. A trace calls the function once
    with nodes of a graph in the place of tensors. Effects in Python happen only then. Variables of the program and values that
    it uses may change between calls. Nodes with effects run in the order of the program, also if nothing takes their results.
    It may make variables in its first call only. Tapes see a call as one operation. In a graph, or in another function that is
    traced, it adds its nodes there.

    Example:
        >>> @af.function
        ... def norm(x):
        ...     print("traced for", x.shape)
        ...     return af.sqrt(af.reduce_sum(x * x))
        >>> norm(af.constant([3.0, 4.0])), norm(af.constant([6.0, 8.0]))
        traced for (2,)
        (5.0, 10.0)

    Args:
        func: the function; without it a decorator is given.
        input_signature: a `TensorSpec` for each argument; there is one trace then, and other arguments are refused.
        autograph: accepted for compatibility; `if` and `while` of Python are not translated, so use `af.cond`, `af.while_loop`.
        experimental_relax_shapes: the older name of `reduce_retracing`.
        numbers_are_tensors: whether numbers of Python become tensors, so that another number is no other trace. They do unless
            the module that calls imports `actorflow.compat.v1`: there they stay numbers, as in TensorFlow. Truth values and
            texts stay as they are.
        static_argnames: names of arguments that stay values of Python in any case, such as an axis.
        device: the target of a cluster's task that runs it, such as "tcp://machine:7070"; this process unless given. Within the
            function `af.device("/job:worker/task:1")` says on which tasks its nodes run. Variables that it uses live there from
            its first call on, on the device of their first use: functions with this target and `load` change them, and reading
            one fetches its value. `af.train.Checkpoint` saves and restores them there. The connection stays open as long as the
            process.
        reduce_retracing: whether calls that differ in the sizes of their tensors share a trace: the second size that comes is
            traced with the sizes open that differ, and later sizes need no trace. Calls with the first sizes keep their own
            trace, which is quicker. In the shared trace `x.shape[0]` may be None, and `af.shape(x)[0]` tells the size.
        experimental_autograph_options, experimental_compile: accepted for compatibility, without effect.

    Raises:
        ValueError: when it is called: it makes variables in a later call, or an argument does not fit `input_signature`.
        TypeError: when it is called: an argument has another type than `input_signature` says.
    """
    as_tensors = not dialect.speaks_v1() if numbers_are_tensors is None else numbers_are_tensors

    def decorate(python_function: Callable[..., Any]) -> Function:
        if not callable(python_function):
            raise TypeError(f"function() takes a function, but {python_function!r:.60} was given.")
        opens = reduce_retracing or experimental_relax_shapes
        return Function(python_function, input_signature, as_tensors, static_argnames, device, opens)

    return decorate if func is None else decorate(func)


def _label(name: str) -> str:
    return name if name[0].isalpha() else "x"


def _weak_method(python_function: Callable[..., Any], instance: Any) -> Callable[..., Any]:
    """A method that does not keep its object alive: what is kept for the object must not."""
    held = weakref.ref(instance)

    @functools.wraps(python_function)
    def method(*args: Any, **kwargs: Any) -> Any:
        return python_function(held(), *args, **kwargs)

    import inspect

    parameters = list(inspect.signature(python_function).parameters.values())[1:]
    method.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return method
