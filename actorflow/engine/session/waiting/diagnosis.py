"""Reports of waiting steps for people: at which resource a node waits, in what state that is, and which nodes use it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from actorflow.base.dtypes import resource
from actorflow.engine.runtime.diagnostics.waits import StepReport
from actorflow.engine.runtime.step import Step
from actorflow.graph.analysis.inline import inline
from actorflow.graph.node import Node

_MOST_LINES = 18
_MOST_USERS = 3
NOTHING = "nothing in this graph"
"""So ends the line on who would end a wait, if nothing would."""


def users_by_resource(nodes: Mapping[str, Node]) -> dict[str, list[Node]]:
    """The nodes of a graph that use each resource, by its name; those of a function as they are in each of its calls."""
    nodes, _ = inline(nodes)
    users: defaultdict[str, list[Node]] = defaultdict(list)
    for node in nodes.values():
        for name in _resources_of(node, nodes):
            users[name].append(node)
    return users


class ResourceUsers:
    """`users_by_resource` of a graph that grows."""

    __slots__ = ("_count", "_found", "_nodes")

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes
        self._count = 0
        self._found: Mapping[str, Sequence[Node]] = {}

    def __call__(self) -> Mapping[str, Sequence[Node]]:
        if self._count != len(self._nodes):
            self._count, self._found = len(self._nodes), users_by_resource(self._nodes)
        return self._found


def explained(
    report: StepReport, reports: Sequence[StepReport], users: Mapping[str, Sequence[Node]] = MappingProxyType({})
) -> list[str]:
    """The lines of one step's report, in at most a screenful.

    Args:
        report: of that step, on all its tasks.
        reports: of all steps that are under way. They tell where the users of a resource are.
        users: the nodes of the graph that use each resource.
    """
    lines: list[str] = []
    seen: set[tuple[str, str]] = set()
    shown = 0
    for node in report.waiting:
        lines_of_node = [node.line]
        for does, ops in node.users:
            if (node.resource, does) not in seen:
                seen.add((node.resource, does))
                names = [user for user in users.get(node.resource, ()) if user.op in ops and user.name != node.node]
                if names:
                    lines_of_node.append(f"  {does}: {_users(names, reports)}")
                elif does == node.users[0][0]:
                    lines_of_node.append(f"  {does}: {NOTHING}")
        if len(lines) + len(lines_of_node) > _MOST_LINES:
            break
        lines += lines_of_node
        shown += 1
    if more := report.more + len(report.waiting) - shown:
        lines.append(f"... and {more} more")
    return lines


def in_a_circle(steps: Iterable[Step]) -> list[Step]:
    """The steps that wait for nothing but each other, in their order; none where something else may wake any of them."""
    waiting: dict[Step, set[object]] = {step: held for step in steps if (held := step.holders()) is not None}
    while hopeful := [step for step, held in waiting.items() if not held <= waiting.keys()]:
        for step in hopeful:
            del waiting[step]
    return list(waiting)


def _resources_of(node: Node, nodes: Mapping[str, Node]) -> set[str]:
    """The names of the resources whose handles may enter a node."""
    names: set[str] = set()
    seen: set[str] = set()
    front = [node]
    while front:
        for tensor_id in front.pop().inputs:
            source = nodes.get(tensor_id.node)
            if source is None or source.name in seen or resource not in source.dtypes:
                continue
            seen.add(source.name)
            if "shared_name" in source.attrs:
                names.add(source.attrs["shared_name"] or source.name)
            else:
                front.append(source)
    return names


def _users(users: Sequence[Node], reports: Sequence[StepReport]) -> str:
    """Which nodes these are, and whether they run; those first that do."""
    states = {user.name: _state(user.name, reports) for user in users}
    ordered = sorted(users, key=lambda user: not states[user.name])
    shown = [
        f"{user.name} ({user.where}), {states[user.name] or 'in no step that is under way'}"
        for user in ordered[:_MOST_USERS]
    ]
    if len(ordered) > _MOST_USERS:
        shown.append(f"and {len(ordered) - _MOST_USERS} more")
    return "; ".join(shown)


def _state(name: str, reports: Sequence[StepReport]) -> str:
    """In which steps a node has not run yet; empty where in none."""
    waits = [str(report.step) for report in reports if any(node.node == name for node in report.waiting)]
    if waits:
        return f"waits in step {', '.join(waits[:_MOST_USERS])}"
    due = [str(report.step) for report in reports if name in report.unfinished]
    return f"due in step {', '.join(due[:_MOST_USERS])}" if due else ""
