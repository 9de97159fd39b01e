"""`Outline`: one scope of a graph as boxes and edges: scopes that fold, stacks of equal blocks, constants apart.

The rules are those of the paper's section 9.1: names with slashes make scopes; nodes with many edges and nodes that only others
wait for stand apart, so that they don't hide the structure. A graph of any size gives a few dozen boxes.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from actorflow.graph.node import Node

Kind: TypeAlias = Literal["scope", "node", "stack", "more"]
MOST_BOXES = 120
_STACKED = 3
"""As many equal scopes beside each other become one box."""
_SPARED = 15
"""Scopes with fewer boxes show all of their edges."""
_ICONS = re.compile(r"Const|[A-Za-z]+Summary(V2)?")


@dataclass(slots=True)
class Box:
    """A thing on the page.

    name: its path, which opens it if it is a scope; of a stack the path of the first of its scopes.
    label: what is written on it.
    kind: `scope`, `node`, `stack` (equal scopes) or `more` (nodes of one op that are too many to show).
    op: of a node its op.
    nodes: how many nodes are in it.
    members: of a stack and of `more` the labels of what it stands for.
    constants: how many constants and summaries belong to it, which have no box of their own.
    devices: how many of its nodes ask for which device.
    seconds: how long its nodes' kernels take in a step, as far as that was traced.
    bytes: how large the outputs of its nodes are, as far as their shapes are known.
    apart: whether its edges are not drawn, because it has very many or only control edges.
    """

    name: str
    label: str
    kind: Kind
    op: str = ""
    nodes: int = 0
    members: list[str] = field(default_factory=list)
    constants: int = 0
    devices: Counter[str] = field(default_factory=Counter)
    ops: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    bytes: int = 0
    apart: bool = False

    def as_json(self) -> dict[str, Any]:
        """In JSON's types, without what is empty."""
        fields = {
            "name": self.name,
            "label": self.label,
            "kind": self.kind,
            "op": self.op,
            "nodes": self.nodes,
            "members": self.members[:60],
            "constants": self.constants,
            "devices": dict(self.devices.most_common(4)),
            "ops": dict(self.ops.most_common(6)) if self.kind != "node" else {},
            "seconds": self.seconds,
            "bytes": self.bytes,
            "apart": self.apart,
        }
        return {key: value for key, value in fields.items() if value}


class Outline:
    """A graph by its scopes.

    Args:
        nodes: the graph's nodes (`Graph.nodes.values()`).
        seconds: how long the kernel of each node takes, as far as that is known. It may change.
    """

    def __init__(self, nodes: Iterable[Node], seconds: Mapping[str, float] | None = None) -> None:
        self.seconds = {} if seconds is None else seconds
        self.placement: Mapping[str, str] = {}
        """The device of each node that is placed; what the others ask for stands in for it."""
        self._bytes: dict[str, int] = {}
        self._nodes = {node.name: node for node in nodes}
        self._scopes = {""}
        for name, node in self._nodes.items():
            if _ICONS.fullmatch(node.op):
                continue  # `sum/y`, a constant of `sum`, makes no scope of it
            at = name.rfind("/")
            while at > 0 and name[:at] not in self._scopes:
                self._scopes.add(name[:at])
                at = name.rfind("/", 0, at)

    def __len__(self) -> int:
        return len(self._nodes)

    def scope(self, path: str = "") -> dict[str, Any]:
        """The boxes and edges of a scope, in JSON's types.

        Args:
            path: the scope's name; "" is the whole graph.

        Raises:
            KeyError: there is no such scope.
        """
        if path not in self._scopes:
            raise KeyError(path)
        boxes, place = self._boxes(path)
        edges, inputs, outputs = self._edges(path, boxes, place)
        renamed = _stack(boxes, edges)
        edges = _renamed(edges, renamed)
        _set_apart(boxes, edges)
        renamed = _cut(boxes, edges)
        edges = _renamed(edges, renamed)
        return {
            "path": path,
            "nodes": sum(box.nodes for box in boxes.values()),
            "boxes": [box.as_json() for box in boxes.values()],
            "edges": [
                [source, target, data, control]
                for (source, target), (data, control) in edges.items()
                if not boxes[source].apart and not boxes[target].apart
            ],
            "inputs": dict(inputs.most_common(20)),
            "outputs": dict(outputs.most_common(20)),
        }

    def _boxes(self, path: str) -> tuple[dict[str, Box], dict[str, str]]:
        """The boxes of a scope, and the box of each node within it."""
        prefix = f"{path}/" if path else ""
        boxes: dict[str, Box] = {}
        place: dict[str, str] = {}
        for name, node in self._nodes.items():
            if name != path and not name.startswith(prefix):
                continue
            first = "(" + name.rpartition("/")[2] + ")" if name == path else name[len(prefix) :].partition("/")[0]
            key = f"{prefix}{first}"
            is_scope = key in self._scopes
            if not is_scope and _ICONS.fullmatch(node.op):
                continue
            box = boxes.get(key)
            if box is None:
                box = boxes[key] = Box(key, first, "scope" if is_scope else "node", "" if is_scope else node.op)
            box.nodes += 1
            box.ops[node.op] += 1
            box.seconds += self.seconds.get(name, 0.0)
            box.bytes += self._bytes_of(node)
            device = self.placement.get(name, node.device)
            if device:
                box.devices[device] += 1
            place[name] = key
        return boxes, place

    def _bytes_of(self, node: Node) -> int:
        """The size of a node's outputs, as far as their shapes are known."""
        size = self._bytes.get(node.name)
        if size is None:
            size = 0
            for shape, dtype in zip(node.shapes, node.dtypes):
                if shape is not None and None not in shape:
                    size += math.prod(shape) * (dtype.size or 0)  # type: ignore[arg-type]
            self._bytes[node.name] = size
        return size

    def search(self, words: str, most: int = 50) -> list[dict[str, str]]:
        """The nodes and scopes in whose names all of these words are, the shortest names first.

        Args:
            words: parted by spaces; small letters find large letters too.
            most: how many are given at most.
        """
        parts = words.lower().split()
        if not parts:
            return []
        names = [(name, node.op) for name, node in self._nodes.items()]
        names += [(scope, "") for scope in self._scopes if scope and scope not in self._nodes]
        hits = [(name, op) for name, op in names if all(word in name.lower() for word in parts)]
        hits.sort(key=lambda pair: (len(pair[0]), pair[0]))
        return [{"name": n, "op": op, "scope": n if not op else n.rpartition("/")[0]} for n, op in hits[:most]]

    def _edges(
        self, path: str, boxes: dict[str, Box], place: dict[str, str]
    ) -> tuple[dict[tuple[str, str], list[int]], Counter[str], Counter[str]]:
        """[data edges, control edges] between boxes, and how many edges come from and go to other scopes."""
        edges: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
        inputs: Counter[str] = Counter()
        outputs: Counter[str] = Counter()
        for name, node in self._nodes.items():
            target = place.get(name)
            sources = [(e.node, 0) for e in node.inputs] + [(control, 1) for control in node.controls]
            for source_name, kind in sources:
                source = place.get(source_name)
                if target is not None and source is not None:
                    if source != target:
                        edges[source, target][kind] += 1
                elif target is not None:
                    origin = self._nodes.get(source_name)
                    if origin is not None and _ICONS.fullmatch(origin.op):
                        boxes[target].constants += 1
                    else:
                        inputs[source_name.rpartition("/")[0] or source_name] += 1
                elif source is not None:
                    if _ICONS.fullmatch(node.op):
                        boxes[source].constants += 1
                    else:
                        outputs[name.rpartition("/")[0] or name] += 1
        return dict(edges), inputs, outputs


