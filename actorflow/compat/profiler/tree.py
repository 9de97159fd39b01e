"""`GraphNodeProto`: nodes with the totals of those below them, and their report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

NUMBERS = ("parameters", "float_ops", "exec_micros", "requested_bytes", "run_count")
_ORDERS = {"params": "parameters", "float_ops": "float_ops", "micros": "exec_micros", "bytes": "requested_bytes"}
_LEAST = {
    "min_params": "parameters",
    "min_float_ops": "float_ops",
    "min_micros": "exec_micros",
    "min_bytes": "requested_bytes",
}
ROOT = "_TFProfRoot"


@dataclass
class GraphNodeProto:
    """A node or a scope of a profile by names (`tf.profiler.GraphNodeProto`), as a plain object with its fields."""

    name: str
    types: frozenset[str] = frozenset()
    parameters: int = 0
    float_ops: int = 0
    exec_micros: int = 0
    requested_bytes: int = 0
    run_count: int = 0
    total_parameters: int = 0
    total_float_ops: int = 0
    total_exec_micros: int = 0
    total_requested_bytes: int = 0
    total_run_count: int = 0
    children: list[GraphNodeProto] = field(default_factory=list)


@dataclass
class MultiGraphNodeProto:
    """A type of nodes of a profile by types (`tf.profiler.MultiGraphNodeProto`), as a plain object with its fields."""

    name: str
    parameters: int = 0
    float_ops: int = 0
    exec_micros: int = 0
    requested_bytes: int = 0
    total_parameters: int = 0
    total_float_ops: int = 0
    total_exec_micros: int = 0
    total_requested_bytes: int = 0
    graph_nodes: list[GraphNodeProto] = field(default_factory=list)
    children: list[MultiGraphNodeProto] = field(default_factory=list)


def by_names(nodes: Iterable[GraphNodeProto], options: Mapping[str, Any]) -> GraphNodeProto:
    """The tree of scopes, without the nodes that the options leave out."""
    root = GraphNodeProto(ROOT)
    places = {"": root}

    def place(path: str) -> GraphNodeProto:
        if path not in places:
            places[path] = GraphNodeProto(path)
            place(path.rpartition("/")[0]).children.append(places[path])
        return places[path]

    for node in nodes:
        own = place(node.name)
        if _matches(node.types, options["account_type_regexes"]):
            for number in NUMBERS:
                setattr(own, number, getattr(node, number))
        own.types = node.types
    _total(root)
    root.children = _shown(root, options, 1)
    if options["account_displayed_op_only"]:
        _total(root)
    return root


def _total(node: GraphNodeProto) -> None:
    """Adds up what is below a node."""
    for child in node.children:
        _total(child)
    for number in NUMBERS:
        setattr(
            node,
            f"total_{number}",
            getattr(node, number) + sum(getattr(each, f"total_{number}") for each in node.children),
        )


def _shown(node: GraphNodeProto, options: Mapping[str, Any], depth: int) -> list[GraphNodeProto]:
    """The nodes below a node that are shown, in their order. Below a node that is not shown they take its place."""
    shown: list[GraphNodeProto] = []
    for child in node.children:
        below = _shown(child, options, depth + 1)
        if depth <= options["max_depth"] and _named(child.name, options) and _enough(child, options, bool(below)):
            child.children = below
            shown.append(child)
        elif not any(re.fullmatch(pattern, child.name) for pattern in options.get("trim_name_regexes") or ()):
            shown += below
    return _ordered(shown, options)


def _enough(node: GraphNodeProto, options: Mapping[str, Any], holds: bool) -> bool:
    """Whether a node has what the options ask for: parameters and operations itself, time and memory with those below it."""
    of_type = _matches(node.types, options["account_type_regexes"])
    own = all(getattr(node, number) >= options.get(least, 0) for least, number in list(_LEAST.items())[:2])
    whole = all(getattr(node, f"total_{number}") >= options.get(least, 0) for least, number in list(_LEAST.items())[2:])
    return (of_type or holds) and own and whole


def _named(name: str, options: Mapping[str, Any]) -> bool:
    def any_of(key: str) -> bool:
        return any(re.fullmatch(pattern, name) for pattern in options.get(key) or ())

    return any_of("show_name_regexes") and not any_of("hide_name_regexes") and not any_of("trim_name_regexes")


def _matches(types: Iterable[str], patterns: Iterable[str]) -> bool:
    return any(re.fullmatch(pattern, kind) for pattern in patterns for kind in types)


def _ordered(nodes: list[Any], options: Mapping[str, Any]) -> list[Any]:
    number = _ORDERS.get(options["order_by"])
    if number is None:
        return sorted(nodes, key=lambda node: node.name)
    return sorted(nodes, key=lambda node: (-getattr(node, f"total_{number}"), node.name))


def by_types(nodes: Iterable[GraphNodeProto], options: Mapping[str, Any]) -> MultiGraphNodeProto:
    """The types of nodes in a chain from the largest on; each has the totals of itself and of those behind it."""
    kinds: dict[str, MultiGraphNodeProto] = {}
    for node in nodes:
        for kind in sorted(node.types):
            if _matches([kind], options["account_type_regexes"]):
                own = kinds.setdefault(kind, MultiGraphNodeProto(kind))
                own.graph_nodes.append(node)
                for number in NUMBERS[:-1]:
                    setattr(own, number, getattr(own, number) + getattr(node, number))
    least = [(number, options.get(name, 0)) for name, number in _LEAST.items()]
    shown = [
        kind
        for kind in kinds.values()
        if all(getattr(kind, number) >= bound for number, bound in least)
        and len(kind.graph_nodes) >= options.get("min_occurrence", 0)
    ]
    order = _ORDERS.get(options["order_by"])
    shown.sort(
        key=(lambda kind: (0, kind.name)) if order is None else (lambda kind: (-getattr(kind, order), kind.name))
    )
    chain = [MultiGraphNodeProto(ROOT), *shown]
    for before, behind in pairwise(chain):
        before.children = [behind]
    for number in NUMBERS[:-1]:
        total = 0
        for each in reversed(chain):
            total += getattr(each, number)
            setattr(each, f"total_{number}", total)
    return chain[0]


def report(root: Any, options: Mapping[str, Any]) -> str:
    """The lines of a profile: of each node its own number and its total."""
    numbers = [_ORDERS[name] for name in options["select"] if name in _ORDERS]
    lines = [f"node name | {' | '.join(numbers)}"]

    def write(node: Any, depth: int) -> None:
        values = ", ".join(f"{getattr(node, number)}/{getattr(node, f'total_{number}')}" for number in numbers)
        lines.append(f"{'  ' * depth}{node.name} ({values})")
        for child in node.children:
            write(child, depth + 1 if isinstance(child, GraphNodeProto) else depth)

    write(root, 0)
    return "\n".join(lines) + "\n"
