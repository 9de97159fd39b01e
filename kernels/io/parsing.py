"""Kernels that parse Example messages, on the host."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, as_dtype, float32, in_words, int64, string
from actorflow.base.packed_strings import PackedStrings, together
from actorflow.base.records.features import read_example, read_feature, read_sequence_example
from actorflow.base.records.wire import BrokenMessageError
from actorflow.base.registry.kernel import kernel
from actorflow.base.shapes import Shape, show
from actorflow.errors import InvalidArgumentError

from ..strings.objects import as_arrays
from .columns import FEWEST, Column, read_columns

_LISTS = {float32: "float", int64: "int64", string: "bytes"}
"""TensorFlow's word for the list of each type in a Feature."""


class _Example:
    """One message's features, and what to call it in errors."""

    def __init__(self, features: Mapping[bytes, bytes], label: str, index: int = 0) -> None:
        self._features = features
        self.label = label
        self.index = index

    def values(self, key: str, dtype: DType) -> Any:
        """The vector of a feature; None for a missing feature."""
        body = self._features.get(key.encode())
        return None if body is None else values_of(body, f"{self.label}, Feature: {key}", dtype)


def values_of(body: bytes, where: str, dtype: DType) -> Any:
    """The vector in a Feature message; None for a message without a vector. `where` begins the sentence of an error."""
    try:
        feature = read_feature(body)
    except BrokenMessageError as error:
        raise InvalidArgumentError(f"{where}. The feature can't be parsed: {error.message}") from None
    if feature is None:
        return None
    if feature[0] is not dtype:
        raise InvalidArgumentError(
            f"{where}.  Data types don't match. Expected type: {in_words(dtype)}  Feature is: {_LISTS[feature[0]]}_list"
        )
    return feature[1]


def _examples(serialized: Any, names: Any = ()) -> list[_Example]:
    result = []
    for index, message in enumerate(serialized.reshape(-1).tolist()):
        label = f"Name: {names[index].decode(errors='replace') if len(names) else '<unknown>'}"
        try:
            result.append(_Example(read_example(message), label, index))
        except BrokenMessageError as error:
            raise InvalidArgumentError(
                f"{label}, Index: {index}.  Could not parse example input, value: {message[:40]!r}. {error.message}"
            ) from None
    return result


def _fixed(example: _Example, key: str, shape: Any, default: Any, dtype: DType) -> Any:
    values = example.values(key, dtype)
    if values is None:
        if not default.size and math.prod(shape):
            raise InvalidArgumentError(
                f"{example.label}, Feature: {key} (data type: {in_words(dtype)}) is required but could not be found."
            )
        values = default.reshape(-1)
    return _shaped(values, shape, dtype, f"{example.label}, Key: {key}, Index: {example.index}")


def _shaped(values: Any, shape: Any, dtype: DType, where: str) -> Any:
    if len(values) != math.prod(shape):
        raise InvalidArgumentError(
            f"{where}.  Number of {_LISTS[dtype]} values != expected.  values size: {len(values)} but output shape: "
            f"{show(shape)}"
        )
    return values.reshape(shape)


def _sequence(example: _Example, key: str, shape: Any, dtype: DType) -> Any:
    values = example.values(key, dtype)
    if values is None:
        return np.zeros((0, *shape), dtype.numpy_dtype)
    step = math.prod(shape)
    if not step or len(values) % step:
        raise InvalidArgumentError(
            f"{example.label}, Key: {key}, Index: {example.index}.  Number of {_LISTS[dtype]} values is not a multiple of "
            f"stride length. Saw {len(values)} values but output shape is: {show(shape)}"
        )
    return values.reshape(-1, *shape)


def _dense(examples: Sequence[_Example], key: str, shape: Any, default: Any) -> Any:
    """One feature of all examples, with the dimension of the batch."""
    dtype = as_dtype(default.dtype)
    kind = dtype.numpy_dtype
    if None not in shape:
        result = np.empty((len(examples), *shape), kind)
        for index, example in enumerate(examples):
            result[index, ...] = _fixed(example, key, shape, default, dtype)  # `...`: an array of one text is its text
        return result
    rows = [_sequence(example, key, shape[1:], dtype) for example in examples]
    longest = max(map(len, rows), default=0)
    result = np.full((len(rows), longest, *shape[1:]), default.reshape(-1)[0], kind)
    for index, row in enumerate(rows):
        result[index, : len(row)] = row
    return result


