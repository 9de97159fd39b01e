"""`CsvDataset`: the rows of CSV files, whose columns and types a schema states."""

from __future__ import annotations

import csv
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, DTypeLike, as_dtype, string
from actorflow.engine.eager.functions.signature import TensorSpec
from actorflow.errors import InvalidArgumentError, NotFoundError
from actorflow.models.data.dataset import Dataset
from actorflow.models.data.sources import from_batches
from actorflow.models.data.tables.threads import on_one_thread
from actorflow.models.data.tables.values import array_of, fills_of
from actorflow.public import public

_ROWS = 1024
_TRUTHS = {"true": True, "false": False, "1": True, "0": False}


@public("af.data")
class CsvDataset(Dataset):
    """The rows of CSV files. The first line of each has the names of its columns; columns outside the schema are not read.

    Example:
        >>> with open("rows.csv", "w") as file:
        ...     _ = file.write("name,x,n\\n" "a,0.5,1\\n" "b,,2\\n")
        >>> rows = af.data.CsvDataset("rows.csv", {"n": af.int64, "x": af.float32}, batch_size=2, fill={"x": 0.0})
        >>> [(batch["n"], batch["x"]) async for batch in rows]
        [([1 2], [0.5 0. ])]

    Args:
        filenames: a name, or several, of files in UTF-8.
        schema: the element types of the columns that are read, by name.
        names: the names of all columns in their order, for files without a line of names.
        batch_size: the rows of an element, which is a dict of arrays; the last element may have fewer. None gives single rows.
        fill: values in the place of empty cells, by the names of columns. An empty cell of a text is an empty text.
        delimiter: the character between cells.

    Raises:
        InvalidArgumentError: no rows are asked for, the schema is empty, or a value of `fill` is none of its column's type.

    In a run it raises NotFoundError for an absent file. It raises InvalidArgumentError for a column that a file lacks, a row
    with another number of cells, and a cell that its type does not hold. The message has the file, the line and the column.
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        schema: Mapping[str, DTypeLike],
        *,
        names: Sequence[str] | None = None,
        batch_size: int | None = None,
        fill: Mapping[str, Any] | None = None,
        delimiter: str = ",",
    ) -> None:
        if batch_size is not None and (isinstance(batch_size, bool) or batch_size < 1):
            raise InvalidArgumentError(f"A batch has a row at least, not {batch_size}.")
        specs = {name: TensorSpec((None,), as_dtype(dtype)) for name, dtype in schema.items()}
        if not specs:
            raise InvalidArgumentError("The schema of a CsvDataset has a column at least.")
        files = [os.fspath(name) for name in ([filenames] if isinstance(filenames, (str, os.PathLike)) else filenames)]
        fills_of(fill, specs)
        values, header = dict(fill or {}), None if names is None else list(names)

        def arrays() -> Generator[dict[str, Any], None, None]:
            rows = (row for file in files for row in _rows(file, header, list(specs), delimiter))
            while batch := list(islice(rows, batch_size or _ROWS)):
                columns = zip(*[cells for _, cells in batch], strict=True)
                places = [place for place, _ in batch]
                yield {
                    name: _column(name, column, spec.dtype, places, values)
                    for (name, spec), column in zip(specs.items(), columns)
                }

        whole = from_batches(lambda: on_one_thread(arrays), specs)
        super().__init__((whole if batch_size is not None else whole.unbatch()).node)


Place = tuple[str, int]
"""A file and a line."""


def _rows(file: str, names: list[str] | None, columns: list[str], delimiter: str) -> Iterator[tuple[Place, list[str]]]:
    """The cells of columns for each row of a file, with the row's place."""
    if not os.path.isfile(file):
        raise NotFoundError(f"There is no file {file!r}.")
    with open(file, encoding="utf-8-sig", newline="") as opened:
        reader = csv.reader(opened, delimiter=delimiter, strict=True)
        try:
            header = next(reader, []) if names is None else names
            missing = [column for column in columns if column not in header]
            if missing:
                raise InvalidArgumentError(f"The file {file!r} has no column {missing[0]!r}; it has {header!r:.200}.")
            indices = [header.index(column) for column in columns]
            for row in reader:
                if len(row) != len(header):
                    if not row:
                        continue  # an empty line
                    raise InvalidArgumentError(
                        f"The line {reader.line_num} of {file!r} has {len(row)} cells, but there are {len(header)} columns."
                    )
                yield (file, reader.line_num), [row[index] for index in indices]
        except (csv.Error, UnicodeDecodeError) as error:
            raise InvalidArgumentError(f"The line {reader.line_num + 1} of {file!r} is no CSV: {error}.") from None


def _column(name: str, cells: Sequence[str], dtype: DType, places: Sequence[Place], fill: Mapping[str, Any]) -> Any:
    """The cells of a column as an array."""
    if dtype is string:
        return array_of(f"The column {name!r}", [cell or fill.get(name, "") for cell in cells], dtype)
    try:
        return array_of(name, _parsed(cells, dtype, fill.get(name)), dtype)
    except (ValueError, TypeError):
        for cell, (file, line) in zip(cells, places):
            try:
                array_of(name, _parsed([cell], dtype, fill.get(name)), dtype)
            except (ValueError, TypeError):
                kind = "is empty" if not cell else f"has {cell!r:.40}, which is no {dtype.name}"
                hint = f"fill={{{name!r}: ...}} gives empty cells a value." if not cell else None
                raise InvalidArgumentError(
                    f"The column {name!r} in line {line} of {file!r} {kind}.", hint=hint
                ) from None
        raise


def _parsed(cells: Sequence[str], dtype: DType, fill: Any) -> Any:
    """The numbers that cells spell. Raises ValueError for other cells."""
    if "" in cells and fill is not None:
        return [_parsed([cell], dtype, None)[0] if cell else fill for cell in cells]
    if dtype.is_bool:
        return [_truth(cell) for cell in cells]
    if dtype.is_integer:
        return [int(cell) for cell in cells]
    numbers: Any = np.array(cells).astype(np.float64)
    return numbers


def _truth(cell: str) -> bool:
    truth = _TRUTHS.get(cell.strip().lower())
    if truth is None:
        raise ValueError(f"{cell!r} is no truth value.")
    return truth
