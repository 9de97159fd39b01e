"""Short native calls, which a thread of the pool that looks for work shares (`kernels/native/src/share.c`).

Each script is a process of its own. Its pool is told that it has as many cores as threads, so threads look for work on any
machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from actorflow.kernels.shared import threads

pooled = pytest.mark.skipif(threads.loaded() is None, reason="the library in C is not there")

BEFORE = """
    import os, threading
    import numpy as np
    from actorflow.kernels.shared import threads
    from actorflow.kernels.native.library import function

    pool, count = threads._pool(), int(os.environ["COUNT"])
    pool.limit_threads(count, count)
    draw = np.random.default_rng(0)
    x = draw.normal(size=(300, 300)).astype("f4")
    ids = np.sort(draw.integers(0, 40, 300)).astype("i4")
    calls = {
        "relu": (x,), "exp": (x,), "maximum": (x, x[::-1].copy()), "softmax": (x,), "segment_sum": (x, ids),
        "unsorted_segment_sum": (x, ids[::-1].copy(), 40), "gather": (x, ids % 300),
    }
    kernels = {name: function(name) for name in calls}
    pool.share_short_calls(lambda: count)

    def shared():
        return pool.short_calls()[1]

    def until_shared(calls_of_it, most=100_000):
        goal = shared() + calls_of_it
        for number in range(most):
            for name, given in calls.items():
                found = kernels[name](*given)
                assert found.tobytes() == alone[name], name
            if shared() >= goal:
                return True
        return False

    alone = {name: pool.call(name, 1, *given).tobytes() for name, given in calls.items()}
"""


def in_a_process(script: str, count: int) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(BEFORE) + textwrap.dedent(script)],
        env={**os.environ, "COUNT": str(count)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout.strip()


@pooled
@pytest.mark.parametrize("count", [2, 4, 8])
def test_shared_calls_have_the_values_of_one_thread(count: int) -> None:
    assert in_a_process("print(until_shared(100))", count) == "True"


@pooled
def test_one_thread_shares_nothing() -> None:
    assert in_a_process("print(until_shared(1, 500), shared())", 1) == "False 0"


@pooled
def test_a_session_with_one_thread_shares_nothing_though_a_thread_looks_for_work() -> None:
    script = """
        pool.share_short_calls(lambda: 1)
        for _ in range(200):
            pool.call("add", 2, x, x)
            assert not until_shared(1, 3)
        print(shared())
    """
    assert in_a_process(script, 2) == "0"


@pooled
def test_where_there_are_more_threads_than_cores_nobody_looks_and_callers_do_all_themselves() -> None:
    assert in_a_process("pool.limit_threads(4, 1); print(until_shared(1, 500), shared())", 4) == "False 0"


@pooled
def test_what_python_raises_as_it_is_asked_for_threads_is_raised_by_the_call() -> None:
    script = """
        def refuse():
            raise KeyboardInterrupt("now")

        pool.share_short_calls(refuse)
        try:
            until_shared(1)
        except KeyboardInterrupt as error:
            print(error, shared())
        pool.share_short_calls(lambda: count)
        print(until_shared(20))
    """
    assert in_a_process(script, 2).split() == ["now", "0", "True"]


@pooled
def test_many_callers_at_once_have_their_own_values() -> None:
    script = """
        done = []
        callers = [threading.Thread(target=lambda: done.append(until_shared(100))) for _ in range(5)]
        for one in callers:
            one.start()
        for one in callers:
            one.join()
        print(done)
    """
    assert in_a_process(script, 3) == str([True] * 5)


@pooled
def test_a_child_process_shares_with_threads_of_its_own() -> None:
    script = """
        for _ in range(5):
            assert until_shared(20)
            child = os.fork()
            if not child:
                os._exit(0 if until_shared(20) and pool.pool_threads()[0] == 1 else 1)
            assert os.waitpid(child, 0)[1] == 0
        print("done")
    """
    assert in_a_process(script, 2) == "done"


# ---- sums of segments, whose runs are divided


@pooled
@pytest.mark.parametrize("height", [1, 3, 60, 1000, 5000])
@pytest.mark.parametrize("width", [1, 7, 64])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_segments_have_the_same_bits_on_any_number_of_threads(
    height: int, width: int, dtype: str, seed: int
) -> None:
    """One long run, runs across the borders of parts, and numbers that no row has."""
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(1000, width)).astype(dtype)
    ids = np.sort(rng.integers(0, height, 1000)).astype(np.int32)
    picked = rng.integers(0, 1000, 1000).astype(np.int64)
    wanted, of_picked = np.zeros((2, int(ids[-1]) + 1, width))
    np.add.at(wanted, ids, data.astype(float))
    np.add.at(of_picked, ids, data[picked].astype(float))
    cases = (("segment_sum", (data, ids), wanted), ("sparse_segment_sum", (data, picked, ids), of_picked))
    for name, given, sums in cases:
        found = [threads._pool().call(name, count, *given) for count in (1, 2, 4, 8)]
        if found[0] is NotImplemented:  # numpy's order of short sums is left to numpy
            assert name == "segment_sum" and 1000 * width < 20_000
            continue
        np.testing.assert_allclose(found[0], sums, rtol=1e-4, atol=1e-4)
        assert len({one.tobytes() for one in found}) == 1


@pooled
def test_a_call_of_a_single_piece_is_not_shared() -> None:
    """The account of gains stays as it is: no thread wakes up for it."""
    script = """
        unique, numbers = function("unique"), draw.integers(0, 900, 6000)
        before = pool.short_calls()
        for _ in range(2000):
            unique(numbers, True)
        print(pool.short_calls() == before)
    """
    assert in_a_process(script, 2) == "True"
