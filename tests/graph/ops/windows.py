"""Windows of convolutions and pools, spelled out one element at a time, as references."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np


def seen(
    size: int, window: int, stride: int, dilation: int, padding: str, pair: Sequence[int] = (0, 0)
) -> list[list[Any]]:
    """For each place of the window along one dimension, the pairs (element of the window, element it sees)."""
    reach = dilation * (window - 1) + 1
    if padding == "SAME":
        places = (size + stride - 1) // stride
        before = max(0, (places - 1) * stride + reach - size) // 2
    else:
        before = pair[0]
        places = len(range(0, size + sum(pair) - reach + 1, stride))
    return [
        [(k, at) for k in range(window) if 0 <= (at := place * stride - before + k * dilation) < size]
        for place in range(places)
    ]


class Windows:
    """Those over the spatial dimensions of arrays [batch, space..., channels]."""

    def __init__(
        self,
        space: Sequence[int],
        window: Sequence[int],
        strides: Sequence[int],
        dilations: Sequence[int],
        padding: str,
        pairs: Sequence[Sequence[int]] = (),
    ) -> None:
        pairs = pairs or [(0, 0)] * len(space)
        self.along = [
            seen(*of_axis[:4], padding, of_axis[4]) for of_axis in zip(space, window, strides, dilations, pairs)
        ]
        self.places = tuple(map(len, self.along))

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], list[tuple[tuple[int, ...], tuple[int, ...]]]]]:
        """Each place, and the pairs (element of the window, element it sees) there."""
        for place in np.ndindex(*self.places):
            here = product(*(axis[at] for axis, at in zip(self.along, place)))
            yield place, [(tuple(k for k, _ in pair), tuple(at for _, at in pair)) for pair in here]


def convolved(x: Any, w: Any, windows: Windows) -> Any:
    y = np.zeros((len(x), *windows.places, w.shape[-1]), x.dtype)
    for n in range(len(x)):
        for place, pairs in windows:
            for k, at in pairs:
                for c in range(w.shape[-2]):
                    y[(n, *place)] += x[(n, *at, c)] * w[(*k, c)]
    return y


def to_input(shape: Sequence[int], w: Any, dy: Any, windows: Windows) -> Any:
    dx = np.zeros(tuple(shape), dy.dtype)
    for n in range(len(dx)):
        for place, pairs in windows:
            for k, at in pairs:
                for c in range(w.shape[-2]):
                    dx[(n, *at, c)] += (w[(*k, c)] * dy[(n, *place)]).sum()
    return dx


def to_filter(x: Any, shape: Sequence[int], dy: Any, windows: Windows) -> Any:
    dw = np.zeros(tuple(shape), dy.dtype)
    for n in range(len(x)):
        for place, pairs in windows:
            for k, at in pairs:
                for c in range(dw.shape[-2]):
                    dw[(*k, c)] += x[(n, *at, c)] * dy[(n, *place)]
    return dw


def deep(w: Any) -> Any:
    """A depthwise filter as that of a full convolution, in which channels don't mix."""
    channels, multiplier = w.shape[2:]
    full = np.zeros((*w.shape[:3], channels * multiplier), w.dtype)
    for c, m in np.ndindex(channels, multiplier):
        full[:, :, c, c * multiplier + m] = w[:, :, c, m]
    return full


def shallow(full: Any, multiplier: int) -> Any:
    """The inverse of `deep`."""
    channels = full.shape[2]
    w = np.zeros((*full.shape[:3], multiplier), full.dtype)
    for c, m in np.ndindex(channels, multiplier):
        w[:, :, c, m] = full[:, :, c, c * multiplier + m]
    return w


def pooled(x: Any, windows: Windows, best: Callable[[list[Any]], Any]) -> Any:
    """`best` of the elements in each window."""
    y = np.zeros((len(x), *windows.places, x.shape[-1]), x.dtype)
    for n, c in np.ndindex(len(x), x.shape[-1]):
        for place, pairs in windows:
            y[(n, *place, c)] = best([x[(n, *at, c)] for _, at in pairs])
    return y


def shared_out(shape: Sequence[int], dy: Any, windows: Windows, chosen: Callable[..., list[Any]]) -> Any:
    """Each window's gradient added to its elements, as `chosen(n, c, elements)` gives shares of it."""
    dx = np.zeros(tuple(shape), dy.dtype)
    for n, c in np.ndindex(dx.shape[0], dx.shape[-1]):
        for place, pairs in windows:
            elements = [(n, *at, c) for _, at in pairs]
            for element, share in zip(elements, chosen(elements, (n, *place, c))):
                dx[element] += share * dy[(n, *place, c)]
    return dx


def channels_last(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which keeps the channels last, for an image with channels first."""
    return lambda x, *more: np.moveaxis(function(np.moveaxis(x, 1, -1), *more), -1, 1)
