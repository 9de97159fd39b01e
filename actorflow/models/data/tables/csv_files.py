"""`CsvDataset`: the rows of CSV files, whose columns and types a schema states."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
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
_SPACE = " \t\n\v\f\r"
_ODD = re.compile(r"[^-+.0-9eE \t]")
"""A character that no usual number has. Python would take `1_000` and the digits of other scripts."""
_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE)
_NO_UTF8 = re.compile("[\udc80-\udcff]")
"""A byte that was no UTF-8, as `surrogateescape` shows it."""


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
        InvalidArgumentError: no rows are asked for, the schema is empty, `names` has a column of it twice, the delimiter is no
            single character, or a value of `fill` is none of its column's type.

    In a run it raises NotFoundError for an absent file. It raises InvalidArgumentError for a column that a file lacks or has
    twice, a row with another number of cells, and a cell that its type does not hold. A NUL byte and bytes that are no UTF-8
    are refused too. The message has the file, the line and the column. A number has digits of ASCII and no `_`; `inf` alone is
    infinite.
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
        if len(delimiter) != 1 or delimiter in '"\r\n\0':
            raise InvalidArgumentError(
                f"The delimiter of CSV is a single character, no quote and no end of a line, but it is {delimiter!r}."
            )
        if isinstance(names, str):
            raise InvalidArgumentError(f"The names of columns are a list of texts, not {names!r}.")
        files = [os.fspath(name) for name in ([filenames] if isinstance(filenames, (str, os.PathLike)) else filenames)]
        fills_of(fill, specs)
        values, header = dict(fill or {}), None if names is None else list(names)
        if header is not None:
            _check_twice("The list `names`", header, specs)

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
    with open(file, encoding="utf-8-sig", errors="surrogateescape", newline="") as opened:
        reader = csv.reader(_lines(opened), delimiter=delimiter, strict=True)
        begin = 0
        try:
            header = next(reader, []) if names is None else names
            missing = [column for column in columns if column not in header]
            if missing:
                raise InvalidArgumentError(f"The file {file!r} has no column {missing[0]!r}; it has {header!r:.200}.")
            if names is None:
                _check_twice(f"The first line of {file!r}", header, columns)
            indices = [header.index(column) for column in columns]
            begin = reader.line_num
            for row in reader:
                begin = reader.line_num
                if len(row) != len(header):
                    if not row:
                        continue  # an empty line
                    raise InvalidArgumentError(
                        f"The line {begin} of {file!r} has {len(row)} cells, but there are {len(header)} columns."
                    )
                yield (file, begin), [row[index] for index in indices]
        except csv.Error as error:
            raise InvalidArgumentError(f"The row at line {begin + 1} of {file!r} is no CSV: {error}.") from None


def _lines(opened: Iterable[str]) -> Iterator[str]:
    """The lines of a file. Raises csv.Error for a NUL byte and for bytes that are no UTF-8."""
    for line in opened:
        if "\0" in line:
            raise csv.Error("it has a NUL byte")
        if not line.isascii() and (byte := _NO_UTF8.search(line)):
            raise csv.Error(f"it has the byte 0x{ord(byte[0]) - 0xDC00:x} at a place where that is no UTF-8")
        yield line


def _check_twice(place: str, header: Sequence[str], columns: Iterable[str]) -> None:
    """Raises InvalidArgumentError if a column has the name of another column."""
    for column in columns:
        if header.count(column) > 1:
            raise InvalidArgumentError(
                f"{place} has the column {column!r} {header.count(column)} times, so it is not known which is meant."
            )


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
    if _ODD.search("".join(cells)):
        form = _INTEGER if dtype.is_integer else _FLOAT
        for cell in cells:
            if not form.fullmatch(cell.strip(_SPACE)):
                raise ValueError(f"{cell!r} is no number.")
    if dtype.is_integer:
        return [int(cell) for cell in cells]
    numbers: Any = np.array(cells).astype(np.float64)
    for row in np.flatnonzero(np.isinf(numbers)).tolist():
        if "inf" not in cells[row].lower():
            raise ValueError(f"{cells[row]!r} is beyond the largest float.")
    return numbers


def _truth(cell: str) -> bool:
    truth = _TRUTHS.get(cell.strip(_SPACE).lower())
    if truth is None:
        raise ValueError(f"{cell!r} is no truth value.")
    return truth
