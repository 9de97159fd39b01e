"""The cells: plain recurrent units, LSTM and GRU, and stacks of cells (`tf.nn.rnn_cell`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from actorflow.base import nest
from actorflow.base.dtypes import DTypeLike
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import TensorShape
from actorflow.errors import describe
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.join import concat, split
from actorflow.graph.ops.math.clip import clip_by_value
from actorflow.graph.ops.math.elementwise import sigmoid, tanh
from actorflow.graph.ops.math.matmul import matmul
from actorflow.graph.ops.nn.activation import bias_add
from actorflow.graph.tensor import Tensor
from actorflow.graph.variables.initializers import Constant, Zeros
from actorflow.graph.variables.scope import variable_scope
from actorflow.graph.variables.variable import Variable
from actorflow.models.layers.arguments import whole
from actorflow.models.rnn.base import LSTMStateTuple, RNNCell, check_cell
from actorflow.public import public

Activation: TypeAlias = "Callable[[Tensor], Tensor]"


@public("af.nn.rnn_cell")
class BasicRNNCell(RNNCell):
    """output = next state = activation([inputs, state] · kernel + bias) (`tf.nn.rnn_cell.BasicRNNCell`).

    Example:
        >>> cell = af.nn.rnn_cell.BasicRNNCell(4)
        >>> x = af.placeholder(af.float32, [2, 3])
        >>> output, state = cell(x, cell.zero_state(2, af.float32))
        >>> [(v.name, v.shape.as_list()) for v in cell.trainable_variables]
        [('basic_rnn_cell/kernel:0', [7, 4]), ('basic_rnn_cell/bias:0', [4])]

    Args:
        num_units: the size of the output and of the state.
        activation: a function, or the name of a function of `af.nn`; tanh unless given.
        reuse: whether its variables exist already in the scope.
        name: the name of its variable scope; `basic_rnn_cell` unless given.
        dtype: the type of its variables; that of the first inputs unless given.
    """

    def __init__(
        self,
        num_units: int,
        activation: Activation | str | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype, _reuse=reuse)
        self._num_units = whole(num_units, type(self).__name__, "num_units")
        self._activation = _activation(activation)

    @property
    def state_size(self) -> int:
        return self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units

    def build(self, inputs_shape: TensorShape) -> None:
        rows = self._depth(inputs_shape) + self._num_units
        self._kernel = self.add_variable("kernel", [rows, self._num_units])
        self._bias = self.add_variable("bias", [self._num_units], initializer=Zeros())

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Tensor]:
        output = self._activation(_linear([inputs, state], self._kernel, self._bias))
        return output, output


@public("af.nn.rnn_cell")
class GRUCell(RNNCell):
    """The gated recurrent unit of K. Cho et al., 2014 (`tf.nn.rnn_cell.GRUCell`).

    Example:
        >>> cell = af.nn.rnn_cell.GRUCell(4)
        >>> x = af.placeholder(af.float32, [2, 3])
        >>> output, state = cell(x, cell.zero_state(2, af.float32))
        >>> output.shape, len(cell.trainable_variables)
        (TensorShape([2, 4]), 4)

    Args:
        num_units: the size of the output and of the state.
        activation: of the candidate state; tanh unless given.
        reuse: whether its variables exist already in the scope.
        kernel_initializer, bias_initializer: of both layers; unless given the gates' bias starts at 1, so that the state passes
            through, and the candidate's at 0.
        name: the name of its variable scope; `gru_cell` unless given.
        dtype: the type of its variables; that of the first inputs unless given.
    """

    def __init__(
        self,
        num_units: int,
        activation: Activation | str | None = None,
        reuse: bool | None = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype, _reuse=reuse)
        self._num_units = whole(num_units, type(self).__name__, "num_units")
        self._activation = _activation(activation)
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    @property
    def state_size(self) -> int:
        return self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units

    def build(self, inputs_shape: TensorShape) -> None:
        units, rows = self._num_units, self._depth(inputs_shape) + self._num_units
        bias = self._bias_initializer
        self._gates = (
            self.add_variable("gates/kernel", [rows, 2 * units], initializer=self._kernel_initializer),
            self.add_variable("gates/bias", [2 * units], initializer=Constant(1.0) if bias is None else bias),
        )
        self._candidate = (
            self.add_variable("candidate/kernel", [rows, units], initializer=self._kernel_initializer),
            self.add_variable("candidate/bias", [units], initializer=Zeros() if bias is None else bias),
        )

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Tensor]:
        state = convert_to_tensor(state)
        reset, update = split(sigmoid(_linear([inputs, state], *self._gates)), 2, axis=1)
        candidate = self._activation(_linear([inputs, reset * state], *self._candidate))
        output = update * state + (1 - update) * candidate
        return output, output


@public("af.nn.rnn_cell")
class BasicLSTMCell(RNNCell):
    """The LSTM of W. Zaremba et al., 2014, without peepholes, clipping or projection (`tf.nn.rnn_cell.BasicLSTMCell`).

    Example:
        >>> x = af.placeholder(af.float32, [None, 5, 3])
        >>> outputs, last = af.nn.dynamic_rnn(af.nn.rnn_cell.BasicLSTMCell(128), x, dtype=af.float32)
        >>> outputs.shape, last.c.shape
        (TensorShape([None, 5, 128]), TensorShape([None, 128]))

    Args:
        num_units: the size of the output and of both parts of the state.
        forget_bias: a number that is added to the forget gate's bias, so that a new cell remembers.
        state_is_tuple: whether the state is an `LSTMStateTuple`; otherwise c and h are side by side in one tensor.
        activation: of the inputs and of the outputs: a function, or the name of a function of `af.nn`; tanh unless given.
        reuse: whether its variables exist already in the scope.
        name: the name of its variable scope; `basic_lstm_cell` unless given.
        dtype: the type of its variables; that of the first inputs unless given.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Activation | str | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype, _reuse=reuse)
        self._num_units = whole(num_units, type(self).__name__, "num_units")
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = _activation(activation)

    @property
    def state_size(self) -> Any:
        units = self._num_units
        return LSTMStateTuple(units, units) if self._state_is_tuple else 2 * units

    @property
    def output_size(self) -> int:
        return self._num_units

    def build(self, inputs_shape: TensorShape) -> None:
        rows = self._depth(inputs_shape) + self._num_units
        self._kernel = self.add_variable("kernel", [rows, 4 * self._num_units])
        self._bias = self.add_variable("bias", [4 * self._num_units], initializer=Zeros())

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Any]:
        c, h = _c_and_h(self, state, self._num_units, self._num_units, self._state_is_tuple)
        i, j, f, o = split(_linear([inputs, h], self._kernel, self._bias), 4, axis=1)
        new_c = c * sigmoid(f + self._forget_bias) + sigmoid(i) * self._activation(j)
        new_h = self._activation(new_c) * sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else concat([new_c, new_h], 1)


