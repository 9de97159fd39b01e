"""`StrategyExtended`: what libraries call of a strategy (`strategy.extended`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import actorflow as af
from actorflow.compat.distribute.context import Arguments
from actorflow.compat.distribute.replicas import for_each
from actorflow.compat.distribute.values import ReduceOp, parts, reduced


class StrategyExtended:
    """The part of a strategy that libraries call (`tf.distribute.StrategyExtended`).

    Args:
        container_strategy: the strategy.
    """

    experimental_between_graph = False
    """Whether each task builds a graph of its own."""
    experimental_require_static_shapes = False
    """Whether the shapes of batches must be known."""
    experimental_should_init = True
    """Whether this program gives variables their first values."""
    should_checkpoint = True
    """Whether this program saves checkpoints."""
    should_save_summary = True
    """Whether this program writes summaries."""

    def __init__(self, container_strategy: Any) -> None:
        self._strategy = container_strategy

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The device of each replica."""
        return tuple(self._strategy._devices)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices of variables."""
        return self.worker_devices

    def non_slot_devices(self, var_list: Sequence[Any]) -> tuple[str, ...]:
        """The devices of an optimizer's variables that belong to none of `var_list`."""
        return self.parameter_devices

    def call_for_each_replica(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Arguments = None) -> Any:
        """See `Strategy.experimental_run_v2`.

        Args:
            fn: builds the nodes of a replica.
            args, kwargs: its arguments.
        """
        return for_each(self._strategy, fn, args, kwargs)

    def reduce_to(self, reduce_op: ReduceOp | str, value: Any, destinations: Any) -> Any:
        """The sum or mean of the replicas' values.

        Args:
            reduce_op: SUM or MEAN.
            value: a value of each replica.
            destinations: accepted for compatibility, without effect.
        """
        return reduced(reduce_op, parts(value, self._strategy.num_replicas_in_sync))

    def batch_reduce_to(
        self, reduce_op: ReduceOp | str, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> list[Any]:
        """`reduce_to` of several values.

        Args:
            reduce_op: SUM or MEAN.
            value_destination_pairs: pairs of a value and its destination.
        """
        return [self.reduce_to(reduce_op, value, place) for value, place in value_destination_pairs]

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """The tensor itself, which all replicas read.

        Args:
            tensor: the value.
            destinations: accepted for compatibility, without effect.
        """
        return tensor

    def update(
        self, var: Any, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Arguments = None, group: bool = True
    ) -> Any:
        """The result of `fn` for a variable, which all replicas share.

        Args:
            var: the variable.
            fn: called with the variable and the arguments.
            args, kwargs: arguments behind the variable.
            group: whether an operation is given; else a tuple of results.
        """
        with af.colocate_with(var.handle):
            return _grouped(fn(var, *args, **(kwargs or {})), group)

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Arguments = None,
        group: bool = True,
    ) -> Any:
        """The result of `fn`, for variables of an optimizer's own.

        Args:
            colocate_with: accepted for compatibility.
            fn: called with the arguments.
            args, kwargs: its arguments.
            group: whether an operation is given; else a tuple of results.
        """
        return _grouped(fn(*args, **(kwargs or {})), group)

    def read_var(self, v: Any) -> Any:
        """The value of a variable."""
        return v.read_value()

    def value_container(self, value: Any) -> Any:
        """The variable that a value belongs to: itself, for replicas share their variables."""
        return value

    def variable_created_in_scope(self, v: Any) -> bool:
        """Whether a strategy may use a variable: any, for replicas share their variables."""
        return True

    def colocate_vars_with(self, colocate_with_variable: Any) -> AbstractContextManager[Any]:
        """Variables made in a `with` block lie where another variable lies."""
        return _beside(colocate_with_variable)

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Any:
        """See `Strategy.experimental_make_numpy_dataset`.

        Args:
            numpy_input: arrays, or a structure of them.
            session: accepted for compatibility.
        """
        return self._strategy.experimental_make_numpy_dataset(numpy_input, session)

    def experimental_run_steps_on_iterator(
        self, fn: Callable[..., Any], iterator: Any, iterations: int = 1, initial_loop_values: Any = None
    ) -> Any:
        """Raises NotImplementedError: a run makes a single step.

        Args:
            fn, iterator, iterations, initial_loop_values: those of TensorFlow.
        """
        raise NotImplementedError(
            "experimental_run_steps_on_iterator() makes several steps in a run, for TPUs. Call experimental_run(fn, iterator), "
            "and run it as often as there are steps."
        )


@contextmanager
def _beside(variable: Any) -> Iterator[None]:
    with af.colocate_with(getattr(variable, "handle", variable)):
        yield


def _grouped(result: Any, group: bool) -> Any:
    if not group:
        return (result,)
    operations = [getattr(leaf, "op", leaf) for leaf in af.nest.flatten(result)]
    return af.group(*operations)
