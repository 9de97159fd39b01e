"""Readers: they take names of files from a queue and give the files' records, single or many at a time (paper section 4.5).

    queue = af.FIFOQueue(10, af.string, shapes=())
    key, value = af.TFRecordReader().read(queue)

A reader is state of its device, like a variable. Each run of `read` goes on where the last run has stopped, in whatever
session; reads of one reader take turns. A file is read in chunks on a thread, and a record that is damaged is named by its
offset once those before it are delivered.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from actorflow.base.dtypes import INDEX, int64, resource, string
from actorflow.base.records.formats import FixedLength
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape
from actorflow.graph import scopes
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.declare import RefLike, op
from actorflow.graph.ops.shape_rules import no_output, require_rank, scalar
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

_HANDLES = {"reader_handle": resource, "queue_handle": resource}
_HANDLE = {"reader_handle": resource}


def _vectors(c: Inference) -> list[Shape]:
    require_rank(c, 2, 0)
    return [(None,), (None,)]


def _state_shape(c: Inference) -> list[Shape]:
    require_rank(c, 1, 0)
    return []


@op("WholeFileReaderV2", shape=scalar, result=resource, gradient=None, stateful=True, work=0)
def whole_file_reader(*, container: str = "", shared_name: str = "", name: str | None = None) -> Tensor:
    """The handle of a `WholeFileReader`."""


@op("TextLineReaderV2", shape=scalar, result=resource, gradient=None, stateful=True, work=0)
def text_line_reader(
    *, skip_header_lines: int = 0, container: str = "", shared_name: str = "", name: str | None = None
) -> Tensor:
    """The handle of a `TextLineReader`."""


@op("FixedLengthRecordReaderV2", shape=scalar, result=resource, gradient=None, stateful=True, work=0)
def fixed_length_record_reader(
    *,
    record_bytes: int,
    header_bytes: int = 0,
    footer_bytes: int = 0,
    hop_bytes: int = 0,
    encoding: str = "",
    container: str = "",
    shared_name: str = "",
    name: str | None = None,
) -> Tensor:
    """The handle of a `FixedLengthRecordReader`."""


@op("TFRecordReaderV2", shape=scalar, result=resource, gradient=None, stateful=True, work=0)
def tf_record_reader(
    *, compression_type: str = "", container: str = "", shared_name: str = "", name: str | None = None
) -> Tensor:
    """The handle of a `TFRecordReader`."""


@op("IdentityReaderV2", shape=scalar, result=resource, gradient=None, stateful=True, work=0)
def identity_reader(*, container: str = "", shared_name: str = "", name: str | None = None) -> Tensor:
    """The handle of an `IdentityReader`."""


@op(
    "ReaderReadV2",
    shape=lambda c: [(), ()],
    types=_HANDLES,
    result=(string, string),
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def reader_read(reader_handle: RefLike, queue_handle: RefLike, *, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Key and value of the reader's next record; see `ReaderBase.read`."""


