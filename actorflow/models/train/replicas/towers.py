"""`Towers`: the scopes in which the graph of each logical worker is built: devices, random numbers, and the optimizer's calls."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from actorflow.base.dtypes import int64
from actorflow.engine.placement.logical import draws, keeps
from actorflow.errors import InvalidArgumentError, UnimplementedError
from actorflow.graph import scopes
from actorflow.graph.control_flow.loop_context import WhileContext
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.constant import constant
from actorflow.graph.ops.array.join import stack
from actorflow.graph.ops.flow.control import group, no_op
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.collections import GraphKeys
from actorflow.graph.variables.scope import get_variable_scope, variable_scope
from actorflow.models.train.global_steps import get_global_step
from actorflow.models.train.replicas.batch_shares import Weights, tree_mean, tree_sum
from actorflow.models.train.replicas.changes import Changes

_BUILDS = "logical_workers"
"""The collection that counts the builds of a graph."""
_ONCE = frozenset((GraphKeys.UPDATE_OPS, GraphKeys.SUMMARIES))
"""The collections that hold what a step does once, however many logical workers it has: the first of them does it."""
_COUNTING = ("AssignAdd", "AssignAddVariableOp", "CountUpTo")


class Outside:
    """The scopes around the workers, to go back to while a worker is built."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._scopes = scopes.of(graph)
        self._variables = get_variable_scope()

    @property
    def devices(self) -> Sequence[Any]:
        """The devices that the scopes around ask for, the innermost last."""
        return self._scopes.devices

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Nodes made inside the block belong to no worker."""
        outer = self._scopes
        with ExitStack() as stack:
            stack.enter_context(
                scopes.changed(
                    self._graph,
                    names=outer.names,
                    devices=outer.devices,
                    controls=outer.controls,
                    colocate=outer.colocate,
                    container=outer.container,
                    flow=outer.flow,
                    tower=outer.tower,
                )
            )
            stack.enter_context(variable_scope(self._variables, auxiliary_name_scope=False))
            yield


@dataclass
class _OptimizerCall:
    """One call of an optimizer, by all workers: the gradients so far."""

    variables: Sequence[Any]
    gradients: list[Sequence[Any]] = field(default_factory=list)


class Towers:
    """The workers of one `Replicas.build`.

    Args:
        outside: the scopes around.
        count, job, seed: see `Replicas`.
        weights: what each worker's results count.
        sums: whether optimizers take the sum of gradients in place of their mean.
    """

    def __init__(
        self,
        graph: Graph,
        outside: Outside,
        count: int,
        job: str,
        seed: int | None,
        weights: Weights,
        sums: bool = False,
    ) -> None:
        self._sums = sums
        self.graph, self.outside, self.count, self.weights = graph, outside, count, weights
        self._job, self._seed = job, graph.seed if seed is None else seed
        builds = graph.get_collection_ref(_BUILDS)
        builds.append(count)
        self._build = len(builds) - 1
        """The number of builds in the graph before this build."""
        self._calls: list[_OptimizerCall] = []
        self._step: Tensor | None = None
        self._nothing: Operation | None = None
        self._counts_steps = False
        self.changes = Changes(self, joins=sums)

    def device(self, number: int) -> str:
        """The device that the nodes of a worker ask for; a single worker is wherever the placement has it."""
        return "" if self.count == 1 else str(DeviceSpec(self._job, number))

    @contextmanager
    def entered(self, number: int) -> Iterator[None]:
        """Nodes made inside the block belong to a worker. The first makes the variables, which the others share."""
        tower = _Tower(self, number)
        reuse = True if number else None
        with (
            self.graph.name_scope(f"replica_{number}"),
            variable_scope(get_variable_scope(), reuse=reuse, auxiliary_name_scope=False),
            self.graph.device(None),
            self.graph.device(tower.place),
            scopes.changed(self.graph, tower=tower),
        ):
            yield
        tower.end()

    def check(self) -> None:
        """Raises InvalidArgumentError where random numbers would be the same in each step."""
        if self._step is not None and not self._counts_steps and not self._is_counted():
            raise InvalidArgumentError(
                "The random numbers of logical workers are functions of the global step, and no optimizer here counts it.",
                hint="Call minimize(loss, global_step=af.train.get_global_step()) in the function of the workers; without an "
                "optimizer there, make step.assign_add(1) before Replicas.build.",
            )

    def _is_counted(self) -> bool:
        """Whether a node outside of the workers counts the global step."""
        variable = get_global_step(self.graph)
        assert variable is not None  # `step` has read it
        handle = variable.handle.op
        return any(
            operation.type in _COUNTING and operation.inputs[0].op is handle
            for operation in self.graph.get_operations()
        )

    def step(self) -> Tensor:
        """The global step before a training step."""
        if self._step is None:
            with self.outside(), self.graph.control_dependencies(None):
                variable = get_global_step(self.graph)
                if variable is None:
                    raise InvalidArgumentError(
                        "The random numbers of logical workers are functions of the global step, and the graph has none.",
                        hint="step = af.train.get_or_create_global_step(), and minimize(loss, global_step=step)",
                    )
                self._step = cast(variable.read_value(), int64)
        return self._step

    @property
    def stream(self) -> tuple[int, ...]:
        """The seed of all random numbers, and the number of the build in the graph where that is not the first."""
        seed = 0 if self._seed is None else int(self._seed)
        return (seed, self._build) if self._build else (seed,)

    def take(
        self, tower: _Tower, optimizer: Any, pairs: Sequence[Any], global_step: Any, name: str | None
    ) -> Operation:
        """Takes the gradients of a worker; with those of the last worker the optimizer changes the variables."""
        variables = [variable for _, variable in pairs]
        if tower.calls == len(self._calls) and tower.number == 0:
            self._calls.append(_OptimizerCall(variables))
        if tower.calls >= len(self._calls) or [id(v) for v in self._calls[tower.calls].variables] != [
            id(v) for v in variables
        ]:
            raise InvalidArgumentError(
                f"Logical worker {tower.number} has gradients of other variables than worker 0: "
                f"{', '.join(v.name for v in variables[:4])}.",
                hint="Make variables with af.get_variable or layers, which share them by name, or before Replicas.build.",
            )
        call = self._calls[tower.calls]
        tower.calls += 1
        call.gradients.append([gradient for gradient, _ in pairs])
        self._counts_steps = self._counts_steps or global_step is not None
        if tower.number < self.count - 1:
            return self._waits()
        with self.outside(), self.graph.control_dependencies(None):
            update: Operation = optimizer.apply_gradients(self._means(call), global_step=global_step, name=name)
        return group(update, self._waits()) if scopes.of(self.graph).controls else update

    def _waits(self) -> Operation:
        """An operation that waits for what the worker's scopes wait for. If that is nothing, all workers share it: each of their
        own would send a token to the update."""
        controls = scopes.of(self.graph).controls
        if not controls and self._nothing is not None:
            return self._nothing
        with self.outside(), scopes.changed(self.graph, controls=controls):
            waits = no_op(name="gradients_are_there")
        if not controls:
            self._nothing = waits
        return waits

    def _means(self, call: _OptimizerCall) -> list[tuple[Any, Any]]:
        pairs: list[tuple[Any, Any]] = []
        for gradients, variable in zip(zip(*call.gradients), call.variables):
            if any(gradient is None for gradient in gradients):
                if not all(gradient is None for gradient in gradients):
                    raise InvalidArgumentError(
                        f"{variable.name} has a gradient in some logical workers, and in others none.",
                        hint="Let the function of the workers compute the same loss each time, from its arguments alone.",
                    )
                pairs.append((None, variable))
                continue
            with self.graph.colocate_with(variable.handle):
                pairs.append((self._combined(gradients), variable))
        return pairs

    def _combined(self, gradients: Sequence[Any]) -> Any:
        if self._sums:
            return tree_sum(self.graph, gradients, self.device)
        return tree_mean(self.graph, gradients, self.weights, self.device)


class _Tower:
    """One worker; see `actorflow.graph.scopes.Tower`."""

    def __init__(self, towers: Towers, number: int) -> None:
        self.number = number
        self.calls = 0
        self._towers = towers
        self._drawn = 0

    def end(self) -> None:
        """Raises InvalidArgumentError where the worker has called fewer optimizers than the first."""
        if self.calls != len(self._towers._calls):
            raise InvalidArgumentError(
                f"Logical worker {self.number} applies gradients {self.calls} times, and worker 0 "
                f"{len(self._towers._calls)} times.",
                hint="Let the function of the workers call the same optimizers each time.",
            )

    def place(self, operation: Operation) -> str | None:
        """The device of a node: the worker's, but for what keeps state and what refers to that."""
        if draws(operation.node):
            raise UnimplementedError(
                f"{operation.type} draws other numbers in each run, and a logical worker draws by its number and the step.",
                node=operation.name,
                hint="Draw with random_uniform, random_normal, truncated_normal, random_shuffle or multinomial there, or draw "
                "before the logical workers and hand them their shares.",
            )
        self._towers.changes.check(self.number, operation)
        mine = DeviceSpec.parse(operation.device)
        if mine.job not in (None, self._towers._job) or mine.task is not None:
            return None
        if keeps(operation.node) or any(t.dtype.is_ref or t.dtype.kind == "R" for t in operation.inputs):
            return str(self._towers.graph.asked(operation, self._towers.outside.devices, mine))
        return self._towers.device(self.number)

    def change(self, variable: Any, write: Callable[[], Any]) -> Any:
        """See `actorflow.graph.scopes.Tower`."""
        return self._towers.changes.change(self.number, variable, write)

    def move(self, variable: Any, value: Any, write: Callable[[Any], Any]) -> Any:
        """See `actorflow.graph.scopes.Tower`."""
        return self._towers.changes.move(self.number, variable, value, write)

    def collects(self, collection: str) -> bool:
        """See `actorflow.graph.scopes.Tower`."""
        joined = self._towers.changes.joins and collection == GraphKeys.UPDATE_OPS
        return self.number == 0 or joined or collection not in _ONCE

    def seed(self, op_seed: int | None, what: str) -> Tensor:
        """See `actorflow.graph.scopes.Tower`."""
        flow: Any = scopes.of(self._towers.graph).flow
        while flow is not None:
            if isinstance(flow, WhileContext):
                raise UnimplementedError(
                    f"{what} within a loop of logical worker {self.number} would draw the same numbers in each turn.",
                    hint="Draw the numbers of all turns before the loop.",
                )
            flow = getattr(flow, "parent", None)
        self._drawn += op_seed is None
        facts = (*self._towers.stream, self.number, op_seed, self._drawn if op_seed is None else None)
        digest = hashlib.blake2b(repr(facts).encode(), digest_size=8).digest()
        key = int.from_bytes(digest, "little", signed=True)
        return stack([constant(key, int64), self._towers.step()])

    def apply(self, optimizer: Any, pairs: Sequence[Any], global_step: Any, name: str | None) -> Operation:
        """See `actorflow.graph.scopes.Tower`."""
        return self._towers.take(self, optimizer, pairs, global_step, name)
