"""Gradients of chains: ops in a row that compute one function, such as a layer's normalization, have one gradient together.

The derivatives of the single ops would be many nodes more, in as many forms as programs have for the function. The
gradient of the whole has one form, of ops that have derivatives themselves. The pass `fuse_chains` knows that form, so
a step computes it by a few kernels and keeps nothing that is between the chain's nodes. A chain outside of branches and
loops is taken as a whole on two conditions. The derivative takes no other way out of the chain, and no x, y or constant
of the derivative is in the chain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from actorflow.base.dtypes import float32
from actorflow.graph.analysis.chains import ROWS
from actorflow.graph.analysis.patterns import Occurrence, Search
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.autodiff.override import OVERRIDE
from actorflow.graph.graph import Graph
from actorflow.graph.node import TensorId
from actorflow.graph.ops.math.elementwise import reciprocal
from actorflow.graph.ops.math.reduction import reduce_mean, reduce_sum
from actorflow.graph.tensor import Operation, Tensor

Rule = Callable[[Tensor, Sequence[Tensor], Mapping[str, Tensor]], Sequence[Tensor]]
"""Makes the gradients of a chain's inputs: by that of its result, the inputs, and the tensors that its form names."""


def _layer_norm(dy: Tensor, inputs: Sequence[Tensor], named: Mapping[str, Tensor]) -> Sequence[Tensor]:
    x, scale, _ = inputs
    inverse = named["r"] if "r" in named else reciprocal(named["d"])
    rows = list(range(len(x.static_shape or ()) - 1))
    normal, slopes = (x - named["m"]) * inverse, dy * scale
    slanted = normal * reduce_mean(slopes * normal, [-1], keepdims=True)
    dx = (slopes - reduce_mean(slopes, [-1], keepdims=True) - slanted) * inverse
    return dx, reduce_sum(dy * normal, rows), reduce_sum(dy, rows)


_RULES: dict[str, Rule] = {"_LayerNorm": _layer_norm}
"""By the op that stands for a chain."""


@dataclass(frozen=True, slots=True)
class ChainUnit:
    """A chain that has one gradient.

    inputs: the tensors that go into it.
    inner: the names of its nodes but the last.
    """

    inputs: tuple[Tensor, ...]
    inner: frozenset[str]
    named: Mapping[str, Tensor]
    rule: Rule

    def gradients(self, dy: Tensor) -> Sequence[Tensor]:
        """The gradients of the inputs, by that of the chain's result."""
        slopes = self.rule(dy, self.inputs, self.named)
        for tensor, gradient in zip(self.inputs, slopes, strict=True):
            gradient.set_shape(tensor.static_shape)
        return slopes


def chains_among(
    graph: Graph, names: AbstractSet[str], ends: AbstractSet[TensorId], is_between: Callable[[Operation], bool]
) -> dict[str, ChainUnit]:
    """The chains that have one gradient, by the name of the last node of each.

    Args:
        graph: the graph.
        names: the nodes between the xs and the ys.
        ends: the tensors that have to keep a gradient of their own, or stop it.
        is_between: whether an operation, or the loop that it is in, is between the xs and the ys.
    """
    units: dict[str, ChainUnit] = {}
    present = {graph.nodes[name].op for name in names}
    search = Search(Subgraph(graph.nodes), graph.nodes)
    for chain, rows in ROWS:
        rule = _RULES.get(chain.op)
        patterns = [pattern for pattern, ops in rows if rule is not None and ops <= present | {"Const"}]
        lasts = {pattern.op for pattern in patterns}
        for last in [graph.nodes[name] for name in names if graph.nodes[name].op in lasts]:
            if last.dtypes[0] is float32 and rule is not None:
                for occurrence in search.occurrences(chain, patterns, last):
                    if len(last.shapes[0] or ()) > 1 and _stands_alone(graph, occurrence, names, ends, is_between):
                        tensors = [_tensor(graph, e) for e in occurrence.inputs]
                        named = {name: _tensor(graph, e) for name, e in occurrence.named.items()}
                        inner = frozenset(node.name for node in occurrence.nodes) - {last.name}
                        units[last.name] = ChainUnit(tuple(tensors), inner, named, rule)
                        break
    return units


def _stands_alone(
    graph: Graph,
    occurrence: Occurrence,
    names: AbstractSet[str],
    ends: AbstractSet[TensorId],
    is_between: Callable[[Operation], bool],
) -> bool:
    """Whether derivatives go from the nodes of a chain to nothing else, and by the rules of their ops."""
    own = {node.name for node in occurrence.nodes}
    if not own <= names or any(graph.flow_of(name) is not None or OVERRIDE in graph.nodes[name].attrs for name in own):
        return False
    inner = [TensorId(node.name, 0) for node in occurrence.nodes[1:]]
    users = (operation for tensor_id in inner for operation in graph.consumers(tensor_id))
    return ends.isdisjoint(inner) and not any(user.name not in own and is_between(user) for user in users)


def _tensor(graph: Graph, tensor_id: TensorId) -> Tensor:
    return graph.get_operation_by_name(tensor_id.node).outputs[tensor_id.port]
