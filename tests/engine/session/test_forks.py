"""A child that was forked uses what its parent has made, or hears at once that it can't; and the parent goes on undisturbed."""

from __future__ import annotations

import os
import re
import signal
import textwrap
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from engine.session.forked_programs import Outcome, outcomes

from actorflow.base.process import forks

pytestmark = pytest.mark.timeout(900)  # the first test waits for all programs, each of which has a limit of its own

PRELUDE = """
import asyncio, faulthandler, os, signal, sys, tempfile, threading, warnings
import anyio
import numpy as np
import actorflow as af
import actorflow.compat.v1 as tf
warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12: forks of processes with threads

parent = os.getpid()

def tell(answer):
    os.write(1, f"{answer}\\n".encode())  # at once: children write side by side

def in_children(use, count=4):
    children = []
    for _ in range(count):
        if not (child := os.fork()):
            faulthandler.dump_traceback_later(60, exit=True)
            try:
                answer = use()
                tell(answer if isinstance(answer, str) else float(answer))
            except af.errors.FailedPreconditionError as error:
                text = str(error)
                assert f"process {parent}," in text and f"({os.getpid()})" in text and "forked-process" in text, text
                tell("refused")
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * count

x = af.placeholder(af.float32, [None, 300])
y = af.reduce_sum(af.matmul(x, af.ones([300, 300])))
rows = np.ones((300, 300), np.float32)
waking = af.py_func(lambda: np.float32(1), [], af.float32)

def new():
    with af.blocking.Session() as session:
        return session.run(y, {x: rows})

session = af.blocking.Session()
def used():
    assert session.run(y, {x: rows}) == 2.7e7
    assert session.run(waking) == 1
"""

WORKS, REFUSES = "27000000.0", "refused"

