"""Tensors that a session keeps in place between runs, and their handles (`tf.get_session_handle` and its like).

A kept tensor belongs to the node that keeps it and to the session; it goes with the session, or when it is deleted. The handle
is a string, `node;number;device`, which a run gives as an `actorflow.engine.session` `TensorHandle`.
"""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import ANY, DTypeLike, as_dtype, string
from actorflow.base.registry import roles
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.array.constant import placeholder
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import no_output, require_rank, scalar, unknown
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public


def _kept(c: Inference) -> Shape:
    require_rank(c, 0, 0)
    return unknown(c)


@op(
    "GetSessionHandle",
    role=roles.SESSION_HANDLE,
    shape=scalar,
    dtypes=ANY,
    result=string,
    gradient=None,
    stateful=True,
    work=10,
)
def _get_session_handle(value: TensorLike, *, name: str | None = None) -> Tensor:
    """Keeps the value; see `get_session_handle`."""


@op("GetSessionTensor", shape=_kept, types={"handle": string}, result="dtype", gradient=None, stateful=True, work=10)
def _get_session_tensor(handle: TensorLike, *, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """The value of a handle; see `get_session_tensor`."""


@op(
    "DeleteSessionTensor", shape=no_output, types={"handle": string}, result=None, gradient=None, stateful=True, work=10
)
def _delete_session_tensor(handle: TensorLike, *, name: str | None = None) -> Operation:
    """Forgets the values of one handle or of several; see `delete_session_tensor`."""


@public("af")
def get_session_handle(data: Tensor, name: str | None = None) -> Tensor:
    """Keeps the value of `data` in the session, on its device (`tf.get_session_handle`). A run that fetches the result gives a
    handle, and the value does not travel.

    The handle has `handle` (its text), `eval()`, `delete()` and `get_raw_handle()`; with an asynchronous session `eval` and
    `delete` are awaited. A value is forgotten when it is deleted, some time after its handle is gone unless
    `get_raw_handle` was called, or when the session ends.

    Example:
        >>> kept = await session.run(af.get_session_handle(af.range_(1000)))
        >>> handle, values = af.get_session_tensor(kept, af.int32)
        >>> await session.run(af.reduce_sum(values), {handle: kept})
        499500

    Args:
        data: a tensor of any type and shape.

    Returns:
        A string tensor, which a run gives as a `TensorHandle`.

    Raises:
        TypeError: `data` is no tensor.
    """
    if not isinstance(data, Tensor):
        raise TypeError("`data` must be of type Tensor.")
    with data.graph.as_default(), data.graph.colocate_with(data.op):
        return _get_session_handle(data, name=name)


@public("af")
def get_session_tensor(handle: Any, dtype: DTypeLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """A tensor whose value is that of whatever handle is fed (`tf.get_session_tensor`).

    Example:
        >>> kept = await session.run(af.get_session_handle(af.constant([1.0, 2.0])))
        >>> handle, values = af.get_session_tensor(kept, af.float32)
        >>> await session.run(values * 10.0, {handle: kept})
        [10. 20.]

    Args:
        handle: the text of a handle, which says on which device the values are that will be fed.
        dtype: the element type of the values.

    Returns:
        A placeholder for handles, and the tensor. A run in which the session has no such value raises
        `InvalidArgumentError`.

    Raises:
        ValueError: `handle` is the text of no handle.
    """
    with get_default_graph().device(_device(handle)), composite(name, "GetSessionTensor") as scope:
        holder = placeholder(string, [], name="handle")
        return holder, _get_session_tensor(holder, dtype=as_dtype(dtype), name=scope)


@public("af")
def delete_session_tensor(handle: Any, name: str | None = None) -> tuple[Tensor, Operation]:
    """An operation that forgets the value of the handle that is fed (`tf.delete_session_tensor`).

    Example:
        >>> kept = await session.run(af.get_session_handle(af.range_(3)))
        >>> handle, forget = af.delete_session_tensor(kept)
        >>> await session.run(forget, {handle: kept})

    Args:
        handle: the text of a handle, which says on which device the values are that will be forgotten.

    Returns:
        A placeholder for handles, and the operation. A run in which the session has no such value raises
        `InvalidArgumentError`.

    Raises:
        ValueError: `handle` is the text of no handle.
    """
    with get_default_graph().device(_device(handle)), composite(name, "DeleteSessionTensor") as scope:
        holder = placeholder(string, None, name="handle")
        return holder, _delete_session_tensor(holder, name=scope)


def _device(handle: Any) -> str:
    text = handle.decode() if isinstance(handle, bytes) else str(handle)
    parts = text.split(";")
    if len(parts) != 3:
        raise ValueError(f"{text!r:.80} is not the text of a handle that a session gave.")
    return parts[2]
