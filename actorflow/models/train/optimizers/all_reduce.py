"""`ring_all_reduce`: the sum of tensors of several devices, on all of them, without a server in the middle.

The devices form a ring. In each of k - 1 turns a device hands one k-th of its tensor to its neighbour, which adds it to its
own. Then each has one k-th of the sum, and in k - 1 more turns these parts go round. A device so sends 2 (k - 1) / k of the
tensor, however many devices there are, where a server would receive k tensors (Patarasuk and Yuan 2009).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from actorflow.base.shapes import is_static, merge, show
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.join import concat, split
from actorflow.graph.ops.array.shape import reshape
from actorflow.graph.ops.building import composite
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.tensor import Tensor
from actorflow.public import public


@public("af.train")
def ring_all_reduce(
    tensors: Sequence[Any], devices: Sequence[str] | None = None, name: str | None = None
) -> list[Tensor]:
    """The sum of `tensors`, once on the device of each; the order of the list is that of the ring.

    Each element's sum begins at one device and goes once round the ring, so its bits are the same in all results and in
    each run. They are not those of another way to sum, except for numbers whose sums are exact.

    Example:
        >>> sums = af.train.ring_all_reduce([af.constant([1.0, 2.0]), af.constant([10.0, 20.0])])
        >>> await session.run(sums)
        [[11. 22.], [11. 22.]]

    Args:
        tensors: tensors of one type and one static shape, each on its own device; a single tensor is its own sum.
        devices: their devices; what their nodes ask for unless given.

    Returns:
        As many tensors of that shape; the i-th is on the i-th device.

    Raises:
        ValueError: there are none, a shape is not fully known or differs from the others', or the devices are not as many.
        TypeError: types differ.
    """
    with composite(name, "ring_all_reduce", *tensors):
        if not tensors:
            raise ValueError("ring_all_reduce needs one tensor or more.")
        first = convert_to_tensor(tensors[0])
        values = [first, *(convert_to_tensor(tensor, first.dtype) for tensor in tensors[1:])]
        sizes = first.static_shape
        for tensor in values[1:]:
            sizes = merge(sizes, tensor.static_shape)
        if sizes is None or not is_static(sizes):
            raise ValueError(f"ring_all_reduce needs to know the shape of the tensors, but it is {show(sizes)}.")
        places = [tensor.device for tensor in values] if devices is None else [str(device) for device in devices]
        if len(places) != len(values):
            raise ValueError(f"There are {len(values)} tensors, but {len(places)} devices.")
        return _Ring(first.graph, places).reduce(values, [int(size or 0) for size in sizes])


class _Ring:
    def __init__(self, graph: Any, places: Sequence[str]) -> None:
        self._graph, self._places, self._count = graph, places, len(places)

    def _on(self, device: int) -> Any:
        return self._graph.device(self._places[device] or None)

    def reduce(self, tensors: Sequence[Tensor], sizes: Sequence[int]) -> list[Tensor]:
        count, elements = self._count, math.prod(sizes)
        parts_of = [elements // count + (part < elements % count) for part in range(count)]
        chunks: list[list[Tensor]] = []
        for device, tensor in enumerate(tensors):
            with self._on(device):
                chunks.append(list(split(reshape(tensor, [-1]), parts_of)) if count > 1 else [reshape(tensor, [-1])])
        for turn in range(count - 1):  # reduce-scatter: afterwards device d has the sum of part d + 1
            sent = [chunks[device][(device - turn) % count] for device in range(count)]
            for device in range(count):
                part = (device - 1 - turn) % count
                with self._on(device):
                    chunks[device][part] = sent[(device - 1) % count] + chunks[device][part]
        for turn in range(count - 1):  # all-gather: the sums go round
            sent = [chunks[device][(device + 1 - turn) % count] for device in range(count)]
            for device in range(count):
                with self._on(device):
                    # A node of its own, so that the next neighbour takes it from here and not from the device that made it.
                    chunks[device][(device - turn) % count] = identity(sent[(device - 1) % count])
        results = []
        for device in range(count):
            with self._on(device):
                results.append(reshape(concat(chunks[device], 0), sizes))
        return results
