"""`Renorm`: the part of a batch normalization that corrects a batch's moments (Ioffe 2017, Batch Renormalization)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.array.constant import ones_like, zeros_like
from actorflow.graph.ops.flow.control import identity, stop_gradient
from actorflow.graph.ops.math.arithmetic import maximum, minimum
from actorflow.graph.ops.math.elementwise import sqrt
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.variable import Variable
from actorflow.models.layers.arguments import choose

MovingAverage = Callable[[Variable, Tensor, float, "bool | Tensor"], Operation]


@dataclass(slots=True)
class Renorm:
    """Averages of the mean and the standard deviation that training normalizes by, beside those that are used later.

    `momentum` is the part that an update keeps. `clipping` may have `rmin`, `rmax` and `dmax`, numbers or tensors.
    """

    momentum: float
    clipping: dict[str, Any]
    moving_stddev: Variable = field(init=False)
    mean: Variable = field(init=False)
    stddev: Variable = field(init=False)

    def build(self, make: Callable[[str, Any], Variable], mean: Any, variance: Any) -> None:
        """Makes the variables, with `make(name, initializer)`."""

        def root(shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
            return sqrt(variance(shape, dtype))

        self.moving_stddev = make("moving_stddev", root)
        self.mean = make("renorm_mean", mean)
        self.stddev = make("renorm_stddev", root)

    def correct(
        self, training: bool | Tensor, mean: Tensor, variance: Tensor, epsilon: float, move: MovingAverage
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The factor and the shift that turn values normalized by the batch into those normalized by the averages.

        After them the mean and the variance, which are given once the averages have moved.
        """
        graph = get_default_graph()
        stddev = sqrt(variance + epsilon)
        deviation = maximum(self.stddev, sqrt(epsilon))  # may be 0 in early steps
        r, d = stddev / deviation, (mean - self.mean) / deviation
        with graph.control_dependencies([r, d]):  # by the averages before they move
            mean_after, stddev_after = identity(mean), identity(stddev)
        bounds = self.clipping
        if bounds.get("rmin") is not None:
            r = maximum(r, bounds["rmin"])
        if bounds.get("rmax") is not None:
            r = minimum(r, bounds["rmax"])
        if bounds.get("dmax") is not None:
            d = minimum(maximum(d, -bounds["dmax"]), bounds["dmax"])
        factor = stop_gradient(choose(training, lambda: identity(r), lambda: ones_like(r)))
        shift = stop_gradient(choose(training, lambda: identity(d), lambda: zeros_like(d)))
        moved = [
            move(self.mean, mean_after, self.momentum, training),
            move(self.stddev, stddev_after, self.momentum, training),
        ]
        with graph.control_dependencies(moved):
            return factor, shift, identity(mean), identity(variance)
