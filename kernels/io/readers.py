"""Kernels of readers: handles, reads, and the state that a checkpoint keeps."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from actorflow.base.dtypes import string
from actorflow.base.records.formats import FixedLength, Lines, RecordFormat, TFRecords, WholeFile
from actorflow.base.records.reading.reader import ReaderState
from actorflow.base.records.wire import BrokenMessageError
from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.context import KernelContext, StepHandle
from actorflow.engine.runtime.diagnostics.waits import Wait
from actorflow.errors import InvalidArgumentError

from .files import roots_of
from .queues.core import QueueTake
from .queues.shared import SharedQueue

_PACKINGS = ("", "ZLIB", "GZIP")
_KINDS = {
    WholeFile: "WholeFileReader",
    Lines: "TextLineReader",
    FixedLength: "FixedLengthRecordReader",
    TFRecords: "TFRecordReader",
    type(None): "IdentityReader",
}
"""The name of the reader of each format."""


def _open(
    ctx: KernelContext, container: str, shared_name: str, how: RecordFormat | None, compression: str = ""
) -> ReaderState:
    if compression not in _PACKINGS:
        raise InvalidArgumentError(f"A file's compression is '', ZLIB or GZIP, but {compression!r} was given.")
    name = shared_name or ctx.node.name
    reader = ctx.resources.lookup_or_create(container, name, ReaderState, lambda: ReaderState(name, how, compression))
    if (reader.how, reader.packing) != (how, compression):
        raise InvalidArgumentError(f"There is a reader {name!r} already, and it reads otherwise: {reader.how}.")
    return reader


@kernel("WholeFileReaderV2")
def whole_file_reader(xp: Any, *, container: str, shared_name: str, ctx: KernelContext) -> ReaderState:
    return _open(ctx, container, shared_name, WholeFile())


@kernel("TextLineReaderV2")
def text_line_reader(
    xp: Any, *, skip_header_lines: int, container: str, shared_name: str, ctx: KernelContext
) -> ReaderState:
    return _open(ctx, container, shared_name, Lines(skip_header_lines))


@kernel("FixedLengthRecordReaderV2")
def fixed_length_record_reader(
    xp: Any,
    *,
    record_bytes: int,
    header_bytes: int,
    footer_bytes: int,
    hop_bytes: int,
    encoding: str,
    container: str,
    shared_name: str,
    ctx: KernelContext,
) -> ReaderState:
    return _open(
        ctx, container, shared_name, FixedLength(record_bytes, header_bytes, footer_bytes, hop_bytes), encoding
    )


@kernel("TFRecordReaderV2")
def tf_record_reader(
    xp: Any, *, compression_type: str, container: str, shared_name: str, ctx: KernelContext
) -> ReaderState:
    return _open(ctx, container, shared_name, TFRecords(), compression_type)


@kernel("IdentityReaderV2")
def identity_reader(xp: Any, *, container: str, shared_name: str, ctx: KernelContext) -> ReaderState:
    return _open(ctx, container, shared_name, None)


async def _read(reader: Any, queue: Any, count: int, ctx: KernelContext, step: StepHandle) -> Any:
    if not isinstance(reader, ReaderState):
        raise InvalidArgumentError(f"A reader is read, but the handle is of a {type(reader).__name__}.")

    types = queue.spec.component_types if isinstance(queue, SharedQueue) else ()
    if types != (string,):
        raise InvalidArgumentError(
            f"A reader takes its files from a queue of one string an element, but this has ({', '.join(map(str, types))})."
        )

    async def next_file() -> str:
        attempt = await queue.perform(QueueTake(1), step)
        name = np.asarray(attempt.elements[0][0], object)
        if name.ndim:
            raise InvalidArgumentError(f"The queue gave the reader names of shape {name.shape}, where one was due.")
        return os.fsdecode(name.item())

    with step.waits_for(lambda: Wait(reader.at_work(), is_at_work=True)):
        return await reader.read(count, next_file, roots_of(ctx))


@kernel("ReaderReadV2")
async def read(xp: Any, reader_handle: Any, queue_handle: Any, *, ctx: KernelContext, step: StepHandle) -> Any:
    keys, values = await _read(reader_handle, queue_handle, 1, ctx, step)
    return np.asarray(keys[0], object), np.asarray(values[0], object)


@kernel("ReaderReadUpToV2")
async def read_up_to(
    xp: Any, reader_handle: Any, queue_handle: Any, num_records: Any, *, ctx: KernelContext, step: StepHandle
) -> Any:
    count = int(num_records)
    if count <= 0:
        raise InvalidArgumentError(f"At least one record is read, but num_records is {count}.")
    return tuple(map(_vector, await _read(reader_handle, queue_handle, count, ctx, step)))


def _vector(strings: list[bytes]) -> Any:
    result = np.empty(len(strings), object)
    result[:] = strings
    return result


@kernel("ReaderNumRecordsProducedV2")
def num_records_produced(xp: Any, reader_handle: ReaderState) -> Any:
    return np.int64(reader_handle.produced)


@kernel("ReaderNumWorkUnitsCompletedV2")
def num_work_units_completed(xp: Any, reader_handle: ReaderState) -> Any:
    return np.int64(reader_handle.completed)


@kernel("ReaderResetV2")
def reset(xp: Any, reader_handle: ReaderState) -> None:
    reader_handle.reset()


@kernel("ReaderSerializeStateV2")
def serialize_state(xp: Any, reader_handle: ReaderState) -> bytes:
    return reader_handle.state()


@kernel("ReaderRestoreStateV2")
def restore_state(xp: Any, reader_handle: ReaderState, state: Any) -> None:
    data = np.asarray(state, object).item()
    try:
        reader_handle.restore(data)
    except (BrokenMessageError, InvalidArgumentError) as error:
        kind = _KINDS[type(reader_handle.how)]
        raise InvalidArgumentError(
            f"Could not parse state for {kind} '{reader_handle.name}'. {error.message}"
        ) from None
