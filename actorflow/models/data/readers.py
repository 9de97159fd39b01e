"""Datasets of the records of files: TFRecords, lines, records of one length."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar

from actorflow.base.dtypes import int64, string
from actorflow.engine.eager.functions.signature import TensorSpec
from actorflow.graph.tensor import Tensor
from actorflow.models.data.dataset import AUTOTUNE, DEFAULT_CYCLE, Dataset
from actorflow.models.data.node import DatasetNode, parameter, spec_of
from actorflow.models.data.sources import Sources
from actorflow.models.data.spec import Spec
from actorflow.public import public


class RecordFileReader(Dataset):
    """The records of files. `form` says how a file falls into them."""

    __slots__ = ()
    form: ClassVar[str]

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(_records(filenames, self.form, compression_type, num_parallel_reads))


@public("af.data")
class TFRecordDataset(RecordFileReader):
    """The records of TFRecord files, as scalar strings (`tf.data.TFRecordDataset`).

    Example:
        >>> with af.io.TFRecordWriter("data.tfrecord") as writer:
        ...     writer.write(b"one record")
        >>> [record async for record in af.data.TFRecordDataset("data.tfrecord")]
        [b'one record']

    Args:
        filenames: a name, several, a tensor, or a dataset of names.
        compression_type: "", "ZLIB" or "GZIP".
        buffer_size: accepted for compatibility, without effect.
        num_parallel_reads: how many files are read at once, their records in turn; a single file unless given.
        name: accepted for compatibility, without effect.

    Raises in a run:
        NotFoundError: there is no such file.
        DataLossError: a record is damaged or cut off; the error names the file and the offset, and the next file comes after it.
    """

    __slots__ = ()
    form = "tfrecord"


@public("af.data")
class TextLineDataset(RecordFileReader):
    """The lines of files without their ends, as scalar strings (`tf.data.TextLineDataset`).

    Example:
        >>> with open("lines.txt", "w") as file:
        ...     print("one", "two", sep="\\n", file=file)
        >>> [line async for line in af.data.TextLineDataset("lines.txt")]
        [b'one', b'two']

    Args:
        filenames: a name, several, a tensor, or a dataset of names.
        compression_type: "", "ZLIB" or "GZIP".
        buffer_size: accepted for compatibility, without effect.
        num_parallel_reads: how many files are read at once, their lines in turn; a single file unless given.
        name: accepted for compatibility, without effect.

    Raises in a run:
        NotFoundError: there is no such file.
    """

    __slots__ = ()
    form = "lines"


@public("af.data")
class FixedLengthRecordDataset(Dataset):
    """Records of one length, as scalar strings (`tf.data.FixedLengthRecordDataset`).

    Example:
        >>> with open("data.bin", "wb") as file:
        ...     _ = file.write(b"HEADaabbcc")
        >>> [record async for record in af.data.FixedLengthRecordDataset("data.bin", record_bytes=2, header_bytes=4)]
        [b'aa', b'bb', b'cc']

    Args:
        filenames: a name, several, a tensor, or a dataset of names.
        record_bytes: the size of a record.
        header_bytes, footer_bytes: what is left out at a file's begin and end.
        buffer_size: accepted for compatibility, without effect.
        compression_type: "", "ZLIB" or "GZIP".
        num_parallel_reads: how many files are read at once, their records in turn; a single file unless given.
        name: accepted for compatibility, without effect.

    Raises in a run:
        NotFoundError: there is no such file.
        InvalidArgumentError: the bytes between header and footer are no whole number of records; the next file comes after it.
        DataLossError: so it is with a packed file, which shows at its end.
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        sizes = (record_bytes, header_bytes or 0, footer_bytes or 0)
        super().__init__(_records(filenames, "fixed", compression_type, num_parallel_reads, sizes))


def _records(filenames: Any, form: str, compression_type: Any, reads: Any, sizes: Sequence[Any] = ()) -> DatasetNode:
    """The node that reads the records of files.

    Args:
        filenames: a name, a vector of names, a tensor of them, or a dataset of them.
        form: how the files fall into records.
        compression_type: "", "ZLIB" or "GZIP", or a tensor.
        reads: how many files are read at once, their records in turn.
        sizes: those of records of a fixed length.
    """
    if isinstance(filenames, os.PathLike):
        filenames = os.fspath(filenames)
    if isinstance(filenames, (list, tuple)):
        filenames = [os.fspath(name) if isinstance(name, os.PathLike) else name for name in filenames]
    if isinstance(filenames, Dataset):
        names = filenames
        if [leaf.dtype for leaf in names.node.spec.leaves] != [string]:
            raise TypeError(f"The names of files are strings, but the dataset has elements of {names.element_spec!r}.")
    else:
        value = parameter(filenames, None if isinstance(filenames, Tensor) else string)
        if spec_of(value).dtype is not string:
            raise TypeError(f"The `filenames` argument must contain strings, but it has {spec_of(value).dtype}.")
        shape = spec_of(value).static_shape
        names = Sources.from_tensors(value) if shape == () else Sources.from_tensor_slices(value)
    numbers = tuple([parameter(size, int64) for size in sizes])
    packing = (
        parameter(compression_type or "", string) if not isinstance(compression_type, Tensor) else compression_type
    )
    spec = Spec(TensorSpec((), string))

    def records_of(source: Dataset) -> Dataset:
        return Dataset(DatasetNode("records", spec, (source.node,), (packing, *numbers), {"format": form}))

    if reads is None:
        return records_of(names).node
    ahead = DEFAULT_CYCLE if reads == AUTOTUNE else int(reads)
    return names.interleave(
        lambda name: records_of(Sources.from_tensors(name)), cycle_length=ahead, num_parallel_calls=ahead
    ).node
