"""`CostModel`: what ops and links cost, learned from runs and kept in a file, for graphs that have never run.

A measurement is compared with the static estimate (`cost_model`), which knows the op's work and bytes. The model learns, for
each type of device and op, by how much the estimate is off: a line over the logarithms of the estimate and of the bytes. Ridge
regression draws it towards the line of all ops, so few measurements say little, and an op that was never seen has that line.
A node whose op, attributes and shapes were seen before gets the median of what was measured.
"""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from actorflow.engine.placement.cost_model import expected_bytes, node_cost
from actorflow.engine.placement.measuring import NodeMeasurement
from actorflow.engine.placement.simulation.link_costs import LinkCosts, links_from_rows, links_to_rows
from actorflow.errors import InvalidArgumentError
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.graph import Graph
from actorflow.graph.node import Node
from actorflow.public import public

_FORMAT = "actorflow costs 1"
_MOST = 512
"""The most measurements of an op on a type of device that are kept; the latest are kept."""
_RECENT = 9
_RIDGE = 4.0
"""The number of measurements that say as much as the line of all ops."""
_SPREAD = 1.0
"""The standard deviation of the logarithm, where nothing is known: a factor of 2.7."""


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """seconds: of one execution on a device of the type. factor: the cost is within this factor of it in two of three cases.
    measurements: of the op. seen: whether a node of this op, with these attributes and shapes, was measured."""

    seconds: float
    factor: float
    measurements: int
    seen: bool


@dataclass(slots=True)
class _Fit:
    weights: Any
    spread: float
    count: int


@public("af")
class CostModel:
    """The costs of ops and links, learned from runs. A graph that has never run is placed by it.

    Example:
        >>> x = af.placeholder(af.float32, [None])
        >>> total = await session.run(af.reduce_sum(x * x), {x: [1.0, 2.0]})
        >>> costs = af.CostModel()
        >>> learned = costs.learn(await session.measured(), session.graph)
        >>> costs.save("cluster.costs")
        >>> af.CostModel.load("cluster.costs").links is None  # until af.measure_links measures them
        True

    Attributes:
        links: what transfers cost on the cluster; None unless they were measured.
    """

    def __init__(self) -> None:
        self.links: LinkCosts | None = None
        self._points: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
        """By type of device and op: the logarithms of estimate and bytes, and that of measured by estimate."""
        self._seen: dict[str, list[float]] = {}
        self._fits: dict[tuple[str, str], _Fit] = {}

    def __repr__(self) -> str:
        return f"<actorflow.CostModel: {len(self._points)} ops, {len(self._seen)} kinds of nodes>"

    def learn(self, measured: Iterable[NodeMeasurement], graph: Graph) -> int:
        """Takes measurements in, and gives how many nodes they were of. Nodes that ran as one share their time as expected.

        Args:
            measured: what `Session.measured` gives.
            graph: the graph of that session.
        """
        nodes, count = graph.nodes, 0
        whole = Subgraph(nodes)
        for measurement in measured:
            members = [nodes[name] for name in measurement.names if name in nodes and nodes[name].op != "Const"]
            expected = [node_cost(node, whole) for node in members]
            if measurement.samples < 1 or measurement.nanoseconds <= 0 or not sum(expected):
                continue
            kind = DeviceSpec.parse(measurement.device).kind or "CPU"
            ratio = measurement.nanoseconds / sum(expected)
            for node, cost in zip(members, expected):
                if cost > 0:
                    self._add(kind, node, whole, cost, ratio, alone=len(members) == 1)
                    count += 1
        self._fits.clear()
        return count

    def _add(self, kind: str, node: Node, whole: Subgraph, cost: float, ratio: float, alone: bool) -> None:
        some = self._points.setdefault((kind, node.op), [])
        some.append((math.log(cost), math.log1p(_bytes(node, whole)), math.log(ratio)))
        del some[:-_MOST]
        if alone:
            exact = self._seen.setdefault(_key(kind, node, whole), [])
            exact.append(cost * ratio * 1e-9)
            del exact[:-_RECENT]

    def estimate(self, node: Node, graph: Graph, device_type: str = "CPU") -> CostEstimate:
        """The expected cost of a node.

        Example:
            >>> x = af.placeholder(af.float32, [1000])
            >>> y = af.square(x)
            >>> af.CostModel().estimate(y.op.node, y.graph).seconds > 0.0
            True

        Args:
            node: a node of `graph`.
            graph: the graph, whose shapes and types count.
            device_type: such as `CPU` or `GPU`.
        """
        return self._estimate(node, Subgraph(graph.nodes), device_type)

    def _estimate(self, node: Node, whole: Subgraph, kind: str) -> CostEstimate:
        count = len(self._points.get((kind, node.op), ()))
        seen = self._seen.get(_key(kind, node, whole))
        if seen:
            spread = _SPREAD if len(seen) < 2 else statistics.stdev([math.log(s) for s in seen])
            return CostEstimate(statistics.median(seen), math.exp(spread / math.sqrt(len(seen))), count, True)
        cost = node_cost(node, whole)
        if not cost:
            return CostEstimate(0.0, 1.0, count, False)
        fit = self._fit(kind, node.op)
        off = float(fit.weights @ (1.0, math.log(cost), math.log1p(_bytes(node, whole))))
        return CostEstimate(cost * math.exp(off) * 1e-9, math.exp(fit.spread), count, False)

    def predicted(self, graph: Graph, device_type: str = "CPU") -> list[NodeMeasurement]:
        """The expected costs of all nodes of a graph, as if runs had shown them; what was measured goes before them.

        Example:
            >>> x = af.placeholder(af.float32, [1000], name="x")
            >>> y = af.square(x, name="y")
            >>> [measured.names for measured in af.CostModel().predicted(y.graph)]
            [('y',)]

        Args:
            graph: the graph, which may never have run.
            device_type: the type of the devices that it is for.
        """
        whole = Subgraph(graph.nodes)
        return [
            NodeMeasurement((node.name,), "", 1e9 * self._estimate(node, whole, device_type).seconds, 0)
            for node in graph.nodes.values()
            if node.op not in ("Const", "Placeholder")
        ]

    def _fit(self, kind: str, op: str) -> _Fit:
        """The line of an op, drawn towards that of all ops of the type of device; `op` is empty for that."""
        fit = self._fits.get((kind, op))
        if fit is None:
            towards = self._fit(kind, "") if op else _Fit(np.zeros(3), _SPREAD, 0)
            points = self._points.get((kind, op), []) if op else self._typical(kind)
            fit = self._fits[kind, op] = _fitted(points, towards)
        return fit

    def _typical(self, kind: str) -> list[tuple[float, float, float]]:
        """One point for each op: its medians. Else an op that a graph has a thousand times would speak for all."""
        return [
            (
                statistics.median(p[0] for p in some),
                statistics.median(p[1] for p in some),
                statistics.median(p[2] for p in some),
            )
            for (there, _), some in self._points.items()
            if there == kind
        ]

    # ---- the file

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes what was learned to a file, which is there as a whole or not at all."""
        content = {
            "format": _FORMAT,
            "points": [[kind, op, some] for (kind, op), some in sorted(self._points.items())],
            "seen": dict(sorted(self._seen.items())),
            "links": None if self.links is None else links_to_rows(self.links),
        }
        target = Path(path)
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        beside.write_text(json.dumps(content), encoding="utf-8")
        beside.replace(target)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CostModel:
        """The model that `save` has written.

        Raises:
            InvalidArgumentError: the file is something else, or damaged.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            if content["format"] != _FORMAT:
                raise ValueError("it has another format")
            model = cls()
            model._points = {(str(k), str(op)): [_point(p) for p in some] for k, op, some in content["points"]}
            model._seen = {str(key): [float(s) for s in some] for key, some in content["seen"].items()}
            model.links = None if content["links"] is None else links_from_rows(content["links"])
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise InvalidArgumentError(
                f"{os.fspath(path)} holds no learned costs: {error}", hint="CostModel.save writes such a file."
            ) from error
        return model


