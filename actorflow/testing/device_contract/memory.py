"""The rules on devices by themselves: names, memory, work on threads, copies to the host and back."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np

from actorflow.engine.device.base import Allocator, DeviceStatistics
from actorflow.errors import FailedPreconditionError, ResourceExhaustedError
from actorflow.graph.device_spec import DeviceSpec
from actorflow.testing.contract import SECONDS, Broken, Rule, raises, rule, same, until
from actorflow.testing.device_contract.subject import BYTE, Subject, large, same_bits, settled, taken


def _is_asynchronous(subject: Subject) -> bool:
    return subject.is_asynchronous


@rule()
async def a_device_says_who_it_is(subject: Subject) -> None:
    """A device has the full name that it is called with, its parts in `spec`, the type of its entry point, an array module, an
    allocator and statistics."""
    device = subject.open(1)
    same(device.name, subject.name(1), "the name")
    same(device.spec, DeviceSpec.parse(subject.name(1)), "the parts of the name")
    same(device.type, subject.kind, "the type")
    same(hasattr(device.xp, "add"), True, "whether the array module has functions")
    same(isinstance(device.allocator, Allocator), True, "whether the allocator has all methods of `Allocator`")
    same(isinstance(device.statistics(), DeviceStatistics), True, "whether `statistics` gives DeviceStatistics")


@rule()
async def live_memory_is_counted(subject: Subject) -> None:
    """The allocator counts the bytes of large arrays while the last view of them lives, and remembers the peak."""
    memory = subject.open().allocator
    before = memory.statistics().live_bytes
    shape = large(memory)
    array = memory.allocate(shape, BYTE)
    same((tuple(array.shape), np.dtype(array.dtype)), (shape, BYTE), "the shape and type of what was allocated")
    same(memory.statistics().live_bytes - before, shape[0], "the live bytes beside one array")
    view = array[1:]
    del array
    gc.collect()
    same(memory.statistics().live_bytes - before, shape[0], "the live bytes beside a view")
    del view
    gc.collect()
    await until(lambda: memory.statistics().live_bytes == before, "memory is free when its last view is gone")
    statistics = memory.statistics()
    same(statistics.peak_bytes >= shape[0], True, "whether the peak is remembered")
    same(statistics.allocations - statistics.frees, 0, "allocations that were not freed")


@rule()
async def a_budget_is_kept(subject: Subject) -> None:
    """An allocation that would exceed `memory_budget` raises ResourceExhaustedError, which names the device. Freed
    memory counts no more."""
    threshold = large(subject.open().allocator)[0]
    memory = subject.open(1, memory_budget=4 * threshold).allocator
    same((memory.budget, memory.statistics().budget), (4 * threshold, 4 * threshold), "the budget")
    most = [memory.allocate((threshold,), BYTE) for _ in range(4)]
    with raises(ResourceExhaustedError, f"{subject.kind}:1"):
        memory.allocate((threshold,), BYTE)
    with raises(ResourceExhaustedError, f"{subject.kind}:1"):
        memory.check(threshold)
    same(memory.statistics().live_bytes, 4 * threshold, "the live bytes after a refusal")
    del most
    gc.collect()
    same(memory.allocate((2 * threshold,), BYTE).size, 2 * threshold, "the size of an array after others were freed")


@rule(lambda subject: not subject.is_asynchronous)
async def what_a_kernel_allocates_is_counted(subject: Subject) -> None:
    """`adopt` counts an array that a kernel has made, and gives it back."""
    memory = subject.open().allocator
    shape = large(memory)
    array: Any = np.zeros(shape, BYTE)
    same(memory.adopt(array) is array, True, "whether `adopt` gives the array back")
    same(memory.statistics().live_bytes, shape[0], "the live bytes beside an adopted array")
    del array
    gc.collect()
    same(memory.statistics().live_bytes, 0, "the live bytes when it is gone")


@rule()
async def launches_are_counted(subject: Subject) -> None:
    """`count` adds to what `statistics` tells."""
    device = subject.open()
    device.count(3, 2)
    device.count(1, 0)
    statistics = device.statistics()
    same(
        (statistics.launches, statistics.inline, statistics.threaded),
        (6, 4, 2),
        "launches, inline ones and threaded ones",
    )


@rule()
async def submitted_work_is_done_in_order(subject: Subject) -> None:
    """`submit` runs each piece of work and then its `done`, in the order of the calls."""
    device = subject.open()
    order: list[int] = []
    over = threading.Event()
    for i in range(5):
        device.submit(lambda i=i: order.append(2 * i), lambda i=i: order.append(2 * i + 1))
    device.submit(lambda: None, over.set)
    await until(over.is_set, "submitted work is done")
    same(order, list(range(10)), "the order")


@rule()
async def closing_ends_it(subject: Subject) -> None:
    """`close` ends the device's threads once they have done their work, may be called twice, and `submit` after it raises
    FailedPreconditionError."""
    before = set(threading.enumerate())
    device = subject.open()
    over = threading.Event()
    device.submit(lambda: None, over.set)
    await until(over.is_set, "submitted work is done")
    device.close()
    device.close()
    with raises(FailedPreconditionError, "closed"):
        device.submit(lambda: None, lambda: None)
    for thread in set(threading.enumerate()) - before:
        thread.join(SECONDS)
        if thread.is_alive():
            raise Broken(f"the thread {thread.name!r} is left")


# ---- copies of asynchronous devices


def _values() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(64, 96)).astype(np.float32)
    return {
        "large": wide, "transposed": wide.T, "strided": wide[::2, ::3], "doubles": wide.astype(np.float64),
        "integers": np.arange(5000, dtype=np.int64), "bools": wide > 0, "empty": wide[:0],
        "small": np.array([1, 2, 3], np.float32), "scalar": np.float32(2.5),
        "special": np.array([np.nan, np.inf, -0.0] * 2000, np.float32),
    }  # fmt: skip


@rule(_is_asynchronous)
async def bits_come_back_as_they_went(subject: Subject) -> None:
    """`take` gives the bits that `bring` was given, whatever their type, shape and layout, in a later turn of the loop."""
    device = subject.open()
    for name, value in _values().items():
        same_bits(await taken(device, device.bring(value)), value, name)


@rule(_is_asynchronous)
async def what_is_brought_is_a_copy(subject: Subject) -> None:
    """Once the copy has been made, a change of the host's array does not change what was brought."""
    device = subject.open()
    value = np.arange(10_000, dtype=np.float32)
    brought = device.bring(value)
    same(await settled(device), None, "the error of a copy")
    value[:] = 0
    first = await taken(device, brought)
    same_bits(first, np.arange(10_000, dtype=np.float32), "what was brought")


