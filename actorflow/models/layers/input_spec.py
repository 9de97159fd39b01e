"""`InputSpec`: which inputs a layer takes, checked before it sees them (`tf.layers.InputSpec`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actorflow.base.dtypes import DType, DTypeLike, as_dtype
from actorflow.base.reports.user_line import user_line
from actorflow.base.shapes import ShapeLike, as_shape, compatible, show
from actorflow.errors import describe
from actorflow.graph.tensor import Tensor
from actorflow.public import public


@public("af.layers")
class InputSpec:
    """The demands of a layer on an input: its type, shape, rank, and the sizes of some dimensions.

    Example:
        >>> layer = af.layers.Flatten()
        >>> layer.input_spec = af.layers.InputSpec(ndim=2, axes={-1: 2})
        >>> layer(af.placeholder(af.float32, [None, 3]))
        Traceback (most recent call last):
            ...
        ValueError: Input 0 of layer flatten is incompatible with the layer: expected axis -1 of input ...
    """

    __slots__ = ("axes", "dtype", "max_ndim", "min_ndim", "ndim", "shape")

    def __init__(
        self,
        dtype: DTypeLike | None = None,
        shape: ShapeLike = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: Mapping[int, int | None] | None = None,
    ) -> None:
        """
        Args:
            dtype: the type.
            shape: the shape, with None for a size that may be any.
            ndim: the rank; that of `shape` if `shape` is given.
            max_ndim, min_ndim: the largest and the smallest rank.
            axes: for some dimensions, counted from the end where negative, their size, or None for any.

        Raises:
            TypeError: `axes` is not a mapping of ints.
            ValueError: `axes` has a dimension that the rank excludes.
        """
        self.dtype: DType | None = None if dtype is None else as_dtype(dtype)
        self.shape = as_shape(shape)
        self.ndim = ndim if self.shape is None else len(self.shape)
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        try:
            self.axes = {int(axis): size for axis, size in (axes or {}).items()}
        except (AttributeError, TypeError, ValueError):
            raise TypeError(f"InputSpec: `axes` is a dict with integer keys, not {axes!r:.60}.") from None
        most = self.ndim or self.max_ndim
        if most is not None and any(axis >= most for axis in self.axes):
            raise ValueError(f"InputSpec: axis {max(self.axes)} is greater than the maximum allowed value: {most - 1}.")

    def __repr__(self) -> str:
        fields = ((name, getattr(self, name)) for name in ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes"))
        return f"InputSpec({', '.join(f'{name}={value}' for name, value in fields if value)})"

    def check(self, tensor: Tensor, layer: str, index: int = 0) -> None:
        """Raises ValueError where an input is not as it says.

        Example:
            >>> spec = af.layers.InputSpec(ndim=2)
            >>> spec.check(af.placeholder(af.float32, [None, 3]), "dense")
            >>> spec.check(af.placeholder(af.float32, [3]), "dense")
            Traceback (most recent call last):
                ...
            ValueError: Input 0 of layer dense is incompatible with the layer: expected ndim=2, found ndim=1. ...

        Args:
            tensor: the input.
            layer: the name of the layer, for the error.
            index: which of the layer's inputs it is.
        """
        wrong = self._wrong(tensor)
        if wrong:
            raise ValueError(
                describe(
                    f"Input {index} of layer {layer} is incompatible with the layer: {wrong}. Full shape received: "
                    f"{show(tensor.static_shape)}.",
                    node=tensor.op.name,
                    where=user_line(),
                )
            )

    def _wrong(self, tensor: Tensor) -> str | None:
        shape = tensor.static_shape
        if self.dtype is not None and tensor.dtype is not self.dtype:
            return f"expected dtype={self.dtype}, found dtype={tensor.dtype}"
        if shape is None:
            ranked = self.axes or any(limit is not None for limit in (self.ndim, self.max_ndim, self.min_ndim))
            return "its rank is undefined, but the layer requires a defined rank" if ranked else None
        for name, bound, fits in (
            ("ndim", self.ndim, len(shape) == self.ndim),
            ("max_ndim", self.max_ndim, len(shape) <= (self.max_ndim or 0)),
            ("min_ndim", self.min_ndim, len(shape) >= (self.min_ndim or 0)),
        ):
            if bound is not None and not fits:
                return f"expected {name}={bound}, found ndim={len(shape)}"
        for axis, size in self.axes.items():
            if size is not None and shape[axis] not in (size, None):
                return f"expected axis {axis} of input shape to have value {size}, found {shape[axis]}"
        if not compatible(self.shape, shape):
            return f"expected shape={show(self.shape)}"
        return None


def first_spec(spec: Any) -> list[InputSpec | None]:
    """A layer's specs, a spec for each input, however it gives them."""
    return list(spec) if isinstance(spec, (list, tuple)) else [spec]
