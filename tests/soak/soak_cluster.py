"""The cluster for hours (`make soak`): what tests/ looks at for seconds, a thousand times as long.

`SOAK` is a factor: with 1 it takes some hours, with 0.01 it only shows that all of it runs. A failure names its seed.
"""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
import test_cluster_examples as examples
import test_cluster_fuzz as fuzz
import test_cluster_setups as setups
import test_rpc as rpc
from channels import start_zmq_collector
from cluster import strangers
from clusters import servers

from actorflow.base.process import machine
from actorflow.cluster.client.inquiries import query_status
from actorflow.cluster.processes.launcher import Launcher
from actorflow.cluster.processes.local import LocalCluster

SOAK = float(os.environ.get("SOAK", "1"))
FIRST = int(os.environ.get("ACTORFLOW_TEST_SEED", "0"), 0) or random.SystemRandom().randrange(2**31)
GROWTH = 24 << 20


@pytest.fixture(scope="module", autouse=True)
def _collector() -> None:
    start_zmq_collector()


def times(number: int) -> int:
    return max(2, round(number * SOAK))


def resident() -> int:
    found = machine.resident_bytes(os.getpid())
    assert found is not None
    return found


@pytest.mark.parametrize("transport", fuzz.COUNTS)
@pytest.mark.parametrize(
    ("check", "number"), [(fuzz.check_graph, 3000), (fuzz.check_program, 1000)], ids=["graphs", "programs"]
)
async def test_f51_f53_random_graphs_and_programs(
    transport: str, check: Any, number: int, record_property: Any
) -> None:
    """A program takes as long as five graphs."""
    record_property("seeds", times(number))
    async with servers(fuzz.JOBS, transport) as cluster:
        await fuzz.check_all(range(FIRST, FIRST + times(number)), check, cluster, transport)


async def test_f53_random_graphs_over_processes(record_property: Any) -> None:
    record_property("seeds", times(1000))
    async with fuzz.processes() as cluster:
        for seed in range(FIRST, FIRST + times(1000)):
            try:
                await (fuzz.check_graph if seed % 2 else fuzz.check_program)(seed, cluster.target)
                await fuzz.reset(cluster.target, [])
            except Exception as error:
                raise AssertionError(f"seed {seed}: {error!r}") from error


async def test_f62_a_million_changed_messages(record_property: Any) -> None:
    """And the process does not grow."""
    record_property("messages", 2 * (times(100_000) + times(400_000)))
    async with servers({"ps": 1, "worker": 1}) as pair:
        heard, _ = await rpc.genuine(pair)
        for server in pair:
            attack = rpc.Fuzz(server, heard, FIRST)
            await attack.run(times(100_000))
            before = resident()
            await attack.run(times(100_000) + times(400_000))
            record_property(f"growth_mib of {server.task}", round((resident() - before) / 2**20, 1))
            assert resident() - before < GROWTH, f"seed {FIRST}: it has grown by {resident() - before:,} bytes"


@pytest.mark.parametrize("name", ["adder", "linear_regression", "concurrent_steps", "digits", "char_lstm", "records"])
@pytest.mark.parametrize("transport", examples.TRANSPORTS)
def test_f59_each_example_over_each_transport(name: str, transport: str, tmp_path: Path) -> None:
    match name:
        case "adder":
            examples.test_f59_adder(transport)
        case "linear_regression":
            examples.test_f59_linear_regression(transport)
        case "concurrent_steps":
            examples.test_f59_f102_concurrent_steps_with_an_op_that_the_tasks_import(transport)
        case "digits":
            examples.test_f59_digits_with_the_same_weights(transport, tmp_path)
        case "char_lstm":
            examples.test_f59_char_lstm_with_the_same_weights(transport, tmp_path)
        case _:
            examples.test_f59_f82_f83_records_that_the_tasks_read(transport, tmp_path)


