"""The blocking session: the same face without `await`, any number of threads, and Ctrl-C."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np
import probes
import pytest
from patience import PATIENCE
from probes import probe as probe

import actorflow as af
from actorflow import errors
from actorflow.engine.runtime.event_loops.driver import LoopDriver
from actorflow.engine.runtime.event_loops.step_result import StepResult


def in_threads(work: Callable[[int], Any], count: int) -> list[Any]:
    """The results of `work(i)` on `count` threads at once."""
    results: list[Any] = [None] * count
    failures: list[BaseException] = []
    barrier = threading.Barrier(count)

    def one(index: int) -> None:
        try:
            barrier.wait(PATIENCE)
            results[index] = work(index)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=one, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "a thread hangs"
    if failures:
        raise failures[0]
    return results


class Started(threading.Thread):
    """A thread whose result or error is asked for later."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self.error: BaseException | None = None
        self._value: Any = None
        self.start()

    def run(self) -> None:
        try:
            self._value = self._work()
        except BaseException as error:
            self.error = error

    def value(self) -> Any:
        self.join(PATIENCE)
        assert not self.is_alive(), "a thread hangs"
        if self.error is not None:
            raise self.error
        return self._value


# ---- the face


def test_the_face_is_that_of_the_session() -> None:
    """The same public methods, with the same parameters."""

    def face(kind: type) -> dict[str, list[tuple[str, Any, Any]]]:
        return {
            name: [(p.name, p.kind, p.default) for p in inspect.signature(member).parameters.values()]
            for name, member in inspect.getmembers(kind)
            if callable(member) and (not name.startswith("_") or name == "__init__")
        }

    assert face(af.blocking.Session) == face(af.Session)
    for name, member in inspect.getmembers(af.blocking.Session):
        assert name.startswith("__") or not (callable(member) and inspect.iscoroutinefunction(member))


def test_f59_all_that_a_session_does(graph: af.Graph, probe: probes.Probe) -> None:
    a, b = af.placeholder(af.float32, name="a"), af.placeholder(af.float32, name="b")
    adder = probes.log(a + b, tag="adder")
    v = af.Variable(1.0)
    with af.blocking.Session(graph=graph) as session:
        assert session.graph is graph
        assert session.run(adder, {a: 3, b: 4.5}) == 7.5
        assert session.run(adder, {a: [1, 3], b: [2, 4]}).tolist() == [3.0, 7.0]
        assert session.run(v.initializer) is None
        assert session.run([v, {"x": v.assign_add(1.0)}], timeout=PATIENCE)[1] == {"x": 2.0}
        trace = af.Trace()
        session.run(adder, {a: 1, b: 2}, trace=trace)
        assert adder.op.name in trace.names()
        probe.ran.clear()
        session.warmup(adder, [a, b])
        assert not probe.ran
        call = session.make_callable(adder, [a, b])
        assert call(1, 2) == 3.0 and call(3, 4) == 7.0
        handle = session.partial_run_setup([a, adder], [a, b])
        assert session.partial_run(handle, a, {a: 5}) == 5.0
        assert "adder" in session.pending() or "waits for a feed" in session.pending()
        assert session.partial_run(handle, adder, {b: 5}) == 10.0
        assert session.extend() == len(graph)
        assert session.placement(adder) == session.list_devices()[0].name
        assert session.pending() == "no step is in flight"
        assert session.statistics().inflight == 0 and session.statistics().failed == 0
        af.blocking.Session.reset(containers=["nothing"])
        assert "in flight" in repr(session)
    assert "closed" in repr(session) and session.pending() == "no step is in flight"


def test_errors_come_out_as_they_are(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, name="x")
    y = af.reshape(x, [2])
    with af.blocking.Session(graph=graph) as session:
        for _ in range(2):
            with pytest.raises(errors.InvalidArgumentError, match="does not feed it"):
                session.run(y)
            with pytest.raises(errors.InvalidArgumentError, match="reshape"):
                session.run(y, {x: [1, 2, 3]})
            with pytest.raises(KeyError, match="no operation 'y'"):
                session.run("y")
            with pytest.raises(TypeError):
                session.run(None)
            with pytest.raises(errors.DeadlineExceededError):
                session.run(probes.wait(x, tag="never"), {x: 1}, timeout=0.001)
        assert session.run(y, {x: [1, 2]}).tolist() == [1.0, 2.0]


