"""The pool of threads, and how many of its threads take a call."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import textwrap
import threading
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.engine.runtime.kernel_context import MOST_THREADS
from actorflow.kernels.native import library
from actorflow.kernels.shared import thread_count, threads
from actorflow.kernels.shared.thread_count import ThreadCount

pooled = pytest.mark.skipif(threads.loaded() is None, reason="the library in C is not there")

# ---- the number of threads, by what calls take


def decided(most: int, *times: int) -> int:
    """The number of threads after calls that took these nanoseconds on one thread."""
    count, taken = ThreadCount(most), list[int]()
    for time in times:
        count.add(time)
    count.run(taken.append)
    return taken[0]


@pytest.mark.parametrize(
    ("most", "nanoseconds", "threads"),
    [(1, 8_000_000, 1), (2, 8_000_000, 2), (2, 90_000, 1), (2, 100_000, 2), (8, 210_000, 4), (8, 60_000_000, 8)],
)
def test_the_number_of_threads_goes_by_the_work(most: int, nanoseconds: int, threads: int) -> None:
    assert decided(most, *[nanoseconds] * 4) == threads


def test_what_the_first_call_makes_and_what_others_lose_their_core_for_count_for_nothing() -> None:
    assert decided(2, 50_000_000, 30_000, 4_000_000, 9_000_000) == 1
    assert decided(2, 10_000, 200_000, 4_000_000, 9_000_000) == 2


def test_the_first_calls_take_one_thread_and_all_others_what_is_decided() -> None:
    count, taken = ThreadCount(2), list[int]()
    for _ in range(4):
        count.run(taken.append)
    assert taken == [1] * 4 and struct.unpack("=q", count.memory) == (1,)
    count.decide(2)
    assert [count.run(lambda threads: threads) for _ in range(3)] == [2] * 3


def test_nothing_is_measured_while_a_compiler_has_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_count.background, "_thread", object())
    count = ThreadCount(2)
    assert [count.run(lambda threads: threads) for _ in range(20)] == [1] * 20
    assert struct.unpack("=q", count.memory) == (0,)


def test_calls_of_several_threads_may_overlap() -> None:
    count = ThreadCount(4)

    def caller() -> None:
        for _ in range(200):
            assert count.run(lambda threads: threads) in (1, 4)
            count.add(1_000_000)

    callers = [threading.Thread(target=caller) for _ in range(4)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    assert 1 <= count.run(lambda threads: threads) <= 4


# ---- the pool in processes of their own


def in_a_process(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pooled
def test_the_environment_says_how_many_threads_there_are() -> None:
    script = """
        from actorflow.kernels.shared import threads
        try:
            print(threads.most_threads())
        except Exception as error:
            print(error)
    """
    assert in_a_process(script, ACTORFLOW_THREADS="5").strip() == "5"
    assert "a number from 1 to 256" in in_a_process(script, ACTORFLOW_THREADS="many")
    assert "a number from 1 to 256" in in_a_process(script, ACTORFLOW_THREADS="0")


@pooled
@pytest.mark.parametrize(
    ("setting", "threads"),
    [("1", "1"), ("1,4", "1"), (" 1 ", "1"), ("100", "cores"), ("0", "cores"), ("many", "cores"), ("", "cores")],
)
def test_openmp_says_how_many_threads_there_are_at_most(setting: str, threads: str) -> None:
    script = """
        from actorflow.base.process import machine
        from actorflow.kernels.shared.threads import most_threads
        print(most_threads(), machine.usable_cores())
    """
    most, cores = in_a_process(script, OMP_NUM_THREADS=setting, ACTORFLOW_THREADS="").split()
    assert most == (cores if threads == "cores" else threads)
    assert in_a_process(script, OMP_NUM_THREADS=setting, ACTORFLOW_THREADS="3").split()[0] == "3"


def test_without_the_library_there_is_one_thread_and_a_line_says_why() -> None:
    script = """
        import logging
        logging.basicConfig(level="INFO")
        import numpy as np
        import actorflow as af
        from actorflow.kernels.shared import threads
        x = af.constant(np.arange(6, dtype="f4").reshape(2, 3))
        with af.blocking.Session() as session:
            print(session.run(af.reduce_sum(af.nn.softmax(x * x))), threads.most_threads())
    """
    output = in_a_process(script, ACTORFLOW_NATIVE="off")
    assert output.count("kernels in C are left to numpy") == 1 and "ACTORFLOW_NATIVE is 'off'" in output
    assert output.splitlines()[-1].endswith(" 1")


# ---- the pool


@pooled
@pytest.mark.parametrize("count", [1, 2, 4, 8, 40])
def test_each_piece_is_done_once_by_any_number_of_threads(count: int) -> None:
    for pieces in (0, 1, 2, 7, 100):
        done: list[int] = []
        threads._pool().each(done.append, pieces, count)
        assert sorted(done) == list(range(pieces))


@pooled
def test_the_first_error_of_a_piece_is_raised_and_no_piece_begins_after_it() -> None:
    def work(number: int) -> None:
        begun.append(number)
        if number >= 3:
            raise ValueError("the third")

    for _ in range(50):
        begun: list[int] = []
        with pytest.raises(ValueError, match="the third"):
            threads._pool().each(work, 1000, 4)
        assert len(begun) < 20


@pooled
def test_work_within_work_ends() -> None:
    done: list[int] = []
    threads._pool().each(lambda _: threads._pool().each(done.append, 10, 4), 10, 4)
    assert sorted(done) == sorted(list(range(10)) * 10)


@pooled
def test_many_callers_at_once_each_have_all_of_their_pieces() -> None:
    results: dict[int, list[int]] = {}

    def caller(name: int) -> None:
        for _ in range(30):
            done: list[int] = []
            threads._pool().each(done.append, 50, 4)
            results[name] = sorted(done)

    callers = [threading.Thread(target=caller, args=(name,)) for name in range(6)]
    for one in callers:
        one.start()
    for one in callers:
        one.join()
    assert list(results.values()) == [list(range(50))] * 6


@pooled
def test_idle_threads_take_no_time_of_a_core() -> None:
    """In a process of its own: the threads sleep when there has been nothing for a while, and then none of them runs."""
    script = """
        import resource, time
        import numpy as np
        from actorflow.kernels.shared import threads
        pool = threads._pool()
        x = np.ones(1 << 20, "f4")
        for _ in range(10):
            pool.call("add", 4, x, x)
        made, asleep = pool.pool_threads()
        assert made == 3, made
        while pool.pool_threads()[1] < made:
            time.sleep(0.001)
        before = time.process_time_ns()
        time.sleep(0.5)
        print((time.process_time_ns() - before) / 0.5e9)
    """
    assert float(in_a_process(script, ACTORFLOW_THREADS="4")) < 0.02


@pooled
def test_a_child_process_has_a_pool_of_its_own() -> None:
    script = """
        import os
        import numpy as np
        from actorflow.kernels.shared import threads
        pool = threads._pool()
        x = np.ones(1 << 18, "f4")
        for _ in range(20):
            assert pool.call("add", 4, x, x)[-1] == 2
            child = os.fork()
            if not child:
                assert pool.pool_threads() == (0, 0)
                os._exit(0 if pool.call("add", 4, x, x)[7] == 2 and pool.pool_threads()[0] == 3 else 1)
            assert os.waitpid(child, 0)[1] == 0
        print("done")
    """
    assert in_a_process(script, ACTORFLOW_THREADS="4").strip() == "done"


@pooled
def test_signals_are_handled_by_the_threads_of_the_program() -> None:
    script = """
        import os, signal, threading
        import numpy as np
        from actorflow.kernels.shared import threads
        x = np.ones(1 << 18, "f4")
        threads._pool().call("add", 4, x, x)
        masks = []
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/status") as status:
                lines = dict(line.split(":", 1) for line in status)
            if lines["Name"].strip() == "actorflow pool":
                masks.append(int(lines["SigBlk"], 16) & 1 << (signal.SIGINT - 1))
        print(len(masks), all(masks))
    """
    assert in_a_process(script, ACTORFLOW_THREADS="4").strip() == "3 True"


@pooled
def test_large_work_has_the_same_result_on_more_threads_than_cores() -> None:
    x = np.random.default_rng(0).normal(size=(500, 700)).astype("f4")
    for count in (1, 2, 4, 8):
        np.testing.assert_array_equal(threads._pool().call("negative", count, x), -x)


# ---- sessions


@pooled
@pytest.mark.parametrize(("threads_of_session", "wanted"), [(None, 8), (3, 3), (1, 1), (20, 8)])
async def test_a_session_says_how_many_threads_may_compute_a_kernel(
    monkeypatch: pytest.MonkeyPatch, threads_of_session: int | None, wanted: int
) -> None:
    seen: list[int] = []
    call = library._call

    def watched(name: str, given: tuple[Any, ...], count: int) -> Any:
        seen.append(count)
        return call(name, given, count)

    monkeypatch.setattr(library, "_call", watched)
    monkeypatch.setattr(threads, "most_threads", lambda: 8)
    monkeypatch.setattr(ThreadCount, "run", lambda self, work: work(self._most))
    monkeypatch.setattr(threads, "_counts", {})
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [1 << 19])
        y = -x
    async with af.Session(
        graph=graph, limits=af.SessionLimits(threads=threads_of_session), options=af.PlanOptions(jit=False)
    ) as session:
        value = np.ones(1 << 19, np.float32)
        np.testing.assert_array_equal(await session.run(y, {x: value}), -value)
    assert seen == [wanted]


def test_a_session_takes_one_thread_or_more_and_a_cluster_has_its_own() -> None:
    with pytest.raises(ValueError, match="one thread or more"):
        af.Session(limits=af.SessionLimits(threads=0))
    with pytest.raises(ValueError, match="takes no threads"):
        af.blocking.Session("tcp://127.0.0.1:1", limits=af.SessionLimits(threads=2))


# ---- tables of counts


def test_a_caller_who_keeps_a_count_asks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """All are forgotten when there are too many kinds of work. The memory that C reads is that of the kept count."""
    monkeypatch.setattr(threads, "_counts", {})
    kept, asked = threads.thread_count_of("work", 2), list[int]()
    threads._counts.clear()
    monkeypatch.setattr(ThreadCount, "run", lambda self, work: asked.append(self is kept))
    threads.threaded("work", lambda count: None, 2, count=kept)
    threads.threaded("work", lambda count: None, 2)
    with_less = MOST_THREADS.set(2)
    threads.threaded("work", lambda count: None, 4, count=kept)
    MOST_THREADS.reset(with_less)
    assert asked == [True, False, False]
