"""Columns of Arrow as arrays, and the types of Arrow as specs of tensors."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import as_dtype, string
from actorflow.engine.eager.functions.signature import TensorSpec
from actorflow.errors import InvalidArgumentError, NotFoundError, UnimplementedError

_TEXT_BYTES = 32
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
        fill: values in the place of nulls, by the names of columns, in their types.

    Raises:
        InvalidArgumentError: a column has nulls, and nothing to fill them with; or it is of another type.
    """
    absent = next((name for name in specs if name not in batch.schema.names), None)
    if absent is not None:
        raise InvalidArgumentError(f"A batch has no column {absent!r}; it has: {', '.join(batch.schema.names)}.")
    return {name: _array(name, batch.column(name), spec, fill) for name, spec in specs.items()}


def _array(name: str, column: Any, spec: TensorSpec, fill: Mapping[str, Any]) -> Any:
    pyarrow, sizes = arrow_package(), (spec.static_shape or (None,))[1:]
    types, is_text = pyarrow.types, spec.dtype is string
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)  # a dictionary may have a null, which is counted only so
    elif not column.null_count and not is_text and not sizes:
        values = column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False)
        if values.dtype == spec.dtype.numpy_dtype:
            return values
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks()
    if column.null_count:
        return _filled(name, column, spec, fill)
    rows, lists = len(column), []
    kind = column.type
    while types.is_fixed_size_list(column.type):
        lists.append(column.type.list_size)
        column = column.flatten()
        if column.null_count:
            raise InvalidArgumentError(f"The lists of the column {name!r} have nulls, and tensors have none.")
    if tuple(lists) == sizes and is_text == _is_text(column.type):
        if is_text:
            column = column.cast(pyarrow.large_binary() if column.nbytes >> 31 else pyarrow.binary())
        values = column.to_numpy(zero_copy_only=False)
        if is_text or values.dtype == spec.dtype.numpy_dtype:
            return values.reshape((rows, *sizes))
    shape = f" in rows of the shape {sizes}" if sizes else ""
    raise InvalidArgumentError(
        f"The column {name!r} has the type {kind} in a batch, but {spec.dtype.name}{shape} in the first."
    )


def _filled(name: str, column: Any, spec: TensorSpec, fill: Mapping[str, Any]) -> Any:
    """The values of a column with nulls."""
    absent = column.is_null().to_numpy(zero_copy_only=False)
    if name not in fill:
        row = int(np.flatnonzero(absent)[0])
        raise InvalidArgumentError(
            f"The column {name!r} has nulls, the first in row {row} of a batch, and tensors have none.",
            hint=f"fill={{{name!r}: ...}} gives them a value.",
        )
    present = _array(name, column.drop_null(), spec, fill)
    values = np.empty((len(column), *present.shape[1:]), present.dtype)
    values[absent], values[~absent] = fill[name], present
    return values


def row_bytes(specs: Mapping[str, TensorSpec]) -> int:
    """The bytes of a row, about: how long texts are is not known."""
    sizes = [
        (_TEXT_BYTES if spec.dtype is string else spec.dtype.size)
        * math.prod(size or 1 for size in (spec.static_shape or ())[1:])
        for spec in specs.values()
    ]
    return max(1, sum(sizes))


def in_sizes(batches: Iterable[Any], size: int, arrays: Callable[[Any], dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The arrays of record batches, in equal sizes; the last may be smaller.

    A record batch becomes arrays at once, however many batches it has. A batch with half of their rows is a view of them, a
    smaller batch a copy: a view would keep all of them. The arrays are joined, and not the record batches: schemas of
    several files may differ in what makes no other tensors, such as the order of columns.

    Args:
        batches: record batches.
        size: the rows of each.
        arrays: gives the arrays of a record batch by the names of columns.
    """
    parts: list[dict[str, Any]] = []
    rows = 0
    for batch in batches:
        whole, start = arrays(batch) if batch.num_rows else {}, 0
        while start < batch.num_rows:
            end = min(batch.num_rows, start + size - rows)
            part = {name: values[start:end] for name, values in whole.items()}
            parts.append(part if 2 * (end - start) >= batch.num_rows else {k: v.copy() for k, v in part.items()})
            rows += end - start
            start = end
            if rows == size:
                yield _joined(parts)
                parts, rows = [], 0
    if parts:
        yield _joined(parts)


def _joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows of several parts, for everyone to read."""
    joined = parts[0]
    if len(parts) > 1:
        joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    for values in joined.values():
        values.flags.writeable = False
    return joined