PROGRAMS = {
    "a session": ("used(); in_children(lambda: session.run(y, {x: rows})); used()", REFUSES),
    "a session of TensorFlow's": (
        """
        session = tf.Session()
        used()
        in_children(lambda: session.run(y, {x: rows}))
        used()
        """,
        REFUSES,
    ),
    "a session that was not used": ("in_children(lambda: session.run(y, {x: rows})); used()", WORKS),
    "a new session beside one that was used": ("used(); in_children(new); used()", WORKS),
    "a callable": (
        """
        call = session.make_callable(y, [x])
        call(rows)
        in_children(lambda: call(rows))
        assert call(rows) == 2.7e7
        """,
        REFUSES,
    ),
    "a partial run": (
        """
        handle = session.partial_run_setup([y], [x])
        in_children(lambda: session.partial_run(handle, y, {x: rows}))
        assert session.partial_run(handle, y, {x: rows}) == 2.7e7
        """,
        REFUSES,
    ),
    "a session that the child closes": (
        """
        def close():
            with session:
                pass
            session.close()
            return "closed"
        used()
        in_children(close)
        used()
        """,
        "closed",
    ),
    "a session of an event loop": (
        """
        session = af.Session()
        async def main():
            return await session.run(y, {x: rows})
        loop = asyncio.new_event_loop()
        loop.run_until_complete(main())
        in_children(lambda: asyncio.run(main()))
        assert loop.run_until_complete(main()) == 2.7e7
        """,
        REFUSES,
    ),
    "a callable of an event loop": (
        """
        session = af.Session()
        async def make():
            return await session.make_callable(y, [x])
        async def main(call):
            return await call(rows)
        loop = asyncio.new_event_loop()
        call = loop.run_until_complete(make())
        loop.run_until_complete(main(call))
        in_children(lambda: asyncio.run(main(call)))
        assert loop.run_until_complete(main(call)) == 2.7e7
        """,
        REFUSES,
    ),
    "a session amid a step of another thread": (
        """
        begun, go_on = threading.Event(), threading.Event()
        wait = af.py_func(lambda: (begun.set(), go_on.wait(), [])[2], [], [])
        thread = threading.Thread(target=session.run, args=[wait])
        thread.start()
        begun.wait()
        in_children(lambda: session.run(y, {x: rows}))
        go_on.set()
        thread.join()
        used()
        """,
        REFUSES,
    ),
    "a new session amid steps of another thread": (
        """
        stop = threading.Event()
        def steps():
            while not stop.is_set():
                used()
        thread = threading.Thread(target=steps)
        thread.start()
        in_children(new, 8)
        stop.set()
        thread.join()
        """,
        WORKS,
    ),
    "threads that fork at once": (
        """
        from actorflow.base.process import forks
        errors = []
        sys.unraisablehook = lambda error: errors.append(error.exc_value)

        class Lock:
            def __init__(self, name):
                self.name, self.lock = name, threading.RLock()
            def acquire(self, timeout):
                happens(threading.current_thread(), "waits for", self.name)
                taken = self.lock.acquire(timeout=timeout)
                happens(threading.current_thread(), "has", self.name)
                return taken
            def release(self):
                self.lock.release()
                happens(threading.current_thread(), "released", self.name)

        second_waits_for_a, second_has_a, first_is_over = threading.Event(), threading.Event(), threading.Event()
        def happens(thread, what, name):
            if thread is first and (what, name) == ("has", "a"):
                second.start()
                second_waits_for_a.wait(30)
            if thread is second and (what, name) == ("waits for", "a"):
                second_waits_for_a.set()
            if thread is first and (what, name) == ("released", "a"):
                second_has_a.wait(30)
            if thread is second and (what, name) == ("waits for", "b"):
                second_has_a.set()
                first_is_over.wait(30)

        def fork():
            if not (child := os.fork()):
                os._exit(0)
            if threading.current_thread() is first:
                first_is_over.set()
            assert os.waitpid(child, 0)[1] == 0

        first, second = threading.Thread(target=fork), threading.Thread(target=fork)
        locks = [Lock("a"), Lock("b")]
        forks._library_locks.clear()
        forks._library_locks.update(dict.fromkeys(locks))
        first.start()
        for thread in (first, second):
            thread.join()
        assert not errors, errors
        assert all(lock.lock.acquire(timeout=0) for lock in locks), "a lock is free when each fork is over"
        tell(2.7e7)
        """,
        WORKS,
    ),
    "sessions where many threads fork at once": (
        """
        stop = threading.Event()
        def steps():
            while not stop.is_set():
                new()
        at_work = [threading.Thread(target=steps) for _ in range(2)]
        forking = [threading.Thread(target=in_children, args=[new, 4]) for _ in range(6)]
        for thread in (*at_work, *forking):
            thread.start()
        for thread in forking:
            thread.join()
        stop.set()
        for thread in at_work:
            thread.join()
        tell(new())
        """,
        WORKS,
    ),
    "a function that another thread traces": (
        """
        begun, go_on = threading.Event(), threading.Event()
        def product(x):
            if threading.current_thread() is not threading.main_thread():
                begun.set()
                go_on.wait()
            return af.reduce_sum(af.matmul(x, x))
        with af.eager():
            call = af.function(product)
            multiply = lambda: call(af.constant(rows)).numpy()
            multiply()
            def trace():
                with af.eager():
                    call(af.constant(rows[:9, :9]))
            thread = threading.Thread(target=trace)
            thread.start()
            begun.wait()
            in_children(lambda: call(af.constant(rows[:1, :1])).numpy() and multiply())
            go_on.set()
            thread.join()
        """,
        WORKS,
    ),
    "a variable that a kernel on another thread is to write": (
        """
        from actorflow.engine.runtime.threads import WriteInProgress
        with af.eager():
            v = af.Variable(np.full([], 2.7e7, np.float32))
            write = WriteInProgress([v._state])
            def read():
                v.assign_add(0.0)
                return v.numpy()
            in_children(read)
            assert v._state.writer is write
            write.end()
            tell(read())
        """,
        WORKS,
    ),
    "variables of all sizes to which another thread writes, by ops and by functions": (
        """
        def torn(size, by_function):
            stop = threading.Event()
            v = af.Variable(np.zeros(size, np.float32))
            add = af.function(lambda x: v.assign_add(x)) if by_function else v.assign_add
            add(af.ones([size]))
            def steps():
                with af.eager():
                    while not stop.is_set():
                        add(af.ones([size]))
            def read():
                value = v.numpy()
                assert value.min() == value.max(), (size, by_function)
                return 2.7e7
            thread = threading.Thread(target=steps)
            thread.start()
            in_children(read, 30)
            stop.set()
            thread.join()
        with af.eager():
            for size in (1000, 15_000, 300_000, 4_000_000):
                for by_function in (False, True):
                    torn(size, by_function)
            tell(2.7e7)
        """,
        WORKS,
    ),
    "a variable to which kernels of another thread write": (
        """
        stop, step_ended = threading.Event(), threading.Event()
        with af.eager():
            v = af.Variable(np.zeros([2000, 2000], np.float32))
            add = af.function(lambda x: v.assign_add(x))
            def steps():
                with af.eager():
                    while not stop.is_set():
                        add(af.ones([2000, 2000]))
                        step_ended.set()
            thread = threading.Thread(target=steps)
            thread.start()
            def read():
                value = v.numpy()
                assert value.min() == value.max(), "a fork waits until a kernel has written"
                add(af.ones([2000, 2000]))
                return v.numpy()[0, 0] - value[0, 0] + (2.7e7 - 1)
            for _ in range(6):
                step_ended.clear()
                step_ended.wait()
                in_children(read, 1)
            stop.set()
            thread.join()
        """,
        WORKS,
    ),
    "a module that another thread imports": (
        """
        begun, forks = threading.Event(), threading.Event()
        os.register_at_fork(before=forks.set)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "slow.py"), "w") as file:
                file.write("import __main__; __main__.begun.set(); __main__.forks.wait(); sum(range(10**6)); value = 2.7e7")
            sys.path.append(folder)
            value = lambda: __import__("slow").value
            thread = threading.Thread(target=value)
            thread.start()
            begun.wait()
            in_children(value)
            thread.join()
        """,
        WORKS,
    ),
    "eager operations": (
        """
        with af.eager():
            multiply = lambda: af.reduce_sum(af.matmul(rows, rows)).numpy()
            multiply()
            in_children(multiply)
            multiply()
        """,
        WORKS,
    ),
    "eager operations of an event loop": (
        """
        async def multiply():
            async with af.eager():
                return (await af.reduce_sum(af.matmul(rows, rows))).numpy()
        asyncio.run(multiply())
        in_children(lambda: asyncio.run(multiply()))
        asyncio.run(multiply())
        """,
        WORKS,
    ),
    "a function": (
        """
        with af.eager():
            v = af.Variable(np.ones((300, 300), np.float32))
            call = af.function(lambda x: af.reduce_sum(af.matmul(x, v)))
            multiply = lambda: call(af.constant(rows)).numpy()
            multiply()
            in_children(multiply)
            multiply()
        """,
        WORKS,
    ),
    "an iterator that has begun": (
        """
        iterator = iter(af.data.Dataset.range(9).map(lambda x: x + 1).prefetch(2))
        next(iterator)
        in_children(lambda: next(iterator))
        assert next(iterator) == 2
        """,
        REFUSES,
    ),
    "an iterator of an event loop that has begun": (
        """
        iterator = af.data.Dataset.from_generator(lambda: iter(range(9)), af.int64, []).prefetch(2).iterate()
        loop = asyncio.new_event_loop()
        loop.run_until_complete(anext(iterator))
        async def main():
            return await anext(iterator)
        in_children(lambda: asyncio.run(main()))
        assert loop.run_until_complete(main()) == 1
        """,
        REFUSES,
    ),
    "a dataset": (
        """
        dataset = af.data.Dataset.range(9).map(lambda x: x * 3000000).prefetch(2)
        list(dataset)
        in_children(lambda: list(dataset)[-1] + 3000000)
        list(dataset)
        """,
        WORKS,
    ),
    "a generator": (
        """
        dataset = af.data.Dataset.from_generator(lambda: iter([27000000.0]), af.float32, [])
        list(dataset)
        in_children(lambda: list(dataset)[0])
        list(dataset)
        """,
        WORKS,
    ),
    "a saver of a session that was used": (
        """
        v = af.Variable(1.0)
        saver = af.train.Saver()
        session.run(v.initializer)
        with tempfile.TemporaryDirectory() as folder:
            in_children(lambda: tf.train.Saver().save(session, os.path.join(folder, "model")), 2)
        """,
        REFUSES,
    ),
    "a monitored session": (
        """
        af.train.get_or_create_global_step()
        monitored = tf.train.MonitoredSession()
        monitored.run(y, {x: rows})
        in_children(lambda: monitored.run(y, {x: rows}))
        assert monitored.run(y, {x: rows}) == 2.7e7
        """,
        REFUSES,
    ),
    "a writer of summaries": (
        """
        folder = tempfile.mkdtemp()
        writer = af.summary.FileWriter(folder)
        loss = tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=1.0)])
        writer.add_summary(loss, 1)
        def write():
            writer.add_summary(loss, 2)
            writer.close()
            return "written"
        in_children(write)
        writer.close()
        """,
        "written",
    ),
}
"""Programs by what a parent has and its children use, and the answer of each child."""

