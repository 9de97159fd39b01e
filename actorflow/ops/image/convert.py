"""Images of another element type: the whole range of one becomes that of the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.dtypes import DType, DTypeLike, as_dtype
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.ops.building import composite
from actorflow.ops.flow.control import identity
from actorflow.ops.math.arithmetic import floordiv, multiply
from actorflow.ops.math.cast import cast, saturate_cast
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
    wanted, given = as_dtype(dtype), source.dtype.base_dtype
    if not (wanted.is_floating or wanted.is_integer):
        raise AttributeError(f"An image's elements are integers or floats, not {wanted}.")
    to = saturate_cast if saturate else cast
    with composite(name, "convert_image", source) as scope:
        if wanted is given:
            return identity(source, name=scope)
        if given.is_integer and wanted.is_integer:
            have, want = given.max + 1, wanted.max + 1
            if have > want:
                return to(floordiv(source, _number(have // want, given)), wanted, name=scope)
            return multiply(to(source, wanted), _number(want // have, wanted), name=scope)
        if given.is_integer:
            return multiply(cast(source, wanted), _number(1.0 / given.max, wanted), name=scope)
        if wanted.is_floating:
            return cast(source, wanted, name=scope)
        return to(multiply(source, _number(wanted.max + 0.5, given)), wanted, name=scope)


def _number(value: float, dtype: DType) -> np.ndarray[Any, Any]:
    return np.asarray(value).astype(dtype.numpy_dtype)
