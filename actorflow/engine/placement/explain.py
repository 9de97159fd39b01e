"""`explain`: why a node is on its device, as text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from actorflow.base.registry import kernel
from actorflow.engine.placement.choose import Reason
from actorflow.engine.placement.feasible import Candidate, is_bound, types_of
from actorflow.engine.placement.groups import Joint, UnionFind, required
from actorflow.engine.placement.simulation.link_costs import task_of
from actorflow.errors import OpError
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.node import Node

_MOST = 8


def explain(
    name: str,
    nodes: Mapping[str, Node],
    placed: Mapping[str, str],
    devices: Sequence[Candidate],
    *,
    reasons: Mapping[str, Reason] | None = None,
    refused: Mapping[str, OpError] | None = None,
    searched: bool = False,
) -> str:
    """Says where node `name` is and why. The text names the nodes that share its device and what joined them, with the
    user's lines; and what they ask for. For each device it says what the device would have cost, or what ruled it out.

    `nodes`, `placed`, `reasons` and `refused` are what `place` was given and gave. `searched` says that a search has compared the
    devices, and that its words follow.

    Raises:
        KeyError: there is no node of that name.
    """
    node = nodes[name]
    device = placed.get(name)
    reason = (reasons or {}).get(name, Reason())
    if device is None:
        error = (refused or {}).get(name)
        return f"{_shown(node)} has no device" + (f": {error}" if error is not None else "; it was not placed yet.")
    lines = [f"{_shown(node)} is on {device}."]
    joints, group = _group(name, nodes, placed, reason)
    if joints:
        lines.append(f"It shares the device with {len(group) - 1} other node{'s' * (len(group) > 2)}:")
        lines += _some([f"{_shown(nodes[a])} {why} {_shown(nodes[b])}" for a, b, why in joints])
    asking = [member for member in group if member.device]
    if asking:
        lines.append("What they ask for:" if len(group) > 1 else "What it asks for:")
        lines += _some([f"{_shown(member)} asks for {member.device}" for member in asking])
    if reason.relaxed:
        lines.append(f"No device meets {reason.relaxed}, so by soft placement it went to another one.")
    if reason.pulled in nodes:
        lines.append(f"It costs nothing by itself, and went where {_shown(nodes[reason.pulled])} uses it.")
    lines.append("The devices:")
    lines += [f"  {d.name}: {_verdict(d, device, group, nodes, reason, searched)}" for d in devices]
    if reason.spread is not None and reason.ends:
        lines.append(
            f"The step is expected to take {_time(reason.step)} with all that is free on one device, and "
            f"{_time(reason.spread)} if each node went where it is done first; so all was kept together."
        )
    return "\n".join(lines)


def _group(
    name: str, nodes: Mapping[str, Node], placed: Mapping[str, str], reason: Reason
) -> tuple[list[Joint], list[Node]]:
    """The joints that brought nodes into the group of `name`, those of the node itself first, and its members."""
    groups = UnionFind()
    joints = [*required(nodes, nodes.values()), *reason.together]
    for left, right, _ in joints:
        groups.join(left, right)
    root = groups.find(name)
    own_joints = [j for j in joints if groups.find(j[0]) == root and j[0] in nodes and j[1] in nodes]
    own_joints.sort(key=lambda joint: name not in joint[:2])
    members = dict.fromkeys([name, *(n for joint in own_joints for n in joint[:2])])
    return own_joints, [nodes[member] for member in members if member in placed]


def _verdict(
    device: Candidate, chosen: str, group: Sequence[Node], nodes: Mapping[str, Node], reason: Reason, searched: bool
) -> str:
    ends = reason.ends.get(device.name)
    prefix = "chosen; " if device.name == chosen else ""
    if ends is not None:
        return prefix + ("its memory has no room" if math.isinf(ends) else f"done {_time(ends)} after the step begins")
    for member in group:
        kinds = kernel.devices_of(member.op, types_of(member, nodes))
        if not kernel.includes(kinds, device.type):
            return prefix + f"{member.op} ({member.name}) has no kernel for {device.type}"
    for member in group:
        if not DeviceSpec.parse(member.device).matches(device.spec) and not reason.relaxed:
            return prefix + f"not what {member.name} asks for"
    if device.name == chosen:
        return "chosen"
    if searched:
        return "possible; the search has compared it, as told below"
    if any(member.op == "Placeholder" for member in group):
        return "possible, but what is fed comes in where a step begins"
    if any(is_bound(member) for member in group) and task_of(device.spec) != task_of(DeviceSpec.parse(chosen)):
        return "in another task; state goes to the first task that fits, unless it is told otherwise"
    if reason.pulled:
        return "possible, but not where its user went"
    if reason.together:
        return "possible for some of them, but not for all that are better off together"
    return "possible; costs were not compared, since its group has a device already"


def _some(lines: Sequence[str]) -> list[str]:
    shown = [f"  {line}" for line in lines[:_MOST]]
    return shown if len(lines) <= _MOST else [*shown, f"  and {len(lines) - _MOST} more"]


def _shown(node: Node) -> str:
    return node.name if node.where is None else f"{node.name} ({node.where})"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"
