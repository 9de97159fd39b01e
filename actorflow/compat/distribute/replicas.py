"""`for_each`: a function that is called for each replica. The nodes of several replicas are those of logical workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import actorflow as af
from actorflow.compat.distribute.context import Arguments, Moment, ReplicaContext, entered
from actorflow.compat.distribute.values import select, together
from actorflow.errors import InvalidArgumentError
from actorflow.graph import scopes
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.variables.collections import GraphKeys
from actorflow.graph.variables.creators import variable_creator_scope
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
    variables = _Variables(graph)
    results = []
    for number in range(count):
        with _entered(strategy, towers, number), variables.shared(number):
            results.append(fn(*select(tuple(args), number), **select(named, number)))
    towers.check()
    return together(results)


@contextmanager
def _entered(strategy: Any, towers: Towers, number: int) -> Iterator[None]:
    losses = towers.graph.get_collection_ref(GraphKeys.LOSSES)
    others = list(losses)
    losses.clear()
    try:
        with entered(Moment(strategy, ReplicaContext(strategy, number))), towers.entered(number):
            yield
    finally:
        losses[:] = [*others, *([] if number else losses)]


class _Variables:
    """The variables that the first replica makes, which the others share: of layers, of metrics, and by `tf.Variable`."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._lists: dict[tuple[str, str | None], list[Any]] = {}

    @contextmanager
    def shared(self, number: int) -> Iterator[None]:
        """Within the block of a replica, a variable of a scope and a name is that of the first replica, in the same order."""
        inside = scopes.of(self._graph).names
        turns: dict[tuple[str, str | None], int] = {}

        def create(next_creator: Any, **arguments: Any) -> Any:
            if scopes.of(self._graph).tower is None:  # a slot of an optimizer, which all replicas share
                return next_creator(**arguments)
            names = scopes.of(self._graph).names
            key = (names.removeprefix(inside).lstrip("/"), arguments.get("name"))
            shared = self._lists.setdefault(key, [])
            if number == 0:
                with scopes.changed(self._graph, names=key[0]):
                    shared.append(next_creator(**arguments))
                return shared[-1]
            turns[key] = turns.get(key, 0) + 1
            if turns[key] > len(shared):
                raise InvalidArgumentError(
                    f"Replica {number} makes a variable {key[1] or 'Variable'} in the scope {key[0]!r}, which the first replica "
                    "does not make.",
                    hint="Let the function of the replicas make the same variables each time.",
                )
            return shared[turns[key] - 1]

        with variable_creator_scope(create):
            yield
