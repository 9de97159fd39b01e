"""`SyncReplicasOptimizer`: synchronous training of several workers (paper section 7; `tf.train.SyncReplicasOptimizer`).

Each worker computes the gradients of its batch and hands them to accumulators on the devices of the variables. When enough
have come, the chief takes their means, updates the variables, and tells the new step; workers wait for that before their
next batch. With more workers than gradients are waited for, the slowest are backups: what they send too late is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from actorflow.base.dtypes import int32, int64
from actorflow.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.graph import Graph
from actorflow.graph.ops.flow.control import group, no_op
from actorflow.graph.ops.indexed_slices import IndexedSlices
from actorflow.graph.ops.math.arithmetic import add_n
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.state.accumulators import (
    ConditionalAccumulator,
    ConditionalAccumulatorBase,
    SparseConditionalAccumulator,
)
from actorflow.graph.scopes import of
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.collections import GraphKeys, global_variables, report_uninitialized_variables
from actorflow.graph.variables.variable import Variable
from actorflow.models.queues import FIFOQueue
from actorflow.models.train.input.queue_runner import QueueRunner
from actorflow.models.train.optimizers.moving_averages import ExponentialMovingAverage
from actorflow.models.train.optimizers.optimizer import GradientAndVariable, Optimizer
from actorflow.public import public


@public("af.train")
class SyncReplicasOptimizer(Optimizer):
    """Wraps an optimizer so that it applies the mean of the gradients of several workers, once for all of them.

    The workers' graphs are built by one program, each in the device scope of its worker (see `replica_device_setter`), and
    the accumulators, which have names of the variables, lie where these are: on shared devices they are shared.

    **The sum is the same bit by bit in each run**: gradients are added in the order of the workers' numbers, not in that
    in which they come. A worker's number is the task of the device on which it builds its graph (the last number for a job
    `chief`), unless `worker_index` says it; without either, gradients are added as they come. Two workers of one number would
    count as a single worker. With backups the first gradients that come are added, in the same order.

    TensorFlow hands out tokens through a queue, from which a quick worker may take one too many and go on with
    variables of before. Workers here wait for the step itself: each gives as many gradients for a step as are needed,
    one unless `replicas_to_aggregate` is larger than `total_num_replicas`, and a late one goes on at the present step.

    Example:
        >>> v, count = af.Variable(3.0), af.train.create_global_step()
        >>> optimizer = af.train.SyncReplicasOptimizer(af.train.GradientDescentOptimizer(0.1), replicas_to_aggregate=1)
        >>> train = optimizer.minimize(v * v, global_step=count)  # in each worker's graph; its run waits for the step of all
        >>> await session.run(af.group(af.global_variables_initializer(), af.local_variables_initializer()))
        >>> await session.run(optimizer.chief_init_op)
        >>> async with af.train.Coordinator() as coord:
        ...     optimizer.get_chief_queue_runner().start(session, coord)
        ...     await session.run(train)
        ...     print(*await session.run([v, count]))
        ...     coord.request_stop()
        2.4 1
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: ExponentialMovingAverage | None = None,
        variables_to_average: Sequence[Variable | Tensor] | None = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
        *,
        worker_index: int | None = None,
    ) -> None:
        """
        Args:
            opt: the optimizer that updates the variables.
            replicas_to_aggregate: the number of gradients that make an update.
            total_num_replicas: the number of workers, `replicas_to_aggregate` unless given. If there are more, the rest
                are backups; if there are fewer, each gives several gradients for an update.
            variable_averages: the averages that are moved after each update.
            variables_to_average: the variables whose averages are moved.
            use_locking: accepted for compatibility, without effect: updates are atomic.
            worker_index: the number of the worker whose graph this is, from 0 on, different for each worker.

        Raises:
            ValueError: the name is empty, or a number is not positive.
        """
        super().__init__(use_locking, name)
        total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        if replicas_to_aggregate < 1 or total < 1:
            raise ValueError(
                f"At least one gradient of one worker is needed, but replicas_to_aggregate is {replicas_to_aggregate} and "
                f"total_num_replicas {total}."
            )
        self._opt = opt
        self._replicas_to_aggregate = replicas_to_aggregate
        self._total_num_replicas = total
        self._most = -(-replicas_to_aggregate // total)  # gradients of one worker for an update
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average
        self._worker_index = worker_index
        self._runner: QueueRunner | None = None
        self._accumulators: list[ConditionalAccumulatorBase] = []
        self.local_step_init_op: Operation
        """The op that a worker that is not the chief runs first."""
        self.chief_init_op: Operation
        """The op that the chief runs first, when the variables have values; also after a restore."""
        self.ready_for_local_init_op: Tensor
        """The names of global variables without a value: none is left when workers may begin."""

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[GradientAndVariable]:
        """That of the optimizer inside: the gradients of this worker alone.

        Example:
            >>> with af.Graph().as_default():
            ...     v, inner = af.Variable(3.0, name="v"), af.train.GradientDescentOptimizer(0.1)
            ...     optimizer = af.train.SyncReplicasOptimizer(inner, replicas_to_aggregate=1)
            ...     ((gradient, variable),) = optimizer.compute_gradients(v * v)
            >>> variable.name
            'v:0'
        """
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[GradientAndVariable],
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Operation:
        """The operation that a worker runs for a batch: it hands the gradients over, and waits for the next step. No variable
        is changed without the chief's queue runner.

        Raises ValueError if there is no pair, no gradient, or no global step.

        Example:
            >>> with af.Graph().as_default():
            ...     v, count = af.Variable(3.0), af.train.create_global_step()
            ...     optimizer = af.train.SyncReplicasOptimizer(af.train.GradientDescentOptimizer(0.1), replicas_to_aggregate=1)
            ...     train = optimizer.apply_gradients(optimizer.compute_gradients(v * v), global_step=count)
            >>> train.type
            'AssignVariableOp'
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        graph = global_step.graph
        if of(graph).tower is not None:
            raise InvalidArgumentError(
                "SyncReplicasOptimizer adds up the gradients of several sessions; logical workers share a session and a step.",
                hint="Give Replicas.build the optimizer inside it.",
            )
        with graph.as_default():
            local_step, counter, index = self._of_the_worker(graph, global_step)
            with graph.name_scope(name or self._name):
                began = cast(local_step, int64)
                applied: list[Operation] = []
                taken: list[GradientAndVariable] = []
                for gradient, variable in pairs:
                    if gradient is None:
                        taken.append((None, variable))
                        continue
                    sent, mean = self._accumulated(graph, gradient, variable, began, index)
                    applied.append(sent)
                    taken.append((mean, variable))
                if not applied:
                    raise ValueError(f"No gradients provided for any variable: {[v.name for _, v in pairs]}.")
                with graph.colocate_with(global_step.handle), graph.container(global_step.op.attrs["container"]):
                    gate = ConditionalAccumulator(int32, [], shared_name="sync_step", name="sync_step")
                train_op = self._next_step(graph, gate, local_step, counter, applied)
            home = graph.device(None), graph.device(global_step.device or None)
            with graph.control_dependencies(None), graph.name_scope(None), home[0], home[1]:
                self._chief(graph, gate, taken, global_step)
                self._init_ops(gate, local_step, counter, global_step)
        return train_op

    def _of_the_worker(self, graph: Graph, global_step: Variable) -> tuple[Variable, Variable, int | None]:
        """The step for which the worker computes gradients, how many it has given, and its number."""
        facts: dict[str, Any] = {"trainable": False, "collections": [GraphKeys.LOCAL_VARIABLES]}
        with graph.control_dependencies(None):
            anchor = no_op(name="local_anchor")  # where the worker is; its variables belong there, not on a server
            with graph.container(""), graph.colocate_with(anchor):
                local_step = Variable(0, dtype=global_step.dtype, name="sync_rep_local_step", **facts)
                counter = Variable(0, dtype=int64, name="sync_rep_given", **facts)
        place = DeviceSpec.parse(anchor.device)
        index = self._worker_index
        if index is None:  # a chief that is a job of its own comes after the workers, whose tasks begin at 0 too
            index = self._total_num_replicas - 1 if place.job in ("chief", "master") else place.task
        return local_step, counter, index

    def _accumulated(
        self, graph: Graph, gradient: Any, variable: Variable, local_step: Tensor, index: int | None
    ) -> tuple[Operation, Tensor | IndexedSlices]:
        """The worker's part and the chief's of one variable's gradient."""
        facts: dict[str, Any] = {"shape": variable.static_shape, "shared_name": f"{variable.name}/grad_accum"}
        with graph.colocate_with(variable.handle), graph.container(variable.op.attrs["container"]):
            if isinstance(gradient, IndexedSlices):
                rows = SparseConditionalAccumulator(gradient.dtype, **facts)
                self._accumulators.append(rows)
                sent = rows.apply_indexed_slices_grad(gradient, local_step, worker=index, most=self._most)
                return sent, rows.take_indexed_slices_grad(self._replicas_to_aggregate)
            whole = ConditionalAccumulator(gradient.dtype, **facts)
            self._accumulators.append(whole)
            sent = whole.apply_grad(gradient, local_step, worker=index, most=self._most)
            return sent, whole.take_grad(self._replicas_to_aggregate)

    def _next_step(
        self,
        graph: Graph,
        gate: ConditionalAccumulator,
        local_step: Variable,
        counter: Variable,
        applied: list[Operation],
    ) -> Operation:
        """Waits when the worker has given all that the step needs of it."""
        after = cast(local_step, int64)
        if self._most > 1:
            with graph.control_dependencies(applied):
                count = counter.assign_add(1)
            # A step too early is there already: no wait.
            after = after - cast(count % self._most > 0, int64)
        with graph.control_dependencies(applied), graph.colocate_with(gate.accumulator_ref):
            step = gate.later_step(after)
        update: Operation = local_step.assign(cast(step, local_step.dtype), read_value=False)
        return update

    def _chief(
        self, graph: Graph, gate: ConditionalAccumulator, means: list[GradientAndVariable], global_step: Variable
    ) -> None:
        update = self._opt.apply_gradients(means, global_step)
        with graph.control_dependencies([update]):
            announcement = gate.set_global_step(cast(global_step.read_value(), int64))
        if self._variable_averages is not None:
            with graph.control_dependencies([update]):
                moved = self._variable_averages.apply(self._variables_to_average)
            announcement = group(announcement, moved)
        # The runner wants a queue. It is the chief's own: those that workers share are not for it to close.
        dummy = FIFOQueue(1, int32, shapes=[()], name="dummy_queue")
        cancel = group(dummy.close(cancel_pending_enqueues=True), *(a.close() for a in self._accumulators))
        self._runner = QueueRunner(
            dummy, [announcement], cancel_op=cancel, queue_closed_exception_types=(OutOfRangeError, CancelledError)
        )

    def _init_ops(
        self, gate: ConditionalAccumulator, local_step: Variable, counter: Variable, global_step: Variable
    ) -> None:
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        step = cast(global_step.read_value(), int64)
        start: list[Operation] = [local_step.assign(global_step.read_value(), read_value=False), counter.initializer]
        self.local_step_init_op = group(*start, name="local_step_init")
        self._open_gate = gate.set_global_step(step)
        opened = [accumulator.set_global_step(step, name="SetGlobalStep") for accumulator in self._accumulators]
        self.chief_init_op = group(*start, self._open_gate, *opened, name="chief_init")
        dropped = [accumulator.num_dropped() for accumulator in self._accumulators]
        self._dropped = add_n(dropped) if len(dropped) > 1 else dropped[0]

    def get_chief_queue_runner(self) -> QueueRunner:
        """The runner that updates the variables, again and again: to be started by the chief alone.

        Raises ValueError before `apply_gradients`."""
        if self._runner is None:
            raise ValueError("Should be called after apply_gradients().")
        return self._runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """In TensorFlow this fills the queue of tokens. Here it tells the workers the step at which they begin, as
        `chief_init_op` does, and `num_tokens` changes nothing.

        Raises ValueError before `apply_gradients`, or for so few tokens that TensorFlow could not end the first step."""
        if self._runner is None:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens != -1 and num_tokens < needed:
            raise ValueError(f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)")
        return self._open_gate

    def dropped_gradients(self) -> Tensor:
        """How many gradients of single variables were dropped so far, as too late or too many: an int64 scalar.

        Raises ValueError before `apply_gradients`.

        Example:
            >>> v, count = af.Variable(3.0), af.train.create_global_step()
            >>> optimizer = af.train.SyncReplicasOptimizer(af.train.GradientDescentOptimizer(0.1), replicas_to_aggregate=1)
            >>> train = optimizer.minimize(v * v, global_step=count)
            >>> await session.run(af.global_variables_initializer())
            >>> await session.run(optimizer.dropped_gradients())
            0
        """
        if self._runner is None:
            raise ValueError("dropped_gradients() should be called after apply_gradients().")
        return self._dropped

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        return self._opt.get_slot_names()

    def variables(self) -> list[Variable]:
        return self._opt.variables()
