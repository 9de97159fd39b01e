"""The cost of a call with next to nothing to compute: the sum of two fed scalars.

`run` looks up the plan of its fetches and feeds each time; `make_callable` did so once. The second pair of figures adds
what it takes to call from a thread that has no event loop.
"""

from __future__ import annotations

from benchmarks.graph.graphs import one_add
from benchmarks.harness.sides import compare

BENCHMARKS = (
    compare("add_run", "one fed add, `run`", one_add),
    compare("add_callable", "one fed add, `make_callable`", one_add, "callable"),
    compare("blocking_add_run", "one fed add, blocking, `run`", one_add, blocking=True),
    compare("blocking_add_callable", "one fed add, blocking, `make_callable`", one_add, "callable", blocking=True),
)
