"""The arguments of layers: sizes, paddings, layouts, flags that a run may decide, and what may be given by its name:
activations, initializers, regularizers and constraints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from actorflow.base.dtypes import DTypeLike
from actorflow.graph.control_flow.cond import cond
from actorflow.graph.convert import convert_to_tensor, is_symbolic
from actorflow.graph.ops.building import known_value
from actorflow.graph.ops.math import elementwise
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.clip import clip_by_value
from actorflow.graph.ops.math.reduction import reduce_sum
from actorflow.graph.tensor import Tensor
from actorflow.graph.variables import initializers
from actorflow.graph.variables.initializers import Ones, Zeros

Activation: TypeAlias = "Callable[[Tensor], Tensor] | str | None"
Initializer: TypeAlias = "Callable[..., Any] | str | Mapping[str, Any] | None"
Regularizer: TypeAlias = "Callable[[Any], Any] | str | Mapping[str, Any] | None"
Constraint: TypeAlias = "Callable[[Any], Any] | str | Mapping[str, Any] | None"
Sizes: TypeAlias = "int | Sequence[int]"
Dtype: TypeAlias = "DTypeLike | None"

ZEROS: Initializer = Zeros()
ONES: Initializer = Ones()


def sizes(value: Any, count: int, layer: str, argument: str) -> tuple[int, ...]:
    """`count` positive ints, of one int or of `count` ints. Raises ValueError, which names the layer and the
    argument."""
    numbers = [value] * count if isinstance(value, (int, np.integer)) else value
    try:
        widths = tuple(int(entry) for entry in numbers)
    except (TypeError, ValueError):
        widths = ()
    if len(widths) != count or any(size <= 0 for size in widths):
        many = f"a tuple of {count} integers" if count > 1 else "an integer"
        raise ValueError(f"{layer}: the argument `{argument}` must be {many} greater than 0. Received: {value!r:.60}")
    return widths


def whole(value: Any, owner: str, argument: str) -> int:
    """A number of units, filters or the like.

    Args:
        value: what a program passes.
        owner: the layer or cell, for the error.
        argument: the name of the argument.

    Raises:
        TypeError: it is no whole number.
    """
    try:
        if not isinstance(value, (str, bytes)) and int(value) == value:
            return int(value)
    except (TypeError, ValueError):
        pass
    raise TypeError(
        f"{owner}: the argument `{argument}` is a whole number. Received: {value!r:.60}, of type {type(value).__name__}."
    )


def padding_of(value: Any, layer: str, causal: bool = False) -> str:
    """ "valid", "same" or (where allowed) "causal", of any case."""
    padding = str(value).lower()
    if padding not in (("valid", "same", "causal") if causal else ("valid", "same")):
        also = ' (or "causal", which only conv1d and separable_conv1d take)'
        raise ValueError(f'{layer}: the argument `padding` must be "valid" or "same"{also}. Received: {value!r:.60}')
    return padding


def layout_of(value: Any, layer: str) -> str:
    """ "channels_last" or "channels_first", of any case."""
    layout = str(value).lower()
    if layout not in ("channels_first", "channels_last"):
        raise ValueError(
            f'{layer}: the argument `data_format` must be "channels_first" or "channels_last". Received: {value!r:.60}'
        )
    return layout


def activation_of(value: Activation, layer: str) -> Callable[[Tensor], Tensor] | None:
    """The function: itself, or the function of `af.nn` (`af`) of that name. None for "linear" and None."""
    if value is None or isinstance(value, str) and value == "linear":
        return None
    if isinstance(value, str):
        import actorflow

        own: dict[str, Any] = {"hard_sigmoid": _hard_sigmoid, "exponential": elementwise.exp}
        named = own.get(value) or getattr(actorflow.nn, value, None) or getattr(actorflow, value, None)
        if named is None:
            raise ValueError(f"{layer}: the argument `activation` names no function of af.nn. Received: {value!r:.60}")
        value = named
    if not callable(value):
        raise TypeError(
            f"{layer}: the argument `activation` is a function of a tensor, such as af.nn.relu, or its name. Received: "
            f"{value!r:.60}"
        )
    return value


def _hard_sigmoid(x: Tensor) -> Tensor:
    return clip_by_value(0.2 * x + 0.5, 0.0, 1.0)


# Other things that may be given by their names. The names and the numbers are those of TensorFlow's layers.


def _weighed(l1: float = 0.0, l2: float = 0.0) -> Callable[[Any], Any]:
    """A regularizer: l1 · Σ|w| + l2 · Σw²."""

    def loss(w: Any) -> Any:
        return l1 * reduce_sum(elementwise.abs(w)) + l2 * reduce_sum(elementwise.square(w))

    return loss


_TINY = 1e-7
"""A number that keeps a division by a norm of zero finite."""


def _norms(w: Any, axis: int | Sequence[int]) -> Tensor:
    return elementwise.sqrt(reduce_sum(elementwise.square(w), axis, keepdims=True))


def _positive(w: Any) -> Any:
    return w * cast(w >= 0.0, w.dtype.base_dtype)


def _between(
    min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: int | Sequence[int] = 0
) -> Callable[[Any], Any]:
    """A constraint: norms within bounds, or by `rate` nearer to them."""

    def bounded(w: Any) -> Any:
        norms = _norms(w, axis)
        goal = rate * clip_by_value(norms, min_value, max_value) + (1 - rate) * norms
        return w * (goal / (_TINY + norms))

    return bounded


def _at_most(max_value: float = 2.0, axis: int | Sequence[int] = 0) -> Callable[[Any], Any]:
    return _between(0.0, max_value, axis=axis)


def _of_norm_one(axis: int | Sequence[int] = 0) -> Callable[[Any], Any]:
    return lambda w: w / (_TINY + _norms(w, axis))


_INITIALIZERS: dict[str, Callable[..., Any]] = {
    "Zeros": Zeros,
    "Ones": Ones,
    "Constant": initializers.Constant,
    "Uniform": partial(initializers.RandomUniform, -0.05, 0.05),
    "Normal": partial(initializers.RandomNormal, 0.0, 0.05),
    "RandomUniform": partial(initializers.RandomUniform, -0.05, 0.05),
    "RandomNormal": partial(initializers.RandomNormal, 0.0, 0.05),
    "TruncatedNormal": partial(initializers.TruncatedNormal, 0.0, 0.05),
    "VarianceScaling": initializers.VarianceScaling,
    "Orthogonal": initializers.Orthogonal,
    "Identity": initializers.Identity,
    "GlorotUniform": initializers.GlorotUniform,
    "GlorotNormal": initializers.GlorotNormal,
    "HeUniform": initializers.he_uniform,
    "HeNormal": initializers.he_normal,
    "LecunUniform": initializers.lecun_uniform,
    "LecunNormal": initializers.lecun_normal,
}
_REGULARIZERS: dict[str, Callable[..., Any]] = {
    "L1": partial(_weighed, l1=0.01),
    "L2": partial(_weighed, l2=0.01),
    "l1_l2": partial(_weighed, l1=0.01, l2=0.01),
    "L1L2": _weighed,
}
_CONSTRAINTS: dict[str, Callable[..., Any]] = {
    "MaxNorm": _at_most,
    "NonNeg": lambda: _positive,
    "UnitNorm": _of_norm_one,
    "MinMaxNorm": _between,
}


def initializer_of(value: Initializer) -> Callable[..., Any] | None:
    """The initializer: itself, or what its name or description stands for."""
    return _of_table(value, "initializer", _INITIALIZERS)


def regularizer_of(value: Regularizer) -> Callable[[Any], Any] | None:
    """The regularizer: itself, or what its name or description stands for."""
    return _of_table(value, "regularizer", _REGULARIZERS)


def constraint_of(value: Constraint) -> Callable[[Any], Any] | None:
    """The constraint: itself, or what its name or description stands for."""
    return _of_table(value, "constraint", _CONSTRAINTS)


def _of_table(value: Any, what: str, table: Mapping[str, Callable[..., Any]]) -> Callable[..., Any] | None:
    """The thing that `value` stands for: a name of the table in either spelling, or {"class_name": name, "config": arguments}.

    Raises ValueError for a name that the table lacks.
    """
    name: Any = value
    arguments: dict[str, Any] = {}
    if isinstance(value, Mapping) and "class_name" in value:
        name, arguments = value["class_name"], dict(value.get("config", {}))
    if not isinstance(name, str):
        function: Callable[..., Any] | None = value
        return function
    plain = {entry.lower().replace("_", ""): make for entry, make in table.items()} | dict(table)
    make = plain.get(name) or plain.get(name.lower().replace("_", ""))
    if make is None:
        raise ValueError(f"Unknown {what}: {name}. A function is taken, or one of these names: {', '.join(table)}.")
    function = make(**arguments)
    return function


def flag_of(value: Any, layer: str, argument: str) -> bool | Tensor:
    """A bool if it is known when the graph is built, else a scalar tensor that a run decides."""
    if not is_symbolic(value):
        if isinstance(value, (bool, int, np.bool_, np.integer)):
            return bool(value)
        raise TypeError(f"{layer}: the argument `{argument}` is a bool or a boolean tensor, not {value!r:.60}.")
    tensor = convert_to_tensor(value)
    constant = known_value(tensor)
    return tensor if constant is None else bool(constant)


def choose(flag: bool | Tensor, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """`yes()` or `no()`: the one alone where the flag is known, else a branch of each."""
    if isinstance(flag, bool):
        return yes() if flag else no()
    return cond(flag, yes, no)
