"""Cells around a cell: dropout, residual connections, devices (`tf.nn.rnn_cell`)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from actorflow.base import nest
from actorflow.base.dtypes import DTypeLike
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import compatible
from actorflow.errors import describe
from actorflow.graph.control_flow.tensor_array import TensorArray
from actorflow.graph.convert import is_symbolic
from actorflow.graph.default_graph import device, get_default_graph
from actorflow.graph.ops.math.elementwise import floor
from actorflow.graph.ops.nn.layers import dropout
from actorflow.graph.ops.random.distributions import random_uniform
from actorflow.graph.tensor import Tensor
from actorflow.graph.variables.store import VariableScope
from actorflow.models.rnn.base import LSTMStateTuple, RNNCell, check_cell, dimensions
from actorflow.public import public

Filter = Callable[[Any], Any]


class Wrapper(RNNCell):
    """A cell that changes what goes into another cell, or comes out of it. It has no scope or variables of its own."""

    def __init__(self, cell: Any) -> None:
        super().__init__()
        check_cell("cell", cell)
        self._cell = cell

    @property
    def wrapped_cell(self) -> Any:
        """The cell inside."""
        return self._cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """See `RNNCell.zero_state`."""
        with get_default_graph().name_scope(f"{type(self).__name__}ZeroState"):
            return self._cell.zero_state(batch_size, dtype)

    def _inner(self) -> Sequence[RNNCell]:
        return [self._cell] if isinstance(self._cell, RNNCell) else []


@public("af.nn.rnn_cell")
class DropoutWrapper(Wrapper):
    """Dropout of the inputs, the outputs and the state (`tf.nn.rnn_cell.DropoutWrapper`).

    Example:
        >>> cell = af.nn.rnn_cell.DropoutWrapper(af.nn.rnn_cell.GRUCell(4), output_keep_prob=0.5)
        >>> x = af.placeholder(af.float32, [None, 5, 3])
        >>> outputs, last = af.nn.dynamic_rnn(cell, x, dtype=af.float32)
        >>> outputs.shape
        TensorShape([None, 5, 4])

    Args:
        cell: the cell to wrap.
        input_keep_prob, output_keep_prob, state_keep_prob: the chance with which an element stays, a number or a
            scalar; 1 drops nothing. The state is dropped as it leaves the cell.
        variational_recurrent: the same elements are dropped in each step, and for each row of a batch (Y. Gal and Z.
            Ghahramani, 2015).
        input_size: for variational dropout of inputs: their size behind the batch, or a structure of sizes.
        dtype: for variational dropout: the type of the inputs, the outputs and the state.
        seed: of all random choices.
        dropout_state_filter_visitor: `f(state)` gives True for what may be dropped, in the structure of the state, or
            one bool for all. By default that is all but the cell `c` of an `LSTMStateTuple`, and arrays.

    Raises:
        TypeError: `cell` is no cell.
        ValueError: a chance is outside [0, 1], or variational dropout lacks the type or the size.
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: DTypeLike | None = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Filter | None = None,
    ) -> None:
        super().__init__(cell)
        self._keep = {"input": input_keep_prob, "output": output_keep_prob, "state": state_keep_prob}
        for name, chance in self._keep.items():
            if not is_symbolic(chance) and not 0 <= chance <= 1:
                raise ValueError(
                    describe(f"Parameter {name}_keep_prob must be between 0 and 1: {chance}", where=user_line())
                )
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._filter = dropout_state_filter_visitor or _default_filter
        self._seed = seed
        self._noise: dict[str, Any] | None = None
        if variational_recurrent:
            self._noise = self._drawn(input_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: str | VariableScope | None = None) -> tuple[Any, Any]:
        """See `RNNCell.__call__`."""
        if self._drops("input"):
            inputs = self._dropped("input", inputs)
        output, new_state = self._cell(inputs, state, scope=scope) if scope is not None else self._cell(inputs, state)
        if self._drops("state"):
            new_state = self._dropped("state", new_state, _may_drop(self._filter, new_state))
        if self._drops("output"):
            output = self._dropped("output", output)
        return output, new_state

    def _drops(self, name: str) -> bool:
        chance = self._keep[name]
        return is_symbolic(chance) or chance < 1

    def _drawn(self, input_size: Any, dtype: DTypeLike | None) -> dict[str, Any]:
        """The random numbers that all steps share, of shape [1, size] for each size."""
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        sizes = {"input": input_size, "state": self._cell.state_size, "output": self._cell.output_size}
        if self._drops("input") and input_size is None:
            raise ValueError(
                "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size must be given"
            )
        noise: dict[str, Any] = {}
        for name, structure in sizes.items():
            if self._drops(name):
                leaves, rebuild = nest.parse(structure)
                shapes = [[1, *(dimensions(size) or ())] for size in leaves]
                seeds = [self._seed_of(f"{name}_noise", number) for number in range(len(leaves))]
                noise[name] = rebuild([random_uniform(s, seed=seed, dtype=dtype) for s, seed in zip(shapes, seeds)])
        return noise

    def _dropped(self, name: str, values: Any, may_drop: Sequence[bool] | None = None) -> Any:
        leaves, rebuild = nest.parse(values, expand_composites=False)
        noise = nest.flatten(self._noise[name]) if self._noise is not None else [None] * len(leaves)
        dropped = [
            self._drop(name, number, leaf, drawn) if may_drop is None or may_drop[number] else leaf
            for number, (leaf, drawn) in enumerate(zip(leaves, noise))
        ]
        return rebuild(dropped)

    def _drop(self, name: str, number: int, value: Any, noise: Tensor | None) -> Tensor:
        keep = self._keep[name]
        if noise is None:
            return dropout(value, keep_prob=keep, seed=self._seed_of(name, number))
        dropped = value / keep * floor(keep + noise)
        dropped.set_shape(value.static_shape)
        return dropped  # type: ignore[no-any-return]

    def _seed_of(self, name: str, number: int) -> int | None:
        """A seed for each use of randomness; TensorFlow's way to make them of a single seed."""
        if self._seed is None:
            return None
        digest = hashlib.md5(f"{self._seed}{name}_{number}".encode(), usedforsecurity=False).hexdigest()
        return int(digest[:8], 16) & 0x7FFFFFFF


