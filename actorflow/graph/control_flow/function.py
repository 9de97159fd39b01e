"""`Defun`: a function of Python becomes a named part of the graph, which is called several times (`tf.Defun` of version 1).

    @af.Defun(af.float32, af.float32)
    def squares(x, y):
        return x * x + y * y

    a = squares(u, v)
    b = squares(v, w)

The graph has the body once, with `Call` nodes that refer to it; stored graphs keep both. A plan has the body once for each
call, so passes see through it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

from actorflow.base.dtypes import DType, as_dtype
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import Shape, as_shape, compatible
from actorflow.errors import Where, describe
from actorflow.graph.control_flow.function_body import FunctionBody, FunctionContext, make_call, table
from actorflow.graph.convert import convert_to_tensor, graph_of, is_symbolic
from actorflow.graph.graph import Graph
from actorflow.graph.tensor import Operation, Tensor
from actorflow.public import public


@public("af")
class Defun:
    """Makes a function of Python a function of graphs (`tf.Defun`, `function.Defun` of TensorFlow 1).

    Example:
        >>> @af.Defun(af.float32, af.float32)
        ... def hypotenuse(a, b):
        ...     return af.sqrt(a * a + b * b)
        >>> x = af.placeholder(af.float32, [])
        >>> await session.run(hypotenuse(x, 4.0), {x: 3.0})
        5.0

    Args:
        input_types: the element type of each parameter, or a pair `(type, shape)` where the shape is fixed too. Without
            them the function is traced for each combination of types with which it is called.
        func_name: its name in graphs; that of the function unless given. Made unique.
        grad_func: another such function that takes the arguments and then the gradients of the outputs, and gives the
            gradients of the arguments.
        python_grad_func: a function of Python in its place, `f(call, *dys)`, which builds them at each call.
        out_names, shape_func: are accepted, and change nothing; shapes are inferred.

    The function is called once for each graph, when it is called there first, with tensors; it gives tensors, a list of
    them, or None. Tensors of the graph around that it uses, and the values of variables, become further parameters. It may
    use branches, loops and other functions, but not itself. Variables made in it are made outside.

    Raises:
        ValueError: it is not callable, has keyword arguments or defaults, or takes another number of arguments.
    """

    def __init__(
        self,
        *input_types: Any,
        func_name: str | None = None,
        grad_func: DefinedFunction | None = None,
        python_grad_func: Callable[..., Any] | None = None,
        out_names: Sequence[str] | None = None,
        shape_func: Callable[..., Any] | None = None,
    ) -> None:
        if grad_func is not None and python_grad_func is not None:
            raise ValueError("Gradient defined twice: give grad_func or python_grad_func, not both.")
        self._input_types = [_kind(kind) for kind in input_types]
        self._name = func_name
        self._grad_func = grad_func
        self._python_grad_func = python_grad_func

    def __call__(self, func: Callable[..., Any]) -> DefinedFunction:
        if not callable(func):
            raise ValueError(f"Function {func!r:.60} must be a callable.")
        kinds = [p.kind for p in inspect.signature(func).parameters.values()]
        defaults = [p.default for p in inspect.signature(func).parameters.values() if p.default is not p.empty]
        if defaults or any(kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD) for kind in kinds):
            raise ValueError(f"Functions with argument defaults or keywords arguments are not supported: {func!r:.60}.")
        several = inspect.Parameter.VAR_POSITIONAL in kinds
        least = len(kinds) - several
        count = len(self._input_types)
        if self._input_types and (count < least or count > least and not several):
            raise ValueError(
                f"The function takes {'at least ' if several else ''}{least} arguments, but {count} types are given."
            )
        typed = bool(self._input_types) or not kinds
        return DefinedFunction(
            func, self._input_types if typed else None, self._name, self._grad_func, self._python_grad_func
        )


class DefinedFunction:
    """The function that `Defun` makes. Call it with tensors to add a call to the graph."""

    def __init__(
        self,
        func: Callable[..., Any],
        input_types: Sequence[tuple[DType, Shape]] | None,
        name: str | None,
        grad_func: DefinedFunction | None,
        python_grad_func: Callable[..., Any] | None,
    ) -> None:
        self._func = func
        self._input_types = None if input_types is None else list(input_types)
        plain = re.sub(r"\W", "_", str(name or getattr(func, "__name__", "function")), flags=re.ASCII)
        self._given_name = plain.strip("_") or "function"
        self._grad_func = grad_func
        self._python_grad_func = python_grad_func
        self.__doc__ = func.__doc__

    @property
    def name(self) -> str:
        """The name given to it. In a graph it may have a number behind it."""
        return self._given_name

    @property
    def declared_input_types(self) -> list[DType] | None:
        """The types of the parameters; None where calls decide."""
        return None if self._input_types is None else [dtype for dtype, _ in self._input_types]

    def captured_inputs(self, graph: Graph) -> list[Tensor]:
        """The tensors of `graph` that the body uses beside its parameters. Empty before the first call."""
        functions = [value for key, value in table(graph).items() if isinstance(key, tuple) and key[0] is self]
        return [tensor for function in functions for tensor in function.captured()]

    def __call__(self, *args: Any, name: str | None = None) -> Any:
        """The result of the function for `args`: a tensor, a list of tensors, or the operation of a call without results.

        Raises:
            TypeError: an argument has another type.
            ValueError: there are more or fewer arguments, a shape does not fit, or the function calls itself.
        """
        kinds = self._input_types
        if kinds is not None and len(args) != len(kinds):
            raise ValueError(
                describe(f"{self.name} takes {len(kinds)} arguments, but {len(args)} were given.", where=user_line())
            )
        graph = graph_of(list(args))
        with graph.as_default():
            tensors = [
                self._argument(number, arg, None if kinds is None else kinds[number]) for number, arg in enumerate(args)
            ]
            function = self._function(graph, kinds or [(t.dtype, None) for t in tensors])
            try:
                call = make_call(function, tensors, name=name)
            except ValueError as error:
                error.add_note(f"  in a call of {function.name} at {user_line()}")
                raise
        return call.outputs[0] if len(call.outputs) == 1 else list(call.outputs) or call

    def add_to_graph(self, graph: Graph) -> str:
        """Makes the body in `graph`, without a call, and gives its name there. Raises TypeError where only calls tell the
        types."""
        if self._input_types is None:
            raise TypeError(f"The types of the arguments of {self.name} are known by its calls only.")
        with graph.as_default():
            return self._function(graph, self._input_types).name

    def _argument(self, number: int, value: Any, kind: tuple[DType, Shape] | None) -> Tensor:
        if kind is None:
            return convert_to_tensor(value)
        dtype, shape = kind
        tensor = convert_to_tensor(value) if is_symbolic(value) else convert_to_tensor(value, dtype)
        if tensor.dtype is not dtype or not compatible(tensor.static_shape, shape):
            raise (TypeError if tensor.dtype is not dtype else ValueError)(
                describe(
                    f"Argument {number} of {self.name} is {dtype}{'' if shape is None else f' of shape {shape}'}, but "
                    f"{tensor.name} is {tensor.dtype} of shape {tensor.shape}.",
                    where=user_line(),
                )
            )
        return tensor

    def _function(self, graph: Graph, kinds: Sequence[tuple[DType, Shape]]) -> FunctionBody:
        """The function in `graph`, traced if it is not there yet."""
        key = (self, tuple(kinds))
        function = table(graph).get(key)
        if function is not None:
            if function.returned is None:
                raise ValueError(
                    describe(
                        f"The function {function.name} calls itself, which no plan could follow to an end.",
                        where=user_line(),
                        details=[f"the function was made at {function.where}"],
                        hint="Use af.while_loop.",
                    )
                )
            return function  # type: ignore[no-any-return]
        with graph.name_scope(None):
            name = graph.unique_name(self._given_name)
        context = FunctionContext(graph, name)
        if (code := getattr(self._func, "__code__", None)) is not None:
            context.where = Where(code.co_filename, code.co_firstlineno)
        traced = table(graph)[key] = FunctionBody(name, context)
        try:
            gradient = ""
            if self._grad_func is not None:
                gradient = self._grad_func.add_to_graph(graph)
            names = _parameter_names(self._func, len(kinds))
            arguments = [traced.add_argument(dtype, shape, name=label) for (dtype, shape), label in zip(kinds, names)]
            traced.trace(
                lambda: self._outputs(arguments),
                gradient_function=gradient,
                python_gradient=self._python_grad_func is not None,
            )
        except BaseException:
            del table(graph)[key]
            raise
        table(graph)[name] = traced
        if self._python_grad_func is not None:
            table(graph)["python gradient", name] = self._python_grad_func
        return traced

    def _outputs(self, arguments: Sequence[Tensor]) -> list[Tensor]:
        results = self._func(*arguments)
        if results is None or isinstance(results, Operation):
            return []
        several = isinstance(results, (list, tuple))
        tensors = []
        for result in results if several else [results]:
            if result is None:
                raise ValueError(describe(f"{self.name} gave None among its results.", where=user_line()))
            tensors.append(convert_to_tensor(result))
        return tensors

    def __repr__(self) -> str:
        return f"<actorflow function {self.name}>"


def _kind(kind: Any) -> tuple[DType, Shape]:
    if isinstance(kind, (tuple, list)):
        dtype, shape = kind
        return as_dtype(dtype), as_shape(shape)
    return as_dtype(kind), None


def _parameter_names(func: Callable[..., Any], count: int) -> list[str]:
    names = [p.name for p in inspect.signature(func).parameters.values() if p.kind is not p.VAR_POSITIONAL]
    names = [name if name[0].isalpha() else f"arg{name}" for name in names]
    return [*names, *(f"arg{number}" for number in range(len(names), count))][:count]
