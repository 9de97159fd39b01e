"""Save and Restore as nodes (paper section 3.3).

`SaveV2` and `RestoreV2` are TensorFlow's: tensors in and out of a checkpoint. `af.train.Saver` makes the
other ops. `TakeVariables` takes the values of all variables of one task at one instant, and `SaveVariables` writes them
beside the running steps. `CommitCheckpoint` makes one checkpoint of what the tasks have written; `RestoreVariables` reads it.
`ReadNonce` tells which folder a task has. The package `actorflow.checkpoint` has their kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import ANY, DType, as_dtype, string
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import require_rank
from actorflow.graph.tensor import Operation, Tensor, TensorLike


def _prefix_only(c: Inference) -> list[Shape]:
    require_rank(c, 0, 0)
    return []


def _names(c: Inference, count: int) -> None:
    """A prefix, a vector of `count` names, and as many slices."""
    require_rank(c, 0, 0)
    for index in (1, 2):
        shape = require_rank(c, index, 1)
        if shape is not None and shape[0] not in (None, count):
            raise ValueError(f"There are {count} tensors, but {shape[0]} names or slices.")


def _save_shapes(c: Inference) -> list[Shape]:
    _names(c, len(c.shapes) - 3)
    return []


def _restored_types(c: Inference) -> tuple[DType, ...]:
    return tuple(as_dtype(d) for d in c.attrs["dtypes"])


def _restored_shapes(c: Inference) -> list[Shape]:
    count = len(c.attrs["dtypes"])
    if not count:
        raise ValueError("RestoreV2 restores at least one tensor.")
    _names(c, count)
    return [None] * count


def _scalar(c: Inference) -> Shape:
    require_rank(c, 0, 0)
    return ()


def _nothing(c: Inference) -> list[Shape]:
    return []


@op(
    "SaveV2",
    shape=_save_shapes,
    types={"prefix": string, "tensor_names": string, "shape_and_slices": string},
    dtypes=ANY,
    result=None,
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def save_v2(
    prefix: TensorLike,
    tensor_names: TensorLike,
    shape_and_slices: TensorLike,
    tensors: Sequence[Any],
    *,
    name: str | None = None,
) -> Operation:
    """Writes tensors under their names as the checkpoint `prefix` (`tf.raw_ops.SaveV2`); it appears when all is written.

    A text in `shape_and_slices` that is not empty says which part of the tensor of that name is given: "10 3 0,5:0,3" are
    the first 5 rows of 10. The parts of one tensor, cut along one dimension, have to be all of it.

    Raises in the run: InvalidArgumentError for slices that don't fit, and what writing files raises.
    """


@op(
    "RestoreV2",
    shape=_restored_shapes,
    types={"prefix": string, "tensor_names": string, "shape_and_slices": string},
    result=_restored_types,
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def restore_v2(
    prefix: TensorLike,
    tensor_names: TensorLike,
    shape_and_slices: TensorLike,
    *,
    dtypes: Sequence[DType],
    name: str | None = None,
) -> list[Tensor]:
    """The tensors of these names in the checkpoint `prefix`, of types `dtypes`, or the slices of them that
    `shape_and_slices` names as in `save_v2` (`tf.raw_ops.RestoreV2`).

    Raises in the run:
        NotFoundError: there is no such checkpoint, or it lacks a name; all that lack are listed.
        InvalidArgumentError: a tensor has another type.
        DataLossError: the checkpoint is damaged.
    """


@op(
    "TakeVariables",
    shape=_nothing,
    result=None,
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def take_variables(
    *,
    keys: Sequence[str],
    handles: Sequence[str],
    step_key: str = "",
    state: bool = True,
    slices: Sequence[str] = (),
    name: str | None = None,
) -> Operation:
    """Takes the values of the variables of the task whose handles are the nodes `handles`, and with `state` what nodes and
    readers keep between runs, all at one instant and without a copy. They are kept until `save_variables` has written them, or
    until this runs again.

    `keys` are their names in the checkpoint, `step_key` that of the global step among them. `slices` says for each which part of
    the tensor of that name it is, as in `save_v2`; empty where all are whole. The nodes have to run before, as control inputs.

    Raises in the run: FailedPreconditionError that lists the variables that have no value yet.
    """


@op(
    "SaveVariables",
    shape=_scalar,
    types={"prefix": string},
    result=string,
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def save_variables(prefix: TensorLike, *, taken: str, format: str = "standard", name: str | None = None) -> Tensor:
    """Writes what the node `taken`, a `take_variables` of the same task, has taken in a run before. Steps go on meanwhile.

    `format` is the name of an installed format of checkpoints. The output tells `commit_checkpoint` what was written.

    Raises in the run: FailedPreconditionError where nothing was taken since the last save, and what writing files raises.
    """


@op(
    "CommitCheckpoint",
    shape=_scalar,
    types={"prefix": string, "parts": string},
    result=string,
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def commit_checkpoint(
    prefix: TensorLike, parts: Sequence[TensorLike], *, format: str = "standard", name: str | None = None
) -> Tensor:
    """Makes one checkpoint of what `save_variables` of all tasks have written, in their `format`, by one atomic step. The
    output is `prefix`."""


@op(
    "RestoreVariables",
    shape=_prefix_only,
    types={"prefix": string},
    result=None,
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def restore_variables(
    prefix: TensorLike,
    *,
    keys: Sequence[str],
    handles: Sequence[str],
    state: bool = True,
    reshape: bool = False,
    slices: Sequence[str] = (),
    name: str | None = None,
) -> Operation:
    """Gives the variables whose handles are the nodes `handles` the values `keys` of a checkpoint, all at once when all are
    read and checked. With `state`, nodes and readers go on as saved. With `reshape` only the number of elements has
    to agree. `slices` says which part of what the checkpoint has each of them is.

    Raises in the run what `restore_v2` raises; no variable is changed then.
    """


@op(
    "ReadNonce",
    shape=_scalar,
    types={"path": string},
    result=string,
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def read_nonce(path: TensorLike, *, name: str | None = None) -> Tensor:
    """The content that the task of this node finds in the small file `path` of a checkpoint folder, as JSON: its `host`, the
    `value`, or the `kind` of the error and its `message`. So the caller hears of all tasks at once.

    Raises in the run: CancelledError, and nothing else.
    """