def _dense_column(column: Column, shape: Any, default: Any) -> Any | None:
    """The same from a column; None where a message does not fit."""
    count = math.prod(size for size in shape if size is not None)
    lengths = column.lengths
    if None not in shape and (lengths == count).all():
        return column.values.reshape(len(lengths), *shape)
    if isinstance(column.values, PackedStrings):
        (values, fallback), data = together([column.values, default])
        moved = _dense_column(Column(lengths, values), shape, fallback)
        return None if moved is None else PackedStrings.of_elements(moved, data)
    missing = lengths < 0
    if None in shape:
        if not count or (lengths[~missing] % count).any():
            return None
        steps = np.where(missing, 0, lengths // count)
        longest = int(steps.max(initial=0))
        result = np.full((len(steps), longest, *shape[1:]), default.reshape(-1)[0], column.values.dtype)
        result[np.arange(longest) < steps[:, None]] = column.values.reshape(-1, *shape[1:])
        return result
    if (lengths[~missing] != count).any() or default.size != count:
        return None
    result = np.empty((len(lengths), *shape), column.values.dtype)
    result[missing] = default.reshape(shape)
    result[~missing] = column.values.reshape(-1, *shape) if count else 0
    return result


def _ragged(rows: Sequence[Any], dtype: DType) -> tuple[Any, Any, Any]:
    """Rows of different lengths as indices, values and shape; None is an empty row."""
    lengths = np.array([0 if row is None else len(row) for row in rows], np.int64)
    values = np.empty(int(lengths.sum()), dtype.numpy_dtype)
    if len(values):
        np.concatenate([row for row in rows if row is not None], out=values)
    return _sparse(lengths, values)


def _sparse(lengths: Any, values: Any) -> tuple[Any, Any, Any]:
    """Rows of these lengths as indices, values and shape."""
    indices = np.empty((len(values), 2), np.int64)
    indices[:, 0] = np.repeat(np.arange(len(lengths)), lengths)
    indices[:, 1] = np.arange(len(values)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return indices, values, np.array([len(lengths), lengths.max(initial=0)], np.int64)


def _columns(parts: Sequence[tuple[Any, Any, Any]]) -> list[Any]:
    """Indices of all, values of all, shapes of all."""
    return [part[place] for place in range(3) for part in parts]


def _result(outputs: list[Any]) -> Any:
    return tuple(outputs) if len(outputs) != 1 else outputs[0]


@kernel("ParseExample", packed="read")
def parse_example(
    xp: Any,
    serialized: Any,
    names: Any,
    dense_defaults: Sequence[Any],
    *,
    sparse_keys: Sequence[str],
    sparse_types: Sequence[DType],
    dense_keys: Sequence[str],
    dense_shapes: Sequence[Shape],
    packs: Collection[int] = (),
) -> Any:
    serialized = as_arrays(serialized)
    if serialized.ndim != 1:
        raise InvalidArgumentError(f"parse_example takes a vector of messages, but their shape is {serialized.shape}.")
    if len(names) not in (0, len(serialized)):
        raise InvalidArgumentError(f"There are {len(serialized)} examples, but {len(names)} names.")
    defaults = [as_arrays(d) for d in dense_defaults]
    features = dict(zip(sparse_keys, sparse_types)) | {k: as_dtype(d.dtype) for k, d in zip(dense_keys, defaults)}
    if len(serialized) >= FEWEST and len(features) == len(sparse_keys) + len(dense_keys):
        packed = [key for port, key in enumerate(sparse_keys, len(sparse_keys)) if port in packs]
        packed += [key for port, key in enumerate(dense_keys, 3 * len(sparse_keys)) if port in packs]
        columns = read_columns(serialized.tolist(), features, packed)
        if columns is not None:
            fixed = [_dense_column(columns[key], shape, d) for key, shape, d in zip(dense_keys, dense_shapes, defaults)]
            if all(column is not None for column in fixed):
                rows = [_sparse(np.maximum(columns[key].lengths, 0), columns[key].values) for key in sparse_keys]
                return _result(_columns(rows) + fixed)
    examples = _examples(serialized, names)
    sparse = [_ragged([e.values(key, t) for e in examples], t) for key, t in zip(sparse_keys, sparse_types)]
    dense = [_dense(examples, key, shape, d) for key, shape, d in zip(dense_keys, dense_shapes, defaults)]
    return _result(_columns(sparse) + dense)


def _single(
    example: _Example, keys: Sequence[str], types: Sequence[DType], dense: Sequence[tuple[str, Shape, Any]]
) -> list[Any]:
    sparse = []
    for key, dtype in zip(keys, types):
        indices, values, shape = _ragged([example.values(key, dtype)], dtype)
        sparse.append((indices[:, 1:].copy(), values, shape[1:].copy()))
    dense_values = [_dense([example], key, shape, as_arrays(default))[0] for key, shape, default in dense]
    return _columns(sparse) + dense_values


@kernel("ParseSingleExample")
def parse_single_example(
    xp: Any,
    serialized: Any,
    dense_defaults: Sequence[Any],
    *,
    sparse_keys: Sequence[str],
    sparse_types: Sequence[DType],
    dense_keys: Sequence[str],
    dense_shapes: Sequence[Shape],
) -> Any:
    serialized = as_arrays(serialized)
    if serialized.ndim:
        raise InvalidArgumentError(f"parse_single_example takes one message, but the shape is {serialized.shape}.")
    (example,) = _examples(serialized)
    return _result(_single(example, sparse_keys, sparse_types, list(zip(dense_keys, dense_shapes, dense_defaults))))


@kernel("ParseSingleSequenceExample")
def parse_single_sequence_example(
    xp: Any,
    serialized: Any,
    debug_name: Any,
    context_dense_defaults: Sequence[Any],
    *,
    context_sparse_keys: Sequence[str],
    context_sparse_types: Sequence[DType],
    context_dense_keys: Sequence[str],
    context_dense_shapes: Sequence[Shape],
    feature_list_sparse_keys: Sequence[str],
    feature_list_sparse_types: Sequence[DType],
    feature_list_dense_keys: Sequence[str],
    feature_list_dense_types: Sequence[DType],
    feature_list_dense_shapes: Sequence[tuple[int, ...]],
    feature_list_dense_missing_assumed_empty: Sequence[str],
) -> Any:
    label = f"Name: {as_arrays(debug_name).item().decode(errors='replace') or '<unknown>'}"
    message = as_arrays(serialized)
    if message.ndim:
        raise InvalidArgumentError(f"One message is parsed, but the shape is {message.shape}.")
    try:
        context, lists = read_sequence_example(message.item())
    except BrokenMessageError as error:
        raise InvalidArgumentError(
            f"{label}.  Could not parse example input, value: {message.item()[:40]!r}. {error.message}"
        ) from None
    dense_context = list(zip(context_dense_keys, context_dense_shapes, context_dense_defaults))
    outputs = _single(_Example(context, label), context_sparse_keys, context_sparse_types, dense_context)
    outputs += _columns(
        [
            _ragged(
                [
                    values_of(body, f"{label}, Feature list: {key}, Index: {index}", dtype)
                    for index, body in enumerate(lists.get(key.encode(), ()))
                ],
                dtype,
            )
            for key, dtype in zip(feature_list_sparse_keys, feature_list_sparse_types)
        ]
    )
    for key, dtype, shape in zip(feature_list_dense_keys, feature_list_dense_types, feature_list_dense_shapes):
        if key.encode() not in lists and key not in feature_list_dense_missing_assumed_empty:
            raise InvalidArgumentError(
                f"{label}, Feature list '{key}' is required but could not be found.  Did you mean to include it in "
                f"feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?",
                hint="Say allow_missing=True for the feature.",
            )
        bodies = lists.get(key.encode(), [])
        result = np.empty((len(bodies), *shape), dtype.numpy_dtype)
        for index, body in enumerate(bodies):
            values = values_of(body, f"{label}, Feature list: {key}, Index: {index}", dtype)
            where = f"{label}, Key: {key}, Index: {index}"
            result[index] = _shaped(np.empty(0) if values is None else values, shape, dtype, where)
        outputs.append(result)
    return _result(outputs)