# ---- opening and closing


def test_f20_closing_twice_and_leaving_nothing(graph: af.Graph, probe: probes.Probe) -> None:
    probe.release.set()
    x = af.placeholder(af.float32)
    y = probes.hold(x)
    before = threading.active_count()
    for _ in range(5):
        with af.blocking.Session(graph=graph) as session:
            assert session.run(y, {x: 1}) == 1.0
            session.close()
        session.close()
        for attempt in (
            lambda: session.run(y, {x: 1}),
            lambda: session.warmup(y),
            lambda: session.make_callable(y),
            lambda: session.extend(),
            lambda: session.partial_run_setup(y, [x]),
        ):
            with pytest.raises(errors.FailedPreconditionError, match="closed"):
                attempt()
    threads = [t for t in threading.enumerate() if t.name.startswith("compute")]
    for thread in threads:
        thread.join(PATIENCE)
    assert threading.active_count() <= before


def test_it_needs_no_with(graph: af.Graph) -> None:
    session = af.blocking.Session(graph=graph)
    assert session.run(af.constant(2.0) * 3.0) == 6.0
    session.close()
    af.blocking.Session(graph=graph).close()


def test_one_that_is_never_closed_says_so(graph: af.Graph) -> None:
    session = af.blocking.Session(graph=graph)
    session.run(af.constant(1.0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del session
        gc.collect()
    assert ResourceWarning in [w.category for w in caught]
    assert any("was never closed" in str(w.message) for w in caught)


# ---- threads


@pytest.mark.parametrize("count", [2, 8])
def test_threads_share_a_session(graph: af.Graph, count: int) -> None:
    x = af.placeholder(af.float32, [])
    v = af.Variable(0.0)
    up, y = v.assign_add(1.0, read_value=False), x * 2.0
    with af.blocking.Session(graph=graph) as session:
        session.run(v.initializer)

        def work(index: int) -> None:
            for i in range(200):
                assert session.run(y, {x: index * 1000 + i}) == 2 * (index * 1000 + i)
                session.run(up)

        in_threads(work, count)
        assert session.run(v) == 200.0 * count
        assert session.statistics().inflight == 0


def test_a_thread_waits_only_for_its_own_call(graph: af.Graph, probe: probes.Probe) -> None:
    """The thread that drives the loop when its call is done leaves it to the others."""
    x = af.placeholder(af.float32, [])
    gated = probes.wait(x, tag="gate")
    opener = probes.log(x, tag="open")
    loops: list[asyncio.AbstractEventLoop] = []
    entered = threading.Event()

    def arrived(value: Any) -> Any:
        loops.append(asyncio.get_running_loop())
        entered.set()
        return value

    probe.does["arrived"] = arrived
    first = probes.wait(probes.log(x, tag="arrived"), tag="gate")
    probe.does["open"] = lambda value: (probe.gate("gate").set(), value)[1]
    with af.blocking.Session(graph=graph) as session:
        waiting = Started(lambda: session.run(first, {x: 1}))  # drives
        assert entered.wait(PATIENCE)
        others = [Started(lambda i=i: session.run(gated, {x: i})) for i in range(3)]
        assert session.run(x, {x: 7}) == 7.0  # while all of them wait
        assert waiting.is_alive()
        assert session.run(opener, {x: 8}) == 8.0
        assert waiting.value() == 1.0 and [t.value() for t in others] == [0.0, 1.0, 2.0]


def test_errors_reach_the_thread_that_made_them(graph: af.Graph) -> None:
    x = af.placeholder(af.int32, [])
    y = af.floordiv(12, x)

    with af.blocking.Session(graph=graph) as session:

        def work(index: int) -> None:
            for _ in range(50):
                if index % 2:
                    with pytest.raises(errors.InvalidArgumentError, match="zero"):
                        session.run(y, {x: 0})
                else:
                    assert session.run(y, {x: 5}) == 2

        in_threads(work, 6)
        assert session.statistics().failed == 150


def test_closing_while_other_threads_run(graph: af.Graph, probe: probes.Probe) -> None:
    """Each run gives its value or says that the session was closed; no one hangs, whoever drives."""
    x = af.placeholder(af.float32, [])
    gated = [probes.wait(x, tag=str(trial)) for trial in range(30)]
    for trial in range(30):
        session = af.blocking.Session(graph=graph)
        started = threading.Semaphore(0)

        def work(session: Any = session, started: Any = started, trial: int = trial) -> int:
            done = 0
            try:
                while True:
                    started.release()
                    session.run(x if done < trial else gated[trial], {x: 1})
                    done += 1
            except (errors.CancelledError, errors.FailedPreconditionError) as error:
                assert "closed" in str(error)
            return done

        threads = [Started(work) for _ in range(3)]
        for _ in range(3 + trial):
            assert started.acquire(timeout=PATIENCE)
        session.close()
        for thread in threads:
            thread.value()
        assert session._driver._loop.is_closed()


# ---- inside an event loop


async def test_f59_inside_a_running_loop(graph: af.Graph) -> None:
    """As in a notebook's cell: it blocks, and works."""
    x = af.placeholder(af.float32)
    before = threading.active_count()
    with af.blocking.Session(graph=graph) as session:
        assert session.run(x * 2.0, {x: 3}) == 6.0
        with pytest.raises(errors.InvalidArgumentError):
            session.run(x)
        assert await asyncio.to_thread(session.run, x + 1.0, {x: 3}) == 4.0
        call = session.make_callable(x, [x])
        assert call(5) == 5.0
    assert threading.active_count() <= before + 1  # the loop's own executor


async def test_a_call_inside_a_loop_keeps_its_context(graph: af.Graph, probe: probes.Probe) -> None:
    variable: ContextVar[str] = ContextVar("variable", default="none")
    seen = []
    probe.does["look"] = lambda x: (seen.append(variable.get()), x)[1]
    y = probes.log(af.constant(1.0), tag="look")
    with af.blocking.Session(graph=graph) as session:
        token = variable.set("mine")
        session.run(y)
        variable.reset(token)
    assert seen == ["mine"]


def test_a_kernel_that_uses_its_own_session_is_told(graph: af.Graph, probe: probes.Probe) -> None:
    x = af.constant(1.0)
    inner = probes.log(x, tag="inner")
    with af.blocking.Session(graph=graph) as session, af.blocking.Session(graph=graph) as other:
        probe.does["inner"] = lambda value: session.run(x)
        with pytest.raises(errors.FailedPreconditionError, match="inside one of its own kernels"):
            session.run(inner)
        probe.does["inner"] = lambda value: other.run(x) + value
        assert session.run(inner) == 2.0


# ---- interrupts


def test_an_interrupt_in_a_kernel(graph: af.Graph, probe: probes.Probe) -> None:
    x = af.placeholder(af.float32)

    def interrupt(value: Any) -> Any:
        raise KeyboardInterrupt

    probe.does["stop"] = interrupt
    bad = probes.log(x, tag="stop")
    with af.blocking.Session(graph=graph) as session:
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                session.run(bad, {x: 1})
            assert session.run(x, {x: 2}) == 2.0
        assert session.statistics().inflight == 0


def test_an_interrupt_in_another_threads_kernel(graph: af.Graph, probe: probes.Probe) -> None:
    """It goes to the thread whose kernel it is, not to the one that drives."""
    x = af.placeholder(af.float32, [])
    entered = threading.Event()
    probe.does["enter"] = lambda value: (entered.set(), value)[1]
    first = probes.wait(probes.log(x, tag="enter"), tag="gate")

    def interrupt(value: Any) -> Any:
        raise KeyboardInterrupt

    probe.does["stop"] = interrupt
    bad = probes.log(x, tag="stop")
    probe.does["open"] = lambda value: (probe.gate("gate").set(), value)[1]
    opener = probes.log(x, tag="open")
    with af.blocking.Session(graph=graph) as session:
        drives = Started(lambda: session.run(first, {x: 1}))
        assert entered.wait(PATIENCE)
        follows = Started(lambda: session.run(bad, {x: 2}))
        with pytest.raises(KeyboardInterrupt):
            follows.value()
        assert drives.is_alive() and session.run(opener, {x: 3}) == 3.0
        assert drives.value() == 1.0


SCRIPT = """
import os, sys, threading
sys.path[:0] = os.environ["TESTS"].split(os.pathsep)
import actorflow as af
import probes

MODE = sys.argv[1]
with af.Graph().as_default() as graph:
    x = af.placeholder(af.float32, [])
    chain = x
    for _ in range(200):
        chain = chain + 1.0
    gated = probes.wait(x, tag="gate")
    v = af.Variable(0.0)
    up = v.assign_add(1.0)
    probes.current.does["tell"] = lambda value: (print("ready", flush=True), value)[1]
    told = probes.wait(probes.log(x, tag="tell"), tag="gate")
    held = probes.hold(x)
    opener = probes.log(x, tag="open")

def forever(session):
    print("ready", flush=True)
    while True:
        session.run([chain, up], {x: 1})

with af.blocking.Session(graph=graph) as session:
    session.run(v.initializer)
    other = None
    if MODE == "follows":
        other = threading.Thread(target=lambda: session.run(gated, {x: 9}))
        other.start()
        while not probes.current.ran["gate"]:
            pass
    try:
        if MODE == "busy":
            forever(session)
        elif MODE == "thread":
            watch = threading.Thread(target=lambda: probes.current.held.wait() and print("ready", flush=True))
            watch.start()
            session.run(held, {x: 1})
        elif MODE == "loop":
            import asyncio
            async def cell():
                session.run(told, {x: 1})
            loop = asyncio.new_event_loop()  # as a notebook's kernel; asyncio.run has a handler of its own
            try:
                loop.run_until_complete(cell())
            finally:
                loop.close()
        else:
            session.run(told, {x: 1})
        print("not interrupted", flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    probes.current.release.set()
    before = session.run(v)
    assert session.run(chain, {x: 1}) == 201.0
    assert session.run(up) == before + 1.0
    if other is not None:
        assert other.is_alive()
        probes.current.does["open"] = lambda value: (probes.current.gate("gate").set(), value)[1]
        session.run(opener, {x: 1})
        other.join()
    statistics = session.statistics()
    assert (statistics.inflight, statistics.queued, statistics.abandoned) == (0, 0, MODE == "thread"), statistics
print("usable", flush=True)
"""


@pytest.mark.parametrize("mode", ["busy", "waits", "follows", "thread", "loop"])
def test_ctrl_c_leaves_the_session_usable(mode: str) -> None:
    """A real SIGINT: in the middle of small runs, in a run that waits, while another thread drives, in a kernel on a thread,
    and in a notebook's loop."""
    paths = os.pathsep.join(filter(None, sys.path))
    with subprocess.Popen(
        [sys.executable, "-X", "dev", "-W", "error", "-c", SCRIPT, mode],
        env=os.environ | {"TESTS": paths},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", process.communicate(timeout=PATIENCE)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (out.splitlines(), process.returncode) == (["interrupted", "usable"], 0), (out, err)
    assert "Traceback" not in err and "never retrieved" not in err, err


# ---- the driver by itself


def test_the_driver_serves_random_calls(seed: int) -> None:
    """Calls of several threads that wait for one another at random: each gets its own result, and in the end nothing is
    left on the loop."""
    driver = LoopDriver()
    events: dict[int, asyncio.Event] = {}

    def work(index: int) -> None:
        draws = np.random.default_rng([seed, index])
        for i in range(40):
            turns, fails = int(draws.integers(4)), draws.random() < 0.2

            async def call(i: int = i, turns: int = turns, fails: bool = fails) -> tuple[int, int]:
                events.setdefault(i, asyncio.Event()).set()
                for _ in range(turns):
                    await asyncio.sleep(0)
                await events[i].wait()
                if fails:
                    raise ZeroDivisionError(index)
                return index, i

            if fails:
                with pytest.raises(ZeroDivisionError) as caught:
                    driver.call(call)
                assert caught.value.args == (index,)
            else:
                assert driver.call(call) == (index, i)

    in_threads(work, 5)
    assert not asyncio.all_tasks(driver._loop)
    driver.close()
    driver.close()
    with pytest.raises(errors.FailedPreconditionError):
        driver.call(lambda: asyncio.sleep(0))


def test_a_call_that_another_thread_came_before_begins_within_the_loop() -> None:
    """The other thread drives the loop when the call looks, and no more when the call gets the loop."""

    class Late(LoopDriver):
        def _at_once(self, *_: Any) -> Any:
            return None

    driver = Late()
    seen: list[asyncio.AbstractEventLoop] = []

    def first() -> StepResult[list[int]]:
        seen.append(asyncio.get_running_loop())
        return StepResult([1])

    assert driver.begin(first) == [1]
    assert seen == [driver._loop]
    driver.close()
