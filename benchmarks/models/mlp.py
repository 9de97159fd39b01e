"""One training step of a small and of a larger multilayer perceptron, with fed batches.

In the small one the step is mostly overhead, in the larger one mostly matrix products. The steps of unknown batch size
are for information: a graph that does not know its shapes gives passes less to work with.
"""

from __future__ import annotations

from benchmarks.graph import graphs
from benchmarks.harness.definitions import Comparison
from benchmarks.harness.sides import compare


def _sizes(hidden: int, batch: int) -> tuple[Comparison, ...]:
    work = f"training step of 784-{hidden}-10, batch {batch}"
    known, unknown = (graphs.mlp(784, hidden, 10, batch, static=static) for static in (True, False))
    return (
        compare(f"mlp{hidden}_run", f"{work}, `run`", known),
        compare(f"mlp{hidden}_callable", f"{work}, `make_callable`", known, "callable"),
        compare(f"mlp{hidden}_any_batch_run", f"{work} (unknown to the graph), `run`", unknown),
    )


BENCHMARKS = (*_sizes(128, 32), *_sizes(512, 128))
