"""Optimizers that shrink weights apart from the gradients (Loshchilov and Hutter 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import actorflow.compat.v1 as tf


class DecoupledWeightDecayExtension:
    """For classes of optimizers: `var -= weight_decay * var` before the optimizer moves it.

    Args:
        weight_decay: a number, a tensor, or a function that gives a number or a tensor.
        kwargs: the arguments of the optimizer.
    """

    def __init__(self, weight_decay: Any, **kwargs: Any) -> None:
        self._weight_decay = weight_decay
        self._decayed: Sequence[Any] | None = None
        super().__init__(**kwargs)

    def minimize(self, loss: Any, *args: Any, decay_var_list: Sequence[Any] | None = None, **kwargs: Any) -> Any:
        """See `tf.train.Optimizer.minimize`. `decay_var_list` has the variables that shrink; all of them unless given."""
        self._decayed = decay_var_list
        return super().minimize(loss, *args, **kwargs)  # type: ignore[misc]

    def apply_gradients(
        self,
        grads_and_vars: Any,
        global_step: Any = None,
        name: str | None = None,
        decay_var_list: Sequence[Any] | None = None,
    ) -> Any:
        """See `tf.train.Optimizer.apply_gradients` and `minimize`."""
        pairs = list(grads_and_vars)
        chosen = decay_var_list if decay_var_list is not None else self._decayed
        names = None if chosen is None else {id(each) for each in chosen}
        decay = self._weight_decay() if callable(self._weight_decay) else self._weight_decay
        shrunk = []
        slopes = [
            slope.values if isinstance(slope, tf.IndexedSlices) else slope for slope, _ in pairs if slope is not None
        ]
        with tf.control_dependencies(slopes):
            for slope, each in pairs:
                if slope is not None and (names is None or id(each) in names):
                    shrunk.append(_shrunk(each, tf.cast(decay, each.dtype.base_dtype), slope))
        with tf.control_dependencies(shrunk):
            return super().apply_gradients(pairs, global_step=global_step, name=name)  # type: ignore[misc]


def _shrunk(variable: Any, decay: Any, slope: Any) -> Any:
    """The update that shrinks a variable; with a gradient of slices, the rows that these name, each once."""
    if not isinstance(slope, tf.IndexedSlices):
        return tf.assign_sub(variable, decay * variable)
    rows = tf.unique(slope.indices)[0]
    return tf.scatter_sub(variable, rows, decay * tf.gather(variable, rows))


def extend_with_decoupled_weight_decay(base_optimizer: Any) -> Any:
    """A class of optimizers with `weight_decay` as its first argument.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     Decayed = tf.contrib.opt.extend_with_decoupled_weight_decay(tf.train.GradientDescentOptimizer)
        ...     w = tf.Variable(1.0)
        ...     train = Decayed(weight_decay=0.5, learning_rate=0.0).minimize(w * w)
        ...     with tf.Session() as blocking:
        ...         blocking.run(tf.global_variables_initializer())
        ...         blocking.run(train)
        ...         print(blocking.run(w))
        0.5
    """

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):  # type: ignore[misc]
        """The optimizer, whose weights shrink."""

        def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any) -> None:
            self._weight_decay, self._decayed = weight_decay, None
            base_optimizer.__init__(self, *args, **kwargs)

    return OptimizerWithDecoupledWeightDecay


class AdamWOptimizer(DecoupledWeightDecayExtension, tf.train.AdamOptimizer):
    """Adam, whose weights shrink apart from the gradients.

    Args:
        weight_decay: the part of the weights that goes with each step.
        learning_rate, beta1, beta2, epsilon, use_locking, name: see `tf.train.AdamOptimizer`.
    """

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )


class MomentumWOptimizer(DecoupledWeightDecayExtension, tf.train.MomentumOptimizer):
    """Momentum, whose weights shrink apart from the gradients.

    Args:
        weight_decay: the part of the weights that goes with each step.
        learning_rate, momentum, use_locking, name, use_nesterov: see `tf.train.MomentumOptimizer`.
    """

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )
