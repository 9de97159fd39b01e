"""The optimizers: gradient descent, momentum, Adagrad, Adadelta, RMSProp, Adam. Formulas and defaults are TensorFlow 1.15's.

Each changes a variable by one op that also changes its slots (`actorflow.ops.state.training`), in place. A gradient that is
`IndexedSlices` changes the rows that occur in it, of which equal indices are summed first; with Adam all rows move,
since their moments decay.

A parameter is a number, a tensor, or a function without arguments that gives one of these when updates are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.graph.tensor import Operation, Tensor
from actorflow.ops.flow.control import group
from actorflow.ops.indexed_slices import IndexedSlices
from actorflow.ops.math.cast import cast
from actorflow.ops.state import training, training_adaptive
from actorflow.ops.state.scatter import scatter_sub_target
from actorflow.ops.state.variable import assign_mul_target
from actorflow.public import public
from actorflow.train.optimizers.optimizer import Optimizer
from actorflow.variables.variable import Variable


class Fused(Optimizer):
    """An optimizer with one op for all that it does to a variable. The sparse op sums rows of equal indices itself."""

    _scalars: Sequence[Tensor] = ()
    """The parameters, in the order of the op's inputs."""

    def _fused(self, op: Any, var: Variable, slots: Sequence[str], *gradient: Tensor, **attrs: Any) -> Operation:
        kept = [self.get_slot(var, slot) for slot in slots]
        scalars = [cast(scalar, var.dtype) for scalar in self._scalars]
        made: Operation = op(var, *kept, *scalars, *gradient, **attrs)
        return made

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Variable) -> Operation | Tensor:
        return self._apply_sparse(grad, var)


@public("af.train")
class GradientDescentOptimizer(Fused):
    """var -= learning_rate · gradient."""

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        """
        Args:
            learning_rate: the step size: a number, a scalar tensor, or a function without arguments that returns one of
                these.
            use_locking: accepted for compatibility, without effect: updates are atomic.
            name: the prefix of the names of the operations.
        """
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _prepare(self) -> None:
        self._scalars = (self._parameter(self._learning_rate, "learning_rate"),)

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return self._fused(training.apply_gradient_descent, var, [], grad)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        return scatter_sub_target(var, grad.indices, grad.values * cast(self._scalars[0], var.dtype))


@public("af.train")
class MomentumOptimizer(Fused):
    """accumulation = momentum · accumulation + gradient; var -= learning_rate · accumulation.

    With `use_nesterov` the step is learning_rate · (gradient + momentum · accumulation): the gradient as it is,
    momentum looked ahead (Sutskever et al. 2013). Slot: `momentum`, zeros at first.

    Args:
        learning_rate: the step size: a number, a scalar tensor, or a function without arguments that returns one of
            these.
        momentum: the share of the accumulation that is kept in each step, usually 0.9; given like `learning_rate`.
        use_locking: accepted for compatibility, without effect: updates are atomic.
        name: the prefix of the names of the operations and slots.
        use_nesterov: whether to take Nesterov's step instead of the plain one.
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        self._scalars = (
            self._parameter(self._learning_rate, "learning_rate"),
            self._parameter(self._momentum, "momentum"),
        )

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return self._fused(training.apply_momentum, var, ["momentum"], grad, use_nesterov=self._use_nesterov)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        op, rows = training.sparse_apply_momentum, (grad.values, grad.indices)
        return self._fused(op, var, ["momentum"], *rows, use_nesterov=self._use_nesterov)


@public("af.train")
class AdagradOptimizer(Fused):
    """accumulator += gradient²; var -= learning_rate · gradient / √accumulator (Duchi et al. 2011).

    Slot: `accumulator`.

    Args:
        learning_rate: the step size: a number, a scalar tensor, or a function without arguments that returns one of
            these.
        initial_accumulator_value: the value of all elements of the accumulator at first, above 0.
        use_locking: accepted for compatibility, without effect: updates are atomic.
        name: the prefix of the names of the operations and slots.

    Raises:
        ValueError: `initial_accumulator_value` is not positive.
    """

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
        self._learning_rate = learning_rate
        self._initial = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._filled_slot(var, self._initial, "accumulator", self._name)

    def _prepare(self) -> None:
        self._scalars = (self._parameter(self._learning_rate, "learning_rate"),)

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return self._fused(training.apply_adagrad, var, ["accumulator"], grad)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        return self._fused(training.sparse_apply_adagrad, var, ["accumulator"], grad.values, grad.indices)


@public("af.train")
class AdadeltaOptimizer(Fused):
    """accum = rho · accum + (1 - rho) · gradient²; step = √(accum_update + epsilon) / √(accum + epsilon) · gradient;
    accum_update = rho · accum_update + (1 - rho) · step²; var -= learning_rate · step (Zeiler 2012).

    Slots: `accum` and `accum_update`, zeros at first. TensorFlow's learning rate is 0.001; the paper's is 1.

    Args:
        learning_rate: the step size: a number, a scalar tensor, or a function without arguments that returns one of
            these.
        rho: the decay of both averages in each step, between 0 and 1; given like `learning_rate`.
        epsilon: a small positive number that keeps the quotient finite; given like `learning_rate`.
        use_locking: accepted for compatibility, without effect: updates are atomic.
        name: the prefix of the names of the operations and slots.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._rho = rho
        self._epsilon = epsilon

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._zeros_slot(var, "accum", self._name)
            self._zeros_slot(var, "accum_update", self._name)

    def _prepare(self) -> None:
        self._scalars = (
            self._parameter(self._learning_rate, "lr"),
            self._parameter(self._rho, "rho"),
            self._parameter(self._epsilon, "epsilon"),
        )

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return self._fused(training_adaptive.apply_adadelta, var, ["accum", "accum_update"], grad)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        op, rows = training_adaptive.sparse_apply_adadelta, (grad.values, grad.indices)
        return self._fused(op, var, ["accum", "accum_update"], *rows)


