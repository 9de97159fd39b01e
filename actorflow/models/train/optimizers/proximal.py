"""Optimizers that shrink weights to zero: proximal gradient descent and Adagrad, dual averaging, FTRL.

Formulas and defaults are TensorFlow 1.15's; as with the others, one op changes a variable and its slots, and rows of equal
indices are summed first. `l1` and `l2` stand for the strengths of regularization, zero unless given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import int64
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.state import training
from actorflow.graph.variables.variable import Variable
from actorflow.models.train.optimizers.optimizer import Optimizer
from actorflow.public import public


@public("af.train")
class ProximalGradientDescentOptimizer(Optimizer):
    """near = var - rate · gradient; var = sign(near) · max(|near| - rate · l1, 0) / (1 + rate · l2)
    (Duchi and Singer 2009, FOBOS).

    Example:
        >>> v = af.Variable([3.0, 0.01])
        >>> step = af.train.ProximalGradientDescentOptimizer(0.1, l1_regularization_strength=0.1).minimize(af.nn.l2_loss(v))
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(step)
        >>> await session.run(v)
        [2.69 0.  ]

    Args:
        learning_rate: the step size (`rate`): a number, a scalar tensor, or a function without arguments that returns
            one of these.
        l1_regularization_strength: `l1`, 0 or more: the larger it is, the more weights become 0. Given like
            `learning_rate`.
        l2_regularization_strength: `l2`, 0 or more: the larger it is, the smaller all weights. Given like
            `learning_rate`.
        use_locking: accepted for compatibility, without effect: updates are atomic.
        name: the prefix of the names of the operations.
    """

    _row = training.proximal_gradient_descent

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._parameters = {
            "learning_rate": learning_rate,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
        }


@public("af.train")
class ProximalAdagradOptimizer(Optimizer):
    """accumulator += gradient²; then as `ProximalGradientDescentOptimizer`, with rate = learning_rate / √accumulator.

    Slot: `accumulator`.

    Example:
        >>> v = af.Variable([3.0, 0.01])
        >>> step = af.train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.1).minimize(af.nn.l2_loss(v))
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(step)
        >>> await session.run(v)
        [2.8972 0.    ]

    Args:
        learning_rate: the step size: a number, a scalar tensor, or a function without arguments that returns one of
            these.
        initial_accumulator_value: the value of all elements of the accumulator at first, above 0.
        l1_regularization_strength, l2_regularization_strength: `l1` and `l2`, 0 or more; given like `learning_rate`.
        use_locking: accepted for compatibility, without effect: updates are atomic.
        name: the prefix of the names of the operations and slots.

    Raises:
        ValueError: `initial_accumulator_value` is not positive.
    """

    _row = training.proximal_adagrad
    _kept = ("accumulator",)

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._initial = initial_accumulator_value
        self._parameters = {
            "learning_rate": learning_rate,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
        }

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._filled_slot(var, self._initial, "accumulator", self._name)


@public("af.train")
class AdagradDAOptimizer(Optimizer):
    """Adagrad by dual averaging, for sparse linear models (Duchi et al. 2011). In step t, s is the sum of all gradients, and q
    that of their squares. Then var = -learning_rate · sign(s) · max(|s| - l1 · t, 0) / (l2 · t · learning_rate + √q).

    Weights start at zero in effect: the value that a variable has before the first step does not count. Slots:
    `gradient_accumulator`, zeros at first, and `gradient_squared_accumulator`.

    Example:
        >>> v, count = af.Variable([3.0, 0.01]), af.train.create_global_step()
        >>> optimizer = af.train.AdagradDAOptimizer(0.1, count, l1_regularization_strength=0.1)
        >>> step = optimizer.minimize(af.nn.l2_loss(v), global_step=count)
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(step)
        >>> await session.run(v)
        [-0.0961  0.    ]

    Args:
        learning_rate: the step size: a number, a scalar tensor, or a function without arguments that returns one of
            these.
        global_step: an integer variable or tensor, the number of steps done. Pass the same variable to `minimize`,
            which increases it.
        initial_gradient_squared_accumulator_value: the value of all elements of q at first, above 0.
        l1_regularization_strength, l2_regularization_strength: `l1` and `l2`, 0 or more; given like `learning_rate`.
        use_locking: accepted for compatibility, without effect: updates are atomic.
        name: the prefix of the names of the operations and slots.

    Raises:
        ValueError: `initial_gradient_squared_accumulator_value` is not positive.
    """

    _row = training.adagrad_da
    _kept = ("gradient_accumulator", "gradient_squared_accumulator")

    def __init__(
        self,
        learning_rate: Any,
        global_step: Any,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: Any = 0.0,
        l2_regularization_strength: Any = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError(
                "initial_gradient_squared_accumulator_value must be positive: "
                f"{initial_gradient_squared_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._initial = initial_gradient_squared_accumulator_value
        self._global_step = global_step
        self._parameters = {
            "learning_rate": learning_rate,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
        }

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._zeros_slot(var, "gradient_accumulator", self._name)
            self._filled_slot(var, self._initial, "gradient_squared_accumulator", self._name)

    def _prepare(self) -> None:
        super()._prepare()
        self._scalars = [*self._scalars, cast(self._parameter(self._global_step, "global_step"), int64) + 1]


@public("af.train")
class FtrlOptimizer(Optimizer):
    """Follow the regularized leader (McMahan et al. 2013). With a = accum + gradient² and p = -learning_rate_power,
    linear += gradient - (aᵖ - accumᵖ) / learning_rate · var; accum = a. Then
    var = (sign(linear) · l1 - linear) / (aᵖ / learning_rate + 2 · l2) if |linear| > l1, else 0.

    Slots: `accum`, and `linear`, zeros at first.

    Example:
        >>> v = af.Variable([3.0, 0.01])
        >>> step = af.train.FtrlOptimizer(0.1, l1_regularization_strength=0.1).minimize(af.nn.l2_loss(v))
        >>> await session.run(af.global_variables_initializer())
        >>> await session.run(step)
        >>> await session.run(v)
        [2.5828 0.    ]

    Args:
        learning_rate: the step size: a number, a scalar tensor, or a function without arguments that returns one of
            these.
        learning_rate_power: how the step size shrinks with `accum`, 0 or less; 0 keeps it.
        initial_accumulator_value: the value of all elements of `accum` at first, 0 or more.
        l1_regularization_strength, l2_regularization_strength: `l1` and `l2`, 0 or more.
        use_locking: accepted for compatibility, without effect: updates are atomic.
        name: the prefix of the names of the operations and slots.
        accum_name, linear_name: the prefix of the slots' names; `name` unless given.
        l2_shrinkage_regularization_strength: 0 or more; above 0, `linear` gets gradient + 2 · this · var instead of the
            gradient.

    Raises:
        ValueError: the initial value or a strength is negative, or `learning_rate_power` is positive.
    """

    _kept = ("accum", "linear")

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ) -> None:
        super().__init__(use_locking, name)
        for what, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{what} {value} needs to be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power} needs to be negative or zero")
        self._initial = initial_accumulator_value
        self._names = (accum_name or name, linear_name or name)
        shrinks = l2_shrinkage_regularization_strength > 0
        self._row = training.ftrl_v2 if shrinks else training.ftrl
        self._parameters = {
            "learning_rate": learning_rate,
            "l1": l1_regularization_strength,
            "l2": l2_regularization_strength,
            **({"l2_shrinkage": l2_shrinkage_regularization_strength} if shrinks else {}),
            "learning_rate_power": learning_rate_power,
        }

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        for var in var_list:
            self._filled_slot(var, self._initial, "accum", self._names[0])
            self._zeros_slot(var, "linear", self._names[1])
