"""Eager programs at length (`make soak`): a million ops, and a thousand traces, leave no memory behind. `SOAK` scales both."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable

import numpy as np

import actorflow as af
from actorflow.base.process import machine

SOAK = float(os.environ.get("SOAK", "1"))
OPS, TRACES = max(20_000, round(1_000_000 * SOAK)), max(150, round(1_000 * SOAK))
MOST_MIB = 4.0


def resident() -> float:
    """The memory of this process in MiB, without what awaits the collector."""
    gc.collect()
    return (machine.resident_bytes(os.getpid()) or 0) / 2**20


def growth(act: Callable[[int], None], warm: int, count: int) -> float:
    """By how much the process grows while `act` is called, after the first calls, which fill bounded caches."""
    for number in range(warm):
        act(number)
    before = resident()
    for number in range(warm, warm + count):
        act(number)
    grown = resident() - before
    print(f"{count} calls: {grown:+.2f} MiB")
    return grown


def test_a_million_eager_ops() -> None:
    with af.eager():
        x, w = af.constant(np.ones((8, 8), np.float32)), af.Variable(np.eye(8, dtype=np.float32))

        def act(number: int) -> None:
            with af.GradientTape() as tape:
                loss = af.reduce_sum(af.matmul(x * float(number % 7), w) + x)
            w.assign_sub(0.0 * tape.gradient(loss, w))

        assert growth(act, OPS // 50, OPS // 10) < MOST_MIB  # some ten ops each


def test_a_thousand_traces() -> None:
    with af.eager(), warnings.catch_warnings():
        warnings.simplefilter("ignore", af.RetracingWarning)
        w = af.Variable(1.0)
        f = af.function(lambda x, number: x * w + float(number), static_argnames=("number",))

        def act(number: int) -> None:
            assert float(f(1.0, number)) == 1.0 + number

        assert growth(act, 1_000, TRACES) < MOST_MIB
        assert f.trace_count >= TRACES
