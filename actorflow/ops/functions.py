"""The nodes that functions are made of: parameters, what is returned, and calls (`actorflow.control_flow.function`).

The body of a function is part of the graph: the nodes between its parameters and its `_Return`. A plan has a copy of them
for each call (`actorflow.passes.inline`), so none of these three ever runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.dtypes import ANY, DTypeLike, resource, variant
from actorflow.graph.tensor import Operation, Tensor
from actorflow.registry.op import op
from actorflow.shapes import ShapeLike

_ANYTHING = ANY | {variant, resource}


@op("_Arg", shape=lambda c: c.attrs["shape"], result="dtype", gradient=None, work=0)
def argument(
    *,
    dtype: DTypeLike,
    shape: ShapeLike = None,
    function: str,
    index: int,
    source: str = "",
    name: str | None = None,
) -> Tensor:
    """Parameter number `index` of a function. `source` names the tensor that it stands for, if the function's body uses
    one of the graph around."""


@op("_Return", shape=lambda c: [], dtypes=_ANYTHING, result=None, gradient=None, work=0)
def returned(
    values: Sequence[Any],
    *,
    function: str,
    gradient_of: str = "",
    wrt: tuple[int, ...] = (),
    gradient_function: str = "",
    python_gradient: bool = False,
    name: str | None = None,
) -> Operation:
    """The end of a function's body, and what the graph knows of the function. One that computes the gradient of another
    has its parameters first, and gives the gradients of those whose numbers are in `wrt`."""


@op("Call", shape=lambda c: [None] * len(c.attrs["types"]), dtypes=_ANYTHING, result=lambda c: c.attrs["types"], work=0)
def call(values: Sequence[Any], *, function: str, types: tuple[Any, ...], of: str = "", name: str | None = None) -> Any:
    """What a function gives for `values`. The call of a gradient names in `of` the call whose gradient it is, if it can
    share what that one computes."""


@call.gradient
def _(node: Operation, *dys: Tensor | None) -> list[Any]:
    from actorflow.control_flow.function_gradient import call_gradient

    return call_gradient(node, dys)
