"""The ops that models use most, one by one, inside a graph: what each adds to a step.

A call runs an op many times in a row, and the figure is the time of one of them, less the way into the step and out
again. Both sides run the same graph with as many threads as they choose.
"""

from __future__ import annotations

from benchmarks.graph.op_cases import cases
from benchmarks.harness.definitions import Suite

BENCHMARKS = (Suite("forty", cases(), summary=True, processes=3, part=0.5),)