@public("af.train")
class RMSPropOptimizer(Fused):
    """rms = decay · rms + (1 - decay) · gradient²;
    momentum = momentum_rate · momentum + learning_rate · gradient / √(rms + epsilon); var -= momentum (Hinton,
    lecture 6e).

    `centered` subtracts the square of the mean gradient from rms under the root. Slots: `rms`, ones at first,
    `momentum`, zeros, and `mg` where it is centered, zeros.

    Args:
        learning_rate: the step size: a number, a scalar tensor, or a function without arguments that returns one of
            these.
        decay: the share of the mean square that is kept in each step, between 0 and 1; given like `learning_rate`.
        momentum: the share of the last step that is added to the next one; given like `learning_rate`.
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
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered
        self._kept = ("mg", "rms", "momentum") if centered else ("rms", "momentum")

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._filled_slot(var, 1.0, "rms", self._name)
            if self._centered:
                self._zeros_slot(var, "mg", self._name)
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        self._scalars = (
            self._parameter(self._learning_rate, "learning_rate"),
            self._parameter(self._decay, "decay"),
            self._parameter(self._momentum, "momentum"),
            self._parameter(self._epsilon, "epsilon"),
        )

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        op: Any = training.apply_centered_rms_prop if self._centered else training.apply_rms_prop
        return self._fused(op, var, self._kept, grad)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        op: Any = training.sparse_apply_centered_rms_prop if self._centered else training.sparse_apply_rms_prop
        return self._fused(op, var, self._kept, grad.values, grad.indices)


@public("af.train")
class AdamOptimizer(Fused):
    """m = beta1 · m + (1 - beta1) · gradient; v = beta2 · v + (1 - beta2) · gradient²; in step t
    var -= learning_rate · √(1 - beta2ᵗ) / (1 - beta1ᵗ) · m / (√v + epsilon) (Kingma and Ba 2014, before section 2.1).

        loss = af.reduce_mean(af.square(model(x) - y))
        train_op = af.train.AdamOptimizer(learning_rate=0.001).minimize(loss)
        ...
        await session.run(train_op, {x: examples, y: labels})

    Slots: `m` and `v`, zeros at first. All variables share the variables `beta1_power` and `beta2_power`.

    Args:
        learning_rate: the step size: a number, a scalar tensor, or a function without arguments that returns one of
            these.
        beta1: the decay of the mean of the gradients (`m`) in each step, between 0 and 1; given like `learning_rate`.
        beta2: the decay of the mean of their squares (`v`) in each step, between 0 and 1; given like `learning_rate`.
        epsilon: a small positive number that keeps the quotient finite; given like `learning_rate`.
        use_locking: accepted for compatibility, without effect: updates are atomic.
        name: the prefix of the names of the operations and slots.
    """

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
        self._learning_rate = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        first = min(var_list, key=lambda v: v.name)
        self._create_non_slot_variable(_value(self._beta1), "beta1_power", first)
        self._create_non_slot_variable(_value(self._beta2), "beta2_power", first)
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _powers(self) -> tuple[Variable, Variable]:
        return self._get_non_slot_variable("beta1_power"), self._get_non_slot_variable("beta2_power")

    def _prepare(self) -> None:
        powers = [power.value() for power in self._powers()]
        self._betas = self._parameter(self._beta1, "beta1"), self._parameter(self._beta2, "beta2")
        rate = self._parameter(self._learning_rate, "learning_rate")
        self._scalars = (*powers, rate, *self._betas, self._parameter(self._epsilon, "epsilon"))

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return self._fused(training.apply_adam, var, ["m", "v"], grad)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        return self._fused(training.sparse_apply_adam, var, ["m", "v"], grad.values, grad.indices)

    def _finish(self, update_ops: Sequence[Operation | Tensor], name_scope: str) -> Operation:
        """The powers go on when all variables have been changed by those of this step."""
        powers = self._powers()
        counted = []
        with powers[0].graph.control_dependencies(update_ops):
            for power, beta in zip(powers, self._betas):
                with power.graph.colocate_with(power.handle):
                    counted.append(assign_mul_target(power, beta))
        return group(*update_ops, *counted, name=name_scope)


def _value(parameter: Any) -> Any:
    return parameter() if callable(parameter) else parameter
