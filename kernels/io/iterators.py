"""Kernels of iterators: their handles, what begins them, and the next element, which is waited for without a thread."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import msgpack
import numpy as np

from actorflow.base.dtypes import DType
from actorflow.base.registry.kernel import kernel
from actorflow.base.shapes import Shape, compatible, show
from actorflow.engine.runtime.context import KernelContext, StepHandle
from actorflow.engine.runtime.state.resources import one_at_a_time
from actorflow.errors import InvalidArgumentError, NotFoundError, OutOfRangeError, with_topic
from actorflow.graph.ops.io.iterators import check_single
from actorflow.models.data.node import DatasetNode, decode
from actorflow.models.data.resource import IteratorResource, Pulling
from actorflow.models.data.stage import EndOfSequence

from .files import roots_of

_BETWEEN = b"\0"


def _opened(
    ctx: KernelContext,
    container: str,
    shared: str,
    types: Any,
    shapes: Any,
    dataset: Callable[[], DatasetNode] | None = None,
) -> IteratorResource:
    """The iterator of a node. Without a shared name the session has it for itself, as in TensorFlow. It takes over that of a
    session which is gone; but if it begins by itself with a `dataset`, only where that is the other's too."""
    if ctx.place.resource is not None:
        iterator: IteratorResource = ctx.place.resource
        return iterator
    key, sizes = shared or ctx.node.name, tuple(shapes) or (None,) * len(types)

    def make() -> IteratorResource:
        return IteratorResource(key, tuple(types), sizes)

    def fits(other: IteratorResource) -> bool:
        return (other.types, other.shapes) == (tuple(types), sizes) and (dataset is None or other.reads(dataset()))

    if shared:
        iterator = ctx.resources.lookup_or_create(container, key, IteratorResource, make)
    else:
        key, iterator = ctx.resources.lookup_or_create_alone(
            ctx.nodes.holder, container, key, IteratorResource, make, fits
        )
    if iterator.types != tuple(types):
        raise InvalidArgumentError(
            f"There is an iterator {key!r} already, with elements of types {', '.join(map(str, iterator.types))}, not "
            f"{', '.join(map(str, types))}.",
            hint="Give each dataset a shared_name of its own.",
        )
    iterator.address = container, key
    if not container:
        ctx.place = ctx.resources.place(IteratorResource, key)
    return iterator


@functools.lru_cache(maxsize=64)
def _record(description: bytes) -> Any:
    return msgpack.unpackb(description, raw=False, strict_map_key=False, unicode_errors="surrogateescape")


def _dataset(description: bytes, components: Sequence[Any]) -> DatasetNode:
    try:
        return decode(_record(description), list(components))
    except ValueError as error:
        raise InvalidArgumentError(str(error)) from error


@kernel("IteratorV2")
@one_at_a_time
def iterator_v2(
    xp: Any,
    *,
    output_types: tuple[DType, ...],
    output_shapes: tuple[Shape, ...],
    container: str,
    shared_name: str,
    ctx: KernelContext,
) -> IteratorResource:
    return _opened(ctx, container, shared_name, output_types, output_shapes)


@kernel("OneShotIterator")
@one_at_a_time
def one_shot_iterator(
    xp: Any,
    components: Any,
    *,
    description: bytes,
    output_types: tuple[DType, ...],
    output_shapes: tuple[Shape, ...],
    container: str,
    shared_name: str,
    ctx: KernelContext,
) -> IteratorResource:
    def dataset() -> DatasetNode:
        return _dataset(description, components)

    iterator = _opened(ctx, container, shared_name, output_types, output_shapes, dataset)
    iterator.initialize_once(dataset, roots_of(ctx))
    return iterator


@kernel("MakeIterator")
def make_iterator(
    xp: Any, iterator: IteratorResource, components: Any, *, description: bytes, ctx: KernelContext
) -> None:
    iterator.initialize(_dataset(description, components), roots_of(ctx))


@kernel("IteratorGetNext")
async def iterator_get_next(
    xp: Any,
    iterator: IteratorResource,
    *,
    output_types: tuple[DType, ...],
    output_shapes: tuple[Shape, ...],
    step: StepHandle,
) -> Any:
    try:
        with step.waits_for(iterator.reason):
            element = await iterator.next()
    except EndOfSequence:
        raise OutOfRangeError(
            "End of sequence.", hint=with_topic("All elements were taken: this is how an input ends.", "end-of-input")
        ) from None
    return element[0] if len(element) == 1 else element


@kernel("IteratorToStringHandle")
def iterator_to_string_handle(xp: Any, iterator: IteratorResource) -> bytes:
    return _BETWEEN.join(part.encode() for part in iterator.address)


@kernel("IteratorFromStringHandleV2")
@one_at_a_time
def iterator_from_string_handle(
    xp: Any,
    string_handle: Any,
    *,
    output_types: tuple[DType, ...],
    output_shapes: tuple[Shape, ...],
    ctx: KernelContext,
) -> IteratorResource:
    text = np.asarray(string_handle, object).item()
    container, between, name = text.partition(_BETWEEN)
    if not between:
        raise InvalidArgumentError(
            f"{text!r:.60} is no handle of an iterator: it is what string_handle() gives in a run."
        )
    try:
        iterator = ctx.resources.lookup(container.decode(), name.decode(), IteratorResource)
    except NotFoundError as error:
        raise NotFoundError(
            f"There is no iterator {name.decode()!r} on {ctx.device.name}.",
            hint="Its string_handle() has to be fetched in the same session, and the iterators have to be on one device.",
        ) from error
    if output_types and iterator.types != tuple(output_types):
        raise InvalidArgumentError(
            f"The handle is of an iterator of types {list(map(str, iterator.types))}, not {list(map(str, output_types))}."
        )
    if not all(compatible(mine, theirs) for mine, theirs in zip(output_shapes, iterator.shapes)):
        raise InvalidArgumentError(
            f"The handle is of an iterator of shapes {', '.join(map(show, iterator.shapes))}, which do not fit "
            f"{', '.join(map(show, output_shapes))}.",
            hint="Say the output_shapes of from_string_handle as those of all iterators, or leave them out.",
        )
    return iterator


@kernel("DatasetToSingleElement")
async def dataset_to_single_element(
    xp: Any,
    components: Any,
    *,
    description: bytes,
    output_types: tuple[DType, ...],
    output_shapes: tuple[Shape, ...],
    ctx: KernelContext,
    step: StepHandle,
) -> Any:
    pulling = Pulling(_dataset(description, components), roots_of(ctx))
    elements: list[Any] = []
    try:
        with step.waits_for(lambda: pulling.reason()):
            while len(elements) < 2:
                elements.append(await pulling.pull())
    except EndOfSequence:
        pass
    finally:
        pulling.abort()
    check_single(len(elements))
    element = elements[0]
    return element[0] if len(element) == 1 else element
