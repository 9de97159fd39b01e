"""`LogicalWorkers`: the logical workers of a graph (`af.train.Replicas`), as a supervisor sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from actorflow.cluster.master.graph_partitioner import task_of
from actorflow.engine.placement.logical import calls_program, is_logical, keeps, logical_workers, shares, tasks_of
from actorflow.errors import InvalidArgumentError
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.graph import Graph

_MOST_NAMED = 4


class LogicalWorkers:
    """The logical workers of a graph.

    Args:
        count: how many the program says the training has.

    Raises:
        InvalidArgumentError: the graph has another number, a worker keeps state, which would be lost with its task, or
            calls a function of the program.
    """

    def __init__(self, graph: Graph, count: int) -> None:
        nodes = graph.nodes.values()
        counts = logical_workers({node.device for node in nodes})
        present = max(counts.values(), default=1)
        if present != count:
            raise InvalidArgumentError(
                f"replicas={count!r}, but the graph has {present} logical worker{'s' * (present > 1)}.",
                hint=f"Build it with af.train.Replicas({count!r}).build(tower, batch).",
            )
        members = [node for node in nodes if is_logical(node.device, counts)]
        if keepers := [node for node in members if keeps(node)]:
            raise InvalidArgumentError(
                f"Logical workers keep nothing between steps, but these nodes of theirs do: "
                f"{', '.join(node.name for node in keepers[:_MOST_NAMED])}.",
                where=keepers[0].where,
                hint="Make variables, tables and readers before the workers, and hand on what they give.",
            )
        if callers := [node for node in members if calls_program(node)]:
            raise InvalidArgumentError(
                f"Logical workers are on tasks of other processes, and these nodes call functions of this program: "
                f"{', '.join(node.name for node in callers[:_MOST_NAMED])}.",
                where=callers[0].where,
                hint="Call py_func before the workers, and hand them its results as parts of their batch.",
            )
        self._count = count
        self.job = next((job for job, number in counts.items() if number == count), None)
        """The job whose tasks compute them; None for all tasks."""

    def tasks(self, present: Iterable[str]) -> Mapping[str, tuple[int, ...]]:
        """The numbers of the logical workers by the task that computes them.

        Args:
            present: the names of the tasks that are there, or of their devices.
        """
        members = tasks_of(self.job, [DeviceSpec.parse(name) for name in present])
        numbers: dict[str, list[int]] = {}
        for number, place in enumerate(shares(self._count, len(members)) if members else ()):
            numbers.setdefault(task_of(str(members[place])), []).append(number)
        return {task: tuple(row) for task, row in numbers.items()}
