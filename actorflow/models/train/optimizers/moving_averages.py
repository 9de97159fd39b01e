"""`ExponentialMovingAverage`: shadows of variables that follow them slowly (`tf.train.ExponentialMovingAverage`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from actorflow.base import nest
from actorflow.base.dtypes import FLOATING, float32
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.array.constant import zeros
from actorflow.graph.ops.flow.control import group
from actorflow.graph.ops.math.arithmetic import minimum, pow
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.graph.variables.collections import (
    GraphKeys,
    add_to_collection,
    global_variables,
    moving_average_variables,
    trainable_variables,
)
from actorflow.graph.variables.updates import move
from actorflow.graph.variables.variable import Variable
from actorflow.models.train.optimizers.slot_creator import create_slot, create_zeros_slot
from actorflow.public import public


@public("af.train")
class ExponentialMovingAverage:
    """Keeps averages of variables and tensors: average -= (1 - decay) · (average - value) each time that what `apply`
    returns is run.

    The average of a variable starts at its initial value, that of a tensor at zero.

    Example:
        >>> v = af.Variable(0.0)
        >>> ema = af.train.ExponentialMovingAverage(0.9)
        >>> with af.control_dependencies([v.assign(10.0)]):
        ...     update = ema.apply([v])
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(update)
        >>> await session.run(ema.average(v))
        1.0
    """

    def __init__(
        self,
        decay: Any,
        num_updates: TensorLike | None = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        """
        Args:
            decay: a number or a scalar tensor, between 0 and 1, usually close to 1.
            num_updates: a number or a scalar tensor, the updates done. With it the decay is min(decay, (1 +
                num_updates) / (10 + num_updates)), so that averages move faster at first.
            zero_debias: whether to correct averages of tensors for their start at zero (Kingma and Ba 2014, section 3).
        """
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Variable] = {}
        self._biased: dict[Any, tuple[Variable, Variable]] = {}

    @property
    def name(self) -> str:
        return self._name

    def apply(self, var_list: Sequence[Variable | Tensor] | None = None) -> Operation:
        """Makes the averages of `var_list` (all trainable variables) that do not exist yet; gives the operation that moves them
        once.

        Raises:
            TypeError: a variable is not of a floating type.
        """
        chosen: Sequence[Variable | Tensor] = trainable_variables() if var_list is None else nest.listed(var_list)
        for value in chosen:
            if value.dtype not in FLOATING:
                raise TypeError(f"The variables must be half, float, or double: {value.name}")
            if value not in self._averages:
                self._averages[value] = self._make(value)
        graph = chosen[0].graph if chosen else get_default_graph()
        with graph.as_default(), graph.name_scope(self._name) as scope:
            decay = convert_to_tensor(self._decay, name="decay")
            if self._num_updates is not None:
                updates = cast(self._num_updates, float32)
                decay = minimum(cast(decay, float32), (1.0 + updates) / (10.0 + updates))
            return group(*(self._move(value, decay) for value in chosen), name=scope)

    def _make(self, value: Variable | Tensor) -> Variable:
        if isinstance(value, Variable):
            add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, value)
            return create_slot(value, value.initialized_value, self._name)
        average = create_zeros_slot(value, self._name)
        if self._zero_debias:
            graph, name = value.graph, average.op.name
            with graph.as_default(), graph.control_dependencies(None), graph.name_scope(None):
                biased = create_zeros_slot(average, "biased")
                steps = Variable(lambda: zeros([], average.dtype), trainable=False, name=f"{name}/local_step")
            self._biased[value] = biased, steps
        return average

    def _move(self, value: Variable | Tensor, decay: Tensor) -> Operation:
        average = self._averages[value]
        rest = 1.0 - cast(decay, average.dtype)
        with average.graph.colocate_with(average.handle):

            def write(mean: Variable | Tensor) -> Operation:
                if value not in self._biased:
                    moved: Operation = average.assign_sub((average - mean) * rest, read_value=False)
                    return moved
                biased, steps = self._biased[value]
                total = biased.assign_sub((biased - mean) * rest)
                count = steps.assign_add(1.0)
                unbiased = total / (1.0 - pow(cast(decay, average.dtype), count))
                moved = average.assign(unbiased, read_value=False)
                return moved

            update: Operation = move(average, value, write)
            return update

    def average(self, var: Variable | Tensor) -> Variable | None:
        """The variable that holds the average of `var`, or None where `apply` never saw it."""
        return self._averages.get(var)

    def average_name(self, var: Variable | Tensor) -> str:
        """The name of the operation that holds the average of `var`, or would.

        Example:
            >>> v = af.Variable(0.0, name="v")
            >>> af.train.ExponentialMovingAverage(0.9).average_name(v)
            'v/ExponentialMovingAverage'
        """
        average = self._averages.get(var)
        return f"{var.op.name}/{self._name}" if average is None else average.op.name

    def variables_to_restore(self, moving_avg_variables: Iterable[Variable] | None = None) -> dict[str, Variable]:
        """Variables by the names under which a checkpoint has what they should be: those in `moving_avg_variables` (all
        that are trainable or were averaged) by the names of their averages, others by their own.

        Example:
            >>> with af.Graph().as_default():
            ...     v = af.Variable(0.0, name="v")
            ...     ema = af.train.ExponentialMovingAverage(0.9)
            ...     update = ema.apply([v])
            ...     print(ema.variables_to_restore()["v/ExponentialMovingAverage"] is v)
            True
        """
        if moving_avg_variables is None:
            moving_avg_variables = [*trainable_variables(), *moving_average_variables()]
        averaged = list(dict.fromkeys(moving_avg_variables))
        names = {self.average_name(variable): variable for variable in averaged}
        for variable in dict.fromkeys(global_variables()):
            if variable not in averaged and variable.op.name not in names:
                names[variable.op.name] = variable
        return names
