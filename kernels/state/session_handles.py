"""Kernels of tensors that a session keeps between runs. Each is kept by the node that made it."""

from __future__ import annotations

import itertools
from typing import Any

from actorflow.base.dtypes import DType, as_dtype
from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.context import KernelContext
from actorflow.errors import InvalidArgumentError

from ..strings.objects import as_arrays

_numbers = itertools.count(1)  # of the process, so that no session takes another session's handle for its own
_KEPT = "kept"


class KeptValues(dict[int, Any]):
    """The values that a node keeps, by their numbers."""


@kernel("GetSessionHandle")
def get_session_handle(xp: Any, value: Any, *, ctx: KernelContext) -> Any:
    number = next(_numbers)
    ctx.state.setdefault(_KEPT, KeptValues())[number] = value
    return as_arrays(f"{ctx.node.name};{number};{ctx.device.name}".encode())


def _found(handle: bytes, ctx: KernelContext) -> tuple[KeptValues, int]:
    name, _, rest = handle.decode(errors="replace").partition(";")
    number = rest.partition(";")[0]
    keeper = ctx.nodes.get(name)
    kept = None if keeper is None else keeper.state.get(_KEPT)
    if kept is None or not number.isdigit() or int(number) not in kept:
        raise InvalidArgumentError(
            f"The session has no tensor of the handle {handle!r:.120} on {ctx.device.name}: it was deleted, or is another "
            "session's or another device's."
        )
    return kept, int(number)


@kernel("GetSessionTensor")
def get_session_tensor(xp: Any, handle: Any, *, dtype: DType, ctx: KernelContext) -> Any:
    kept, number = _found(as_arrays(handle).item(), ctx)
    value = kept[number]
    if as_dtype(as_arrays(value).dtype) is not dtype:
        raise InvalidArgumentError(f"The kept tensor is {as_dtype(as_arrays(value).dtype)}, not {dtype}.")
    return value


@kernel("DeleteSessionTensor")
def delete_session_tensor(xp: Any, handle: Any, *, ctx: KernelContext) -> None:
    for text in as_arrays(handle).reshape(-1).tolist():
        kept, number = _found(text, ctx)
        del kept[number]
