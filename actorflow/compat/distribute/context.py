"""The strategy and the replica of the moment, and what a program asks of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import actorflow as af
from actorflow.compat.distribute.values import ReduceOp


class Moment(NamedTuple):
    """The place of a program: a strategy's scope, and within that a replica, or none."""

    strategy: Any
    replica: ReplicaContext | None
    means: bool = False
    """Whether optimizers take the mean of gradients, as those of an Estimator do."""


_moments: ContextVar[tuple[Moment, ...]] = ContextVar("strategies", default=())
_for_all: list[Any] = []
"""The strategy that `experimental_set_strategy` has named, if any."""


def current() -> Moment | None:
    """The innermost; None outside of all strategies."""
    moments = _moments.get()
    if moments:
        return moments[-1]
    return Moment(_for_all[0], None) if _for_all else None


@contextmanager
def entered(moment: Moment) -> Iterator[Any]:
    """Makes this the innermost inside the block. Raises RuntimeError for a strategy within another strategy."""
    outer = current()
    if outer is not None and outer.strategy is not moment.strategy:
        raise RuntimeError(
            f"The scope of {type(moment.strategy).__name__} was entered within that of {type(outer.strategy).__name__}. A "
            "program has a single strategy at a time: leave the outer scope first."
        )
    token = _moments.set((*_moments.get(), moment))
    try:
        yield moment.strategy
    finally:
        _moments.reset(token)


def set_for_all(strategy: Any) -> None:
    """Names the strategy outside of all scopes; None for none. Raises RuntimeError within a scope."""
    if _moments.get():
        raise RuntimeError(
            "experimental_set_strategy names the strategy of the whole program: call it outside of scopes."
        )
    _for_all[:] = [] if strategy is None else [strategy]


class ReplicaContext:
    """The replica in which a function is called (`tf.distribute.ReplicaContext`).

    Args:
        strategy: the strategy.
        replica_id_in_sync_group: the replica's number.
    """

    def __init__(self, strategy: Any, replica_id_in_sync_group: int) -> None:
        self._strategy, self._number = strategy, replica_id_in_sync_group

    @property
    def strategy(self) -> Any:
        """The strategy."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        count: int = self._strategy.num_replicas_in_sync
        return count

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The replica's number, a scalar."""
        return af.constant(int(self._number), af.int32)

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of the replica."""
        devices = self._strategy.extended.worker_devices
        return (devices[int(self._number)],)

    def merge_call(self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        """The result of `merge_fn`, called once with the strategy and the values of all replicas.

        Args:
            merge_fn: the function.
            args, kwargs: arguments behind the strategy.

        Raises:
            NotImplementedError: there are several replicas: they are built in turn here.
        """
        self._alone("merge_call")
        with entered(Moment(self._strategy, None)):
            return merge_fn(self._strategy, *args, **(kwargs or {}))

    def all_reduce(self, reduce_op: ReduceOp | str, value: Any) -> Any:
        """The sum or mean of the replicas' values, in each replica.

        Args:
            reduce_op: SUM or MEAN.
            value: a tensor, or a structure of tensors.

        Raises:
            NotImplementedError: there are several replicas: they are built in turn here.
        """
        ReduceOp.of(reduce_op)
        self._alone("all_reduce")
        return value

    def _alone(self, what: str) -> None:
        if self.num_replicas_in_sync > 1:
            raise NotImplementedError(
                f"{what}() needs the values of all {self.num_replicas_in_sync} replicas while each is built, and replicas are "
                "built in turn here. Return the value, and call strategy.reduce(...) behind experimental_run_v2; "
                "an optimizer adds the gradients of all replicas by itself."
            )


def get_replica_context() -> ReplicaContext | None:
    """The replica that the program builds; None in a strategy's scope outside of all replicas."""
    moment = current()
    if moment is None:
        from actorflow.compat.distribute.strategies import DEFAULT

        return ReplicaContext(DEFAULT, 0)
    return moment.replica


def in_cross_replica_context() -> bool:
    """Whether the program is in a strategy's scope, and in none of its replicas."""
    moment = current()
    return moment is not None and moment.replica is None


def get_loss_reduction() -> ReduceOp:
    """How the gradients of replicas are combined: MEAN in the model of an Estimator, and else SUM."""
    moment = current()
    return ReduceOp.MEAN if moment is not None and moment.means else ReduceOp.SUM


Arguments = Mapping[str, Any] | None
