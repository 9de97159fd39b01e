"""Variables by the names that they have in a checkpoint, with their slices, and the tasks that they ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from actorflow.base.shapes import Shape
from actorflow.cluster.master.node_states import keeps_state
from actorflow.engine.eager.scope import eager_graph
from actorflow.engine.eager.variable import EagerVariable
from actorflow.engine.placement.groups import UnionFind, required
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.graph import Graph
from actorflow.graph.variables.collections import GraphKeys
from actorflow.graph.variables.partitioned import PartitionedVariable
from actorflow.graph.variables.variable import Variable


@dataclass(frozen=True, slots=True)
class SavedSlice:
    """A variable by its name in a checkpoint. `part` says which slice of the tensor of that name it is ("" for all of it),
    and `shape` is that of the tensor."""

    key: str
    variable: Variable
    part: str
    shape: Shape


def named_variables(variables: Any) -> list[SavedSlice]:
    """Variables by the names that they have in a checkpoint. Raises TypeError for what is none, ValueError for one name
    of two."""
    if variables is None:
        variables = get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)
    if not isinstance(variables, Iterable) or isinstance(variables, str):
        raise TypeError(
            f"`var_list` is a list of variables, or a dict of them by names, but it is {variables!r:.80}, of type "
            f"{type(variables).__name__}."
        )
    pairs = list(variables.items()) if isinstance(variables, Mapping) else [("", v) for v in variables]
    by_key: dict[tuple[str, str], SavedSlice] = {}
    for key, variable in pairs:
        if not isinstance(variable, (Variable, PartitionedVariable)) or not isinstance(key, str):
            raise TypeError(f"Variables are saved, by names that are strings; got {key!r}: {variable!r:.80}.")
        for saved in _slices(key, variable):
            if by_key.setdefault((saved.key, saved.part), saved).variable is not saved.variable:
                raise ValueError(f"At least two variables have the same name: {saved.key}")
    whole = {key for key, part in by_key if not part}
    if twice := sorted(key for key, part in by_key if part and key in whole):
        raise ValueError(f"At least two variables have the same name: {twice[0]}")
    return list(by_key.values())


def _slices(key: str, variable: Variable | PartitionedVariable) -> list[SavedSlice]:
    """How a variable is saved under `key`, or where that is empty under its own name."""
    if isinstance(variable, PartitionedVariable):
        return (
            [saved for part in variable for saved in _slices("", part)]
            if not key
            else [
                SavedSlice(key, part, part._save_slice_info.spec, part._save_slice_info.full_shape) for part in variable
            ]
        )
    info = variable._save_slice_info
    if key or info is None:  # a single slice that is given a name is a variable of that name
        return [SavedSlice(key or variable.name.removesuffix(":0"), variable, "", variable.static_shape)]
    return [SavedSlice(info.full_name, variable, info.spec, info.full_shape)]


def in_this_process(variable: Any) -> Any:
    """The variable; for an eager variable on a task of a cluster a copy, which has the value there until the next call."""
    if not isinstance(variable, EagerVariable) or variable._home is None:
        return variable
    copy: EagerVariable | None = getattr(variable, "_saved_copy", None)
    value = variable.numpy()
    if copy is None:
        with eager_graph().as_default():
            copy = EagerVariable(value, trainable=False, name="copy", dtype=variable.dtype)
        variable._saved_copy = copy  # type: ignore[attr-defined]
    else:
        copy.load(value)
    return copy


def by_task(
    variables: Sequence[SavedSlice], homes: Mapping[str, str] = MappingProxyType({})
) -> dict[str, list[SavedSlice]]:
    """The variables by the task on which the placer puts them; "" for those that may be on any.

    A variable without a device goes to the device of what refers to it: of an update on a parameter server, say. `homes` has the
    tasks of variables that a session has placed, by their nodes.
    """
    tasks: dict[str, list[SavedSlice]] = {}
    pulled: Mapping[str, str] | None = None
    for saved in variables:
        task = homes.get(saved.variable.op.name) or str(DeviceSpec.parse(saved.variable.device).task_of())
        if not task:
            if pulled is None:
                pulled = _tasks_by_reference(saved.variable.graph)
            task = pulled.get(saved.variable.op.name, "")
        tasks.setdefault(task, []).append(saved)
    return tasks


def _tasks_by_reference(graph: Graph) -> dict[str, str]:
    """For each node that shares its device with nodes that ask for a task: that task."""
    nodes = graph.nodes
    asking = {node.name: str(DeviceSpec.parse(node.device).task_of()) for node in nodes.values() if node.device}
    asking = {name: task for name, task in asking.items() if task}
    if not asking:
        return {}
    groups = UnionFind()
    for name, other, _ in required(nodes, nodes.values()):
        groups.join(name, other)
    tasks: dict[str, str] = {}
    for name, task in asking.items():
        tasks.setdefault(groups.find(name), task)
    return {name: tasks[root] for name in nodes if (root := groups.find(name)) in tasks}


def tasks_with_state(graph: Graph) -> list[str]:
    """The tasks that are asked for by nodes whose random counters, or places in files and Datasets, a checkpoint keeps."""
    nodes = [node for node in graph.nodes.values() if keeps_state(node) or node.op == "IteratorV2"]
    specs = [DeviceSpec.parse(node.device) for node in nodes if node.device]
    return list(dict.fromkeys(str(spec.task_of()) for spec in specs if spec.job is not None and spec.task is not None))
