"""Images of another element type: the whole range of one becomes that of the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, DTypeLike, as_dtype
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.math.arithmetic import floordiv, multiply
from actorflow.graph.ops.math.cast import cast, saturate_cast
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


@public("af.image")
def convert_image_dtype(image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None) -> Tensor:
    """An image whose elements are of `dtype` (`tf.image.convert_image_dtype`). Floats range over [0, 1), and integers over
    all that their type holds from 0 on.

    Example:
        >>> af.image.convert_image_dtype(af.constant([0, 51, 255], af.uint8), af.float32)
        [0.  0.2 1. ]
        >>> af.image.convert_image_dtype([0.0, 0.2, 1.0], af.uint8)
        [  0  51 255]

    Args:
        image: of any shape, integer or floating.
        dtype: the element type of the result, integer or floating.
        saturate: whether values outside the range of `dtype` become its limits; otherwise they wrap.

    Returns:
        A tensor of the same shape.

    Raises:
        AttributeError: `dtype` is neither integer nor floating.
    """
    source = convert_to_tensor(image)
    target, source_dtype = as_dtype(dtype), source.dtype.base_dtype
    if not (target.is_floating or target.is_integer):
        raise AttributeError(f"An image's elements are integers or floats, not {target}.")
    to = saturate_cast if saturate else cast
    with composite(name, "convert_image", source) as scope:
        if target is source_dtype:
            return identity(source, name=scope)
        if source_dtype.is_integer and target.is_integer:
            have, want = source_dtype.max + 1, target.max + 1
            if have > want:
                return to(floordiv(source, _number(have // want, source_dtype)), target, name=scope)
            return multiply(to(source, target), _number(want // have, target), name=scope)
        if source_dtype.is_integer:
            return multiply(cast(source, target), _number(1.0 / source_dtype.max, target), name=scope)
        if target.is_floating:
            return cast(source, target, name=scope)
        return to(multiply(source, _number(target.max + 0.5, source_dtype)), target, name=scope)


def _number(value: float, dtype: DType) -> np.ndarray[Any, Any]:
    return np.asarray(value).astype(dtype.numpy_dtype)
