"""The live page in Chromium: the first paint of a graph of 36,000 nodes, frames while 64 simulated workers stream, and the time
that the tasks of a cluster take for an open page.

python -m benchmarks.frontends.page --rounds 3

It is by itself, because it needs playwright, httptools and Chromium (`make test-extras` installs the packages).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import numpy as np

import actorflow as af

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from screenshots import Training, opened, served

NODES, SCOPES, WORKERS = 36_000, 60, 64
VIEWS = ("Overview", "Tasks", "Channels", "Queues", "Devices")
FRAMES = """async () => {
  const times = [];
  let last = performance.now();
  for (let at = 0; at < 240; at += 1) {
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    times.push(now - last);
    last = now;
  }
  return times.slice(2);
}"""


class Workers:
    """A source of 64 workers, each with links to all others, that have all changed whenever they are asked."""

    def __init__(self, status: dict[str, Any]) -> None:
        self._status, self._asked = status, 0
        self._names = [f"/job:worker/task:{index}" for index in range(WORKERS)]

    async def ask(self) -> dict[str, Any]:
        """The status of all."""
        self._asked += 1
        link = {**self._status["links"][0], "bytes_sent": 1000 * self._asked}
        return {
            name: {
                **self._status,
                "task": name,
                "steps": 100 * self._asked,
                "links": [{**link, "peer": peer} for peer in self._names if peer != name],
            }
            for name in self._names
        }

    async def recent(self, seconds: float, step: int | None = None) -> af.Trace:
        """No steps."""
        return af.Trace(detail="plan")


async def drawn(status: dict[str, Any]) -> dict[str, float]:
    """The first paint in seconds, and frames in milliseconds."""
    from playwright.async_api import expect

    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [1], name="x")
        for _ in range(SCOPES):
            with af.name_scope("stage"):
                for _ in range(NODES // SCOPES):
                    x = af.tanh(x)
    page = af.dashboard.Dashboard(Workers(status), graph=graph, period=0.25)
    async with served(page) as address, opened(address) as tab:
        await expect(tab.locator("#state")).to_contain_text(f"{WORKERS} of {WORKERS} tasks")
        begun = time.perf_counter()
        await tab.goto(address.partition("?")[0] + "#graph=")
        await tab.reload()
        await expect(tab.locator("g.stack")).to_be_visible()
        painted = time.perf_counter() - begun
        frames: list[float] = []
        for name in VIEWS:
            await tab.get_by_role("tab", name=name).click()
            frames += await tab.evaluate(FRAMES)
    frames.sort()
    return {"paint_s": painted, "frame_ms": statistics.median(frames), "frame_p99_ms": frames[int(0.99 * len(frames))]}


def processor_seconds(pid: int) -> float:
    """The time that a process has had a processor."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def watched(seconds: float) -> tuple[float, dict[str, Any]]:
    """The part of a processor that a task of a cluster takes for an open page, the one that takes the most; and the status of a
    worker. The browser's own work is not theirs."""
    training = Training()
    feeds = training.feeds(np.random.default_rng(0))
    async with (
        af.LocalCluster({"ps": 1, "worker": 2}) as cluster,
        af.Session(cluster.target, training.graph) as session,
    ):
        await session.run(training.init)
        for _ in range(200):
            await session.run(training.train, feeds)
        pids = [process.pid for process in cluster.processes.values()]

        async def taken() -> list[float]:
            begun = [processor_seconds(pid) for pid in pids]
            await anyio.sleep(seconds)
            return [(processor_seconds(pid) - before) / seconds for pid, before in zip(pids, begun)]

        alone = await taken()
        target = cluster.target
        page = af.dashboard.Dashboard(target.address, credentials=target.credentials, graph=training.graph)
        async with served(page) as address, opened(address):
            await anyio.sleep(2)  # the connections are made
            beside = await taken()
        status = (await page.sampler.source.ask())["/job:worker/task:0"]
    return max(after - before for after, before in zip(beside, alone)), status


def told(name: str, value: float, unit: str, goal: float) -> None:
    """A line of the table."""
    print(f"{name:<60}{value:>10.3g} {unit:<4} at most {goal:g} {'yes' if value <= goal else '**no**'}", flush=True)


async def main(rounds: int) -> None:
    share, status = await watched(10.0)
    told("a processor's time that a task takes for an open page", 100 * share, "%", 2)
    found = [await drawn(status) for _ in range(rounds)]
    best = {key: statistics.median(one[key] for one in found) for key in found[0]}
    told(f"first paint of a graph of {NODES:,} nodes", best["paint_s"], "s", 2)
    told(f"frame while {WORKERS} workers stream, median", best["frame_ms"], "ms", 50)
    told(f"frame while {WORKERS} workers stream, 99 %", best["frame_p99_ms"], "ms", 50)


if __name__ == "__main__":
    reading = argparse.ArgumentParser(description="The live page in Chromium.")
    reading.add_argument("--rounds", type=int, default=3, help="how often each is measured (3)")
    anyio.run(main, reading.parse_args().rounds)
