"""Training steps under budgets: which share of its free peak a step runs in, on a device without memory of its own (CPU) and on
one with (an emulated one). Prints the table of docs/explanation/memory.md; `python -m benchmarks.engine.memory_budgets`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import actorflow as af
from actorflow import blocking, errors
from actorflow.devices.cpu import CpuDevice
from actorflow.devices.simulated import SimulatedDevice

ROWS, UNITS = 1024, 128
PERCENT = (90, 80, 70, 60, 50)


def layer(h: Any, rng: np.random.Generator, inputs: int = UNITS) -> Any:
    w = af.Variable((rng.normal(size=(inputs, UNITS)) / inputs**0.5).astype(np.float32))
    return af.tanh(af.nn.bias_add(af.matmul(h, w), af.Variable(np.zeros(UNITS, np.float32))))


def chain(x: Any, rng: np.random.Generator) -> Any:
    for _ in range(8):
        x = layer(x, rng)
    return x


def branches(x: Any, rng: np.random.Generator) -> Any:
    return af.add_n([layer(layer(x, rng), rng) for _ in range(6)])


def unrolled(x: Any, rng: np.random.Generator) -> Any:
    w = af.Variable((rng.normal(size=(2 * UNITS, UNITS)) / 16).astype(np.float32))
    h = af.tanh(x)
    for _ in range(8):
        h = af.tanh(af.matmul(af.concat([x, h], 1), w))
    return h


def convolutions(x: Any, rng: np.random.Generator) -> Any:
    h = af.reshape(x, [ROWS // 16, 16, UNITS, 1])
    inputs = 1
    for _ in range(4):
        w = af.Variable((rng.normal(size=(3, 3, inputs, 4)) / (9 * inputs) ** 0.5).astype(np.float32))
        h, inputs = af.nn.relu(af.nn.conv2d(h, w, [1, 1, 1, 1], "SAME")), 4
    return af.reshape(af.reduce_mean(h, 3), [ROWS, UNITS])


def trained(build: Any, optimizer: Any, rows: int | None, device: Any, **options: Any) -> tuple[list[bytes], int]:
    """The losses of three steps, and the most bytes of the device that were in use."""
    rng = np.random.default_rng(1)
    graph = af.Graph()
    with graph.as_default():
        x, wanted = (af.placeholder(af.float32, [rows, UNITS]) for _ in range(2))
        loss = af.reduce_mean(af.square(build(x, rng) - wanted))
        train = optimizer().minimize(loss)
        initializer = af.global_variables_initializer()
    feeds = {key: rng.normal(size=(ROWS, UNITS)).astype(np.float32) for key in (x, wanted)}
    with blocking.Session(graph=graph, devices=[device], **options) as session:
        session.run(initializer)
        losses = [session.run([loss, train], feeds)[0].tobytes() for _ in range(3)]
    return losses, device.allocator.statistics().peak_bytes


def row(build: Any, optimizer: Any, rows: int | None, kind: Callable[..., Any]) -> Sequence[str]:
    """The free peak, that with `lower_peak`, and the measured one for each budget, in per cent of the free one."""
    name = f"/job:localhost/replica:0/task:0/device:{kind.type}:0"  # type: ignore[attr-defined]
    wanted, free = trained(build, optimizer, rows, kind(name))
    _, lower = trained(build, optimizer, rows, kind(name), options=af.PlanOptions(lower_peak=True))
    found = [f"{free / 2**20:.1f} MiB", f"{100 * lower // free}"]
    for percent in PERCENT:
        try:
            losses, peak = trained(build, optimizer, rows, kind(name, memory_budget=free * percent // 100))
        except errors.ResourceExhaustedError:
            found.append("no")
        else:
            assert losses == wanted, "other bits"
            found.append(f"{100 * peak // free}")
    return found


def main() -> None:
    def sgd() -> Any:
        return af.train.GradientDescentOptimizer(0.1)

    cases: list[tuple[str, Any, Any, int | None]] = [
        ("eight layers", chain, sgd, ROWS),
        ("eight layers, open batch", chain, sgd, None),
        ("eight layers, Momentum", chain, lambda: af.train.MomentumOptimizer(0.1, 0.9), ROWS),
        ("eight layers, Adam", chain, lambda: af.train.AdamOptimizer(0.01), ROWS),
        ("six branches", branches, sgd, ROWS),
        ("recurrent, eight steps", unrolled, sgd, ROWS),
        ("four convolutions", convolutions, sgd, ROWS),
    ]
    print("| graph | device | free peak | `lower_peak` |", " | ".join(f"budget {p} %" for p in PERCENT), "|")
    print("|---" * (4 + len(PERCENT)) + "|")
    for title, build, optimizer, rows in cases:
        for kind in (CpuDevice, SimulatedDevice):
            print(f"| {title} | {kind.type} |", " | ".join(row(build, optimizer, rows, kind)), "|", flush=True)


if __name__ == "__main__":
    main()
