"""A function with a gradient of its own, called where ops run at once (`af.custom_gradient`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorflow.engine.eager.operation import EagerOperation
from actorflow.engine.eager.tapes import recording as tapes
from actorflow.engine.eager.tensor import EagerTensor
from actorflow.graph.autodiff.custom import python_rule, values_and_rule
from actorflow.graph.convert import convert_to_tensor


def with_gradient(f: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of `f`, which gives `(ys, grad_fn)`. Tapes see one operation, whose gradient is that.

    Args:
        f: the function.
        args: its arguments, which become tensors.
        kwargs: its other arguments.

    Raises:
        TypeError: `f` gives something else, or reads variables that its `grad_fn` does not take.
    """
    xs: list[Any] = [convert_to_tensor(x) for x in args]
    finder = tapes.RecordingTape(watch_variables=True)
    with tapes.only((*tapes.recording(), finder)):  # what grad_fn uses of it has derivatives too, for second orders
        results, grad_fn = values_and_rule(f, f(*xs, **kwargs))
    several = isinstance(results, (list, tuple))
    values: list[Any] = [convert_to_tensor(y) for y in (results if several else [results])]
    ys = [EagerTensor(y._value, y._dtype) for y in values]  # which no other operation has computed
    variables = list(finder.variables.values())
    rule = python_rule(f, grad_fn, len(ys), len(xs), variables)
    if tapes.recording():
        operation = EagerOperation("CustomGradient", {}, (*xs, *(v.watched_handle for v in variables)), ys, f.__name__)
        operation.rule = lambda node, *dys: rule(*dys)[len(ys) :]
        for tape in tapes.recording():
            for variable in variables:
                tapes.watch_read(tape, variable.watched_handle)
        tapes.record(operation)
    return type(results)(ys) if several else ys[0]