POOLS = {
    "a pool of multiprocessing": """
        import multiprocessing
        used()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            for result in [pool.apply_async(run) for _ in range(4)]:
                try:
                    result.get(60)
                except af.errors.FailedPreconditionError as error:
                    print("refused")
        used()
    """,
    "a pool of concurrent.futures": """
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor
        used()
        with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
            for future in [pool.submit(run) for _ in range(4)]:
                assert type(future.exception(60)) is af.errors.FailedPreconditionError
                print("refused")
        used()
    """,
    "a pool whose processes make sessions": """
        import multiprocessing
        used()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.starmap(new, [()] * 4) == [2.7e7] * 4
        used()
        print("refused\\n" * 4)
    """,
}


@pytest.fixture(scope="module")
def said() -> dict[str, Outcome]:
    programs = {name: text for name, (text, _) in PROGRAMS.items()}
    programs |= {
        name: "def run(): return session.run(y, {x: rows})\n" + textwrap.dedent(text) for name, text in POOLS.items()
    }
    return outcomes({name: PRELUDE + textwrap.dedent(text) for name, text in programs.items()})


@pytest.mark.parametrize(("name", "answer"), [(name, answer) for name, (_, answer) in PROGRAMS.items()], ids=PROGRAMS)
def test_a_forked_child_has(said: dict[str, Outcome], name: str, answer: str) -> None:
    assert said[name].status == 0, said[name].output
    assert set(said[name].output.split()) == {answer}, said[name].output