@public("af.nn.rnn_cell")
class ResidualWrapper(Wrapper):
    """Adds the inputs to the outputs (`tf.nn.rnn_cell.ResidualWrapper`).

    Example:
        >>> cell = af.nn.rnn_cell.ResidualWrapper(af.nn.rnn_cell.GRUCell(3, kernel_initializer=af.zeros_initializer()))
        >>> output, _ = cell(af.constant([[1.0, 2.0, 3.0]]), cell.zero_state(1, af.float32))
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(output)
        [[1. 2. 3.]]

    Args:
        cell: the cell to wrap.
        residual_fn: `f(inputs, outputs)` gives the outputs in place of the sum.

    Raises:
        ValueError: at a call: the shapes of inputs and outputs differ.
    """

    def __init__(self, cell: Any, residual_fn: Callable[[Any, Any], Any] | None = None) -> None:
        super().__init__(cell)
        self._residual = residual_fn or _sum

    def __call__(self, inputs: Any, state: Any, scope: str | VariableScope | None = None) -> tuple[Any, Any]:
        """See `RNNCell.__call__`."""
        outputs, new_state = self._cell(inputs, state, scope=scope) if scope is not None else self._cell(inputs, state)
        result = self._residual(inputs, outputs)
        nest.assert_same_structure(outputs, result)
        return result, new_state


@public("af.nn.rnn_cell")
class DeviceWrapper(Wrapper):
    """A cell whose nodes, and variables, are on a device (`tf.nn.rnn_cell.DeviceWrapper`).

    Example:
        >>> cell = af.nn.rnn_cell.DeviceWrapper(af.nn.rnn_cell.GRUCell(4), "/device:CPU:0")
        >>> x = af.placeholder(af.float32, [2, 3])
        >>> output, _ = cell(x, cell.zero_state(2, af.float32))
        >>> output.device
        '/device:CPU:0'

    Args:
        cell: the cell to wrap.
        device: the name of the device, or a function from an operation to a name.
    """

    def __init__(self, cell: Any, device: Any) -> None:
        super().__init__(cell)
        self._device = device

    def zero_state(self, batch_size: Any, dtype: DTypeLike) -> Any:
        """See `RNNCell.zero_state`."""
        with device(self._device):
            return super().zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: str | VariableScope | None = None) -> tuple[Any, Any]:
        """See `RNNCell.__call__`."""
        with device(self._device):
            return self._cell(inputs, state, scope=scope) if scope is not None else self._cell(inputs, state)  # type: ignore[no-any-return]


def _sum(inputs: Any, outputs: Any) -> Any:
    nest.assert_same_structure(inputs, outputs)
    for left, other in zip(nest.flatten(inputs), nest.flatten(outputs)):
        if not compatible(left.static_shape, other.static_shape):
            raise ValueError(
                describe(
                    f"Shapes {left.shape} and {other.shape} are incompatible: a residual connection adds the inputs to the "
                    "outputs.",
                    where=user_line(),
                )
            )
    return nest.map_structure(lambda tensor, other: tensor + other, inputs, outputs)


def _default_filter(part: Any) -> Any:
    if isinstance(part, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(part, TensorArray)


def _may_drop(visitor: Filter, state: Any) -> list[bool]:
    """The visitor's answers for each leaf of `state`: asked for the whole, and then for its parts."""
    if isinstance(state, LSTMStateTuple) or not nest.is_nested(state):
        said = visitor(state)
        leaves = nest.flatten(state, expand_composites=False)
        answers = nest.flatten(said)
        return [bool(answers[0])] * len(leaves) if len(answers) == 1 else [bool(a) for a in answers]
    parts = [state[k] for k in sorted(state)] if isinstance(state, dict) else state
    return [answer for part in parts for answer in _may_drop(visitor, part)]