@public("af.nn.rnn_cell")
class LSTMCell(RNNCell):
    """The LSTM of H. Sak et al., 2014, with peepholes and a projection where asked for (`tf.nn.rnn_cell.LSTMCell`).

    Example:
        >>> cell = af.nn.rnn_cell.LSTMCell(64, use_peepholes=True, num_proj=16)
        >>> cell.output_size, cell.state_size
        (16, LSTMStateTuple(c=64, h=16))

    Args:
        num_units: the size of the cell's memory, and of the output unless `num_proj` is given.
        use_peepholes: whether the gates see the cell's memory, by diagonal weights.
        cell_clip: the cell's values are cut to [-cell_clip, cell_clip]; no limit unless given.
        initializer: of the weights; that of the variable scope unless given.
        num_proj: the size of the output, which is then a projection of the cell's.
        proj_clip: the projection's values are cut to [-proj_clip, proj_clip]; no limit unless given.
        num_unit_shards, num_proj_shards: have to be None; use a partitioner of the variable scope.
        forget_bias, state_is_tuple, activation: as for `BasicLSTMCell`.
        reuse: whether its variables exist already in the scope.
        name: the name of its variable scope; `lstm_cell` unless given.
        dtype: the type of its variables; that of the first inputs unless given.

    Raises:
        ValueError: `num_unit_shards` or `num_proj_shards` is given.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: None = None,
        num_proj_shards: None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Activation | str | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype, _reuse=reuse)
        if num_unit_shards is not None or num_proj_shards is not None:
            raise ValueError("Partitioned variables are not known here: num_unit_shards and num_proj_shards are None.")
        self._num_units = whole(num_units, type(self).__name__, "num_units")
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = _activation(activation)

    @property
    def state_size(self) -> Any:
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> int:
        return self._num_proj or self._num_units

    def build(self, inputs_shape: TensorShape) -> None:
        units, rows = self._num_units, self._depth(inputs_shape) + self.output_size
        self._kernel = self.add_variable("kernel", [rows, 4 * units], initializer=self._initializer)
        self._bias = self.add_variable("bias", [4 * units], initializer=Zeros())
        if self._use_peepholes:
            self._f_diag, self._i_diag, self._o_diag = (
                self.add_variable(f"w_{gate}_diag", [units], initializer=self._initializer) for gate in "fio"
            )
        if self._num_proj is not None:
            self._projection = self.add_variable(
                "projection/kernel", [units, self._num_proj], initializer=self._initializer
            )

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Any]:
        c, h = _c_and_h(self, state, self._num_units, self.output_size, self._state_is_tuple)
        i, j, f, o = split(_linear([inputs, h], self._kernel, self._bias), 4, axis=1)
        f = f + self._forget_bias
        if self._use_peepholes:
            f, i = f + self._f_diag * c, i + self._i_diag * c
        new_c = sigmoid(f) * c + sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            new_c = clip_by_value(new_c, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            o = o + self._o_diag * new_c
        new_h = sigmoid(o) * self._activation(new_c)
        if self._num_proj is not None:
            new_h = matmul(new_h, self._projection)
            if self._proj_clip is not None:
                new_h = clip_by_value(new_h, -self._proj_clip, self._proj_clip)
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else concat([new_c, new_h], 1)


@public("af.nn.rnn_cell")
class MultiRNNCell(RNNCell):
    """Cells on top of each other: the output of each is the input of the next (`tf.nn.rnn_cell.MultiRNNCell`).

    Example:
        >>> layers = [af.nn.rnn_cell.GRUCell(32), af.nn.rnn_cell.GRUCell(16)]
        >>> cell = af.nn.rnn_cell.MultiRNNCell(layers)
        >>> cell.state_size, cell.output_size
        ((32, 16), 16)

    Args:
        state_is_tuple: the state is the tuple of the cells' states; else all of them side by side in one tensor.
    """

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not isinstance(cells, (list, tuple)):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells!r:.60}.")
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        for number, cell in enumerate(cells):
            check_cell(f"cells[{number}]", cell)
        self._cells = list(cells)
        self._state_is_tuple = state_is_tuple
        if not state_is_tuple and any(nest.is_nested(cell.state_size) for cell in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set. "
                f"State sizes are: {[cell.state_size for cell in cells]}"
            )

    @property
    def state_size(self) -> Any:
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """See `RNNCell.zero_state`."""
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        if not self._state_is_tuple:
            state = split(state, [cell.state_size for cell in self._cells], axis=1)
        elif not nest.is_nested(state) or len(state) != len(self._cells):
            raise ValueError(
                describe(
                    f"Expected state to be a tuple of length {len(self._cells)}, but received: {state}",
                    where=user_line(),
                )
            )
        states = []
        for number, cell in enumerate(self._cells):
            with variable_scope(f"cell_{number}"):
                inputs, new = cell(inputs, state[number])
                states.append(new)
        return inputs, tuple(states) if self._state_is_tuple else concat(states, 1)

    def _inner(self) -> Sequence[RNNCell]:
        return [cell for cell in self._cells if isinstance(cell, RNNCell)]


def _linear(parts: list[Any], kernel: Variable, bias: Variable) -> Tensor:
    return bias_add(matmul(concat(parts, 1), kernel), bias)


def _c_and_h(cell: RNNCell, state: Any, units: int, outputs: int, is_tuple: bool) -> tuple[Tensor, Tensor]:
    if not is_tuple:
        c, h = split(state, 2 if units == outputs else [units, outputs], axis=1)
        return c, h
    if not nest.is_nested(state) or len(state) != 2:
        raise TypeError(
            describe(
                f"The state of {cell.name} is a pair (c, h), but {state!r:.80} was given.",
                where=user_line(),
                hint="state_is_tuple=False takes both in one tensor.",
            )
        )
    return convert_to_tensor(state[0]), convert_to_tensor(state[1])


def _activation(activation: Activation | str | None) -> Activation:
    if activation is None:
        return tanh
    if isinstance(activation, str):
        from actorflow import nn

        function = getattr(nn, activation, None) if activation in nn.__all__ else None
        if not callable(function):
            raise ValueError(
                f"Unknown activation function: {activation}. It is one of af.nn's, such as 'tanh' or 'relu'."
            )
        return function  # type: ignore[no-any-return]
    return activation