def _point(row: Sequence[Any]) -> tuple[float, float, float]:
    cost, size, ratio = map(float, row)
    return cost, size, ratio


def _fitted(points: Sequence[tuple[float, float, float]], towards: _Fit) -> _Fit:
    """Ridge regression of the third column over the others, towards the weights of another line."""
    if not points:
        return towards
    x = np.array([(1.0, a, b) for a, b, _ in points])
    y = np.array([ratio for _, _, ratio in points]) - x @ towards.weights
    # the slopes are about the middle of the points, so that the intercept is free of them
    middle = x.mean(0)
    middle[0] = 0.0
    centred = x - middle
    weights = np.linalg.solve(centred.T @ centred + np.diag((_RIDGE / 4, _RIDGE, _RIDGE)), centred.T @ y)
    left = y - centred @ weights
    weights[0] -= float(weights[1:] @ middle[1:])
    spread = math.sqrt((float(left @ left) + _RIDGE * towards.spread**2) / (len(points) + _RIDGE))
    return _Fit(towards.weights + weights, spread, len(points))


def _bytes(node: Node, whole: Subgraph) -> float:
    """The bytes of a node's inputs and outputs."""
    types = (whole.type_of(tensor_id) for tensor_id in node.inputs)
    inputs = sum(expected_bytes(shape, dtype) for dtype, shape in types)
    return float(inputs + sum(expected_bytes(shape, dtype) for shape, dtype in zip(node.shapes, node.dtypes)))


def _key(kind: str, node: Node, whole: Subgraph) -> str:
    """The same text for nodes that cost the same: op, attributes, and the types and shapes of inputs and outputs."""
    types = [whole.type_of(tensor_id) for tensor_id in node.inputs]
    inputs = ",".join(f"{dtype.name}{_shape(shape)}" for dtype, shape in types)
    outputs = ",".join(f"{dtype.name}{_shape(shape)}" for dtype, shape in zip(node.dtypes, node.shapes))
    plain = [f"{name}={value}" for name, value in sorted(node.attrs.items()) if _is_plain(name, value)]
    return f"{kind} {node.op}({inputs})->{outputs} {' '.join(plain)}"


def _shape(shape: Any) -> str:
    return "?" if shape is None else "x".join("?" if size is None else str(size) for size in ("", *shape))


def _is_plain(name: str, value: Any) -> bool:
    """Whether an attribute says something of the cost: names, of resources or other things, do not."""
    if name.startswith("_") or name in ("shared_name", "container", "seed", "seed2"):
        return False
    return isinstance(value, (bool, int, float)) or (
        isinstance(value, (tuple, list)) and all(isinstance(entry, (bool, int)) for entry in value)
    )