@pytest.mark.parametrize("name", POOLS)
def test_a_forked_pool_answers(said: dict[str, Outcome], name: str) -> None:
    assert said[name].status == 0 and said[name].output.count("refused") == 4, said[name].output


@contextmanager
def a_child() -> Iterator[bool]:
    """A block that a forked child runs too, for which the value is true. The child has to succeed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12: forks of processes with threads
        child = os.fork()
    if child:
        yield False
        assert os.waitpid(child, 0)[1] == 0
        return
    status = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(120)  # else a test would wait without end for a child that does
        yield True
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


@pytest.mark.parametrize("new", [forks.new_lock, forks.new_library_lock])
def test_a_lock_that_a_thread_of_the_parent_holds_is_free_in_a_child(
    new: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = new()
    monkeypatch.setattr(forks, "_MOST_SECONDS", 0.0)  # a fork does not wait
    taken, over = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            taken.set()
            over.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait()
    with a_child() as is_child:
        assert not is_child or lock.acquire(timeout=30)
    over.set()
    holder.join()


@pytest.mark.parametrize("new", [forks.new_lock, forks.new_library_lock])
def test_a_lock_that_the_forking_thread_holds_stays_its_own_until_its_block_ends(new: Callable[[], Any]) -> None:
    lock = new()
    with lock:
        lock.acquire()
        with a_child() as is_child:
            assert not is_free_elsewhere(lock)
            lock.release()
            assert not is_free_elsewhere(lock)
            if is_child:
                with a_child():  # of a child
                    assert not is_free_elsewhere(lock)
                    lock.release()
                    assert is_free_elsewhere(lock)
    assert is_free_elsewhere(lock)


def is_free_elsewhere(lock: Any) -> bool:
    """Whether another thread can take a lock."""
    taken: list[bool] = []

    def take() -> None:
        taken.append(lock.acquire(blocking=False))
        if taken[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return taken[0]


def test_an_object_that_fails_in_a_child_keeps_no_other_from_hearing_of_the_fork() -> None:
    class Told:
        def __init__(self, error: Exception | None) -> None:
            self.error, self.is_told = error, False
            forks.register(self)

        def forked(self) -> None:
            self.is_told = True
            if self.error is not None:
                raise self.error

    objects = [Told(None), Told(OSError("too many open files")), Told(None)]
    with a_child() as is_child:
        assert [each.is_told for each in objects] == [is_child] * 3


_OF_THEIR_OWN = {
    "actorflow/base/process/forks.py": "makes the locks",
    "actorflow/base/process/lanes.py": "a child has threads and locks of its own",
    "actorflow/engine/eager/launches.py": "a child has a queue of its own",
    "actorflow/engine/runtime/codegen/background.py": "a child has a lock of its own",
    "actorflow/engine/runtime/event_loops/driver.py": "a child is refused, or has a loop of its own",
    "actorflow/engine/runtime/threads.py": "a write is over in a child",
    "actorflow/engine/session/planning/planner.py": "a child is refused a session that was used",
    "actorflow/graph/analysis/cooperative.py": "a child has a lock of its own",
    "actorflow/models/summary/event_queue.py": "a child has locks of its own",
    "devices/allocator.py": "a child has a lock of its own",
    "devices/cuda": "CUDA works in no child",
    "kernels/cudnn": "CUDA works in no child",
    "kernels/shared/python_pool.py": "a child has calls of its own",
    "transports/shm/arena.py": "a child is refused the session of a cluster",
}
"""The modules whose locks a fork knows nothing of, and why none of these locks holds a child up."""


def test_each_lock_that_a_child_may_meet_is_known_to_forks() -> None:
    root = Path(__file__).resolve().parents[3]
    makes = re.compile(r"\bthreading\.(Lock|RLock|Condition|Semaphore|BoundedSemaphore|Barrier)\(")
    makers = [
        path.relative_to(root).as_posix()
        for package in ("actorflow", "checkpoint", "devices", "kernels", "transports")
        for path in sorted((root / package).rglob("*.py"))
        if makes.search(path.read_text(encoding="utf-8"))
    ]
    own = tuple(_OF_THEIR_OWN)
    assert [path for path in makers if not path.startswith(own)] == [], (
        "forks.new_lock() makes a lock that a child may meet"
    )
    assert [path for path in own if not any(maker.startswith(path) for maker in makers)] == []
