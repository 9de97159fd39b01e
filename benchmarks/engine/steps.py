"""Steps as programs run them, and the same beside a process that keeps one processor busy.

Spin barriers of linear algebra lose whole slices of the scheduler as soon as there is something else to run. `slowdown`
is how many times as long a step takes then, and its ratio how much worse that is than what the peer suffers.
"""

from __future__ import annotations

from benchmarks.graph import graphs
from benchmarks.harness.definitions import Case, Suite

_ADAM = Case("adam", "an update of 10⁶ floats by Adam", graphs.adam(1_000_000), busy=True)

BENCHMARKS = (
    Suite(
        "all_threads",
        (
            Case("mlp128", "training step of 784-128-10, batch 32", graphs.mlp(784, 128, 10, 32), busy=True),
            Case("mlp512", "training step of 784-512-10, batch 128", graphs.mlp(784, 512, 10, 128), busy=True),
            Case("lenet", "training step of LeNet, batch 32", graphs.lenet(32), busy=True),
            Case(
                "elementwise", "ten cheap elementwise ops on 10⁵ floats", graphs.cheap_elementwise(100_000), busy=True
            ),
            _ADAM,
        ),
    ),
    Suite(
        "one_thread",
        (Case("adam_one_thread", "an update of 10⁶ floats by Adam, one processor", graphs.adam(1_000_000)),),
        cores=1,
    ),
)
