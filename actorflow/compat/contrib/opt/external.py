"""`ScipyOptimizerInterface`: scipy's optimizers, which call a session for the loss and its gradients."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import actorflow.compat.v1 as tf


class ExternalOptimizerInterface:
    """An optimizer that is no node: it asks the session for the loss and the gradients, and sets the variables.

    Args:
        loss: a scalar.
        var_list: the variables; all trainable variables unless given.
        equalities: tensors that are to be 0.
        inequalities: tensors that are to be 0 or more.
        var_to_bounds: pairs of bounds by variables.
        optimizer_kwargs: further arguments of the optimizer.
    """

    def __init__(
        self,
        loss: Any,
        var_list: Sequence[Any] | None = None,
        equalities: Sequence[Any] | None = None,
        inequalities: Sequence[Any] | None = None,
        var_to_bounds: Any = None,
        **optimizer_kwargs: Any,
    ) -> None:
        self._loss = loss
        self._equalities, self._inequalities = list(equalities or []), list(inequalities or [])
        self._vars = list(tf.trainable_variables() if var_list is None else var_list)
        self.optimizer_kwargs = optimizer_kwargs
        self._bounds = None if var_to_bounds is None else self._packed_bounds(var_to_bounds)
        self._placeholders = [tf.placeholder(each.dtype.base_dtype, each.shape) for each in self._vars]
        self._updates = [each.assign(source) for each, source in zip(self._vars, self._placeholders, strict=True)]
        self._loss_gradient = self._gradient(loss)
        self._equality_gradients = [self._gradient(each) for each in self._equalities]
        self._inequality_gradients = [self._gradient(each) for each in self._inequalities]
        self._packed_var = self._pack(self._vars)
        sizes = np.cumsum([0, *(each.shape.num_elements() for each in self._vars)])
        self._slices = [slice(int(begin), int(end)) for begin, end in itertools.pairwise(sizes)]

    def _packed_bounds(self, var_to_bounds: Any) -> list[tuple[float, float]]:
        whole: list[tuple[float, float]] = []
        for each in self._vars:
            low, high = var_to_bounds.get(each, (-np.inf, np.inf))
            shape = each.shape.as_list()
            pairs = zip(np.broadcast_to(low, shape).ravel(), np.broadcast_to(high, shape).ravel(), strict=True)
            whole.extend((float(a), float(b)) for a, b in pairs)
        return whole

    def _gradient(self, target: Any) -> Any:
        slopes = tf.gradients(target, self._vars)
        return self._pack([tf.zeros_like(v) if s is None else s for s, v in zip(slopes, self._vars, strict=True)])

    @staticmethod
    def _pack(tensors: Sequence[Any]) -> Any:
        return tf.concat([tf.reshape(tf.cast(each, tensors[0].dtype.base_dtype), [-1]) for each in tensors], 0)

    def minimize(
        self,
        session: Any = None,
        feed_dict: Any = None,
        fetches: Sequence[Any] | None = None,
        step_callback: Callable[[Any], Any] | None = None,
        loss_callback: Callable[..., Any] | None = None,
        **run_kwargs: Any,
    ) -> None:
        """Sets the variables to where the loss is least.

        Args:
            session: the session; the default one unless given.
            feed_dict: feeds of each run.
            fetches: what `loss_callback` gets.
            step_callback: a function of the variables as one vector, after each step.
            loss_callback: a function of the values of `fetches`, after each loss.
            run_kwargs: further arguments of `run`.
        """
        session = session or tf.get_default_session()
        feeds = feed_dict or {}
        watch, callback = list(fetches or []), loss_callback or (lambda *values: None)

        def function(tensors: Sequence[Any], extra: Sequence[Any] = (), call: Any = None) -> Callable[[Any], list[Any]]:
            def evaluate(x: Any) -> list[Any]:
                values = dict(zip(self._vars, self._unpacked(x), strict=True))
                results = session.run([*tensors, *extra], {**values, **feeds}, **run_kwargs)
                if call is not None:
                    call(*results[len(tensors) :])
                return results[: len(tensors)]  # type: ignore[no-any-return]

            return evaluate

        packed = self._minimize(
            initial_val=session.run(self._packed_var),
            loss_grad_func=function([self._loss, self._loss_gradient], watch, callback),
            equality_funcs=[function([each]) for each in self._equalities],
            equality_grad_funcs=[function([each]) for each in self._equality_gradients],
            inequality_funcs=[function([each]) for each in self._inequalities],
            inequality_grad_funcs=[function([each]) for each in self._inequality_gradients],
            packed_bounds=self._bounds,
            step_callback=step_callback,
            optimizer_kwargs=self.optimizer_kwargs,
        )
        session.run(self._updates, dict(zip(self._placeholders, self._unpacked(packed), strict=True)), **run_kwargs)

    def _unpacked(self, vector: Any) -> list[Any]:
        return [
            np.asarray(vector[part]).reshape(each.shape.as_list()).astype(each.dtype.as_numpy_dtype)
            for part, each in zip(self._slices, self._vars, strict=True)
        ]

    def _minimize(self, **named: Any) -> Any:
        raise NotImplementedError("To be overridden: it gives the vector where the loss is least.")


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """`scipy.optimize.minimize` for the variables of a session.

    Args:
        loss, var_list, equalities, inequalities, var_to_bounds: see `ExternalOptimizerInterface`.
        method: scipy's name of the optimizer; L-BFGS-B unless given, SLSQP with equalities or inequalities.
        options: scipy's options, such as `{"maxiter": 100}`.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     w = tf.Variable([4.0, 3.0])
        ...     optimizer = tf.contrib.opt.ScipyOptimizerInterface(tf.reduce_sum(tf.square(w - [1.0, 2.0])))
        ...     with tf.Session() as blocking:
        ...         blocking.run(tf.global_variables_initializer())
        ...         optimizer.minimize(blocking)
        ...         print(blocking.run(w).round(4))
        [1. 2.]
    """

    def _minimize(self, **named: Any) -> Any:
        from scipy.optimize import minimize

        def values(x: Any) -> tuple[Any, Any]:
            loss, slope = named["loss_grad_func"](x)
            return float(loss), slope.astype("float64")

        constraints = []
        for kind in ("equality", "inequality"):
            for function, slope in zip(named[f"{kind}_funcs"], named[f"{kind}_grad_funcs"], strict=True):
                constraints.append(
                    {
                        "type": "eq" if kind == "equality" else "ineq",
                        "fun": lambda x, call=function: float(call(x)[0]),
                        "jac": lambda x, call=slope: call(x)[0].astype("float64"),
                    }
                )
        arguments = dict(named["optimizer_kwargs"])
        method = arguments.pop("method", "SLSQP" if constraints else "L-BFGS-B")
        settings: dict[str, Any] = {"jac": True, "callback": named["step_callback"], "method": method}
        if constraints:
            settings["constraints"] = constraints
        if named["packed_bounds"] is not None:
            settings["bounds"] = named["packed_bounds"]
        for name in arguments:
            if name in settings or name == "fun":
                raise ValueError(f"Optimizer keyword {name} is set by the interface and can't be given.")
        result = minimize(values, named["initial_val"].astype("float64"), **settings, **arguments)
        tf.logging.info(
            "Optimization terminated with: %s; loss %s after %s steps", result.message, result.fun, result.nit
        )
        return result.x
