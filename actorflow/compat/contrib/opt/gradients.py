"""Optimizers of `tf.contrib.opt` that change gradients or variables around another optimizer."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import actorflow.compat.v1 as tf


def clip_gradients_by_global_norm(
    gradients_variables: Sequence[tuple[Any, Any]], clip_norm: float = 20.0
) -> list[tuple[Any, Any]]:
    """The gradients, cut together to a global norm."""
    slopes, names = zip(*gradients_variables, strict=True)
    clipped, _ = tf.clip_by_global_norm(slopes, clip_norm)
    return list(zip(clipped, names, strict=True))


class MovingAverageOptimizer(tf.train.Optimizer):
    """An optimizer that keeps moving averages of the variables too, which a saver can write in their place.

    Args:
        opt: the optimizer.
        average_decay, num_updates: see `tf.train.ExponentialMovingAverage`.
        sequential_update: whether the averages move after the variables.
    """

    def __init__(
        self, opt: Any, average_decay: float = 0.9999, num_updates: Any = None, sequential_update: bool = True
    ) -> None:
        self._opt = opt
        self._ema = tf.train.ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._sequential = sequential_update
        self._swapped: dict[str, Any] | None = None

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Those of the optimizer."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Moves the variables and their averages."""
        pairs = list(grads_and_vars)
        moved = self._opt.apply_gradients(pairs, global_step=global_step, name=name)
        variables = [each for slope, each in pairs if slope is not None]
        with tf.control_dependencies([moved] if self._sequential else []):
            average = self._ema.apply(variables)
        self._swapped = {}
        for each in variables:
            self._swapped[each.op.name] = self._ema.average(each)
            self._swapped[self._ema.average_name(each)] = each
        return tf.group(moved, average, name="train_with_avg")

    def swapping_saver(self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any) -> Any:
        """A saver that writes the averages under the variables' names. Raises RuntimeError before `apply_gradients`."""
        if self._swapped is None:
            raise RuntimeError("Must call apply_gradients or minimize before creating the swapping_saver")
        listed = var_list if var_list is not None else tf.global_variables()
        named = dict(listed) if isinstance(listed, dict) else {each.op.name: each for each in listed}
        return tf.train.Saver({key: self._swapped.get(key, each) for key, each in named.items()}, name=name, **kwargs)

    def get_slot(self, var: Any, name: str) -> Any:
        """That of the optimizer."""
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> Any:
        """Those of the optimizer."""
        return self._opt.get_slot_names()

    def variables(self) -> Any:
        """Those of the optimizer."""
        return self._opt.variables()


class _Composed(tf.train.Optimizer):
    """An optimizer whose rule is written over public ops. Its variables have the names of TensorFlow's: checkpoints fit."""

    def __init__(self, learning_rate: Any, beta1: Any, beta2: Any, epsilon: Any, use_locking: bool, name: str) -> None:
        super().__init__(use_locking, name)
        self._lr, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon

    def _powers(self) -> dict[str, Any]:
        """The names of the powers that all variables share, with their bases."""
        return {"beta1_power": self._beta1}

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        first = min(var_list, key=lambda each: each.name)
        for name, base in self._powers().items():
            self._create_non_slot_variable(base, name, first)
        for each in var_list:
            self._zeros_slot(each, "m", self.get_name())
            self._zeros_slot(each, "v", self.get_name())

    def _power(self, name: str, each: Any) -> Any:
        return tf.cast(self._get_non_slot_variable(name), each.dtype.base_dtype)

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        raise NotImplementedError

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._apply_dense(tf.convert_to_tensor(grad), var)

    def _finish(self, update_ops: Any, name_scope: str) -> Any:
        with tf.control_dependencies(update_ops):
            powers = [
                tf.assign(v, v * base)
                for v, base in ((self._get_non_slot_variable(n), b) for n, b in self._powers().items())
            ]
        return tf.group(*update_ops, *powers, name=name_scope)


class NadamOptimizer(_Composed):
    """Adam with Nesterov's momentum (Dozat 2016). Its arguments are those of `tf.train.AdamOptimizer`."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _powers(self) -> dict[str, Any]:
        return {"beta1_power": self._beta1, "beta2_power": self._beta2}

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        power1, power2 = self._power("beta1_power", var), self._power("beta2_power", var)
        new_m = tf.assign(m, self._beta1 * m + (1 - self._beta1) * grad)
        new_v = tf.assign(v, self._beta2 * v + (1 - self._beta2) * tf.square(grad))
        rate = self._lr * tf.sqrt(1 - power2) / (1 - power1)
        step = self._beta1 * new_m + (1 - self._beta1) * grad
        return tf.group(tf.assign_sub(var, rate * step / (tf.sqrt(new_v) + self._epsilon)))


class AdaMaxOptimizer(_Composed):
    """Adam by the greatest gradient (Kingma and Ba 2014, section 7). Its arguments are those of `tf.train.AdamOptimizer`."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdaMax",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        new_m = tf.assign(m, self._beta1 * m + (1 - self._beta1) * grad)
        new_v = tf.assign(v, tf.maximum(self._beta2 * v, tf.abs(grad)))
        rate = self._lr / (1 - self._power("beta1_power", var))
        return tf.group(tf.assign_sub(var, rate * new_m / (new_v + self._epsilon)))


class VariableClippingOptimizer(tf.train.Optimizer):
    """An optimizer that cuts the norms of variables after each step.

    Args:
        opt: the optimizer.
        vars_to_clip_dims: the dimensions of each variable over which norms are taken.
        max_norm: the greatest norm.
    """

    def __init__(
        self,
        opt: Any,
        vars_to_clip_dims: Any,
        max_norm: float,
        use_locking: bool = False,
        colocate_clip_ops_with_vars: bool = False,
        name: str = "VariableClipping",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt, self._dims, self._limit = opt, vars_to_clip_dims, max_norm

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Those of the optimizer."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Moves the variables and cuts them."""
        moved = self._opt.apply_gradients(grads_and_vars, global_step=global_step)
        with tf.control_dependencies([moved]):
            cut = [
                each.assign(tf.clip_by_norm(each.read_value(), self._limit, dims)) for each, dims in self._dims.items()
            ]
        return tf.group(moved, *cut, name=name)


class MultitaskOptimizerWrapper:
    """An optimizer for tasks of which some have no gradient in a step: variables stay where all of the gradient is zero.

    Args:
        opt: the optimizer.
    """

    def __init__(self, opt: Any) -> None:
        self._opt = opt

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opt, name)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Moves the variables whose gradients are not all zero."""
        updates = []
        for slope, each in grads_and_vars:
            if slope is not None:
                is_zero = tf.reduce_all(tf.equal(tf.convert_to_tensor(slope), 0))
                apply = functools.partial(self._opt.apply_gradients, [(slope, each)])
                updates.append(tf.cond(is_zero, lambda: tf.group(), apply))
        if global_step is not None:
            with tf.control_dependencies(updates):
                return tf.assign_add(global_step, 1).op
        return tf.group(*updates, name=name)
