"""Kernels of sparse tensors as strings, and back. They compute on the host."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, as_dtype, in_words, int64
from actorflow.base.records.proto_tensor import read_tensor, write_tensor
from actorflow.base.records.wire import BrokenMessageError
from actorflow.base.registry.kernel import kernel
from actorflow.errors import InvalidArgumentError

from ..strings.objects import as_arrays

_PARTS = ("indices", "values", "dense shape")


def _check(indices: Any, values: Any, shape: Any) -> None:
    if indices.ndim != 2 or values.shape != indices.shape[:1] or shape.shape != indices.shape[1:]:
        raise InvalidArgumentError(
            f"Indices of shape {indices.shape}, values of shape {values.shape} and a dense shape of shape {shape.shape} are "
            "no sparse tensor."
        )


def _written(indices: Any, values: Any, shape: Any) -> list[bytes]:
    dtype = as_dtype(values.dtype)
    return [write_tensor(indices, int64), write_tensor(values, dtype), write_tensor(shape, int64)]


def _strings(rows: list[list[bytes]], shape: tuple[int, ...]) -> Any:
    texts = np.empty(shape, object)
    texts.reshape(-1)[:] = [part for row in rows for part in row]
    return texts


@kernel("SerializeSparse")
def serialize_sparse(xp: Any, indices: Any, values: Any, shape: Any) -> Any:
    values = as_arrays(values)
    _check(indices, values, shape)
    return _strings([_written(indices, values, shape)], (3,))


@kernel("SerializeManySparse")
def serialize_many_sparse(xp: Any, indices: Any, values: Any, shape: Any) -> Any:
    values = as_arrays(values)
    _check(indices, values, shape)
    if len(shape) < 2:
        raise InvalidArgumentError(f"Slices are of sparse tensors of rank 2 or more, but the rank is {len(shape)}.")
    first, count = indices[:, 0], int(shape[0])
    if len(first) and not ((first >= 0) & (first < count)).all() or (np.diff(first) < 0).any():
        raise InvalidArgumentError(f"The indices are out of order, or outside of the dense shape {shape.tolist()}.")
    borders = np.searchsorted(first, np.arange(count + 1))
    rows = [_written(indices[a:b, 1:], values[a:b], shape[1:]) for a, b in itertools.pairwise(borders)]
    return _strings(rows, (count, 3))


@kernel("DeserializeManySparse")
def deserialize_many_sparse(xp: Any, serialized: Any, *, dtype: DType) -> Any:
    strings = as_arrays(serialized)
    if strings.ndim != 2 or strings.shape[1] != 3 or not len(strings):
        raise InvalidArgumentError(
            f"Serialized sparse tensors are strings of shape [n, 3], of one or more, but the shape is {strings.shape}."
        )
    parts = [_read(number, row, dtype) for number, row in enumerate(strings.tolist())]
    rank = len(parts[0][2])
    for number, (_, _, shape) in enumerate(parts):
        if len(shape) != rank:
            raise InvalidArgumentError(
                f"Inconsistent shape across SparseTensors: rank prior to SparseTensor[{number}] was: {rank} but rank of "
                f"SparseTensor[{number}] is: {len(shape)}"
            )
    numbers = np.repeat(np.arange(len(parts)), [len(values) for _, values, _ in parts])
    return (
        np.hstack([numbers[:, None], np.concatenate([indices for indices, _, _ in parts])]),
        np.concatenate([values for _, values, _ in parts]),
        np.array([len(parts), *np.max([shape for _, _, shape in parts], axis=0)], np.int64),
    )


def _read(number: int, row: list[bytes], dtype: DType) -> tuple[Any, Any, Any]:
    arrays = []
    for what, dtype_expected, message in zip(_PARTS, (int64, dtype, int64), row):
        try:
            kind, array = read_tensor(message)
        except BrokenMessageError as error:
            raise InvalidArgumentError(
                f"Could not parse serialized proto: the {what} of serialized sparse tensor {number}. {error}"
            ) from None
        if kind is not dtype_expected and what == "values":
            raise InvalidArgumentError(
                f"Requested SparseTensor of type {in_words(dtype_expected)} but SparseTensor[{number}].values.dtype() == "
                f"{in_words(kind)}"
            )
        if kind is not dtype_expected:
            raise InvalidArgumentError(
                f"The {what} of serialized sparse tensor {number} are {kind}, not {dtype_expected}."
            )
        arrays.append(array)
    _check(*arrays)
    return arrays[0], arrays[1], arrays[2]
