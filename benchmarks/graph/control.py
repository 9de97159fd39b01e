"""Loops, their gradients and their memory; queues that are waited at; input that is read ahead."""

from __future__ import annotations

from benchmarks.graph.control_memory import iterations
from benchmarks.graph.control_unrolled import by_unrolled
from benchmarks.graph.graphs import Lstm, counting_loop
from benchmarks.harness.definitions import Figure, Measurement
from benchmarks.harness.sides import compare
from benchmarks.models.input_overlap import overlap
from benchmarks.models.waiting import blocked_dequeues

_LSTM = "LSTM of 64 units, batch 32, 50 steps"

BENCHMARKS = (
    compare("while_run", "`while` of 1000 iterations of `i + 1`", counting_loop),
    compare("while_frames_run", "the same through frames (`coalesce=False`)", counting_loop, coalesce=False),
    compare("lstm_run", f"training step of an {_LSTM}, in a `while_loop`", Lstm().loop),
    Measurement(
        "unrolled",
        ours=by_unrolled("ours"),
        peer=by_unrolled("peer"),
        processes=3,
        figures=(
            Figure("lstm_loop_us", f"training step of an {_LSTM}: in a loop", "µs"),
            Figure("lstm_unrolled_us", f"training step of an {_LSTM}: unrolled", "µs"),
            Figure("loop_by_unrolled", f"training step of an {_LSTM}: loop by unrolled", "×"),
        ),
    ),
    Measurement(
        "iterations",
        ours=iterations,
        processes=1,
        figures=(
            Figure("iterations_growth_mb", "growth of memory in a loop of 10⁶ iterations (`--quick`: 10⁵)", "MB"),
            Figure("iterations_us", "one iteration of it", "µs"),
            Figure("iterations_frames_growth_mb", "the same through frames: growth of memory", "MB"),
            Figure("iterations_frames_us", "the same through frames: one iteration", "µs"),
        ),
    ),
    Measurement(
        "blocked",
        ours=blocked_dequeues,
        processes=3,
        figures=(
            Figure("blocked_threads", "10 000 blocked dequeues: threads more than with one", ""),
            Figure("blocked_kb", "10 000 blocked dequeues: memory of each", "kB"),
            Figure("blocked_us", "10 000 blocked dequeues: from the element to the end of each", "µs"),
        ),
    ),
    Measurement(
        "overlap",
        ours=overlap,
        processes=3,
        figures=(
            Figure("overlap_waiting", "prefetch of what waits 10 ms: time by the longer of reading and computing", "×"),
            Figure("overlap_file", "prefetch of a file of 4 MB: time by the longer of reading and computing", "×"),
            Figure("overlap_waiting_serial", "the first without prefetch", "×"),
            Figure("overlap_file_serial", "the second without prefetch", "×"),
        ),
    ),
)
