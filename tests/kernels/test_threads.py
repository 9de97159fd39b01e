"""The pool of threads, and the governor that says how many of them take a call."""

from __future__ import annotations

import os
import random
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
from actorflow.kernels.shared import governor, threads
from actorflow.kernels.shared.governor import Gains, Governor

pooled = pytest.mark.skipif(threads.loaded() is None, reason="the library in C is not there")

# ---- the governor, by a simulated clock


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


class Timed(Governor):
    """A governor whose clock goes on by what its calls take, and an account of gains of its own unless one is given."""

    def __init__(self, most: int, gains: Gains | None = None) -> None:
        self.now = 0
        super().__init__(most, gains or Gains(lambda: self.now))

    def add(self, threads: int, nanoseconds: int) -> None:
        self.now += nanoseconds
        super().add(threads, nanoseconds)


def decided(governor: Governor, spent: dict[int, int], times: int) -> list[int]:
    """The decisions of a governor, with the nanoseconds that each number of threads takes."""
    found = []
    for _ in range(times):
        count = governor.threads()
        governor.add(count, spent[count])
        found.append(count)
    return found


def test_several_threads_go_on_where_they_take_less() -> None:
    found = decided(Timed(2), {1: 1_000_000, 2: 700_000}, 1000)
    assert found[:4] == [1] * 4
    assert found.count(2) > 990
    assert 1 in found[4:], "what one thread takes is never looked at again"


