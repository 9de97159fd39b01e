"""The places of the windows of convolutions and pools: output sizes, paddings, and what each tap of a window touches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from actorflow.base.shapes import Shape, show
from actorflow.errors import InvalidArgumentError

FORMATS = {3: ("NWC", "NCW"), 4: ("NHWC", "NCHW"), 5: ("NDHWC", "NCDHW")}
"""The names of the layouts by rank: channels last, channels first."""


@dataclass(frozen=True, slots=True)
class WindowSpan:
    """How a window moves along one dimension of `size` elements.

    It covers `window` elements, each `dilation` from the next, and stops at `count` places, each `stride` from the next.
    The first place is `before` elements ahead of the dimension, and the last ends up to `after` elements behind it.
    """

    size: int
    window: int = 1
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0
    count: int = 0

    @property
    def moves(self) -> bool:
        """Whether the window is more than each element by itself."""
        return (self.window, self.stride) != (1, 1) or self.padded

    @property
    def padded(self) -> bool:
        return self.before > 0 or self.after > 0

    def tap(self, number: int) -> tuple[slice, slice] | None:
        """The places of the window at which its element `number` lies inside the dimension, and the elements there."""
        offset = number * self.dilation - self.before
        first = max(0, -(offset // self.stride)) if offset < 0 else 0
        last = min(self.count, (self.size - 1 - offset) // self.stride + 1)
        if last <= first:
            return None
        start = first * self.stride + offset
        return slice(first, last), slice(start, start + (last - first - 1) * self.stride + 1, self.stride)


def output_size(
    size: int | None, window: int | None, stride: int, dilation: int, padding: str, pair: tuple[int, int] = (0, 0)
) -> int | None:
    """At how many places a window stops, None where a size is unknown.

    SAME: at each `stride`-th element. VALID and EXPLICIT: wherever it fits in, with `pair` elements around.

    Raises:
        ValueError: the window does not fit in even once.
    """
    if size is None:
        return None
    if padding == "SAME":
        return -(-size // stride)
    if window is None:
        return None
    reach = (window - 1) * dilation + 1
    room = size + pair[0] + pair[1] - reach
    if room < 0:
        raise ValueError(
            f"Negative dimension size caused by subtracting {reach} from {size + pair[0] + pair[1]}: a window of {window} "
            f"elements{f' with dilation {dilation}' * (dilation > 1)} does not fit in a dimension of "
            f"{size}{f' padded by {pair[0]} and {pair[1]}' * (padding == 'EXPLICIT')}."
        )
    return room // stride + 1


def span(
    size: int, window: int, stride: int, dilation: int, padding: str, pair: tuple[int, int] = (0, 0)
) -> WindowSpan:
    """The `WindowSpan` of a window of known size. Raises ValueError if the window does not fit in."""
    count = output_size(size, window, stride, dilation, padding, pair) or 0
    if padding == "SAME":
        missing = max((count - 1) * stride + (window - 1) * dilation + 1 - size, 0)
        pair = (missing // 2, missing - missing // 2)
    return WindowSpan(size, window, stride, dilation, *pair, count)


def taps(
    spans: Sequence[WindowSpan],
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...], tuple[slice, ...]]]:
    """Each element of a window of several dimensions, in the order of memory: its index, at which places it lies inside,
    and the elements there. Elements that are inside at no place are left out."""
    along = [[(k, span.tap(k)) for k in range(span.window)] for span in spans]
    for chosen in product(*along):
        if all(tap is not None for _, tap in chosen):
            yield (
                tuple(k for k, _ in chosen),
                tuple(tap[0] for _, tap in chosen if tap),
                tuple(tap[1] for _, tap in chosen if tap),
            )


# ---- attributes


def channel_axis(data_format: str, rank: int) -> int:
    return 1 if data_format.startswith("NC") else rank - 1


def spatial(sizes: Sequence[Any], data_format: str) -> tuple[Any, ...]:
    """The entries of the spatial dimensions among those of all dimensions."""
    return tuple(sizes[2:] if data_format.startswith("NC") else sizes[1:-1])


def arranged(batch: Any, space: Sequence[Any], channels: Any, data_format: str) -> tuple[Any, ...]:
    """The entries of all dimensions in the order of the layout."""
    return (batch, channels, *space) if data_format.startswith("NC") else (batch, *space, channels)


def check_attributes(op: str, rank: int, data_format: str, padding: str, **steps: Sequence[int]) -> None:
    """Raises ValueError for a layout or a padding that there is not, for `steps` that are not `rank` positive numbers,
    and for those that step over the batch or the channels."""
    if data_format not in FORMATS[rank]:
        raise ValueError(f"The data format of {op} is {' or '.join(FORMATS[rank])}, not {data_format!r}.")
    if padding not in ("SAME", "VALID", "EXPLICIT"):
        raise ValueError(f"The padding of {op} is 'SAME' or 'VALID' (or explicit), not {padding!r}.")
    for name, sizes in steps.items():
        if len(sizes) != rank:
            raise ValueError(f"{op} needs {rank} {name}, one for each dimension, but {list(sizes)} was given.")
        if any(step < 1 for step in sizes):
            raise ValueError(f"The {name} of {op} are positive, but {list(sizes)} was given.")
        if sizes[0] != 1 or sizes[channel_axis(data_format, rank)] != 1:
            raise InvalidArgumentError(
                f"{op} takes {name} in the batch and depth dimensions of 1, but {list(sizes)} was given."
            )


def groups(channels: int, filters: Sequence[int | None], of: str) -> int:
    """The number of groups in which filters [window..., in, out] take `channels` channels: each group of `in` channels
    makes an equal part of the outputs. 1 where the filters are not known.

    Raises:
        ValueError: the groups do not divide the channels, or the outputs, without a rest.
    """
    taken, outputs = filters[-2:]
    if taken is None or taken == channels:
        return 1
    divides = channels and taken and channels % taken == 0
    if divides and (outputs is None or outputs % (channels // taken) == 0):
        return channels // taken
    grouped = "" if not divides else f" In {channels // taken} groups of channels, {outputs} outputs can't be divided."
    raise ValueError(
        f"Depth of input ({channels}) is not a multiple of input depth of filter ({taken}): they must be equal for the {of} "
        f"and filters {show(tuple(filters))}, which are [sizes of the window..., channels in, channels out].{grouped}"
    )


def padding_pairs(op: str, rank: int, data_format: str, padding: str, explicit: Sequence[int]) -> list[tuple[int, int]]:
    """The explicit paddings of the spatial dimensions, zeros where `padding` is another.

    Raises:
        ValueError: the list is not two numbers, zero or more, for each dimension; or the batch or the channels are
            padded; or there is a list although `padding` is another.
    """
    if padding != "EXPLICIT":
        if explicit:
            raise ValueError(f"{op} takes explicit paddings only with the padding 'EXPLICIT', not {padding!r}.")
        return [(0, 0)] * (rank - 2)
    if len(explicit) != 2 * rank or any(width < 0 for width in explicit):
        raise ValueError(
            f"The explicit paddings of {op} are {2 * rank} numbers, zero or more, but {list(explicit)} was given."
        )
    pairs = list(zip(explicit[::2], explicit[1::2], strict=True))
    if pairs[0] != (0, 0) or pairs[channel_axis(data_format, rank)] != (0, 0):
        raise ValueError(f"{op} pads neither the batch nor the channels, but {list(explicit)} was given.")
    return list(spatial(pairs, data_format))


def explicit_padding(padding: Any, data_format: str, rank: int) -> tuple[str, tuple[int, ...]]:
    """A user's `padding`, a name or a pair of widths for each dimension, as the attributes that ops have."""
    if isinstance(padding, str):
        return padding.upper(), ()
    if not isinstance(padding, (list, tuple)):
        raise ValueError(f"Padding is 'SAME', 'VALID' or a list of pairs of widths, not {padding!r}.")
    if len(padding) != rank or any(len(pair) != 2 for pair in padding):
        raise ValueError(f"Explicit padding is a list of {rank} pairs of widths, not {padding!r}.")
    return "EXPLICIT", tuple(int(width) for pair in padding for width in pair)


def steps_of(value: Any, data_format: str, rank: int, name: str) -> tuple[int, ...]:
    """A user's strides, dilations or window sizes (one number, one a spatial dimension, or one a dimension), for all
    dimensions."""
    steps = (
        [int(v) for v in value]
        if isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0
        else [1 if value is None else int(value)]
    )
    if len(steps) == 1:
        steps *= rank - 2
    if len(steps) == rank - 2:
        return arranged(1, steps, 1, data_format)
    if len(steps) != rank:
        raise ValueError(f"The {name} are 1, {rank - 2} or {rank} numbers, but {value!r} was given.")
    return tuple(steps)


def check_shape(what: str, actual: Sequence[int], expected: Shape) -> None:
    """Raises ValueError where a value has not the shape that others ask for."""
    if expected is not None and tuple(actual) != tuple(expected):
        raise ValueError(
            f"{what} has the shape {show(tuple(actual))}, but the other arguments ask for {show(expected)}."
        )
