"""Nodes that move tensors: Send and Recv between devices (paper section 3.2.2), and copies to the host and back (4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import DTypeLike
from actorflow.base.registry import roles
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import ShapeLike
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import from_attr, no_output, unchanged
from actorflow.graph.tensor import Operation, Tensor, TensorLike


def _recv_dtypes(c: Inference) -> Any:
    return () if c.attrs["dtype"] is None else (c.attrs["dtype"],)


@op(
    "_Send",
    role=roles.SEND,
    shape=no_output,
    result=None,
    gradient=None,
    stateful=True,
    fires_dead=True,
    takes_dead=True,
    work=0,
)
def send(
    data: Sequence[Any],
    *,
    key: str,
    send_device: str,
    recv_device: str,
    lossy: bool = False,
    name: str | None = None,
) -> Operation:
    """Hands its input (or, without an input, the fact that its control inputs are done) to the `_Recv` with the same key,
    in each iteration of the loops around both nodes. `lossy` cuts the lower 16 bits of each float32 off (paper section 5.5).
    """


@op(
    "_Recv",
    role=roles.RECV,
    shape=lambda c: [] if c.attrs["dtype"] is None else from_attr("shape")(c),
    result=_recv_dtypes,
    gradient=None,
    stateful=True,
    asynchronous=True,
    fires_dead=True,
    emits_dead=True,
    work=0,
)
def recv(
    *,
    key: str,
    send_device: str,
    recv_device: str,
    lossy: bool = False,
    dtype: DTypeLike | None,
    shape: ShapeLike,
    name: str | None = None,
) -> Tensor:
    """The value that the `_Send` with the same key hands over; a dead token stays dead. Without a `dtype` there is no
    output."""


# ---- The nodes that take a tensor to host memory and bring it back (paper section 4.1). A pass makes them.


@op("_SwapOut", role=roles.SWAP_OUT, shape=unchanged, gradient=None, stateful=True, asynchronous=True, work=0)
def swap_out(value: TensorLike, *, name: str | None = None) -> Tensor:
    """`value` in host memory, once copied: until then the device's memory is held. Only `_SwapIn` takes the result."""


@op("_SwapIn", role=roles.SWAP_IN, shape=unchanged, gradient=None, stateful=True, asynchronous=True, work=0)
def swap_in(value: TensorLike, *, name: str | None = None) -> Tensor:
    """The tensor that `_SwapOut` took to the host, in the device's memory again, as soon as it may be used there."""
