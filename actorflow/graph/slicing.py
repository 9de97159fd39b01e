"""What a strided slice means, once for the shape rule, the kernels and constant values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def python_index(begin: Any, end: Any, strides: Any, masks: Mapping[str, Any]) -> tuple[Any, ...]:
    """The numpy index of a StridedSlice with TensorFlow's bit masks: one entry per position of `begin`.

    Bit i of `begin_mask`/`end_mask` leaves that bound open, of `ellipsis_mask` stands for all dimensions between, of
    `new_axis_mask` adds a dimension of 1, of `shrink_axis_mask` takes the single element at `begin[i]`.
    """
    index: list[Any] = []
    for i in range(len(begin)):
        bit = 1 << i
        if masks["ellipsis_mask"] & bit:
            index.append(Ellipsis)
        elif masks["new_axis_mask"] & bit:
            index.append(None)
        elif masks["shrink_axis_mask"] & bit:
            index.append(int(begin[i]))
        else:
            first = None if masks["begin_mask"] & bit else int(begin[i])
            last = None if masks["end_mask"] & bit else int(end[i])
            index.append(slice(first, last, int(strides[i])))
    return tuple(index)