@pytest.mark.parametrize("most", [2, 4, 8])
def test_work_that_scales_gets_all_threads(most: int) -> None:
    found = decided(Timed(most), {count: 8_000_000 // count for count in range(1, most + 1)}, 500)
    assert found[-100:].count(most) >= 99


@pytest.mark.parametrize("best", [1, 2, 4, 8])
def test_the_number_of_threads_is_that_which_takes_least(best: int) -> None:
    spent = {count: 500_000 + 300_000 * abs(count.bit_length() - best.bit_length()) for count in (1, 2, 4, 8)}
    found = decided(Timed(8), spent, 1000)
    assert found.count(best) > 900


def test_several_threads_are_left_where_they_take_more_and_come_back_when_that_changes() -> None:
    governor = Timed(2)
    assert decided(governor, {1: 1_000_000, 2: 1_500_000}, 1000).count(2) < 40
    assert decided(governor, {1: 1_000_000, 2: 700_000}, 1000).count(2) > 700


def test_to_gain_next_to_nothing_is_not_enough() -> None:
    assert decided(Timed(2), {1: 60_000, 2: 55_000}, 1000).count(2) < 100


def test_work_of_a_tenth_of_a_millisecond_is_divided_where_that_gains_a_third() -> None:
    assert decided(Timed(2), {1: 100_000, 2: 65_000}, 1000).count(2) > 900


def test_a_thread_that_stalls_now_and_then_is_left() -> None:
    """A slice of the system's time in one call of thirty is more than the others gain."""
    governor, divided = Timed(2), 0
    for _ in range(1000):
        count = governor.threads()
        divided += count > 1
        governor.add(count, (4_000_000 if divided % 30 == 0 else 60_000) if count > 1 else 100_000)
    assert divided < 250


def test_what_the_first_call_makes_counts_for_nothing() -> None:
    governor = Timed(2)
    governor.add(1, 50_000_000)
    for _ in range(3):
        governor.add(1, 1_000_000)
    for spent in (90_000_000, 700_000, 700_000, 700_000):
        assert governor.threads() == 2
        governor.add(2, spent)
    assert governor.threads() == 2


@pytest.mark.parametrize("slow", [0, 1, 2])
def test_a_single_slow_time_spoils_no_trial(slow: int) -> None:
    governor = Timed(2)
    decided(governor, {1: 200_000}, 4)
    governor.add(2, 700_000)  # both threads become warm
    for number in range(3):
        assert governor.threads() == 2
        governor.add(2, 4_000_000 if number == slow else 110_000)
    assert governor.threads() == 2


def test_a_single_slow_time_changes_nothing() -> None:
    governor = Timed(2)
    decided(governor, {1: 1_000_000, 2: 500_000}, 20)
    governor.add(2, 1_000_000_000)
    assert governor.threads() == 2


def test_one_thread_has_nothing_to_decide() -> None:
    assert decided(Timed(1), {1: 1_000_000}, 50) == [1] * 50


def test_whatever_calls_cost_there_are_never_more_threads_than_there_may_be(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(50):
        most = draw.randint(1, 9)
        governor = Timed(most)
        for _ in range(300):
            count = governor.threads()
            assert 1 <= count <= most
            governor.add(count, int(draw.lognormvariate(12, 2)))


def test_work_that_has_paid_is_divided_again_soon_after_the_cores_are_free() -> None:
    """For a second both threads share one core: divided calls take as long as others."""
    governor = Timed(2)
    assert decided(governor, {1: 100_000, 2: 55_000}, 2000).count(2) > 1900
    decided(governor, {1: 100_000, 2: 100_000}, 10_000)
    assert decided(governor, {1: 100_000, 2: 55_000}, 1000).count(2) > 850


def test_what_one_kind_of_work_loses_another_knows() -> None:
    clock = Clock()
    gains = Gains(clock)
    one, other = Governor(2, gains), Governor(2, gains)
    for each in (one, other):
        decided(each, {1: 100_000, 2: 60_000}, 100)
        assert each.threads() == 2
    for _ in range(3):
        one.add(2, 5_000_000)  # another program has its core
    assert other.threads() == 1
    clock.now += 100_000_000
    assert other.threads() == 2


# ---- calls that a governor grants to a function in C

FIELDS = struct.Struct("=6q")


def by_grants(governor: Timed, spent: dict[int, int], calls: int) -> list[tuple[int, bool]]:
    """How many threads did each call, and whether it was granted: as the function in C takes them."""
    memory, found = governor.granted(), list[tuple[int, bool]]()
    while len(found) < calls:
        threads, left, slow, number, done, sum_of = FIELDS.unpack_from(memory)
        found.append((threads, left > 0))
        if left > 0:
            governor.now += spent[threads]
            left = 0 if spent[threads] >= slow else left - 1
            FIELDS.pack_into(memory, 0, threads, left, slow, number, done + 1, sum_of + spent[threads])
        else:
            taken = governor.run(lambda threads: threads)
            found[-1] = (taken, False)
    return found


class Played(Timed):
    """Its calls take what `spent` says."""

    def __init__(self, spent: dict[int, int], gains: Gains | None = None) -> None:
        super().__init__(2, gains)
        self.spent = spent

    def run(self, work: Any) -> Any:
        self.end_grant()
        threads = self.threads()
        self.add(threads, self.spent[threads])
        self._allow()
        return work(threads)


@pytest.mark.parametrize(("spent", "wanted"), [({1: 100_000, 2: 60_000}, 2), ({1: 100_000, 2: 110_000}, 1)])
def test_most_calls_are_granted_once_it_is_clear_what_they_cost(spent: dict[int, int], wanted: int) -> None:
    found = by_grants(Played(spent), spent, 2000)
    assert [granted for _, granted in found].count(True) > 1600
    assert found.count((wanted, True)) > 1600


def test_granted_calls_lead_to_the_same_decisions() -> None:
    """Several threads pay, then they don't, then they do again."""
    costs = {1: 100_000, 2: 60_000}
    played = Played(costs)
    for takes, wanted in ((60_000, 2), (130_000, 1), (60_000, 2)):
        costs[2] = takes
        by_grants(played, costs, 3000)
        assert [threads for threads, _ in by_grants(played, costs, 500)].count(wanted) > 400


def test_a_granted_call_that_takes_as_long_as_one_thread_s_is_the_last() -> None:
    costs = {1: 100_000, 2: 60_000}
    played = Played(costs)
    found = by_grants(played, costs, 100)
    while not found[-1][1]:
        found = by_grants(played, costs, 1)
    costs[2] = 100_000
    assert [granted for _, granted in by_grants(played, costs, 3)].count(True) < 3


def test_a_pause_ends_the_grants_of_all_governors() -> None:
    now = Clock()
    gains = Gains(now)
    costs = {1: 100_000, 2: 60_000}
    played, other = Played(costs, gains), Timed(2, gains)
    found = by_grants(played, costs, 100)
    while not found[-1][1]:
        found = by_grants(played, costs, 1)
    for _ in range(3):
        gains.add(-4_000_000.0)
    assert gains.paused
    assert FIELDS.unpack_from(played.granted())[1] == 0
    assert by_grants(played, costs, 3) == [(1, False)] * 3
    assert not other.granted()[8]


def test_each_grant_and_its_end_have_a_number_of_their_own() -> None:
    """By it a call that began before the end knows that it counts for nothing."""
    costs = {1: 100_000, 2: 60_000}
    played = Played(costs)
    by_grants(played, costs, 100)
    numbers = []
    for _ in range(3):
        played.run(lambda threads: threads)
        numbers.append(FIELDS.unpack_from(played.granted())[3])
        played.end_grant()
        numbers.append(FIELDS.unpack_from(played.granted())[3])
    assert len(set(numbers)) == 6


def test_pauses_are_longer_each_time_until_dividing_pays_again() -> None:
    clock = Clock()
    gains = Gains(clock)

    def pause() -> int:
        """The milliseconds of the next one."""
        while not gains.paused:
            gains.add(-100_000)
        begun = clock.now
        while gains.paused:
            clock.now += 1_000_000
        return (clock.now - begun) // 1_000_000

    assert [pause() for _ in range(8)] == [2, 4, 8, 16, 32, 64, 64, 64]
    gains.add(10_000_000)
    assert pause() == 2


def test_calls_of_several_threads_may_overlap_in_any_order(seed: int) -> None:
    draw = random.Random(seed)
    spent = {count: 8_000_000 // count for count in range(1, 9)}
    governor, running = Timed(8), list[int]()
    for _ in range(3000):
        if running and draw.random() < 0.5:
            count = running.pop(draw.randrange(len(running)))
            governor.add(count, spent[count])
        else:
            running.append(governor.threads())
    assert decided(governor, spent, 100).count(8) > 90


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
        from actorflow.kernels.shared import governor, threads
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
        from actorflow.kernels.shared import governor, threads
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
        from actorflow.kernels.shared import governor, threads
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
        from actorflow.kernels.shared import governor, threads
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
        from actorflow.kernels.shared import governor, threads
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
    monkeypatch.setattr(governor.Governor, "threads", lambda self: self._most)
    monkeypatch.setattr(threads, "_governors", {})
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


# ---- scaling, by a simulated clock


class Cores:
    """Cores with a clock of their own. Calls take pieces of `grain` nanoseconds on each thread. To wake one costs `wake`."""

    def __init__(self, count: int, grain: int, wake: int = 5000) -> None:
        self.count, self.grain, self.wake = count, grain, wake
        self.clock = 0

    def call(self, threads_of_call: int, nanoseconds: int) -> None:
        """All pieces, one after the other by the first free thread; threads beyond the cores take turns."""
        begins = [self.wake * number for number in range(threads_of_call)]
        speed = max(1.0, threads_of_call / self.count)
        for _ in range(nanoseconds // self.grain):
            soonest = begins.index(min(begins))
            begins[soonest] += int(self.grain * speed)
        self.clock += max(begins)


def spent(cores: Cores, most: int, nanoseconds: int, calls: int = 400) -> float:
    """The time of a call on average, after the governor's trials, divided by that on one thread."""
    governor = Timed(most)
    for number in range(2 * calls):
        if number == calls:
            begun = cores.clock
        count, before = governor.threads(), cores.clock
        cores.call(count, nanoseconds)
        governor.add(count, cores.clock - before)
    return (cores.clock - begun) / calls / nanoseconds


@pytest.mark.parametrize("count", [2, 4, 8])
def test_large_work_scales_with_the_cores(count: int) -> None:
    assert spent(Cores(count, grain=20_000), count, 4_000_000) < 1.15 / count


@pytest.mark.parametrize("count", [2, 4, 8])
def test_small_work_is_as_fast_as_on_one_thread_however_many_there_are(count: int) -> None:
    assert spent(Cores(count, grain=2_000), count, 10_000) < 1.1


@pytest.mark.parametrize(("count", "most"), [(1, 4), (2, 8), (2, 16), (4, 16)])
def test_more_threads_than_cores_lose_a_tenth_at_most(count: int, most: int) -> None:
    many, fitting = Cores(count, grain=20_000), Cores(count, grain=20_000)
    assert spent(many, most, 4_000_000) < 1.1 * spent(fitting, count, 4_000_000)


def test_a_caller_who_keeps_a_governor_asks_that_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """All are forgotten when there are too many kinds of work. A grant is memory of the governor that was kept."""
    monkeypatch.setattr(threads, "_governors", {})
    kept, asked = threads.governor_of("work", 2), list[int]()
    threads._governors.clear()
    monkeypatch.setattr(Governor, "run", lambda self, work: asked.append(self is kept))
    threads.governed("work", lambda count: None, 2, governor=kept)
    threads.governed("work", lambda count: None, 2)
    with_less = MOST_THREADS.set(2)
    threads.governed("work", lambda count: None, 4, governor=kept)
    MOST_THREADS.reset(with_less)
    assert asked == [True, False, False]
