"""`py_function`: a function of Python that gets tensors which have values, in eager programs and in graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorflow.dtypes import as_dtype
from actorflow.eager.scope import eager, executing_eagerly
from actorflow.graph.convert import convert_to_tensor
from actorflow.ops.flow.py_func import py_func
from actorflow.public import public


@public("af")
def py_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None) -> Any:
    """Calls `func` with tensors that have values (`tf.py_function`).

    Under eager execution it is called at once, and tapes see its ops. In a graph it is called in each step like the function of
    `py_func`, under eager execution; then it has no gradient.

    Example:
        >>> def half_while_large(x):
        ...     while x > 1.0:
        ...         x = x / 2.0
        ...     return x
        >>> x = af.placeholder(af.float32, [])
        >>> await session.run(af.py_function(half_while_large, [x], af.float32), {x: 12.0})
        0.75

    Args:
        func: a function of as many tensors as `inp` has, which gives values or tensors.
        inp: a list of tensors.
        Tout: the element type of the result, or a list of those of several results.
        name: the name of the node.

    Returns:
        A tensor, or a list of them where `Tout` is a list.

    Raises:
        ValueError, TypeError: see `py_func`.
    """
    several = isinstance(Tout, (list, tuple))
    types = [as_dtype(dtype) for dtype in (Tout if several else [Tout])]

    def called(tensors: Sequence[Any]) -> list[Any]:
        found = func(*tensors)
        results = found if several else [found]
        return [convert_to_tensor(result, dtype) for result, dtype in zip(results, types, strict=True)]

    if executing_eagerly() and callable(func):
        made = called([convert_to_tensor(value) for value in inp])
        return made if several else made[0]

    def in_a_step(*values: Any) -> Any:
        with eager():
            made = [tensor.numpy() for tensor in called([convert_to_tensor(value) for value in values])]
        return made if several else made[0]

    return py_func(in_a_step if callable(func) else func, inp, Tout, True, name)
