"""A child that was forked uses what its parent has made, or hears at once that it can't; and the parent goes on undisturbed."""

from __future__ import annotations

import os
import textwrap
import threading
import warnings
from typing import Any

import pytest
from engine.session.forked_programs import Outcome, outcomes

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


def test_a_lock_of_a_module_is_free_in_a_forked_child_although_a_thread_of_the_parent_holds_it() -> None:
    from actorflow.base.process import forks

    for lock in (forks.new_lock(), forks.new_rlock()):
        taken, over = threading.Event(), threading.Event()

        def hold(lock: Any = lock, taken: threading.Event = taken, over: threading.Event = over) -> None:
            with lock:
                taken.set()
                over.wait()

        holder = threading.Thread(target=hold)
        holder.start()
        taken.wait()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12: forks of processes with threads
            child = os.fork()
        if not child:
            os._exit(0 if lock.acquire(timeout=30) else 1)
        assert os.waitpid(child, 0)[1] == 0
        over.set()
        holder.join()