def _stack(boxes: dict[str, Box], edges: dict[tuple[str, str], list[int]]) -> dict[str, str]:
    """Makes one box of equal scopes, such as the layers of a network; gives the new name of each that is gone."""
    alike: defaultdict[Any, list[Box]] = defaultdict(list)
    for box in boxes.values():
        if box.kind == "scope":
            stem = re.sub(r"_?\d+$", "", box.label)
            alike[stem, box.nodes, tuple(sorted(box.ops.items()))].append(box)
    renamed: dict[str, str] = {}
    for group in alike.values():
        if len(group) < _STACKED:
            continue
        first, *others = group
        first.kind = "stack"
        first.members = [box.label for box in group]
        first.label = f"{group[0].label} … {group[-1].label}"
        for other in others:
            first.nodes += other.nodes
            first.constants += other.constants
            first.seconds += other.seconds
            first.bytes += other.bytes
            first.devices += other.devices
            renamed[other.name] = first.name
            del boxes[other.name]
    return renamed


def _renamed(edges: dict[tuple[str, str], list[int]], renamed: dict[str, str]) -> dict[tuple[str, str], list[int]]:
    sums: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for (source, target), counts in edges.items():
        key = renamed.get(source, source), renamed.get(target, target)
        if key[0] != key[1]:
            sums[key] = [a + b for a, b in zip(sums[key], counts)]
    return dict(sums)


def _set_apart(boxes: dict[str, Box], edges: dict[tuple[str, str], list[int]]) -> None:
    """Marks boxes whose edges would hide the others: with far more of them than most have, or with none that carry data."""
    if len(boxes) < _SPARED:
        return
    come: Counter[str] = Counter()
    go: Counter[str] = Counter()
    for (source, target), (data, _) in edges.items():
        if data:
            go[source] += 1
            come[target] += 1
    for degrees, widths in ((come, 1), (go, 4)):
        sizes = sorted(degrees.get(name, 0) for name in boxes)
        low, high = sizes[len(sizes) // 4], sizes[3 * len(sizes) // 4]
        bound = max(high + widths * (high - low), 4)
        for name, box in boxes.items():
            box.apart = box.apart or degrees.get(name, 0) > bound
    for name, box in boxes.items():
        if box.kind == "node" and not come.get(name) and not go.get(name):
            box.apart = True


def _cut(boxes: dict[str, Box], edges: dict[tuple[str, str], list[int]]) -> dict[str, str]:
    """Keeps the largest boxes; makes one of the others for each op."""
    if len(boxes) <= MOST_BOXES:
        return {}
    ranked = sorted(boxes.values(), key=lambda box: (box.kind == "node", -box.nodes))
    renamed: dict[str, str] = {}
    for box in ranked[MOST_BOXES - 20 :]:
        what = box.op or "scope"
        name = f"more {what}"
        if name not in boxes:
            kinds = sum(1 for b in boxes.values() if b.kind == "more")
            if kinds >= 20:
                what, name = "other", "more other"
            boxes.setdefault(name, Box(name, "", "more", what))
        gathered = boxes[name]
        gathered.nodes += box.nodes
        gathered.seconds += box.seconds
        gathered.bytes += box.bytes
        gathered.members.append(box.label)
        gathered.label = f"{len(gathered.members)} more: {gathered.op}"
        gathered.apart = True
        renamed[box.name] = name
        del boxes[box.name]
    return renamed
