"""Sums and means of the replicas' values, as libraries ask for them by an object (`tf.distribute.CrossDeviceOps`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorflow.compat.distribute.values import PerReplica, ReduceOp, parts, reduced


class CrossDeviceOps:
    """Adds the values of replicas. All of these classes add them by one tree; their options change no value."""

    def reduce(self, reduce_op: ReduceOp | str, per_replica_value: Any, destinations: Any) -> Any:
        """The sum or mean of the replicas' values.

        Args:
            reduce_op: SUM or MEAN.
            per_replica_value: a value of each replica.
            destinations: accepted for compatibility, without effect.
        """
        return self.reduce_implementation(reduce_op, per_replica_value, destinations)

    def batch_reduce(self, reduce_op: ReduceOp | str, value_destination_pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        """`reduce` of several values.

        Args:
            reduce_op: SUM or MEAN.
            value_destination_pairs: pairs of a value and its destination.
        """
        return self.batch_reduce_implementation(reduce_op, value_destination_pairs)

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        """The tensor itself, which all replicas read.

        Args:
            tensor: the value.
            destinations: accepted for compatibility, without effect.
        """
        return self.broadcast_implementation(tensor, destinations)

    def reduce_implementation(self, reduce_op: ReduceOp | str, per_replica_value: Any, destinations: Any) -> Any:
        """The result of `reduce`; a class of a program's own overrides it."""
        return reduced(reduce_op, parts(per_replica_value, 1))

    def batch_reduce_implementation(
        self, reduce_op: ReduceOp | str, value_destination_pairs: Sequence[tuple[Any, Any]]
    ) -> list[Any]:
        """The result of `batch_reduce`; a class of a program's own overrides it."""
        return [self.reduce_implementation(reduce_op, value, place) for value, place in value_destination_pairs]

    def broadcast_implementation(self, tensor: Any, destinations: Any) -> Any:
        """The result of `broadcast`; a class of a program's own overrides it."""
        return tensor


class _Packed(CrossDeviceOps):
    """Takes the number of parts that TensorFlow packs gradients into; values are the same with any."""

    def __init__(self, num_packs: int = 1) -> None:
        if num_packs < 0:
            raise ValueError(f"{type(self).__name__} takes a number of packs of 0 or more, not {num_packs}.")
        self.num_packs = num_packs


class NcclAllReduce(_Packed):
    """`tf.distribute.NcclAllReduce`."""


class HierarchicalCopyAllReduce(_Packed):
    """`tf.distribute.HierarchicalCopyAllReduce`."""


class ReductionToOneDevice(CrossDeviceOps):
    """`tf.distribute.ReductionToOneDevice`.

    Args:
        reduce_to_device: accepted for compatibility, without effect.
        accumulation_fn: adds a list of tensors; `tf.add_n` unless given.
    """

    def __init__(
        self, reduce_to_device: str | None = None, accumulation_fn: Callable[[list[Any]], Any] | None = None
    ) -> None:
        self.reduce_to_device, self.accumulation_fn = reduce_to_device, accumulation_fn

    def reduce_implementation(self, reduce_op: ReduceOp | str, per_replica_value: Any, destinations: Any) -> Any:
        """See `CrossDeviceOps.reduce`."""
        values = parts(per_replica_value, 1)
        if self.accumulation_fn is None:
            return reduced(reduce_op, values)
        total = self.accumulation_fn(list(values))
        return total / len(values) if ReduceOp.of(reduce_op) is ReduceOp.MEAN else total


def unpacked(value: Any) -> tuple[Any, ...]:
    """The values of replicas; of another value, itself."""
    return value.values if isinstance(value, PerReplica) else (value,)
