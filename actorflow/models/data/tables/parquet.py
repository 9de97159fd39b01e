"""`ParquetDataset`, `ArrowDataset`, and `write_parquet`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base.process import machine
from actorflow.errors import InvalidArgumentError, NotFoundError
from actorflow.models.data.dataset import Dataset
from actorflow.models.data.sources import from_batches
from actorflow.models.data.tables.arrow import arrays_of, arrow_package, in_sizes, row_bytes, specs_of
from actorflow.models.data.tables.values import fills_of
from actorflow.public import public

_ROWS = 1024
"""The rows of a batch where none are asked for."""
_READ_BYTES, _READ_ROWS = 1 << 20, 1 << 16
"""About how much of a file is read at a time: calls for single batches would cost more than their rows."""
_AHEAD_BYTES, _MOST_AHEAD = 8 << 20, 64
"""About how much a thread keeps ahead of those who pull, in whole batches."""


@public("af.data")
class ArrowDataset(Dataset):
    """The rows of Arrow's record batches: of a table, a reader, a stream, or whatever gives batches again and again.

    Args:
        schema: the schema of the batches.
        batches: is called for each iterator, and gives record batches, such as a `RecordBatchReader` or the `to_reader` of a
            stream of Flight. It runs on a thread, some batches ahead of those who pull.
        batch_size: the rows of an element, which is a dict of arrays; the last element may have fewer. None gives single rows.
        columns: the columns that are read; all unless given.
        fill: values in the place of nulls, by the names of columns.

    Raises:
        InvalidArgumentError: a column has a type that is no tensor, or does not hold its value of `fill`; the message names it.
        NotFoundError: there is no such column.
        UnimplementedError: the package pyarrow is not installed.

    In a run it raises InvalidArgumentError for nulls that have no value.
    """

    __slots__ = ()

    def __init__(
        self,
        schema: Any,
        batches: Callable[[], Iterable[Any]],
        *,
        batch_size: int | None = None,
        columns: Sequence[str] | None = None,
        fill: Mapping[str, Any] | None = None,
    ) -> None:
        if batch_size is not None and (isinstance(batch_size, bool) or batch_size < 1):
            raise InvalidArgumentError(f"A batch has a row at least, not {batch_size}.")
        specs = specs_of(schema, columns)
        values = fills_of(fill, specs)

        def arrays() -> Iterator[dict[str, Any]]:
            return in_sizes(batches(), batch_size or _ROWS, lambda batch: arrays_of(batch, specs, values))

        ahead = _AHEAD_BYTES // (row_bytes(specs) * (batch_size or _ROWS))
        whole = from_batches(arrays, dict(specs), ahead=min(max(ahead, 2), _MOST_AHEAD), exact=True)
        super().__init__((whole if batch_size is not None else whole.unbatch()).node)


@public("af.data")
class ParquetDataset(ArrowDataset):
    """The rows of Parquet files, column by column, without a copy where a column has numbers and no nulls.

    Args:
        filenames: a name, or several, of files with the columns of the first.
        batch_size: the rows of an element, which is a dict of arrays; the last element may have fewer. None gives single rows.
        columns: the columns that are read, and no others are; all unless given.
        fill: values in the place of nulls, by the names of columns.

    Raises:
        InvalidArgumentError: a column has a type that is no tensor, or does not hold its value of `fill`, or a file is no
            Parquet; the message names it.
        NotFoundError: there is no such file or column.
        UnimplementedError: the package pyarrow is not installed.
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        batch_size: int | None = None,
        columns: Sequence[str] | None = None,
        fill: Mapping[str, Any] | None = None,
    ) -> None:
        names = [filenames] if isinstance(filenames, (str, os.PathLike)) else list(filenames)
        if not names:
            raise InvalidArgumentError("A ParquetDataset has a file at least.")
        with _opened(names[0]) as first:
            schema = first.schema_arrow
        read = list(schema.names if columns is None else columns)
        size = batch_size or _ROWS
        rows = max(size, min(_READ_ROWS, _READ_BYTES // row_bytes(specs_of(schema, columns))) // size * size)

        def batches() -> Iterator[Any]:
            for name in names:
                with _opened(name) as file:
                    yield from file.iter_batches(rows, columns=read)

        super().__init__(schema, batches, batch_size=batch_size, columns=columns, fill=fill)


def _opened(name: str | os.PathLike[str]) -> Any:
    """A file of Parquet. Raises NotFoundError for an absent file, InvalidArgumentError for another format."""
    pyarrow, parquet = arrow_package(), arrow_package("pyarrow.parquet")
    try:
        return parquet.ParquetFile(os.fspath(name), memory_map=True)
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {os.fspath(name)!r}.") from None
    except pyarrow.ArrowInvalid as error:
        raise InvalidArgumentError(f"The file {os.fspath(name)!r} is no Parquet: {error}") from None


@public("af.data")
async def write_parquet(path: str | os.PathLike[str], batches: AsyncIterable[Mapping[str, Any]]) -> int:
    """Writes batches, such as predictions, to a file of Parquet. The file has its name when it is whole.

    Args:
        path: the file, which is replaced.
        batches: gives dicts of arrays by the names of columns, such as a dataset; the next is asked for when the last is written.

    Returns:
        The number of rows.

    Raises:
        InvalidArgumentError: there is no batch, a value has no rows or a type that Parquet has not, columns differ in their
            rows, or batches in their columns. The message names the column.
        UnimplementedError: the package pyarrow is not installed.
    """
    parquet = arrow_package("pyarrow.parquet")
    beside = f"{os.fspath(path)}.part"
    writer: Any = None
    rows = 0
    try:
        async for batch in batches:
            table = _table(batch)
            if writer is None:
                writer = await machine.on_thread(parquet.ParquetWriter, beside, table.schema)
            elif table.schema != writer.schema:
                raise InvalidArgumentError(
                    f"A batch has the columns {table.schema}, but the first had {writer.schema}."
                )
            await machine.on_thread(writer.write_table, table)
            rows += table.num_rows
        if writer is None:
            raise InvalidArgumentError("There is no batch to write, so the columns are not known.")
        await machine.on_thread(writer.close)
        os.replace(beside, path)
    except BaseException:
        if writer is not None:
            writer.close()
            os.unlink(beside)
        raise
    return rows


def _table(batch: Mapping[str, Any]) -> Any:
    """A batch as a table. Raises InvalidArgumentError for columns of different rows."""
    columns = {name: _column(name, np.asarray(value)) for name, value in batch.items()}
    rows = {name: len(column) for name, column in columns.items()}
    if len(set(rows.values())) > 1:
        sizes = ", ".join(f"{name!r} has {count}" for name, count in rows.items())
        raise InvalidArgumentError(f"The columns of a batch have different numbers of rows: {sizes}.")
    return arrow_package().table(columns)


def _column(name: str, values: Any) -> Any:
    """The rows of an array as a column: rows of several values are lists of equal sizes."""
    pyarrow = arrow_package()
    if values.ndim == 0:
        raise InvalidArgumentError(f"The column {name!r} is a scalar, which has no rows.")
    if 0 in values.shape[1:]:
        raise InvalidArgumentError(
            f"Rows of the column {name!r} have the shape {values.shape[1:]}, which has no values."
        )
    no_texts = values.dtype == object and not values.size  # no value says that it is text
    try:
        column = pyarrow.array(np.ascontiguousarray(values).ravel(), pyarrow.binary() if no_texts else None)
    except pyarrow.ArrowException as error:
        raise InvalidArgumentError(
            f"The column {name!r} has values of {values.dtype}, which are no column of Parquet: {error}"
        ) from None
    for size in reversed(values.shape[1:]):
        column = pyarrow.FixedSizeListArray.from_arrays(column, size)
    return column
