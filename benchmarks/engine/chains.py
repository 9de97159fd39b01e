"""Many tiny nodes in one run: long and narrow, short and wide. The runtime is all that there is to measure.

TensorFlow's graph optimizer folds `x + 1.0 + 1.0 + ...` into a single addition (its partition graphs show one AddV2).
That is the figure `constants`: ours for 1000 additions, whatever the peer makes of them. In the figure `adds`, which has a
target, the other operand is fed, so both sides compute a thousand additions.
"""

from __future__ import annotations

from benchmarks.graph.graphs import chain_of_adds, chain_of_constants, wide_exponentials
from benchmarks.harness.definitions import Build, Comparison
from benchmarks.harness.sides import compare

LENGTH = 1000
WIDTH = 500


def _pair(name: str, work: str, build: Build, note: str = "") -> tuple[Comparison, Comparison]:
    return (
        compare(f"{name}_run", f"{work}, `run`", build, note=note),
        compare(f"{name}_callable", f"{work}, `make_callable`", build, "callable", note=note),
    )


BENCHMARKS = (
    *_pair("adds", f"chain of {LENGTH} scalar adds of a fed value", chain_of_adds(LENGTH)),
    *_pair(
        "constants",
        f"chain of {LENGTH} scalar adds of constants",
        chain_of_constants(LENGTH),
        note="The peer's optimizer folds the chain into one addition.",
    ),
    *_pair("exponentials", f"{WIDTH} parallel exponentials and their sum", wide_exponentials(WIDTH)),
)
