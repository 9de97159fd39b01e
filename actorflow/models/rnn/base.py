"""`RNNCell`: what all cells have in common: sizes, variables in a scope of their own, and a state of zeros."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from actorflow.base import nest
from actorflow.base.dtypes import DType, DTypeLike
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import Shape, TensorShape, as_shape
from actorflow.errors import describe
from actorflow.graph.convert import convert_to_tensor, graph_of, is_symbolic
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.array.constant import zeros
from actorflow.graph.ops.array.join import stack
from actorflow.graph.structure.module import snake_case
from actorflow.graph.tensor import Tensor
from actorflow.graph.variables.scope import variable_scope
from actorflow.graph.variables.store import VariableScope
from actorflow.graph.variables.variable import Variable
from actorflow.models.layers.layer import Layer
from actorflow.public import public


@public("af.nn.rnn_cell")
class LSTMStateTuple(NamedTuple):
    """The state of an LSTM: the cell `c` and the output `h` (`tf.nn.rnn_cell.LSTMStateTuple`).

    Example:
        >>> state = af.nn.rnn_cell.LSTMStateTuple(c=[0.5], h=[0.1])
        >>> state.h
        [0.1]
    """

    c: Any
    h: Any

    @property
    def dtype(self) -> DType:
        """The element type of both. Raises TypeError if their types differ."""
        if self.c.dtype is not self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype  # type: ignore[no-any-return]


@public("af.nn.rnn_cell")
class RNNCell(Layer):
    """One step of a recurrent network, `output, next_state = cell(inputs, state)` (`tf.nn.rnn_cell.RNNCell`).

    A cell of your own has `state_size`, `output_size` and either `call(inputs, state)`, which is then called inside the
    cell's variable scope, or all of `__call__(inputs, state, scope=None)`. `build(inputs_shape)` is called once before.
    A cell makes its variables at its first call, and takes them at all others.

    Example:
        >>> class Sum(af.nn.rnn_cell.RNNCell):
        ...     state_size = output_size = 1
        ...     def call(self, inputs, state):
        ...         total = state + inputs
        ...         return total, total
        >>> outputs, last = af.nn.dynamic_rnn(Sum(), af.constant([[[1.0], [2.0], [4.0]]]), dtype=af.float32)
        >>> await session.run(outputs)
        [[[1.]
          [3.]
          [7.]]]
    """

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: DTypeLike | None = None, _reuse: Any = None
    ) -> None:
        """
        Args:
            trainable: whether optimizers change the cell's variables.
            name: the name of the cell's variable scope; the class's name in lower case unless given.
            dtype: the type of the variables; that of the first inputs unless given.
            _reuse: whether its variables exist already in the scope.
        """
        super().__init__(trainable, name, dtype, _reuse)
        self._name = name

    def __call__(self, inputs: Any, state: Any, scope: str | VariableScope | None = None) -> tuple[Any, Any]:
        """The output and the next state, from inputs of shape [batch, ...] and the state before.

        Args:
            inputs: a tensor of shape [batch, ...], or a structure of such.
            state: the state before, in the structure of `state_size`, each part of shape [batch, size].
            scope: the variable scope, at the first call; a scope with the name of the cell or its class unless given.
        """
        with self._entered(nest.flatten(inputs), state, scope):
            outputs = self.call(inputs, state)
        self._record((inputs, state), outputs)
        return outputs

    @contextmanager
    def _entered(self, inputs: Sequence[Any], state: Any, scope: str | VariableScope | None = None) -> Iterator[None]:
        """Inside, the graph and the cell's variable scope are the default, and its variables are there."""
        graph = graph_of([*inputs, *nest.flatten(state)])
        with graph.as_default():
            if self._scope is None:
                # A cell that takes existing variables takes them under its name; others get a name that is free.
                with variable_scope(scope or (self.name if self._reuse else None), self.name) as opened:
                    self._scope, self._graph = opened, graph
            reuse = True if self.built else self._reuse
            with (
                variable_scope(
                    self._scope, reuse=reuse, auxiliary_name_scope=False, custom_getter=self._remember
                ) as opened,
                graph.name_scope(opened.original_name_scope),
            ):
                if not self.built:
                    first = convert_to_tensor(inputs[0])
                    if self._dtype is None:
                        self._dtype = first.dtype
                    self.build(first.shape)
                    self.built = True
                yield

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """The output and the next state.

        Example:
            >>> class Echo(af.nn.rnn_cell.RNNCell):
            ...     state_size = output_size = 1
            ...     def call(self, inputs, state):
            ...         return state, inputs  # the input of the step before
            >>> outputs, last = af.nn.dynamic_rnn(Echo(), af.constant([[[1.0], [2.0], [4.0]]]), dtype=af.float32)
            >>> (await session.run(outputs)).ravel()
            [0. 1. 2.]
        """
        raise NotImplementedError(f"{type(self).__name__} has no method call(inputs, state).")

    def build(self, inputs_shape: TensorShape) -> None:
        """Makes the variables.

        Example:
            >>> class Decaying(af.nn.rnn_cell.RNNCell):
            ...     state_size = output_size = 1
            ...     def build(self, inputs_shape):
            ...         self.rate = self.add_variable("rate", [1], initializer=af.constant_initializer(0.5))
            ...     def call(self, inputs, state):
            ...         total = state * self.rate + inputs
            ...         return total, total
            >>> outputs, last = af.nn.dynamic_rnn(Decaying(), af.constant([[[1.0], [1.0]]]), dtype=af.float32)
            >>> await session.run(af.global_variables_initializer())
            >>> await session.run(last)
            [[1.5]]
        """

    @property
    def state_size(self) -> Any:
        """The size of the state: a number, a `TensorShape`, or a structure of them."""
        raise NotImplementedError(f"{type(self).__name__} has no state_size.")

    @property
    def output_size(self) -> Any:
        """The size of the output: a number, a `TensorShape`, or a structure of them."""
        raise NotImplementedError(f"{type(self).__name__} has no output_size.")

    @property
    def name(self) -> str:
        """The name given, or that of the class in lower case."""
        kind = snake_case(type(self).__name__)
        return self._name or (f"private{kind}" if kind.startswith("_") else kind)

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """Zeros of shape [batch_size, s] for each size s in `state_size`; `batch_size` is a number or a scalar tensor.

        Example:
            >>> af.nn.rnn_cell.BasicLSTMCell(2).zero_state(1, af.float32)
            LSTMStateTuple(c=[[0. 0.]], h=[[0. 0.]])
        """
        graph = graph_of([batch_size]) if is_symbolic(batch_size) else get_default_graph()
        with graph.as_default(), graph.name_scope(f"{type(self).__name__}ZeroState"):
            return zeros_of(self.state_size, batch_size, dtype)

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: DTypeLike | None = None) -> Any:
        """`zero_state` of the batch and type of `inputs`, or of those given.

        Example:
            >>> cell = af.nn.rnn_cell.GRUCell(2)
            >>> cell.get_initial_state(af.ones([3, 5])).shape
            TensorShape([3, 2])

        Args:
            inputs: a tensor of shape [batch, ...].
            batch_size: a number or a scalar tensor; needed without `inputs`.
            dtype: the type of the state; needed without `inputs`.

        Raises:
            ValueError: neither `inputs` nor both of the others are given.
        """
        if inputs is not None:
            from actorflow.graph.ops.array.shape import shape

            tensor = convert_to_tensor(inputs)
            static_shape = tensor.static_shape
            batch_size = shape(tensor)[0] if static_shape is None or static_shape[0] is None else static_shape[0]
            dtype = tensor.dtype
        if batch_size is None or dtype is None:
            raise ValueError(f"A state needs a batch size and a type, but {batch_size=} and {dtype=} were given.")
        return self.zero_state(batch_size, dtype)

    @property
    def variables(self) -> list[Variable]:
        """The variables that the cell and those inside of it made."""
        by_id: dict[int, Variable] = {}
        for cell in self._inner():
            by_id.update({id(v): v for v in cell.variables})
        by_id.update({id(v): v for v, _ in self._weights})
        return list(by_id.values())

    weights = variables

    @property
    def trainable_variables(self) -> list[Variable]:
        return [v for v in self.variables if v.trainable]

    @property
    def non_trainable_variables(self) -> list[Variable]:
        return [v for v in self.variables if not v.trainable]

    trainable_weights = trainable_variables
    non_trainable_weights = non_trainable_variables

    def _inner(self) -> Sequence[RNNCell]:
        """The cells of which this cell is made."""
        return ()

    def _remember(self, getter: Callable[..., Variable], *args: Any, **kwargs: Any) -> Variable:
        variable = getter(*args, **kwargs)
        if not any(other is variable for other, _ in self._weights):
            self._weights.append((variable, variable.trainable))
        return variable

    def _depth(self, inputs_shape: TensorShape) -> int:
        """The number of inputs. Raises ValueError for an unknown number."""
        sizes = as_shape(inputs_shape)
        if not sizes or sizes[-1] is None:
            raise ValueError(
                describe(
                    f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}.",
                    where=user_line(),
                    hint="Say it with inputs.set_shape.",
                )
            )
        return sizes[-1]


