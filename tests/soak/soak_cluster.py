"""The cluster for hours (`make soak`): what tests/ looks at for seconds, a thousand times as long.

`SOAK` is a factor: with 1 it takes some hours, with 0.01 it only shows that all of it runs. A failure names its seed.
"""

from __future__ import annotations

import os
import random
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
from clusters import servers

from actorflow import machine
from actorflow.cluster.launcher import Launcher

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
@pytest.mark.parametrize("check", [fuzz.check_graph, fuzz.check_program], ids=["graphs", "programs"])
async def test_f51_f53_random_graphs_and_programs(transport: str, check: Any) -> None:
    async with servers(fuzz.JOBS, transport) as cluster:
        await fuzz.check_all(range(FIRST, FIRST + times(3000)), check, cluster, transport)


async def test_f53_random_graphs_over_processes() -> None:
    async with fuzz.processes() as cluster:
        for seed in range(FIRST, FIRST + times(1000)):
            try:
                await (fuzz.check_graph if seed % 2 else fuzz.check_program)(seed, cluster.target)
                await fuzz.reset(cluster.target, [])
            except Exception as error:
                raise AssertionError(f"seed {seed}: {error!r}") from error


async def test_f62_a_million_changed_messages() -> None:
    """And the process does not grow."""
    async with servers({"ps": 1, "worker": 1}) as pair:
        heard, _ = await rpc.genuine(pair)
        for server in pair:
            attack = rpc.Fuzz(server, heard, FIRST)
            await attack.run(times(100_000))
            before = resident()
            await attack.run(times(500_000))
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
            examples.test_f59_f83_records_that_the_tasks_read(transport, tmp_path)


async def test_f55_a_thousand_starts_and_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setups, "STARTS", max(4, times(1000)))
    with Launcher({"OPENBLAS_NUM_THREADS": "1"}) as launcher:
        await setups.test_f55_many_starts_and_stops_leave_nothing(launcher)


async def latencies(run: Any, seconds: float) -> np.ndarray[Any, Any]:
    found = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begun = time.perf_counter()
        await run()
        found.append(time.perf_counter() - begun)
        await anyio.sleep(0.005)
    return np.array(found)


async def test_f51_small_steps_take_20_ms_at_most_while_100_mb_stream() -> None:
    """The 99th percentile, less what the same steps take on this machine when nothing streams."""
    seconds = max(5.0, 120.0 * SOAK)
    async with setups.streaming(0) as (run, _):
        idle = float(np.percentile(await latencies(run, 5.0), 99))
    async with setups.streaming(100 << 20) as (run, count):
        begun, before = time.perf_counter(), count[0]
        found = await latencies(run, seconds)
        rate = (count[0] - before) * 100 / (time.perf_counter() - begun)
    p50, p99 = np.percentile(found, (50, 99))
    print(
        f"\n{len(found)} steps: p50 {1e3 * p50:.1f} ms, p99 {1e3 * p99:.1f} ms (idle {1e3 * idle:.1f}), {rate:.0f} MB/s"
    )
    assert rate > 50 and p99 < 0.020 + idle