@rule(_is_asynchronous)
async def another_device_takes_what_is_lent(subject: Subject) -> None:
    """A tensor that one device lends, another device of the type may `bring`."""
    lender, other = subject.open(0), subject.open(1)
    value = np.arange(10_000, dtype=np.float32)
    brought = other.bring(lender.lend(lender.bring(value)))
    same_bits(await taken(other, brought), value, "what went from device to device")


@rule(lambda subject: subject.swaps)
async def what_was_swapped_comes_back(subject: Subject) -> None:
    """`swap_in` gives the bits that `swap_out` was given, in the same order in memory, and counts both."""
    device = subject.open()
    value = np.arange(12_000, dtype=np.float32).reshape(100, 120).T
    mine = device.bring(value) if subject.is_asynchronous else value
    results: list[Any] = []

    def come(result: Any, error: BaseException | None) -> None:
        results.append(error or result)

    device.swap_out(mine, come)
    await until(lambda: len(results) == 1, "what is swapped out arrives")
    device.swap_in(results[0], come)
    await until(lambda: len(results) == 2, "what is swapped in arrives")
    back = results[1]
    same(tuple(back.strides), tuple(mine.strides), "the order in memory")
    same_bits(await taken(device, back) if subject.is_asynchronous else back, value, "what was swapped")
    counted = device.statistics()
    same((counted.swapped_out, counted.swapped_in), (value.nbytes, value.nbytes), "the bytes that were swapped")


RULES: tuple[Rule[Subject], ...] = (
    a_device_says_who_it_is,
    live_memory_is_counted,
    a_budget_is_kept,
    what_a_kernel_allocates_is_counted,
    launches_are_counted,
    submitted_work_is_done_in_order,
    bits_come_back_as_they_went,
    what_is_brought_is_a_copy,
    another_device_takes_what_is_lent,
    what_was_swapped_comes_back,
)
LAST: tuple[Rule[Subject], ...] = (closing_ends_it,)
