"""TFRecord files in plain Python: a writer and an iterator (`tf.python_io`)."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from enum import IntEnum
from types import TracebackType
from typing import IO, Self

from actorflow.base.paths import path_text
from actorflow.base.records import tfrecord
from actorflow.base.records.unpacking import WBITS, Unpacker, check_unpacked, most_unpacked
from actorflow.base.unpicklable import unpicklable
from actorflow.errors import DataLossError, FailedPreconditionError, NotFoundError
from actorflow.public import public

_CHUNK = 1 << 20


@public("af.io", "tf.python_io")
class TFRecordCompressionType(IntEnum):
    """How a TFRecord file is packed (`tf.python_io.TFRecordCompressionType`).

    Example:
        >>> packed = af.io.TFRecordOptions(af.io.TFRecordCompressionType.GZIP)
        >>> packed.compression_type
        'GZIP'
    """

    NONE = 0
    ZLIB = 1
    GZIP = 2


@public("af.io", "tf.python_io")
class TFRecordOptions:
    """How a TFRecord file is packed (`tf.python_io.TFRecordOptions`): a `TFRecordCompressionType`, or "", "ZLIB", "GZIP".

    Example:
        >>> options = af.io.TFRecordOptions("GZIP", compression_level=9)
        >>> with af.io.TFRecordWriter("data.tfrecord.gz", options) as writer:
        ...     writer.write(b"a record")
        >>> list(af.io.tf_record_iterator("data.tfrecord.gz", options))
        [b'a record']

    Args:
        compression_type: how the file is packed.
        flush_mode, input_buffer_size, output_buffer_size: change nothing: a file is packed as a whole.
        window_bits: zlib's, with the kind of header in it: 9 to 15 for zlib's, 25 to 31 for gzip's; 15 or 31 unless given.
        compression_level: zlib's, 0 to 9.
        compression_method: zlib's, which has only 8.
        mem_level: zlib's, 1 to 9.
        compression_strategy: zlib's, such as `zlib.Z_FILTERED`.

    Raises:
        ValueError: zlib has no such level or method.
    """

    def __init__(
        self,
        compression_type: TFRecordCompressionType | str | None = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.compression_type = _name(compression_type)
        if compression_method not in (None, zlib.DEFLATED):
            raise ValueError(
                f"compression_method is {zlib.DEFLATED}, the only one of zlib, but it is {compression_method}."
            )
        if mem_level is not None and not 1 <= mem_level <= 9:
            raise ValueError(f"mem_level is 1 to 9, but it is {mem_level}.")
        if compression_level is not None and not 0 <= compression_level <= 9:
            raise ValueError(f"compression_level is 0 to 9, but it is {compression_level}.")
        self.compression_level = compression_level
        self.flush_mode, self.input_buffer_size = flush_mode, input_buffer_size
        self.output_buffer_size, self.window_bits = output_buffer_size, window_bits
        self.compression_method, self.mem_level = compression_method, mem_level
        self.compression_strategy = compression_strategy

    def _packer(self) -> zlib._Compress | None:
        """A compressor of these options; None if files are not packed."""
        if not self.compression_type:
            return None
        return zlib.compressobj(
            zlib.Z_DEFAULT_COMPRESSION if self.compression_level is None else self.compression_level,
            zlib.DEFLATED,
            WBITS[self.compression_type] if self.window_bits is None else self.window_bits,
            zlib.DEF_MEM_LEVEL if self.mem_level is None else self.mem_level,
            zlib.Z_DEFAULT_STRATEGY if self.compression_strategy is None else self.compression_strategy,
        )

    @classmethod
    def as_name(cls, options: TFRecordOptions | TFRecordCompressionType | str | None) -> str:
        """ "", "ZLIB" or "GZIP" of options or a compression type.

        Example:
            >>> af.io.TFRecordOptions.as_name(af.io.TFRecordOptions("GZIP")), af.io.TFRecordOptions.as_name(None)
            ('GZIP', '')
        """
        return options.compression_type if isinstance(options, TFRecordOptions) else _name(options)


def _name(kind: TFRecordCompressionType | str | None) -> str:
    if isinstance(kind, int) and kind in tuple(TFRecordCompressionType):
        kind = TFRecordCompressionType(kind).name
    if kind not in (None, "", "NONE", "ZLIB", "GZIP"):
        raise ValueError(f"A TFRecord file is packed by '', 'ZLIB' or 'GZIP', not {kind!r}.")
    return "" if kind in (None, "NONE") else str(kind)


@public("af.io", "tf.python_io")
class TFRecordWriter:
    """Writes records to a TFRecord file (`tf.python_io.TFRecordWriter`); a context manager that closes it.

    The file appears at once and is complete after `close`. Equal records give equal bytes, packed or not.

    Example:
        >>> with af.io.TFRecordWriter("data.tfrecord") as writer:
        ...     for record in [b"one", b"two"]:
        ...         writer.write(record)
        >>> list(af.io.tf_record_iterator("data.tfrecord"))
        [b'one', b'two']
    """

    __reduce_ex__ = unpicklable(
        "A TFRecordWriter is not pickled: its file is open in this process. Hand over the path."
    )

    def __init__(
        self, path: str | os.PathLike[str], options: TFRecordOptions | TFRecordCompressionType | str | None = None
    ) -> None:
        packing = options if isinstance(options, TFRecordOptions) else TFRecordOptions(options)
        try:
            self._file: IO[bytes] | None = open(path, "wb")  # noqa: SIM115  (closed by close)
        except FileNotFoundError as error:
            raise NotFoundError(f"The folder of {os.fspath(path)!r} does not exist.") from error
        self._packer = packing._packer()

    def write(self, record: bytes | str) -> None:
        """Adds a record. Raises FailedPreconditionError after `close`."""
        framed = tfrecord.frame(record.encode() if isinstance(record, str) else bytes(record))
        self._open().write(framed if self._packer is None else self._packer.compress(framed))

    def flush(self) -> None:
        """Hands what is written to the operating system, so that readers find it.

        Example:
            >>> with af.io.TFRecordWriter("data.tfrecord") as writer:
            ...     writer.write(b"one")
            ...     writer.flush()
            ...     print(list(af.io.tf_record_iterator("data.tfrecord")))
            [b'one']
        """
        file = self._open()
        if self._packer is not None:
            file.write(self._packer.flush(zlib.Z_SYNC_FLUSH))
        file.flush()

    def close(self) -> None:
        """Completes the file. A second call does nothing.

        Example:
            >>> writer = af.io.TFRecordWriter("data.tfrecord")
            >>> writer.write(b"one")
            >>> writer.close()
            >>> list(af.io.tf_record_iterator("data.tfrecord"))
            [b'one']
        """
        file, self._file = self._file, None
        if file is not None:
            with file:
                if self._packer is not None:
                    file.write(self._packer.flush())

    def _open(self) -> IO[bytes]:
        if self._file is None:
            raise FailedPreconditionError("The TFRecord writer is closed.")
        return self._file

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


@public("af.io", "tf.python_io")
def tf_record_iterator(
    path: str | os.PathLike[str], options: TFRecordOptions | TFRecordCompressionType | str | None = None
) -> Iterator[bytes]:
    """The records of a TFRecord file, in order (`tf.python_io.tf_record_iterator`).

    Example:
        >>> with af.io.TFRecordWriter("data.tfrecord") as writer:
        ...     writer.write(b"one")
        >>> [len(record) for record in af.io.tf_record_iterator("data.tfrecord")]
        [3]

    Raises:
        NotFoundError: there is no such file.
        DataLossError: a record is damaged or cut off; the message has its offset. Those before it are given first.
        ResourceExhaustedError: a record of a packed file has more than 256 MiB, or than ACTORFLOW_MAX_UNPACKED_BYTES.
    """
    packing = TFRecordOptions.as_name(options)
    path = path_text(path)
    try:
        file = open(path, "rb")  # noqa: SIM115  (closed by the generator)
    except FileNotFoundError as error:
        raise NotFoundError(f"There is no file {path!r}.") from error
    return _records(file, path, packing)


def _records(file: IO[bytes], path: str, packing: str) -> Iterator[bytes]:
    with file:
        unpacker = Unpacker(packing) if packing else None
        data, offset, need = b"", 0, 0
        while True:
            want = max(need - len(data), _CHUNK)
            if unpacker is None:
                more = b"".join(_pieces(file, want))
            else:
                more = unpacker.take_from(file.read, min(want, most_unpacked()))
                check_unpacked(len(data) + len(more), f"The record at byte {offset} of {path!r}")
            at_end = len(more) < want if unpacker is None else unpacker.has_ended
            lost = None if unpacker is None else unpacker.damage
            data += more
            frames = tfrecord.split(data, at_end and lost is None)
            yield from frames.records
            offset, data, need = offset + frames.end, data[frames.end :], frames.wanted
            if damage := frames.damage or lost:
                raise DataLossError(f"The record at byte {offset} of {path!r} is damaged: {damage}.")
            if at_end:
                return


def _pieces(file: IO[bytes], want: int) -> Iterator[bytes]:
    """The next bytes of a file: the number that is wanted, or all. Memory is taken for those that are there."""
    while want > 0 and (piece := file.read(min(want, 16 * _CHUNK))):
        want -= len(piece)
        yield piece
