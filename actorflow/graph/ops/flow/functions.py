"""Nodes that stand for other nodes: parameters and calls of functions, and the regions and loops that passes make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import ANY, DTypeLike, resource, variant
from actorflow.base.dtypes import bool as bool_dtype
from actorflow.base.registry import roles
from actorflow.base.shapes import ShapeLike
from actorflow.graph.ops.declare import op
from actorflow.graph.tensor import Operation, Tensor

_ANYTHING = ANY | {variant, resource}


@op("_Arg", role=roles.ARGUMENT, shape=lambda c: c.attrs["shape"], result="dtype", gradient=None, work=0)
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


@op("_Return", role=roles.RETURN, shape=lambda c: [], dtypes=_ANYTHING, result=None, gradient=None, work=0)
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
    """The end of a function's body, and what the graph knows of the function. A function that computes the gradient of
    another function has that function's parameters first, and gives the gradients of those whose numbers are in `wrt`."""


@op(
    "Call",
    role=roles.CALL,
    shape=lambda c: [None] * len(c.attrs["types"]),
    dtypes=_ANYTHING,
    result=lambda c: c.attrs["types"],
    work=0,
)
def call(values: Sequence[Any], *, function: str, types: tuple[Any, ...], of: str = "", name: str | None = None) -> Any:
    """The results of a function for `values`. The call of a gradient names in `of` the call whose gradient it is, if it
    can share what that one computes."""


@call.gradient
def _(node: Operation, *dys: Tensor | None) -> list[Any]:
    from actorflow.graph.autodiff.functions import call_gradient

    return call_gradient(node, dys)


# ---- Ops that only passes make: `_Region` and `_Loop`, each several nodes in a single node, and `_Done`.


@op(
    "_Region",
    role=roles.REGION,
    shape=lambda c: list(c.attrs["shapes"]),
    result=lambda c: c.attrs["dtypes"],
    gradient=None,
    stateful=True,
)
def region(
    data: Sequence[Any],
    *,
    members: Any,
    inputs: Any,
    outputs: Any,
    dtypes: Any,
    shapes: Any,
    name: str | None = None,
) -> Operation:
    """Runs `members` (nodes, in order) as one straight line. `inputs` are what `data` is called inside it, `outputs`
    those of the members' outputs that others use."""


@op("_Done", shape=lambda c: (), result=bool_dtype, gradient=None, stateful=True)
def done(*, name: str | None = None) -> Tensor:
    """True, once its control inputs have run: how a partial run sees that a target did."""


@op(
    "_Loop",
    role=roles.LOOP,
    shape=lambda c: list(c.attrs["shapes"]),
    result=lambda c: c.attrs["dtypes"],
    gradient=None,
    stateful=True,
)
def loop(
    data: Sequence[Any],
    *,
    body: Any,
    members: Any,
    inputs: Any,
    input_types: Any,
    outputs: Any,
    exits: Any,
    dtypes: Any,
    shapes: Any,
    name: str | None = None,
) -> Operation:
    """Runs a while loop as one node. `inputs` are what `data` is called inside it, the variables first; `outputs` are the
    positions of those variables whose last values others use, `exits` the Exits that gave them. `body` is a `LoopBody`."""
