"""The nodes that take a tensor to host memory and bring it back (paper section 4.1). A pass makes them."""

from __future__ import annotations

from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.ops.shape_rules import unchanged
from actorflow.registry.op import op


@op("_SwapOut", shape=unchanged, gradient=None, stateful=True, asynchronous=True, work=0)
def swap_out(value: TensorLike, *, name: str | None = None) -> Tensor:
    """`value` in host memory, once it is there: until then it is held where it is. Only `_SwapIn` takes the result."""


@op("_SwapIn", shape=unchanged, gradient=None, stateful=True, asynchronous=True, work=0)
def swap_in(value: TensorLike, *, name: str | None = None) -> Tensor:
    """What `_SwapOut` took to the host, in the device's memory again, as soon as it may be used there."""
