"""The arguments of layers: sizes, paddings, layouts, activations, and flags that a run may decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from actorflow.control_flow.cond import cond
from actorflow.dtypes import DTypeLike
from actorflow.graph.convert import convert_to_tensor, is_symbolic
from actorflow.graph.tensor import Tensor
from actorflow.ops.building import known_value
from actorflow.variables.initializers import Ones, Zeros

Activation: TypeAlias = "Callable[[Tensor], Tensor] | str | None"
Initializer: TypeAlias = "Callable[..., Any] | None"
Regularizer: TypeAlias = "Callable[[Any], Any] | None"
Constraint: TypeAlias = "Callable[[Any], Any] | None"
Sizes: TypeAlias = "int | Sequence[int]"
Dtype: TypeAlias = "DTypeLike | None"

ZEROS: Initializer = Zeros()
ONES: Initializer = Ones()


def sizes(value: Any, count: int, layer: str, argument: str) -> tuple[int, ...]:
    """`count` positive ints, of one int or of `count` ints. Raises ValueError, which names the layer and the
    argument."""
    given = [value] * count if isinstance(value, (int, np.integer)) else value
    try:
        found = tuple(int(one) for one in given)
    except (TypeError, ValueError):
        found = ()
    if len(found) != count or any(one <= 0 for one in found):
        many = f"a tuple of {count} integers" if count > 1 else "an integer"
        raise ValueError(f"{layer}: the argument `{argument}` must be {many} greater than 0. Received: {value!r:.60}")
    return found


def padding_of(value: Any, layer: str, causal: bool = False) -> str:
    """ "valid", "same" or (where allowed) "causal", of any case."""
    found = str(value).lower()
    if found not in (("valid", "same", "causal") if causal else ("valid", "same")):
        also = ' (or "causal", which only conv1d and separable_conv1d take)'
        raise ValueError(f'{layer}: the argument `padding` must be "valid" or "same"{also}. Received: {value!r:.60}')
    return found


def layout_of(value: Any, layer: str) -> str:
    """ "channels_last" or "channels_first", of any case."""
    found = str(value).lower()
    if found not in ("channels_first", "channels_last"):
        raise ValueError(
            f'{layer}: the argument `data_format` must be "channels_first" or "channels_last". Received: {value!r:.60}'
        )
    return found


def activation_of(value: Activation, layer: str) -> Callable[[Tensor], Tensor] | None:
    """The function: itself, or the one of `af.nn` (`af`) of that name. "linear" and None are none."""
    if value is None or value == "linear":
        return None
    if isinstance(value, str):
        import actorflow

        named = getattr(actorflow.nn, value, None) or getattr(actorflow, value, None)
        if named is None:
            raise ValueError(f"{layer}: the argument `activation` names no function of af.nn. Received: {value!r:.60}")
        value = named
    if not callable(value):
        raise TypeError(
            f"{layer}: the argument `activation` is a function of a tensor, such as af.nn.relu, or its name. Received: "
            f"{value!r:.60}"
        )
    return value


def flag_of(value: Any, layer: str, argument: str) -> bool | Tensor:
    """A bool where it is known when the graph is built, else a scalar tensor that a run decides."""
    if not is_symbolic(value):
        if isinstance(value, (bool, int, np.bool_, np.integer)):
            return bool(value)
        raise TypeError(f"{layer}: the argument `{argument}` is a bool or a boolean tensor, not {value!r:.60}.")
    tensor = convert_to_tensor(value)
    known = known_value(tensor)
    return tensor if known is None else bool(known)


def choose(flag: bool | Tensor, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """`yes()` or `no()`: the one alone where the flag is known, else a branch of each."""
    if isinstance(flag, bool):
        return yes() if flag else no()
    return cond(flag, yes, no)
