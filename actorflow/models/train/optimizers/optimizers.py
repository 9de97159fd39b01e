"""The optimizers: gradient descent, momentum, Adagrad, Adadelta, RMSProp, Adam. Formulas and defaults are TensorFlow 1.15's.

Each changes a variable by one op that also changes its slots (`actorflow.graph.ops.state.training`), in place. A gradient that is
`IndexedSlices` changes the rows that occur in it, of which equal indices are summed first; with Adam all rows move,
since their moments decay.

A parameter is a number, a tensor, or a function without arguments that gives one of these when updates are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.graph.ops.flow.control import group
from actorflow.graph.ops.indexed_slices import IndexedSlices
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.state import training
from actorflow.graph.ops.state.scatter import scatter_sub_target
from actorflow.graph.ops.state.variable import assign_mul_target
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.variable import Variable
from actorflow.models.train.optimizers.optimizer import Optimizer
from actorflow.public import public


@public("af.train")
class GradientDescentOptimizer(Optimizer):
    """var -= learning_rate · gradient.

    Example:
        >>> v = af.Variable(3.0)
        >>> step = af.train.GradientDescentOptimizer(learning_rate=0.1).minimize(v * v)
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(step)
        >>> await session.run(v)  # 3 - 0.1 · 6
        2.4
    """

    _row = training.gradient_descent

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        """
        Args:
            learning_rate: the step size: a number, a scalar tensor, or a function without arguments that returns one of
                these.
            use_locking: accepted for compatibility, without effect: updates are atomic.
            name: the prefix of the names of the operations.
        """
        super().__init__(use_locking, name)
        self._parameters = {"learning_rate": learning_rate}

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        return scatter_sub_target(var, grad.indices, grad.values * cast(self._scalars[0], var.dtype))

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Variable) -> Operation | Tensor:
        if type(self)._apply_sparse is GradientDescentOptimizer._apply_sparse:
            return self._apply_sparse(grad, var)
        return super()._apply_sparse_duplicate_indices(grad, var)


@public("af.train")
class MomentumOptimizer(Optimizer):
    """accumulation = momentum · accumulation + gradient; var -= learning_rate · accumulation.

    With `use_nesterov` the step is learning_rate · (gradient + momentum · accumulation): the gradient as it is,
    momentum looked ahead (Sutskever et al. 2013). Slot: `momentum`, zeros at first.

    Example:
        >>> v = af.Variable(3.0)
        >>> step = af.train.MomentumOptimizer(learning_rate=0.1, momentum=0.9).minimize(2.0 * v)
        >>> await session.run(af.global_variables_initializer())
        >>> for _ in range(3):
        ...     await session.run(step)
        ...     print(await session.run(v))
        2.8
        2.42
        1.878

    Args:
        learning_rate: the step size: a number, a scalar tensor, or a function without arguments that returns one of
            these.
        momentum: the share of the accumulation that is kept in each step, usually 0.9; given like `learning_rate`.
        use_locking: accepted for compatibility, without effect: updates are atomic.
        name: the prefix of the names of the operations and slots.
        use_nesterov: whether to take Nesterov's step instead of the plain step.
    """

    _row = training.momentum
    _kept = ("momentum",)

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._parameters = {"learning_rate": learning_rate, "momentum": momentum}
        self._attributes = {"use_nesterov": use_nesterov}


@public("af.train")
class AdagradOptimizer(Optimizer):
    """accumulator += gradient²; var -= learning_rate · gradient / √accumulator (Duchi et al. 2011).

    Slot: `accumulator`.

    Example:
        >>> v = af.Variable(3.0)
        >>> step = af.train.AdagradOptimizer(learning_rate=1.0).minimize(v * v)
        >>> await session.run(af.global_variables_initializer())
        >>> for _ in range(2):
        ...     await session.run(step)
        >>> await session.run(v)
        1.447

    Args:
        learning_rate: the step size: a number, a scalar tensor, or a function without arguments that returns one of
            these.
        initial_accumulator_value: the value of all elements of the accumulator at first, above 0.
        use_locking: accepted for compatibility, without effect: updates are atomic.
        name: the prefix of the names of the operations and slots.

    Raises:
        ValueError: `initial_accumulator_value` is not positive.
    """

    _row = training.adagrad
    _kept = ("accumulator",)

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._parameters = {"learning_rate": learning_rate}
        self._initial = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._filled_slot(var, self._initial, "accumulator", self._name)


@public("af.train")
class AdadeltaOptimizer(Optimizer):
    """accum = rho · accum + (1 - rho) · gradient². The step is √(accum_update + epsilon) / √(accum + epsilon) · gradient;
    accum_update = rho · accum_update + (1 - rho) · step²; var -= learning_rate · step (Zeiler 2012).

    Slots: `accum` and `accum_update`, zeros at first. TensorFlow's learning rate is 0.001; the paper's is 1.

    Example:
        >>> v = af.Variable(3.0)
        >>> step = af.train.AdadeltaOptimizer(learning_rate=100.0).minimize(v * v)
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(step)
        >>> await session.run(v)
        2.9553

    Args:
        learning_rate: the step size: a number, a scalar tensor, or a function without arguments that returns one of
            these.
        rho: the decay of both averages in each step, between 0 and 1; given like `learning_rate`.
        epsilon: a small positive number that keeps the quotient finite; given like `learning_rate`.
        use_locking: accepted for compatibility, without effect: updates are atomic.
        name: the prefix of the names of the operations and slots.
    """

    _row = training.adadelta
    _kept = ("accum", "accum_update")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._parameters = {"lr": learning_rate, "rho": rho, "epsilon": epsilon}


@public("af.train")
class RMSPropOptimizer(Optimizer):
    """rms = decay · rms + (1 - decay) · gradient²;
    momentum = momentum_rate · momentum + learning_rate · gradient / √(rms + epsilon); var -= momentum (Hinton,
    lecture 6e).

    `centered` subtracts the square of the mean gradient from rms under the root. Slots: `rms`, 1 at first; `momentum`, 0; and
    with `centered` `mg`, 0.

    Example:
        >>> v = af.Variable(3.0)
        >>> step = af.train.RMSPropOptimizer(learning_rate=0.1).minimize(v * v)
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(step)
        >>> await session.run(v)
        2.7172

    Args:
        learning_rate: the step size: a number, a scalar tensor, or a function without arguments that returns one of
            these.
        decay: the share of the mean square that is kept in each step, between 0 and 1; given like `learning_rate`.
        momentum: the share of the last step that is added to the next step; given like `learning_rate`.
        epsilon: a small positive number under the root, which keeps the quotient finite; given like `learning_rate`.
        use_locking: accepted for compatibility, without effect: updates are atomic.
        centered: whether to divide by an estimate of the gradient's variance instead of its mean square. It costs one
            more slot.
        name: the prefix of the names of the operations and slots.
    """

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._parameters = {"learning_rate": learning_rate, "decay": decay, "momentum": momentum, "epsilon": epsilon}
        self._row = training.centered_rms_prop if centered else training.rms_prop
        self._kept = ("mg", "rms", "momentum") if centered else ("rms", "momentum")

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._filled_slot(var, 1.0, "rms", self._name)
            if "mg" in self._kept:
                self._zeros_slot(var, "mg", self._name)
            self._zeros_slot(var, "momentum", self._name)


@public("af.train")
class AdamOptimizer(Optimizer):
    """m = beta1 · m + (1 - beta1) · gradient; v = beta2 · v + (1 - beta2) · gradient². In step t
    var -= learning_rate · √(1 - beta2ᵗ) / (1 - beta1ᵗ) · m / (√v + epsilon) (Kingma and Ba 2014, before section 2.1).

    Slots: `m` and `v`, zeros at first. All variables share the variables `beta1_power` and `beta2_power`.

    Example:
        >>> v = af.Variable(3.0)
        >>> step = af.train.AdamOptimizer(learning_rate=0.1).minimize((v - 1.0) ** 2)
        >>> await session.run(af.global_variables_initializer())
        >>> for _ in range(100):
        ...     await session.run(step)
        >>> abs(await session.run(v) - 1.0) < 0.01
        True

    Args:
        learning_rate: the step size: a number, a scalar tensor, or a function without arguments that returns one of
            these.
        beta1: the decay of the mean of the gradients (`m`) in each step, between 0 and 1; given like `learning_rate`.
        beta2: the decay of the mean of their squares (`v`) in each step, between 0 and 1; given like `learning_rate`.
        epsilon: a small positive number that keeps the quotient finite; given like `learning_rate`.
        use_locking: accepted for compatibility, without effect: updates are atomic.
        name: the prefix of the names of the operations and slots.
    """

    _row = training.adam
    _kept = ("m", "v")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._betas = {"beta1": beta1, "beta2": beta2}
        self._others = learning_rate, epsilon

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        first = min(var_list, key=lambda v: v.name)
        for name, beta in self._betas.items():
            self._create_non_slot_variable(beta() if callable(beta) else beta, f"{name}_power", first)
        super()._create_slots(var_list)

    def _powers(self) -> tuple[Variable, Variable]:
        return self._get_non_slot_variable("beta1_power"), self._get_non_slot_variable("beta2_power")

    def _prepare(self) -> None:
        powers = [power.value() for power in self._powers()]
        self._decays = [self._parameter(beta, name) for name, beta in self._betas.items()]
        rate, epsilon = (self._parameter(v, n) for v, n in zip(self._others, ("learning_rate", "epsilon")))
        self._scalars = [*powers, rate, *self._decays, epsilon]

    def _finish(self, update_ops: Sequence[Operation | Tensor], name_scope: str) -> Operation:
        """The powers go on when all variables have been changed by those of this step."""
        powers = self._powers()
        counted = []
        with powers[0].graph.control_dependencies(update_ops):
            for power, beta in zip(powers, self._decays):
                with power.graph.colocate_with(power.handle):
                    counted.append(assign_mul_target(power, beta))
        return group(*update_ops, *counted, name=name_scope)
