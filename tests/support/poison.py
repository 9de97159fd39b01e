"""An allocator that makes mistakes with memory show: what is freed, or not written yet, is full of garbage."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.devices.allocator import PoolAllocator

GARBAGE = 0xCB
THRESHOLD = 256
BUDGET = 4 << 30


class PoisonAllocator(PoolAllocator):
    """Counts and poisons buffers from 256 bytes on, so that the tests' small tensors take the way of large ones."""

    def __init__(self, budget: int | None = None, **options: Any) -> None:
        options.setdefault("threshold", THRESHOLD)
        super().__init__(BUDGET if budget is None else budget, **options)

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        array = super().allocate(shape, dtype)
        if not dtype.hasobject and array.size:
            array.reshape(-1).view(np.uint8)[:] = GARBAGE
        return array

    def _recycle(self, block: memoryview) -> None:
        np.frombuffer(block, np.uint8)[:] = GARBAGE
        super()._recycle(block)
