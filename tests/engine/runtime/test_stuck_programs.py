"""Thirty programs that are stuck, and for each the words of the report that name the culprit: in one process, and in a cluster
whose report is one over all tasks.

A row builds a part of one graph. All of them are stuck at the same time, each in a step of its own.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from channels import until
from clusters import servers

import actorflow as af
from actorflow.graph.ops.state.mutex import mutex_lock

F = af.float32
RELEASE = threading.Event()


@dataclass(frozen=True)
class Stuck:
    """A stuck program.

    fetch: its step.
    culprit: the node that waits, by name or itself.
    said: what its report says besides.
    before: runs first, in this order.
    beside: steps that are in flight as well.
    """

    fetch: Any
    culprit: Any
    said: tuple[str, ...]
    before: tuple[Any, ...] = ()
    beside: tuple[Any, ...] = field(default=())


PROGRAMS: dict[str, Callable[[], Stuck]] = {}
HERE_ONLY: set[str] = set()
"""Programs with Python functions, which a cluster's tasks don't have."""


def program(build: Callable[[], Stuck]) -> Callable[[], Stuck]:
    PROGRAMS[build.__name__] = build
    return build


def here_only(build: Callable[[], Stuck]) -> Callable[[], Stuck]:
    HERE_ONLY.add(build.__name__)
    return program(build)


def fifo(name: str, capacity: int = 3) -> Any:
    return af.FIFOQueue(capacity, [F], [[]], name=name)


# ---- queues that are empty


@program
def nothing_fills_the_queue() -> Stuck:
    take = fifo("q_unfilled").dequeue(name="take_unfilled")
    return Stuck(
        take, take, ("element of queue 'q_unfilled', which is empty (0 of 3", "filled by: nothing in this graph")
    )


@program
def the_filler_does_not_run() -> Stuck:
    queue = fifo("q_idle")
    put, take = queue.enqueue(1.0, name="put_idle"), queue.dequeue(name="take_idle")
    return Stuck(take, take, ("queue 'q_idle'", f"filled by: put_idle ({put.where}), in no step that is under way"))


@program
def too_few_elements() -> Stuck:
    queue = fifo("q_few")
    take = queue.dequeue_many(3, name="take_few")
    return Stuck(take, take, ("waits for 3 elements of queue 'q_few'",), (queue.enqueue(1.0),))


@program
def elements_that_stay_behind() -> Stuck:
    queue = af.RandomShuffleQueue(5, 2, [F], [[]], name="q_shuffled")
    take = queue.dequeue(name="take_shuffled")
    return Stuck(take, take, ("queue 'q_shuffled', which is not full (2 of 5 elements, 2 of them stay behind",),
                 (queue.enqueue_many([[1.0, 2.0]]),))  # fmt: skip


@program
def an_empty_queue_of_ragged_elements() -> Stuck:
    take = af.PaddingFIFOQueue(3, [F], [[None]], name="q_padding").dequeue(name="take_padding")
    return Stuck(take, take, ("queue 'q_padding', which is empty",))


@program
def an_empty_queue_with_priorities() -> Stuck:
    take = af.PriorityQueue(3, [F], [[]], name="q_priority").dequeue(name="take_priority")
    return Stuck(take[1], take[1].op, ("queue 'q_priority', which is empty",))


@program
def a_queue_that_is_chosen_at_run_time() -> Stuck:
    queues = [af.FIFOQueue(2, [F], [[]], shared_name=f"q_chosen_{number}") for number in range(2)]
    take = af.QueueBase.from_list(1, queues).dequeue(name="take_chosen")
    put = queues[1].enqueue(1.0, name="put_chosen")
    return Stuck(take, take, ("queue 'q_chosen_1'", f"filled by: put_chosen ({put.where})"))


@program
def two_queues_that_wait_for_each_other() -> Stuck:
    one, other = fifo("q_one", 1), fifo("q_other", 1)
    there = other.enqueue(one.dequeue(name="from_one"), name="to_other")
    back = one.enqueue(other.dequeue(name="from_other"), name="to_one")
    return Stuck(
        there, "from_one", ("queue 'q_one'", f"filled by: to_one ({back.where}), waits in step"), beside=(back,)
    )


# ---- queues that are full


@program
def nothing_drains_the_queue() -> Stuck:
    queue = fifo("q_full", 1)
    put = queue.enqueue(1.0, name="put_full")
    return Stuck(put, put, ("room in queue 'q_full', which is full (1 of 1", "drained by: nothing in this graph"),
                 (queue.enqueue(2.0, name="put_first"),))  # fmt: skip


@program
def the_drainer_does_not_run() -> Stuck:
    queue = fifo("q_undrained", 1)
    put, take = queue.enqueue(1.0, name="put_undrained"), queue.dequeue(name="take_undrained")
    return Stuck(put, put, ("queue 'q_undrained'", f"drained by: take_undrained ({take.where}), in no step"), (put,))


@program
def more_elements_than_have_room() -> Stuck:
    queue = fifo("q_large", 2)
    put = queue.enqueue_many([[1.0, 2.0, 3.0]], name="put_large")
    return Stuck(put, put, ("queue 'q_large', which is full (2 of 2",))


@program
def a_line_of_enqueuers() -> Stuck:
    queue = fifo("q_line", 1)
    puts = [queue.enqueue(1.0, name=f"put_line_{number}") for number in range(3)]
    return Stuck(puts[2], puts[2], ("queue 'q_line'", "before it in line"), (puts[0],), (puts[1],))


# ---- inputs that were not started


@program
def an_input_producer_that_was_not_started() -> Stuck:
    names = af.train.string_input_producer(["a", "b"], name="producer")
    take = names.dequeue(name="take_name")
    return Stuck(take, take, ("which is empty", "filled by: producer"))


@program
def a_batch_whose_runners_were_not_started() -> Stuck:
    found = af.train.batch([af.constant(1.0)], 4, name="batched")
    return Stuck(found, found.op, ("which is empty", "filled by: batched"))


@program
def a_shuffled_batch_whose_runners_were_not_started() -> Stuck:
    found = af.train.shuffle_batch([af.constant(1.0)], 4, 16, 4, name="shuffled")
    return Stuck(found, found.op, ("filled by: shuffled",))


@program
def a_reader_without_a_file() -> Stuck:
    names = af.FIFOQueue(3, [af.string], [[]], name="q_names")
    key, _ = af.TextLineReader(name="lines").read(names, name="read_line")
    return Stuck(key, "read_line", ("queue 'q_names', which is empty", "filled by: nothing in this graph"))


@program
def a_second_read_of_one_reader() -> Stuck:
    names = af.FIFOQueue(3, [af.string], [[]], name="q_more_names")
    reader = af.WholeFileReader(name="whole")
    first, second = reader.read(names, name="read_first")[0], reader.read(names, name="read_second")[0]
    return Stuck(second, "read_second", ("one read at a time",), beside=(first,))


# ---- other things that are shared


@program
def a_barrier_without_complete_elements() -> Stuck:
    barrier = af.Barrier((F, F), ((), ()), name="pairs")
    insert, take = barrier.insert_many(0, ["a"], [1.0], name="insert_one"), barrier.take_many(1, name="take_pairs")
    return Stuck(take[1], "take_pairs", ("barrier 'pairs'", "1 incomplete", "completed by: insert_one"), (insert,))


@program
def too_few_gradients() -> Stuck:
    gradients = af.ConditionalAccumulator(F, [], name="gradients")
    apply, take = gradients.apply_grad(1.0, name="apply_one"), gradients.take_grad(2, name="take_two")
    return Stuck(
        take, take, ("2 gradients of the accumulator 'gradients', which has 1", "applied by: apply_one"), (apply,)
    )


@program
def too_few_sparse_gradients() -> Stuck:
    gradients = af.SparseConditionalAccumulator(F, [3], name="sparse_gradients")
    take = gradients.take_grad(1, name="take_sparse")
    return Stuck(take[0], "take_sparse", ("accumulator 'sparse_gradients', which has 0",))


@program
def a_critical_section_that_another_step_is_in() -> Stuck:
    section, queue = af.CriticalSection(name="section"), fifo("q_section")
    inside = section.execute(lambda: queue.dequeue(name="take_inside"))
    other = section.execute(lambda: af.constant(1.0))
    return Stuck(other, "critical_section_execute_1", ("mutex 'section', which step", "released by"), beside=(inside,))


# ---- control flow and functions


@program
def a_queue_in_a_loop() -> Stuck:
    queue = fifo("q_loop")

    def body(number: Any, total: Any) -> Any:
        return number + 1, total + queue.dequeue(name="take_loop")

    _, total = af.while_loop(lambda number, _: number < 5, body, [af.constant(0), af.constant(0.0)], name="looping")
    return Stuck(
        total, "take_loop", ("iteration 2 of", "queue 'q_loop', which is empty"), (queue.enqueue_many([[1.0, 2.0]]),)
    )


@program
def a_queue_in_a_branch() -> Stuck:
    queue, flag = fifo("q_branch"), af.placeholder_with_default(True, [])
    found = af.cond(flag, lambda: queue.dequeue(name="take_branch"), lambda: af.constant(0.0))
    return Stuck(found, "take_branch", ("queue 'q_branch', which is empty",))


@program
def a_queue_in_a_function() -> Stuck:
    queue = fifo("q_function")

    @af.Defun(F)
    def waits(x: Any) -> Any:
        return x + queue.dequeue(name="take_function")

    return Stuck(waits(1.0), "take_function", ("queue 'q_function', which is empty",))


@program
def a_control_edge_behind_a_queue() -> Stuck:
    take = fifo("q_control").dequeue(name="take_control")
    with af.control_dependencies([take]):
        after = af.identity(af.placeholder_with_default(1.0, []), name="after_control")
    return Stuck(after, take, ("queue 'q_control'", "control input ^take_control"))


@program
def several_nodes_behind_one_queue() -> Stuck:
    take = fifo("q_behind").dequeue(name="take_behind")
    return Stuck(af.add_n([af.tanh(take), af.square(take)]), take, ("queue 'q_behind', which is empty",))


# ---- functions, datasets and parts of steps


@here_only
def a_function_that_blocks() -> Stuck:
    called = af.py_func(lambda: np.float32(RELEASE.wait()), [], F, name="blocking_function")
    return Stuck(called, called, ("calls the function", "on a thread"))


@here_only
def a_function_that_awaits() -> Stuck:
    async def never() -> np.float32:
        await asyncio.Event().wait()
        return np.float32(0)

    called = af.py_func(never, [], F, name="awaiting_function")
    return Stuck(called, called, ("awaits the function", "never"))


@here_only
def a_dataset_whose_generator_waits() -> Stuck:
    async def elements() -> Any:
        yield np.float32(1)
        await asyncio.Event().wait()

    found = af.data.Dataset.from_generator(elements, F, []).make_one_shot_iterator().get_next(name="take_dataset")
    return Stuck(found, found, ("generator",), (found,))


@program
def a_lock_that_another_step_holds() -> Stuck:
    section, queue = af.CriticalSection(name="held"), fifo("q_held")
    handle = section._handle
    inside = section.execute(lambda: queue.dequeue(name="take_held"))
    lock = mutex_lock(handle, name="lock_held")
    return Stuck(lock, lock, ("waits for the mutex 'held', which step",), beside=(inside,))


@contextmanager
def released() -> Iterator[None]:
    RELEASE.clear()
    try:
        yield
    finally:
        RELEASE.set()


def _is_named(program: Stuck, step: str) -> bool:
    """Whether the report of one step names the culprit, by its name and its line, and says all that it has to."""
    culprit = program.culprit
    if not isinstance(culprit, str):
        op = getattr(culprit, "op", culprit)
        culprit = f"{op.name} ({op.type}, {op.where}"
    return all(text in step for text in (culprit, *program.said))


async def reports(session: af.Session, programs: dict[str, Stuck]) -> None:
    """Runs all of them at once, and waits until the report of each names its culprit."""
    for one in programs.values():
        for fetch in one.before:
            await session.run(fetch)
    tasks = [asyncio.ensure_future(session.run(fetch)) for one in programs.values() for fetch in one.beside]
    await until(lambda: session.statistics().inflight + session.statistics().waiting >= len(tasks))
    tasks += [asyncio.ensure_future(session.run(one.fetch)) for one in programs.values()]
    lacking: list[str] = []

    def complete() -> bool:
        steps = re.split(r"^step \d+:\n", session.pending(), flags=re.MULTILINE)
        lacking[:] = [n for n, one in programs.items() if not any(_is_named(one, step) for step in steps)]
        return not lacking

    try:
        await until(complete)
    except BaseException:
        raise AssertionError(f"{lacking}\n{session.pending()}") from None
    finally:
        for task in tasks:
            task.cancel()
        RELEASE.set()
        await asyncio.gather(*tasks, return_exceptions=True)


def test_there_are_thirty() -> None:
    assert len(PROGRAMS) >= 30


async def test_f83_each_of_thirty_stuck_programs_names_its_culprit() -> None:
    with af.Graph().as_default() as graph, released():
        programs = {name: build() for name, build in PROGRAMS.items()}
        async with af.Session(graph=graph) as session:
            await reports(session, programs)


async def test_f83_stuck_programs_of_a_cluster_name_their_culprits_in_one_report() -> None:
    with af.Graph().as_default() as graph:
        with af.device("/job:ps"):
            programs = {name: build() for name, build in PROGRAMS.items() if name not in HERE_ONLY}
        async with servers({"worker": 1, "ps": 1}) as found, af.Session(found[0].target, graph=graph) as session:
            await reports(session, programs)
