"""Placement: a device for each node of the whole graph, once and for good (paper sections 3.2.1 and 4.3).

Nodes that must share a device are joined by union-find, and the devices are found that meet the constraints of the
group and have kernels for all members. Groups with a choice get what prefers their company, and then the device on
which a simulated execution would end them first. On one device, or where each group is told where to go, nothing is
simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from actorflow.base.dtypes import DType
from actorflow.base.reports.logs import get_logger
from actorflow.engine.placement.choose import Posed, Reason, choose
from actorflow.engine.placement.cost_model import UNMEASURED, Measurements
from actorflow.engine.placement.feasible import Candidate, Feasible, able, feasible, types_of
from actorflow.engine.placement.groups import UnionFind, required
from actorflow.engine.placement.simulation.link_costs import DEFAULT_LINKS, LinkCosts
from actorflow.errors import InvalidArgumentError, OpError, UnimplementedError
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.node import Node

__all__ = ("UnionFind", "place")


def place(
    nodes: Mapping[str, Node],
    devices: Sequence[Candidate],
    known: Mapping[str, str],
    refused: dict[str, OpError] | None = None,
    *,
    held: Mapping[str, str] = MappingProxyType({}),
    soft: bool = False,
    measured: Measurements = UNMEASURED,
    links: LinkCosts = DEFAULT_LINKS,
    reasons: dict[str, Reason] | None = None,
    posed: Posed | None = None,
) -> dict[str, str]:
    """The full device name of each node. Nodes in `known` stay in place, and so does what must be with them.

    Args:
        nodes: the whole graph.
        devices: a step begins and ends on the first device, and nodes that gain nothing elsewhere go there.
        known: where nodes are already.
        refused: takes the errors of nodes that can't be placed, which are left out then, for a run that needs them; the
            rest of the graph works all the same.
        held: where nodes have to be, though their costs count as those of others do; see `Placer.forget`.
        soft: lets a constraint go that nothing meets, first its device, then its task; each such group is logged.
        measured: times and sizes from earlier runs, in place of estimates.
        links: what transfers cost.
        reasons: takes for each node what `explain` tells of a choice.
        posed: takes the question to a search instead; what has a choice then gets the first of its devices.

    Raises:
        InvalidArgumentError: no device meets the constraints of a group; the message lists them with their lines.
        UnimplementedError: no kernel on the only devices that are allowed.
    """
    groups = UnionFind()
    fresh = [node for node in nodes.values() if node.name not in known]
    for name, other, _ in required(nodes, fresh):
        groups.join(name, other)
    placed = dict(known)
    decided, apart = _fixed({**held, **known}, groups)
    options: dict[str, Sequence[str]] = {}
    feasible_of = _feasibility(nodes, devices, soft)
    members: dict[str, list[Node]] = {}
    is_open = False
    for node in yielding(fresh):
        members.setdefault(groups.find(node.name), []).append(node)
    for root, group in yielding(members.items()):
        try:
            if root in apart:
                raise _torn(group[0], *apart[root])
            if root in decided:
                choice = Feasible((decided[root],))
            else:
                choice = feasible_of(group)
        except OpError as error:
            if refused is None:
                raise
            rest = able(group, nodes, devices) if isinstance(error, UnimplementedError) else []
            refused.update(dict.fromkeys((node.name for node in group if node not in rest), error))
            if not rest:
                continue
            group, choice = rest, feasible_of(rest)
        if choice.relaxed:
            _log_relaxed(group, choice.devices[0])
            if reasons is not None:
                reasons.update(dict.fromkeys((n.name for n in group), Reason(relaxed=choice.relaxed)))
        if len(choice.devices) > 1 and (len(group) > 1 or group[0].op != "Placeholder"):
            is_open = True
            options[root] = choice.devices
        for node in group:
            conflict = _conflict(node, choice.devices[0], soft) if root in decided else None
            if conflict is None:
                placed[node.name] = choice.devices[0]
            elif refused is None:
                raise conflict
            else:
                refused[node.name] = conflict
    if is_open or posed is not None:
        choosing = [node for node in fresh if node.name in placed]
        placed.update(choose(nodes, devices, known, placed, choosing, groups, options, measured, links, reasons, posed))
    return placed


def _feasibility(
    nodes: Mapping[str, Node], devices: Sequence[Candidate], soft: bool
) -> Callable[[Sequence[Node]], Feasible]:
    """A function from a group to its devices, which keeps the devices of single nodes by their op, request and types."""
    single: dict[tuple[str, str, tuple[DType, ...]], Feasible] = {}

    def feasible_of(group: Sequence[Node]) -> Feasible:
        types = [types_of(node, nodes) for node in group]
        if len(group) > 1:
            return feasible(group, types, devices, soft)
        key = group[0].op, group[0].device, types[0]
        if key not in single:
            single[key] = feasible(group, types, devices, soft)
        return single[key]

    return feasible_of


def _fixed(present: Mapping[str, str], groups: UnionFind) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """The devices of groups with members that are placed already, and groups whose members are on different devices."""
    decided: dict[str, str] = {}
    apart: dict[str, tuple[str, str]] = {}
    for name, device in present.items():
        if decided.setdefault(root := groups.find(name), device) != device:
            apart[root] = (decided[root], device)
    return decided, apart


def _log_relaxed(group: Sequence[Node], device: str) -> None:
    log = get_logger("placement")
    for node in group:
        if node.device:
            log.info(
                "soft placement: no device meets what a node asks for",
                node=node.name,
                asked=node.device,
                device=device,
                where=str(node.where),
            )


def _torn(node: Node, left: str, other: str) -> OpError:
    return InvalidArgumentError(
        f"It must be with what lives on {left} and with what lives on {other}.",
        node=node.name,
        op=node.op,
        where=node.where,
        details=[f"colocated with {name}" for name in node.colocate],
    )


def _conflict(node: Node, device: str, soft: bool) -> OpError | None:
    """The error if `node` must be with something that has another device already. `soft` placement only logs it."""
    if DeviceSpec.parse(node.device).matches(DeviceSpec.parse(device)):
        return None
    if soft:
        _log_relaxed([node], device)
        return None
    return InvalidArgumentError(
        f"It asks for {node.device}, but must be with a variable that lives on {device} already.",
        node=node.name,
        op=node.op,
        where=node.where,
    )
