"""`Replicas`: logical workers, whose results do not depend on the number of tasks (paper section 4.4, data parallel training).

A training has a fixed number of logical workers. Each computes the gradients of its share of the batch, with random numbers that
are functions of its number and of the step. The gradients are added by a tree over the numbers. A node of a worker asks for
`/job:worker/replica:3` and for no task: the placement gives each worker a task that is there
(`actorflow.engine.placement.logical`), and another task when tasks have joined or left. No bit of a result changes with that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.base import nest
from actorflow.errors import InvalidArgumentError
from actorflow.graph.convert import graph_of
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.ops.flow.control import group
from actorflow.graph.ops.indexed_slices import IndexedSlices
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.collections import GraphKeys
from actorflow.models.train.replicas.batch_shares import BatchShares, tree_mean
from actorflow.models.train.replicas.towers import Outside, Towers
from actorflow.public import public


@public("af.train")
@dataclass(frozen=True, slots=True)
class Replicas:
    """Logical workers: a fixed number of shares of each batch, which any number of tasks compute with the same bits.

    `build` calls a function once for each worker. Within it an optimizer's `apply_gradients` and `minimize` take the mean of the
    gradients of all workers. Variables are shared by their names, as with `af.get_variable`. Variables, tables and queues are
    where the scopes around `build` want them: no task of a worker holds state, and any may leave. Random numbers are functions
    of the build, of the worker's number, of the node and of the global step, which something has to count. Updates and
    summaries are those of the first worker.

    Example:
        >>> step, points = af.train.get_or_create_global_step(), af.placeholder(af.float32, [8, 1])
        >>> def tower(rows):
        ...     w = af.get_variable("w", [1, 1], initializer=af.ones_initializer())
        ...     loss = af.reduce_mean(af.square(af.matmul(rows, w) - 2.0 * rows))
        ...     return loss, af.train.GradientDescentOptimizer(0.5).minimize(loss, global_step=step)
        >>> loss, train = af.train.Replicas(4).build(tower, points)
        >>> await session.run(af.global_variables_initializer())
        >>> for _ in range(3):
        ...     value, _ = await session.run([loss, train], {points: [[1.0]] * 8})
        >>> value
        0.0

    Args:
        count: the number of workers. It is part of the mathematics: another number gives other shares and other bits.
        job: the job whose tasks compute. In a session of one process they are that process.
        seed: of the random numbers; that of the graph, or else 0, unless given.

    Raises:
        InvalidArgumentError: the number is not positive.
    """

    count: int
    job: str = "worker"
    seed: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int) or self.count < 1:
            raise InvalidArgumentError(f"A training has a positive number of logical workers, not {self.count!r:.40}.")

    def build(self, tower: Callable[..., Any], *batch: Any) -> Any:
        """Adds all workers to the graph.

        Args:
            tower: called once for each worker with its share of `batch`. Gives tensors and operations, in any nest of lists,
                tuples and dicts; a loss, say, and the operation of `minimize`. If it draws random numbers, an optimizer that
                it calls counts the global step, or a node that was made before counts it. The update of an optimizer waits for
                the gradients of all workers, and not for `control_dependencies` around the call; its operation waits for both.
            batch: tensors, sparse tensors, or nests of such, whose first dimension is that of the examples. The first
                shares are an example larger if `count` does not divide their number; each counts by its size.

        Returns:
            A structure as `tower` gives it: for each floating tensor its mean over the batch, an operation for operations.

        Raises:
            InvalidArgumentError: workers differ in their variables, or in what they give; a result has no mean; or workers
                draw random numbers, and nothing counts the global step.
            UnimplementedError: a worker has a random op that counts its runs, or draws within a loop.
            InvalidArgumentError: a batch has fewer examples than there are workers; where only the run knows it, in the run.
        """
        leaves = nest.flatten(batch)
        graph = graph_of(leaves) if leaves else get_default_graph()
        with graph.as_default():
            shares = BatchShares.divide(graph, batch, self.count)
            outside = Outside(graph)
            towers = Towers(graph, outside, self.count, self.job, self.seed, shares.weights)
            results = [self._tower(graph, towers, number, tower, shares) for number in range(self.count)]
            towers.check()
            with outside():
                return self._together(graph, towers, results)

    def _tower(self, graph: Graph, towers: Towers, number: int, tower: Callable[..., Any], shares: BatchShares) -> Any:
        """The result of the program's function for a worker."""
        losses = graph.get_collection_ref(GraphKeys.LOSSES)
        others = list(losses)
        losses.clear()
        try:
            with towers.entered(number):
                return tower(*shares.of(number))
        finally:
            own = [] if number else list(losses)
            losses[:] = [*others, *own]

    def _together(self, graph: Graph, towers: Towers, results: Sequence[Any]) -> Any:
        """The results of all workers as a single result."""
        rows: list[list[Any]] = []
        for number, result in enumerate(results):
            flat = nest.flatten(result)
            if number and len(flat) != len(rows[0]):
                raise InvalidArgumentError(
                    f"Logical worker {number} gives {len(flat)} results, and worker 0 {len(rows[0])}.",
                    hint="Let the function of the workers give the same structure each time.",
                )
            rows.append(flat)
        return nest.pack_sequence_as(results[0], [self._result(graph, towers, leaves) for leaves in zip(*rows)])

    def _result(self, graph: Graph, towers: Towers, leaves: Sequence[Any]) -> Any:
        if all(leaf is None for leaf in leaves):
            return None
        if all(isinstance(leaf, Operation) for leaf in leaves):
            operations = dict.fromkeys(leaves)
            return leaves[0] if len(operations) == 1 else group(*operations)
        if all(isinstance(leaf, (Tensor, IndexedSlices)) and leaf.dtype.base_dtype.is_floating for leaf in leaves):
            return tree_mean(graph, leaves, towers.weights, towers.device)
        raise InvalidArgumentError(
            f"Logical workers give floating tensors, of which the mean is taken, and operations, but not {leaves[0]!r:.80}.",
            hint="Leave it out, or af.cast it to float32.",
        )
