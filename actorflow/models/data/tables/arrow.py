"""Columns of Arrow as arrays, and the types of Arrow as specs of tensors."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import as_dtype, string
from actorflow.engine.eager.functions.signature import TensorSpec
from actorflow.errors import InvalidArgumentError, NotFoundError, UnimplementedError

_ADVICE = "Leave it out with columns=[...], or cast it in the file."


def arrow_package(name: str = "pyarrow") -> Any:
    """The package `pyarrow`, or a module of it. Raises UnimplementedError if it is absent."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UnimplementedError(
            "Tables of Arrow and Parquet need the package pyarrow, which is not installed.",
            hint="Install it with: pip install 'actorflow[arrow]'.",
        ) from None


def specs_of(schema: Any, columns: Sequence[str] | None) -> dict[str, TensorSpec]:
    """The specs of batches by the names of columns.

    Args:
        schema: a schema of Arrow.
        columns: the columns that are read, in their order; all of them for None.

    Raises:
        NotFoundError: there is no such column.
        InvalidArgumentError: a column has a type that is no tensor; the message names it.
    """
    absent = [name for name in columns or () if name not in schema.names]
    if absent:
        raise NotFoundError(f"The table has no column {absent[0]!r}; it has: {', '.join(schema.names)}.")
    return {name: _spec(schema.field(name)) for name in (schema.names if columns is None else columns)}


def _spec(field: Any) -> TensorSpec:
    types = arrow_package().types
    kind, sizes = field.type, []
    while types.is_fixed_size_list(kind):
        sizes.append(kind.list_size)
        kind = kind.value_type
    if types.is_dictionary(kind) and not sizes:
        kind = kind.value_type
    if not sizes and _is_text(kind):
        return TensorSpec((None,), string)
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return TensorSpec((None, *sizes), as_dtype(np.dtype(kind.to_pandas_dtype())))
    raise InvalidArgumentError(
        f"The column {field.name!r} has the type {field.type}, which is no tensor.", hint=_ADVICE
    )


def _is_text(kind: Any) -> bool:
    types = arrow_package().types
    tests = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    return any(test(kind) for test in tests)


def arrays_of(batch: Any, specs: Mapping[str, TensorSpec], fill: Mapping[str, Any]) -> dict[str, Any]:
    """A record batch as arrays by the names of columns. Numbers without nulls are not copied.

    Args:
        batch: a record batch, or a table.
        specs: the columns.
        fill: values in the place of nulls, by the names of columns.

    Raises:
        InvalidArgumentError: a column has nulls, and nothing to fill them with; or it is of another type.
    """
    absent = next((name for name in specs if name not in batch.schema.names), None)
    if absent is not None:
        raise InvalidArgumentError(f"A batch has no column {absent!r}; it has: {', '.join(batch.schema.names)}.")
    return {name: _array(name, batch.column(name), spec, fill) for name, spec in specs.items()}


def _array(name: str, column: Any, spec: TensorSpec, fill: Mapping[str, Any]) -> Any:
    if not column.null_count and spec.dtype is not string and len(spec.static_shape or ()) == 1:
        values = column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False)
        if values.dtype == spec.dtype.numpy_dtype:
            return values
    pyarrow = arrow_package()
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        if name not in fill:
            place = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise InvalidArgumentError(
                f"The column {name!r} has nulls, the first in row {place} of a batch, and tensors have none.",
                hint=f"fill={{{name!r}: ...}} gives them a value.",
            )
        column = column.fill_null(fill[name])
    rows = len(column)
    while pyarrow.types.is_fixed_size_list(column.type):
        column = column.flatten()
        if column.null_count:
            raise InvalidArgumentError(f"The lists of the column {name!r} have nulls, and tensors have none.")
    if spec.dtype is string:
        column = column.cast(pyarrow.large_binary() if column.nbytes >> 31 else pyarrow.binary())
    values = column.to_numpy(zero_copy_only=False)
    if spec.dtype is not string and values.dtype != spec.dtype.numpy_dtype:
        raise InvalidArgumentError(
            f"The column {name!r} has {values.dtype} in a batch, but {spec.dtype.name} in the first."
        )
    return values.reshape((rows, *(spec.static_shape or (None,))[1:]))


def in_sizes(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """Record batches of equal sizes; the last may be smaller. A batch of that size stays as it is.

    Args:
        batches: record batches with equal schemas.
        size: the rows of each.
    """
    table = arrow_package().Table
    parts: list[Any] = []
    rows = 0
    for batch in batches:
        if batch.num_rows == size and not parts:
            yield batch
            continue
        while batch.num_rows:
            part = batch.slice(0, size - rows)
            batch = batch.slice(part.num_rows)
            parts.append(part)
            rows += part.num_rows
            if rows == size:
                yield parts[0] if len(parts) == 1 else table.from_batches(parts)
                parts, rows = [], 0
    if parts:
        yield table.from_batches(parts)
