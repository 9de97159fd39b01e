"""`py_function`: a function of Python that gets tensors which have values, in eager programs and in graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.base.dtypes import as_dtype
from actorflow.engine.eager.scope import eager, executing_eagerly
from actorflow.engine.eager.tapes.gradient_tape import GradientTape, UnconnectedGradients
from actorflow.graph.convert import convert_to_tensor, host_array
from actorflow.graph.ops.flow.py_func import called as node_of
from actorflow.graph.ops.flow.py_func import eager_py_func
from actorflow.public import public


@public("af")
def py_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None) -> Any:
    """Calls `func` with tensors that have values (`tf.py_function`).

    Under eager execution it is called at once, and tapes see its ops. In a graph it is called in each step like the function of
    `py_func`, under eager execution, and has the gradients of the ops that it calls; they have no gradients in their turn.

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
        returned = func(*tensors)
        listed = several and isinstance(returned, (list, tuple))
        results = returned if listed else [] if returned is None and not types else [returned]
        if len(results) != len(types):
            raise ValueError(f"it returned {len(results)} values, but Tout states {len(types)}.")
        return [convert_to_tensor(result, dtype) for result, dtype in zip(results, types)]

    if executing_eagerly() and callable(func):
        outputs = called([convert_to_tensor(value) for value in inp])
        return outputs if several else outputs[0]

    def in_a_step(*values: Any) -> tuple[list[Any], RecordedCall]:
        with eager():
            inputs = [convert_to_tensor(value) for value in values]
            with GradientTape(watch_accessed_variables=False) as tape:
                tape.watch([tensor for tensor in inputs if tensor.dtype.kind in "fc"])
                results = called(inputs)
        return [tensor.numpy() for tensor in results], RecordedCall(_name(func), tape, inputs, results)

    return node_of(eager_py_func, in_a_step if callable(func) else func, inp, Tout, name, _name(func))


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call of a function: what it computed from which inputs, on a tape."""

    name: str
    tape: GradientTape
    inputs: Sequence[Any]
    results: Sequence[Any]

    def gradients(self, places: Sequence[int], seeds: Sequence[Any]) -> list[Any]:
        """The gradients of the inputs at `places`, 0 where no result depends on an input. It can be called once."""
        results = [tensor for tensor in self.results if tensor.dtype.kind in "fc"]
        sources = [self.inputs[place] for place in places]
        with eager():
            slopes = self.tape.gradient(
                results,
                sources,
                [convert_to_tensor(seed) for seed in seeds],
                unconnected_gradients=UnconnectedGradients.ZERO,
            )
            return [host_array(convert_to_tensor(gradient)) for gradient in slopes]


def _name(func: Any) -> str:
    return getattr(func, "__qualname__", type(func).__qualname__)
