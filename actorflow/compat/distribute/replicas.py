"""`for_each`: a function that is called for each replica. The nodes of several replicas are those of logical workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import actorflow as af
from actorflow.compat.distribute.context import Arguments, Moment, ReplicaContext, entered
from actorflow.compat.distribute.values import select, together
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.variables.collections import GraphKeys
from actorflow.models.train.replicas.towers import Outside, Towers


def for_each(strategy: Any, fn: Callable[..., Any], args: Sequence[Any], kwargs: Arguments) -> Any:
    """The results of `fn` in all replicas. Optimizers that it calls add the gradients of all replicas.

    Args:
        strategy: the strategy.
        fn: called once for each replica.
        args, kwargs: its arguments, in which a `PerReplica` stands for a value of each replica.

    Raises:
        NotImplementedError: several replicas are to run eagerly.
    """
    named, count = dict(kwargs or {}), strategy.num_replicas_in_sync
    if count == 1:
        with entered(Moment(strategy, ReplicaContext(strategy, 0))):
            return fn(*select(tuple(args), 0), **select(named, 0))
    if af.executing_eagerly():
        raise NotImplementedError(
            f"{type(strategy).__name__} has {count} replicas, which run beside each other in a graph: call "
            "experimental_run_v2 inside of a tf.function, or build a graph."
        )
    graph = get_default_graph()
    towers = Towers(graph, Outside(graph), count, "worker", None, None, sums=True)
    results = [
        _replica(strategy, towers, number, fn, select(tuple(args), number), select(named, number))
        for number in range(count)
    ]
    towers.check()
    return together(results)


def _replica(strategy: Any, towers: Towers, number: int, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    losses = towers.graph.get_collection_ref(GraphKeys.LOSSES)
    others = list(losses)
    losses.clear()
    try:
        with entered(Moment(strategy, ReplicaContext(strategy, number))), towers.entered(number):
            return fn(*args, **kwargs)
    finally:
        losses[:] = [*others, *([] if number else losses)]