@op(
    "ReaderReadUpToV2",
    shape=_vectors,
    types={**_HANDLES, "num_records": INDEX},
    result=(string, string),
    gradient=None,
    stateful=True,
    asynchronous=True,
)
def reader_read_up_to(
    reader_handle: RefLike, queue_handle: RefLike, num_records: TensorLike, *, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Keys and values of the reader's next records; see `ReaderBase.read_up_to`."""


@op("ReaderNumRecordsProducedV2", shape=scalar, types=_HANDLE, result=int64, gradient=None, stateful=True)
def reader_num_records_produced(reader_handle: RefLike, *, name: str | None = None) -> Tensor:
    """How many records the reader has given."""


@op("ReaderNumWorkUnitsCompletedV2", shape=scalar, types=_HANDLE, result=int64, gradient=None, stateful=True)
def reader_num_work_units_completed(reader_handle: RefLike, *, name: str | None = None) -> Tensor:
    """How many files the reader has read to their end."""


@op("ReaderResetV2", shape=no_output, types=_HANDLE, result=None, gradient=None, stateful=True)
def reader_reset(reader_handle: RefLike, *, name: str | None = None) -> Operation:
    """Makes the reader leave its file and forget its counts."""


@op("ReaderSerializeStateV2", shape=scalar, types=_HANDLE, result=string, gradient=None, stateful=True)
def reader_serialize_state(reader_handle: RefLike, *, name: str | None = None) -> Tensor:
    """The state of the reader, as a scalar string for `reader_restore_state`."""


@op(
    "ReaderRestoreStateV2",
    shape=_state_shape,
    types={**_HANDLE, "state": string},
    result=None,
    gradient=None,
    stateful=True,
)
def reader_restore_state(reader_handle: RefLike, state: TensorLike, *, name: str | None = None) -> Operation:
    """Makes the reader go on at the place of the reader that gave `state`. Raises InvalidArgumentError for other strings."""


class Records(NamedTuple):
    """The outputs of a read."""

    key: Any
    value: Any


class RecordVectors(NamedTuple):
    """The outputs of a read of several records."""

    keys: Any
    values: Any


@public("af")
class ReaderBase:
    """The common part of all readers (`tf.ReaderBase`). `queue` is a queue of scalar strings, or its handle.

    Example:
        >>> with open("lines.txt", "w") as file:
        ...     print("one", "two", "three", sep="\\n", file=file)
        >>> files, reader = af.FIFOQueue(1, af.string, [[]]), af.TextLineReader()
        >>> keys, values = reader.read_up_to(files, 2)
        >>> await session.run(files.enqueue("lines.txt"))
        >>> await session.run(values), await session.run(reader.num_records_produced())
        ([b'one' b'two'], 2)

    Args:
        reader_ref: the handle of the reader.
        supports_serialize: whether it can give its place. All readers can.
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = True) -> None:
        self.reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def supports_serialize(self) -> bool:
        """Whether it can give its place, as every reader of ours can."""
        return self._supports_serialize

    def read(self, queue: Any, name: str | None = None) -> Records:
        """Key and value of the next record, both scalar strings. The read waits for the queue if it needs another file.

        A key is the file's name and, by the kind of reader, the number or offset of the record: `a.txt:17`.

        Example:
            >>> with open("lines.txt", "w") as file:
            ...     print("one", "two", sep="\\n", file=file)
            >>> files = af.FIFOQueue(1, af.string, [[]])
            >>> record = af.TextLineReader().read(files)
            >>> await session.run(files.enqueue("lines.txt"))
            >>> await session.run(record)
            Records(key=b'lines.txt:1', value=b'one')

        Raises in the run:
            OutOfRangeError: the queue is closed and empty, and the last file is read.
            NotFoundError: there is no file of the name that the queue gave; the next read takes the next name.
            DataLossError: the record is damaged; the message has the file and the offset. So say all further reads, until
                `reset`.
        """
        return Records(*reader_read(self.reader_ref, _queue_ref(queue), name=name))

    def read_up_to(self, queue: Any, num_records: TensorLike, name: str | None = None) -> RecordVectors:
        """Keys and values of 1 to `num_records` records, vectors of one length.

        They are fewer where a file ends or a damaged record follows. Raises what `read` does.
        """
        return RecordVectors(*reader_read_up_to(self.reader_ref, _queue_ref(queue), num_records, name=name))

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records the reader has given, int64."""
        return reader_num_records_produced(self.reader_ref, name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many files the reader has read to their end, int64.

        Example:
            >>> names = af.FIFOQueue(2, af.string, [[]])
            >>> reader = af.IdentityReader()
            >>> _ = await session.run(names.enqueue("a"))
            >>> _ = await session.run(reader.read(names))
            >>> await session.run(reader.num_work_units_completed())
            1
        """
        return reader_num_work_units_completed(self.reader_ref, name=name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """The state of the reader (counts, file, place in it), as a scalar string.

        Example:
            >>> reader = af.IdentityReader()
            >>> state = await session.run(reader.serialize_state())
            >>> await session.run(reader.restore_state(state))
        """
        return reader_serialize_state(self.reader_ref, name=name)

    def restore_state(self, state: TensorLike, name: str | None = None) -> Operation:
        """Makes the reader go on at the place of the reader that gave `state`.

        Example:
            >>> with open("lines.txt", "w") as file:
            ...     print("one", "two", sep="\\n", file=file)
            >>> files, reader = af.FIFOQueue(1, af.string, [[]]), af.TextLineReader()
            >>> record = reader.read(files)
            >>> await session.run(files.enqueue("lines.txt"))
            >>> state = await session.run(reader.serialize_state())
            >>> (await session.run(record))[1]
            b'one'
            >>> await session.run(reader.restore_state(state))
        """
        return reader_restore_state(self.reader_ref, state, name=name)

    def reset(self, name: str | None = None) -> Operation:
        """Makes the reader leave its file and forget its counts.

        Example:
            >>> names = af.FIFOQueue(2, af.string, [[]])
            >>> reader = af.IdentityReader()
            >>> _ = await session.run(names.enqueue("a"))
            >>> _ = await session.run(reader.read(names))
            >>> await session.run(reader.reset())
            >>> await session.run(reader.num_records_produced())
            0
        """
        return reader_reset(self.reader_ref, name=name)


def _container() -> str:
    return scopes.of(get_default_graph()).container


def _queue_ref(queue: Any) -> Any:
    return getattr(queue, "queue_ref", queue)


@public("af")
class WholeFileReader(ReaderBase):
    """Each file is one record, its name the key (`tf.WholeFileReader`).

    Example:
        >>> with open("a.txt", "w") as file:
        ...     _ = file.write("all of it")
        >>> files = af.FIFOQueue(1, af.string, [[]])
        >>> key, value = af.WholeFileReader().read(files)
        >>> await session.run(files.enqueue("a.txt"))
        >>> await session.run([key, value])
        [b'a.txt', b'all of it']
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(whole_file_reader(container=_container(), name=name))


@public("af")
class TextLineReader(ReaderBase):
    """Lines without their ends, `\\n` or `\\r\\n` (`tf.TextLineReader`); the key has the line's number, from 1.

    The first `skip_header_lines` of each file are left out.

    Example:
        >>> with open("data.csv", "w") as file:
        ...     print("name,age", "Ada,36", sep="\\n", file=file)
        >>> files = af.FIFOQueue(1, af.string, [[]])
        >>> key, value = af.TextLineReader(skip_header_lines=1).read(files)
        >>> await session.run(files.enqueue("data.csv"))
        >>> await session.run([key, value])
        [b'data.csv:2', b'Ada,36']
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        if skip_header_lines is not None and skip_header_lines < 0:
            raise ValueError(f"skip_header_lines is at least 0, but it is {skip_header_lines}.")
        super().__init__(text_line_reader(container=_container(), skip_header_lines=skip_header_lines or 0, name=name))


@public("af")
class FixedLengthRecordReader(ReaderBase):
    """Records of `record_bytes` (`tf.FixedLengthRecordReader`); the key has the record's number, from 0.

    Example:
        >>> with open("data.bin", "wb") as file:
        ...     _ = file.write(b"HEADaabbcc")
        >>> files = af.FIFOQueue(1, af.string, [[]])
        >>> key, value = af.FixedLengthRecordReader(record_bytes=2, header_bytes=4).read(files)
        >>> await session.run(files.enqueue("data.bin"))
        >>> [await session.run(value) for _ in range(3)]
        [b'aa', b'bb', b'cc']

    Args:
        record_bytes: the size of a record in bytes, 1 or more.
        header_bytes, footer_bytes: what to leave out at a file's begin and end.
        hop_bytes: from the start of one record to the start of the next; 0 stands for `record_bytes`.
        encoding: "", "ZLIB" or "GZIP".

    Raises:
        ValueError: a number is too small.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        sizes = FixedLength(record_bytes, header_bytes or 0, footer_bytes or 0, hop_bytes or 0)
        super().__init__(
            fixed_length_record_reader(
                container=_container(),
                record_bytes=sizes.record_bytes,
                header_bytes=sizes.header_bytes,
                footer_bytes=sizes.footer_bytes,
                hop_bytes=sizes.hop_bytes,
                encoding=encoding or "",
                name=name,
            )
        )


@public("af")
class TFRecordReader(ReaderBase):
    """The records of TFRecord files, their checksums checked (`tf.TFRecordReader`); the key has the record's offset.

    `options` is a `TFRecordOptions` or compression type: none, GZIP or ZLIB. Offsets count unpacked bytes.

    Example:
        >>> with af.io.TFRecordWriter("data.tfrecord") as writer:
        ...     writer.write(b"one record")
        >>> files = af.FIFOQueue(1, af.string, [[]])
        >>> key, value = af.TFRecordReader().read(files)
        >>> await session.run(files.enqueue("data.tfrecord"))
        >>> await session.run([key, value])
        [b'data.tfrecord:0', b'one record']
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        from actorflow.base.records.files import TFRecordOptions

        super().__init__(
            tf_record_reader(container=_container(), compression_type=TFRecordOptions.as_name(options), name=name)
        )


@public("af")
class IdentityReader(ReaderBase):
    """The names in the queue are the records, key and value alike (`tf.IdentityReader`).

    Example:
        >>> names = af.FIFOQueue(1, af.string, [[]])
        >>> key, value = af.IdentityReader().read(names)
        >>> await session.run(names.enqueue("one.txt"))
        >>> await session.run([key, value])
        [b'one.txt', b'one.txt']
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(identity_reader(container=_container(), name=name))
