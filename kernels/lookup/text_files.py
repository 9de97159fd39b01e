"""Keys and values from the lines of a file: a column each, the whole line, or its number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import DType, string
from actorflow.base.records.reading.opening import read_all
from actorflow.base.records.roots import FileRoots
from actorflow.errors import InvalidArgumentError

WHOLE_LINE, LINE_NUMBER = -2, -1


def read_pairs(
    path: str, roots: FileRoots, columns: Sequence[tuple[int, DType]], count: int, delimiter: str, offset: int
) -> tuple[list[Any], list[Any]]:
    """The keys and the values of a file's lines.

    Args:
        path: the file.
        roots: where this process may read.
        columns: for keys and values the number of the column, or one of the two constants, and the type.
        count: how many lines are read, and the file has to have that many; -1 for all.
        delimiter: between the columns of a line.
        offset: is added to line numbers.

    Raises:
        NotFoundError: there is no such file.
        InvalidArgumentError: there are fewer lines or columns, an empty line, or a field that is no such number.
    """
    lines = read_all(path, roots).split(b"\n")
    if not lines[-1]:
        lines.pop()
    if count >= 0:
        if len(lines) < count:
            raise InvalidArgumentError(f"Invalid vocab_size in {path}: expected {count} but got {len(lines)} lines.")
        lines = lines[:count]
    pairs: tuple[list[Any], list[Any]] = ([], [])
    for number, raw in enumerate(lines):
        line = raw.removesuffix(b"\r")
        if not line:
            raise InvalidArgumentError(f"Invalid content in {path}: line {number} is empty.")
        fields = line.split(delimiter.encode())
        for place, (column, dtype) in zip(pairs, columns):
            place.append(_field(path, number, line, fields, column, dtype, offset))
    return pairs


def _field(path: str, number: int, line: bytes, fields: list[bytes], column: int, dtype: DType, offset: int) -> Any:
    if column == LINE_NUMBER:
        return number + offset
    if column >= len(fields):
        raise InvalidArgumentError(
            f"Invalid number of columns in {path} line {number} ({line!r:.60}): expected at least {column + 1}, got "
            f"{len(fields)}."
        )
    field = line if column == WHOLE_LINE else fields[column]
    if dtype is string:
        return field
    try:
        if dtype.is_integer:
            value = int(field)
            if not dtype.min <= value <= dtype.max:
                raise ValueError
            return value
        return dtype.numpy_dtype.type(float(field)).item()
    except ValueError:
        raise InvalidArgumentError(f"Field {field!r:.60} in line {number} of {path} is not a valid {dtype}.") from None
