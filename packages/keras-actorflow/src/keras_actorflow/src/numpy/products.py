"""Products of vectors, matrices and tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from keras.src.backend.common.dtypes import result_type

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor
from keras_actorflow.src.numpy.promotion import common, kind, place_of
from keras_actorflow.src.sizes import joint_sizes, larger, size_of, sizes_of, smaller, vector

_SMALL = ("bool", "int8", "int16", "uint8", "uint16", "uint32", "uint64")


def _multiplied(function: Callable[..., Any], *tensors: Any) -> Any:
    """A product in a type that has kernels; integers that have none go by way of 64 bits."""
    name = kind(tensors[0])
    if name in _SMALL:
        product = function(*(af.cast(tensor, "int64") for tensor in tensors))
        return af.cast(product, name)
    return function(*tensors)


def _bytes_to_words(x1: Any, x2: Any) -> list[Any]:
    """Operands in their common type; two of 8 bits give integers of 32."""
    x1, x2 = convert_to_tensor(x1), convert_to_tensor(x2)
    if kind(x1) == kind(x2) == "int8":
        return [af.cast(x1, "int32"), af.cast(x2, "int32")]
    return common(x1, x2)


def matmul(x1: Any, x2: Any) -> Any:
    return _multiplied(_matmul, *_bytes_to_words(x1, x2))


def _matmul(x1: Any, x2: Any) -> Any:
    rank1, rank2 = len(x1.shape), len(x2.shape)
    if rank1 == 0 or rank2 == 0:
        raise ValueError("matmul does not take scalars: use multiply.")
    x1 = af.expand_dims(x1, 0) if rank1 == 1 else x1
    x2 = af.expand_dims(x2, -1) if rank2 == 1 else x2
    if len(x2.shape) == 2 and len(x1.shape) > 2:
        sizes = sizes_of(x1)  # one product of matrices, not one for each of a batch
        flat = af.matmul(af.reshape(x1, [math.prod(sizes[:-1]), sizes[-1]]), x2)
        product = af.reshape(flat, [*sizes[:-1], size_of(x2, -1)])
    else:
        first, second = tuple(x1.shape)[:-2], tuple(x2.shape)[:-2]
        if first != second or (None in first and first.count(None) > 1):
            sizes1, sizes2 = sizes_of(x1), sizes_of(x2)
            batch = joint_sizes(sizes1[:-2], sizes2[:-2])
            x1 = af.broadcast_to(x1, [*batch, *sizes1[-2:]])
            x2 = af.broadcast_to(x2, [*batch, *sizes2[-2:]])
        product = af.matmul(x1, x2)
    dropped = ([-2] if rank1 == 1 else []) + ([-1] if rank2 == 1 else [])
    return af.squeeze(product, dropped) if dropped else product


def dot(x1: Any, x2: Any) -> Any:
    x1, x2 = common(x1, x2)
    if not len(x1.shape) or not len(x2.shape):
        return af.logical_and(x1, x2) if kind(x1) == "bool" else x1 * x2
    axis = -1 if len(x2.shape) == 1 else -2
    return tensordot(x1, x2, [[-1], [axis]])


def inner(x1: Any, x2: Any) -> Any:
    x1, x2 = common(x1, x2)
    if not len(x1.shape) or not len(x2.shape):
        return af.logical_and(x1, x2) if kind(x1) == "bool" else x1 * x2
    return tensordot(x1, x2, [[-1], [-1]])


def vdot(x1: Any, x2: Any) -> Any:
    x1, x2 = common(x1, x2)
    x1 = af.conj(x1) if kind(x1).startswith("complex") else x1
    return dot(af.reshape(x1, [-1]), af.reshape(x2, [-1]))


def outer(x1: Any, x2: Any) -> Any:
    x1, x2 = common(x1, x2)
    x1, x2 = af.reshape(x1, [-1, 1]), af.reshape(x2, [1, -1])
    return af.logical_and(x1, x2) if kind(x1) == "bool" else x1 * x2


def kron(x1: Any, x2: Any) -> Any:
    x1, x2 = common(x1, x2)
    rank = max(len(x1.shape), len(x2.shape))
    sizes1 = [1] * (rank - len(x1.shape)) + sizes_of(x1)
    sizes2 = [1] * (rank - len(x2.shape)) + sizes_of(x2)
    x1 = af.reshape(x1, [part for size in sizes1 for part in (size, 1)])
    x2 = af.reshape(x2, [part for size in sizes2 for part in (1, size)])
    product = af.logical_and(x1, x2) if kind(x1) == "bool" else x1 * x2
    return af.reshape(product, [a * b for a, b in zip(sizes1, sizes2, strict=True)])


def tensordot(x1: Any, x2: Any, axes: Any = 2) -> Any:
    x1, x2 = common(x1, x2)
    rank1, rank2 = len(x1.shape), len(x2.shape)
    if isinstance(axes, int):
        first, second = list(range(rank1 - axes, rank1)), list(range(axes))
    else:
        first, second = ([axis] if isinstance(axis, int) else list(axis) for axis in axes)
    first, second = [place_of(axis, rank1) for axis in first], [place_of(axis, rank2) for axis in second]
    kept1 = [axis for axis in range(rank1) if axis not in first]
    kept2 = [axis for axis in range(rank2) if axis not in second]
    sizes1, sizes2 = sizes_of(x1), sizes_of(x2)
    count = math.prod(sizes1[axis] for axis in first)
    rows = math.prod(sizes1[axis] for axis in kept1)
    columns = math.prod(sizes2[axis] for axis in kept2)
    left = af.reshape(af.transpose(x1, kept1 + first), [rows, count])
    right = af.reshape(af.transpose(x2, second + kept2), [count, columns])
    product = _multiplied(af.matmul, left, right)
    return af.reshape(product, [*[sizes1[axis] for axis in kept1], *[sizes2[axis] for axis in kept2]])


def einsum(subscripts: str, *operands: Any, **kwargs: Any) -> Any:
    tensors = [convert_to_tensor(operand) for operand in operands]
    names = {kind(tensor) for tensor in tensors}
    name = "int32" if names == {"int8"} else result_type(*names)
    tensors = [af.cast(tensor, name) for tensor in tensors]
    return _multiplied(lambda *parts: af.einsum(subscripts, *parts), *tensors)


def cross(x1: Any, x2: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    from keras_actorflow.src.numpy.shaping import moveaxis

    if axis is not None:
        axisa = axisb = axisc = axis
    x1, x2 = common(x1, x2)
    x1, x2 = moveaxis(x1, axisa, -1), moveaxis(x2, axisb, -1)
    if x1.shape[-1] not in (2, 3) or x2.shape[-1] not in (2, 3):
        raise ValueError(
            "`x1`'s dim on `axis={axisa}` must be either 2 or 3, and `x2`'s too. "
            f"Received: x1 of shape {tuple(x1.shape)}, x2 of shape {tuple(x2.shape)}"
        )
    (a, b) = (_components(x1), _components(x2))
    last = a[0] * b[1] - a[1] * b[0]
    if x1.shape[-1] == 2 and x2.shape[-1] == 2:
        return last
    return moveaxis(af.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], last], axis=-1), -1, axisc)


def _components(x: Any) -> Sequence[Any]:
    parts = [x[..., number] for number in range(int(x.shape[-1]))]
    return parts if len(parts) == 3 else [*parts, af.zeros_like(parts[0])]


def correlate(x1: Any, x2: Any, mode: str = "valid") -> Any:
    x1, x2 = common(x1, x2, also=(float,))
    if len(x1.shape) != 1 or len(x2.shape) != 1:
        raise ValueError(
            f"correlate() only support 1-dimensional inputs. Received: {tuple(x1.shape)}, {tuple(x2.shape)}"
        )
    size1, size2 = size_of(x1, 0), size_of(x2, 0)
    shorter, longer = smaller(size1, size2), larger(size1, size2)
    padded = af.pad(x1, af.reshape(vector([size2 - 1, size2 - 1]), [1, 2]))
    places = af.expand_dims(af.range_(size1 + size2 - 1), 1) + af.range_(size2)
    result = af.reduce_sum(af.gather(padded, places) * x2, -1)
    if mode == "valid":
        return result[shorter - 1 : longer]
    if mode == "same":
        at_left = (
            shorter - smaller(1, larger(size1 - size2 + 1, 0))
        ) // 2  # the half is rounded down for a longer first
        return result[at_left : at_left + longer]
    return result


def vectorize(pyfunc: Callable[..., Any], *, excluded: Any = None, signature: Any = None) -> Callable[..., Any]:
    from keras.src.backend.common.backend_utils import vectorize_impl

    from keras_actorflow.src.control import vectorized_map

    def vmap(function: Callable[..., Any], in_axes: Any) -> Callable[..., Any]:
        def apply(*args: Any) -> Any:
            mapped = [number for number, axis in enumerate(in_axes) if axis is not None]

            def row(parts: Any) -> Any:
                inputs = list(args)
                for number, part in zip(mapped, parts, strict=True):
                    inputs[number] = part
                return function(*inputs)

            return vectorized_map(row, [args[number] for number in mapped])

        return apply

    return vectorize_impl(pyfunc, vmap, excluded=excluded, signature=signature)