async def test_f55_a_thousand_starts_and_stops(monkeypatch: pytest.MonkeyPatch, record_property: Any) -> None:
    record_property("starts", max(4, times(1000)))
    monkeypatch.setattr(setups, "STARTS", max(4, times(1000)))
    with Launcher({"OPENBLAS_NUM_THREADS": "1"}) as launcher:
        await setups.test_f55_many_starts_and_stops_leave_nothing(launcher)


@pytest.mark.parametrize(
    ("kinds", "number", "most_mib"),
    [([kind for kind in strangers.KINDS if kind != strangers.HUGE], 10_000, 32), ([strangers.HUGE], 1000, 64)],
    ids=["all", "huge"],
)
async def test_f62_ten_thousand_strangers_cost_little_and_reach_nobody(
    kinds: list[str], number: int, most_mib: int, record_property: Any
) -> None:
    """Silent ones, wrong keys, parts without end, huge frames; meanwhile a friend is served."""
    count, seconds = times(number), max(6.0, 30.0 * SOAK)
    async with LocalCluster({"worker": 1}, transport="zmq") as cluster:
        (process,) = cluster.processes.values()
        before = await query_status(cluster.target)
        start = machine.resident_bytes(process.pid)
        assert start is not None and cluster.credentials is not None
        address = cluster.target.address.removeprefix("tcp://")
        told = [address, cluster.credentials.public, str(count), str(seconds), *kinds]
        most, waits, begun = start, [0.0], 0.0
        async with await anyio.open_process([sys.executable, strangers.__file__, *told], stderr=None) as attack:
            while attack.returncode is None:
                most = max(most, machine.resident_bytes(process.pid) or 0)
                if time.perf_counter() - begun > 1.0:
                    begun = time.perf_counter()
                    status = await query_status(cluster.target, timeout=15.0)
                    waits.append(time.perf_counter() - begun)
                    assert status["sessions"] == 0 and len(status["links"]) == 1, status["links"]
                await anyio.sleep(0.005)
            assert attack.returncode == 0 and attack.stdout is not None
            made = int((await attack.stdout.receive()).decode())
        after = await query_status(cluster.target)
        assert after["incarnation"] == before["incarnation"], "the task has died meanwhile"
    growth = (most - start) / 2**20
    record_property("connections", made)
    record_property("growth_mib", round(growth, 1))
    record_property("longest_status_seconds", round(max(waits), 3))
    assert made == count and growth < most_mib


async def latencies(run: Any, seconds: float) -> np.ndarray[Any, Any]:
    found = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begun = time.perf_counter()
        await run()
        found.append(time.perf_counter() - begun)
        await anyio.sleep(0.005)
    return np.array(found)


async def test_f51_small_steps_take_20_ms_at_most_while_100_mb_stream(record_property: Any) -> None:
    """The 99th percentile, less what the same steps take on this machine when nothing streams."""
    seconds = max(5.0, 120.0 * SOAK)
    async with setups.streaming(0) as (run, _):
        idle = float(np.percentile(await latencies(run, 5.0), 99))
    async with setups.streaming(100 << 20) as (run, count):
        begun, before = time.perf_counter(), count[0]
        found = await latencies(run, seconds)
        rate = (count[0] - before) * 100 / (time.perf_counter() - begun)
    p50, p99 = np.percentile(found, (50, 99))
    figures = {
        "steps": len(found),
        "p50_ms": 1e3 * p50,
        "p99_ms": 1e3 * p99,
        "idle_p99_ms": 1e3 * idle,
        "mb_per_s": rate,
    }
    for name, value in figures.items():
        record_property(name, round(float(value), 1))
    print(
        f"\n{len(found)} steps: p50 {1e3 * p50:.1f} ms, p99 {1e3 * p99:.1f} ms (idle {1e3 * idle:.1f}), {rate:.0f} MB/s"
    )
    assert rate > 50 and p99 < 0.020 + idle