def check_cell(name: str, cell: Any) -> None:
    """Raises TypeError, naming the argument, where `cell` has not what a cell has."""
    lacks = [f"'{needed}' property is missing" for needed in ("output_size", "state_size") if not _has(cell, needed)]
    if not hasattr(cell, "zero_state") and not hasattr(cell, "get_initial_state"):
        lacks.append("either 'zero_state' or 'get_initial_state' method is required")
    if not callable(cell):
        lacks.append("is not callable")
    if lacks:
        raise TypeError(
            describe(f"The argument '{name}' ({cell!r:.60}) is not an RNNCell: {', '.join(lacks)}.", where=user_line())
        )


def _has(cell: Any, name: str) -> bool:
    return hasattr(type(cell), name) or hasattr(cell, name)  # the property of a class may raise


def dimensions(size: Any) -> Shape:
    """A size of a state or an output as the shape behind the batch."""
    return (size,) if isinstance(size, int) else as_shape(size)


def zeros_of(sizes: Any, batch_size: Any, dtype: DTypeLike) -> Any:
    """Zeros in the structure of `sizes`, each of shape [batch_size, size]."""

    def make(size: Any) -> Tensor:
        inner = dimensions(size)
        if batch_size is None or inner is None or None in inner:
            raise ValueError(
                describe(
                    f"Zeros of shape [{batch_size}, {size}] can't be made: a size is not known.", where=user_line()
                )
            )
        if not is_symbolic(batch_size):
            return zeros([int(batch_size), *inner], dtype)
        state = zeros(stack([batch_size, *inner]), dtype)
        state.set_shape((None, *inner))
        return state

    leaves, rebuild = nest.parse(sizes)
    return rebuild([make(leaf) for leaf in leaves])
