"""Copies of variables in the memory of other tasks, as nodes: what a supervisor keeps beside each step, and moves.

`TakeCopies` takes the values of variables of one task at one instant. `KeepCopies` keeps them on the same task or another, under
the number of the step. `GiveCopies` hands out what was kept, and `AdoptCopies` makes it the values of variables. So values travel
as all tensors do. The package `actorflow.checkpoint` has the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import DType, as_dtype, int64, string
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape
from actorflow.graph.ops.declare import op
from actorflow.graph.tensor import Operation, Tensor, TensorLike


def _types(c: Inference) -> tuple[DType, ...]:
    return (*(as_dtype(dtype) for dtype in c.attrs["dtypes"]), string)


def _shapes(c: Inference) -> list[Shape]:
    return [*([None] * len(c.attrs["dtypes"])), ()]


def _nothing(c: Inference) -> list[Shape]:
    return []


@op("TakeCopies", shape=_shapes, result=_types, gradient=None, stateful=True, asynchronous=True)
def take_copies(
    *,
    handles: Sequence[str],
    dtypes: Sequence[DType],
    state: bool = False,
    away: Sequence[str] = (),
    name: str | None = None,
) -> list[Tensor]:
    """The values of the variables of this task whose handles are the nodes `handles`, of types `dtypes`, all at one instant and
    without a copy. The last output is a text: with `state` what nodes and readers of the task keep between runs, else empty.
    State of the nodes `away`, which are on other tasks now, counts as state that a restore has left. The handles have to
    run before, as control inputs.

    Raises in the run: FailedPreconditionError that lists the variables that have no value yet.
    """


@op("KeepCopies", shape=_nothing, types={"stamps": int64, "state": string}, result=None, gradient=None, stateful=True)
def keep_copies(
    stamps: TensorLike,
    state: TensorLike,
    values: Sequence[Any],
    *,
    owner: str,
    part: str,
    keys: Sequence[str],
    own: bool = False,
    name: str | None = None,
) -> Operation:
    """Keeps `values` on this task under the names `keys`, as the part `part` of what `owner` keeps. `stamps` has the number of
    the step, and the number of the last step all of whose parts are kept; what is kept of others is dropped, and so is what
    others than `owner` keep. With `own` the values are those of variables of this task, and nothing is copied."""


@op("GiveCopies", shape=_shapes, types={"stamp": int64}, result=_types, gradient=None, stateful=True)
def give_copies(
    stamp: TensorLike,
    *,
    owner: str,
    part: str,
    keys: Sequence[str],
    dtypes: Sequence[DType],
    name: str | None = None,
) -> list[Tensor]:
    """The values `keys`, of types `dtypes`, and at last the state, of what this task keeps as the part `part` under `stamp`.

    Raises in the run: NotFoundError for a part that is not kept.
    """


@op("AdoptCopies", shape=_nothing, result=None, gradient=None, stateful=True, asynchronous=True)
def adopt_copies(values: Sequence[Any], *, handles: Sequence[str], name: str | None = None) -> Operation:
    """Makes the first of `values` those of the variables of this task whose handles are the nodes `handles`, all at one instant.
    The other values are texts as `take_copies` gives them: nodes and readers of the task go on as these say, if any is not
    empty. The nodes have to run before, as control inputs."""
