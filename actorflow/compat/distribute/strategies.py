"""The strategies of `tf.distribute`: the number of replicas of a step, and their devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import actorflow as af
from actorflow.compat.distribute.context import Arguments, Moment, current, entered, set_for_all
from actorflow.compat.distribute.cross_device import unpacked
from actorflow.compat.distribute.extended import StrategyExtended
from actorflow.compat.distribute.inputs import (
    DistributedDataset,
    DistributedIterator,
    InputReplicationMode,
    from_function,
)
from actorflow.compat.distribute.values import ReduceOp, parts, reduced


class Strategy:
    """How a step is divided among replicas (`tf.distribute.Strategy`). This class itself has a single replica.

    Args:
        extended: what libraries call; made unless given.
    """

    def __init__(self, extended: StrategyExtended | None = None) -> None:
        self._devices: tuple[str, ...] = getattr(self, "_devices", ("/device:CPU:0",))
        self._extended = StrategyExtended(self) if extended is None else extended

    @property
    def extended(self) -> StrategyExtended:
        """The part that libraries call."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return len(self._devices)

    def scope(self) -> AbstractContextManager[Any]:
        """Makes this the strategy of the program inside a `with` block."""
        return entered(Moment(self, None))

    def experimental_run_v2(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Arguments = None) -> Any:
        """The result of `fn`, called for each replica.

        Args:
            fn: builds the nodes of a replica. Optimizers in it apply the sum of the gradients of all replicas.
            args, kwargs: its arguments; each replica gets its own of what `experimental_distribute_dataset` gave.

        Returns:
            A structure as `fn` gives it. With several replicas `experimental_local_results` gives the values of each leaf.
        """
        return self._extended.call_for_each_replica(fn, args, kwargs)

    def run(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Arguments = None) -> Any:
        """The later name of `experimental_run_v2`."""
        return self.experimental_run_v2(fn, args, kwargs)

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """`experimental_run_v2` with the next element of an iterator.

        Args:
            fn: builds the nodes of a replica.
            input_iterator: an iterator of this strategy; `fn` has no argument without it.
        """
        return self.experimental_run_v2(fn, () if input_iterator is None else (input_iterator.get_next(),))

    def reduce(self, reduce_op: ReduceOp | str, value: Any, axis: int | None = None) -> Any:
        """The sum or the mean of what `experimental_run_v2` gave.

        Args:
            reduce_op: SUM or MEAN.
            value: a value of each replica.
            axis: a dimension of each value that is reduced as well.
        """
        values = [af.convert_to_tensor(each) for each in parts(value, self.num_replicas_in_sync)]
        if axis is None:
            return reduced(reduce_op, values)
        total = reduced(ReduceOp.SUM, [af.reduce_sum(each, axis) for each in values])
        if ReduceOp.of(reduce_op) is ReduceOp.SUM:
            return total
        return total / af.cast(reduced(ReduceOp.SUM, [af.shape(each)[axis] for each in values]), total.dtype)

    def experimental_distribute_dataset(self, dataset: Any) -> DistributedDataset:
        """A data set whose batches are divided among the replicas."""
        return DistributedDataset(dataset, self.num_replicas_in_sync, divides=True)

    def experimental_distribute_datasets_from_function(self, dataset_fn: Callable[[Any], Any]) -> DistributedDataset:
        """A data set of the batches of single replicas: `dataset_fn` gets an `InputContext`."""
        dataset = from_function(dataset_fn, self.num_replicas_in_sync)
        return DistributedDataset(dataset, self.num_replicas_in_sync, divides=False)

    def make_dataset_iterator(self, dataset: Any) -> DistributedIterator:
        """An iterator of a data set whose batches are divided among the replicas."""
        return self.experimental_distribute_dataset(dataset).make_initializable_iterator()

    def make_input_fn_iterator(
        self, input_fn: Callable[[Any], Any], replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER
    ) -> DistributedIterator:
        """An iterator of the batches of single replicas.

        Args:
            input_fn: gets an `InputContext`, and gives a data set.
            replication_mode: PER_WORKER: the function is called once in this program.
        """
        return self.experimental_distribute_datasets_from_function(input_fn).make_initializable_iterator()

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Any:
        """A data set of the rows of arrays.

        Args:
            numpy_input: arrays, or a structure of them.
            session: accepted for compatibility.
        """
        return af.data.Dataset.from_tensor_slices(numpy_input)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of the replicas, in their order."""
        return unpacked(value)

    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """The older name of `experimental_local_results`."""
        return self.experimental_local_results(value)

    def group(self, value: Any, name: str | None = None) -> Any:
        """An operation that runs what the replicas gave.

        Args:
            value: operations of replicas.
            name: the operation's name.
        """
        operations = unpacked(value)
        return operations[0] if len(operations) == 1 and name is None else af.group(*operations, name=name)

    def colocate_vars_with(self, colocate_with_variable: Any) -> AbstractContextManager[Any]:
        """Variables made in a `with` block lie where another variable lies."""
        return af.colocate_with(getattr(colocate_with_variable, "handle", colocate_with_variable))

    def configure(
        self, session_config: Any = None, cluster_spec: Any = None, task_type: Any = None, task_id: Any = None
    ) -> None:
        """Nothing: a session's target is its cluster.

        Args:
            session_config, cluster_spec, task_type, task_id: must be None but for the first.

        Raises:
            ValueError: a cluster is given.
        """
        if cluster_spec is not None:
            raise ValueError(
                "A strategy takes no cluster: the target of the session names it, as in tf.Session('grpc://host:port')."
            )

    def update_config_proto(self, config_proto: Any) -> Any:
        """The configuration itself."""
        return config_proto


class OneDeviceStrategy(Strategy):
    """A single replica, on a device (`tf.distribute.OneDeviceStrategy`).

    Args:
        device: its name, such as `/gpu:0`.
    """

    def __init__(self, device: str) -> None:
        self._devices = (device,)
        super().__init__()

    def experimental_run_v2(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Arguments = None) -> Any:
        """See `Strategy.experimental_run_v2`."""
        with af.device(self._devices[0]):
            return super().experimental_run_v2(fn, args, kwargs)


class MirroredStrategy(Strategy):
    """A replica for each device, whose gradients are added before each update (`tf.distribute.MirroredStrategy`).

    Replicas are logical workers: they may be more than the devices that there are, with the same values.

    Args:
        devices: their names; all GPUs unless given, or else the CPU.
        cross_device_ops: accepted for compatibility: gradients are added by one tree.
        num_gpus: the number of GPUs that the older class of `tf.contrib` takes instead.
    """

    def __init__(
        self, devices: Sequence[str] | None = None, cross_device_ops: Any = None, *, num_gpus: int | None = None
    ) -> None:
        if devices is not None and not devices:
            raise ValueError(
                f"{type(self).__name__} needs a device at least; leave `devices` out for all that there are."
            )
        if devices is None and num_gpus is not None:
            devices = [f"/device:GPU:{number}" for number in range(num_gpus)] or ["/device:CPU:0"]
        names = _gpus() or ["/device:CPU:0"] if devices is None else list(devices)
        if len(set(names)) < len(names):
            raise ValueError(f"Duplicates in devices list {names} are not allowed.")
        self._devices = tuple(names)
        super().__init__()


def _gpus() -> list[str]:
    from actorflow.compat.names.config.experimental import list_logical_devices

    return [device.name for device in list_logical_devices("GPU")]


class _Default(Strategy):
    """The strategy of a program that names none: a single replica, which is the program itself."""

    def experimental_run_v2(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Arguments = None) -> Any:
        """See `Strategy.experimental_run_v2`."""
        return fn(*args, **(kwargs or {}))


DEFAULT = _Default()


def get_strategy() -> Strategy:
    """The strategy whose scope the program is in; a strategy of a single replica outside of all scopes."""
    moment = current()
    return DEFAULT if moment is None else moment.strategy


def has_strategy() -> bool:
    """Whether the program is in the scope of a strategy."""
    return current() is not None


def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Sets the strategy of the whole program; None takes it away. Raises RuntimeError within a scope."""
    set_for_all(strategy)
