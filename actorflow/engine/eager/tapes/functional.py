"""Functions that give gradients of functions (`tf.contrib.eager.implicit_gradients` and its like)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorflow.base.reports.user_line import user_line
from actorflow.engine.eager.tapes.gradient_tape import GradientTape
from actorflow.errors import describe
from actorflow.graph.convert import convert_to_tensor
from actorflow.public import public

Function = Callable[..., Any]


@public("af")
def implicit_value_and_gradients(f: Function) -> Function:
    """A function that gives the value of `f` and pairs (gradient, variable) for the trainable variables that it reads.

    Raises ValueError, when it is called, where `f` gives None or reads no trainable variable.

    Example:
        >>> v = af.Variable(3.0)
        >>> value, ((slope, variable),) = af.implicit_value_and_gradients(lambda: v * v)()
        >>> value, slope
        (9.0, 6.0)
    """

    def values_and_slopes(*args: Any, **kwargs: Any) -> Any:
        with GradientTape() as tape:
            value = f(*args, **kwargs)
            if value is None:
                raise ValueError(describe(f"Cannot differentiate {_name(f)}, which returned None.", where=user_line()))
            variables = tape.watched_variables()
        if not variables:
            raise ValueError(
                describe(f"No trainable variables were accessed while {_name(f)} was called.", where=user_line())
            )
        return value, list(zip(tape.gradient(value, list(variables)), variables))

    return values_and_slopes


@public("af")
def implicit_gradients(f: Function) -> Function:
    """A function that gives pairs (gradient, variable) for the trainable variables that `f` reads; what
    `optimizer.apply_gradients` takes.

    Example:
        >>> v = af.Variable(3.0)
        >>> slopes = af.implicit_gradients(lambda x: x * v * v)
        >>> ((slope, variable),) = slopes(10.0)
        >>> slope, variable is v
        (60.0, True)
    """
    both = implicit_value_and_gradients(f)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


@public("af")
def value_and_gradients_function(f: Function, params: Sequence[int] | None = None) -> Function:
    """A function that gives the value of `f` and its gradients with respect to its arguments.

    Example:
        >>> af.value_and_gradients_function(lambda x, y: x * y)(3.0, 5.0)
        (15.0, [5.0, 3.0])

    Args:
        f: a function of tensors.
        params: the numbers of the arguments that are meant; all unless given.

    Raises:
        ValueError: when it is called: a number is not that of an argument, or `f` gives None.
    """

    def with_gradients(*args: Any, dy: Any = None, **kwargs: Any) -> Any:
        chosen = range(len(args)) if params is None else params
        if not all(isinstance(number, int) and 0 <= number < len(args) for number in chosen):
            raise ValueError(describe(f"{list(chosen)} are not numbers of {len(args)} arguments.", where=user_line()))
        with GradientTape() as tape:
            xs = [convert_to_tensor(arg) if number in chosen else arg for number, arg in enumerate(args)]
            watched = [xs[number] for number in chosen]
            tape.watch(watched)
            value = f(*xs, **kwargs)
            if value is None:
                raise ValueError(describe(f"Cannot differentiate {_name(f)}, which returned None.", where=user_line()))
        return value, tape.gradient(value, watched, output_gradients=dy)

    return with_gradients


@public("af")
def gradients_function(f: Function, params: Sequence[int] | None = None) -> Function:
    """A function that gives the gradients of `f` with respect to its arguments.

    Example:
        >>> af.gradients_function(lambda x: x * x)(3.0)
        [6.0]

    Args:
        f: a function of tensors.
        params: the numbers of the arguments that are meant; all unless given.
    """
    both = value_and_gradients_function(f, params)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


def _name(f: Function) -> str:
    return getattr(f, "__name__", repr(f))
