"""Which tensors of an asynchronous device have to be in host memory, and the copies that bring them there.

Its kernels are launched ahead of their inputs' values, so nothing may look at these on the host: not the shape that a Reshape
is given, not the predicate of a Switch, not a fetch. The kernel that makes such a tensor hands it on only when it has
arrived in host memory; its consumers then find it there. That is known while a plan is made, so a step asks nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from actorflow.base.registry import roles
from actorflow.base.registry.kernel import traits
from actorflow.base.registry.roles import Role
from actorflow.engine.device.base import Device, as_asynchronous
from actorflow.graph.analysis.frames import PRIMITIVES
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.node import Node, TensorId

_PREDICATES: Mapping[Role | None, int] = {roles.SWITCH: 1, roles.LOOP_CONDITION: 0}
"""The inputs that primitives look at."""
_PASSING = (*PRIMITIVES, roles.IDENTITY)
"""The roles of ops that hand their first inputs on, in whatever memory they are."""


def wanted_on_host(graph: Subgraph, device: Device) -> frozenset[TensorId]:
    """The tensors that somebody looks at in host memory, and those that become them on their way."""
    if as_asynchronous(device) is None:
        return frozenset()
    tensors: set[TensorId] = set()
    todo: list[TensorId] = []
    for node in graph.nodes.values():
        positions = traits(node.op, device.type).host_inputs(len(node.inputs))
        todo.extend(node.inputs[i] for i in positions)
        if node.role is roles.REGION:
            outer = dict(zip(node.attrs["inputs"], node.inputs, strict=True))
            for member in node.attrs["members"]:
                for i in traits(member.op, device.type).host_inputs(len(member.inputs)):
                    if member.inputs[i] in outer:
                        todo.append(outer[member.inputs[i]])
        if node.role in _PREDICATES:
            todo.append(node.inputs[_PREDICATES[node.role]])
        if node.name.endswith(_FETCHED):
            todo.append(TensorId(node.name, 0))
    while todo:
        tensor_id = todo.pop()
        node_ = graph.nodes.get(tensor_id.node)
        if tensor_id in tensors or node_ is None:
            continue
        tensors.add(tensor_id)
        if node_.role in _PASSING and not node_.name.endswith(_FETCHED):
            todo.extend(node_.inputs if node_.role is roles.MERGE else node_.inputs[:1])
    return frozenset(tensors)


_FETCHED = "/_fetched"


def with_fetches_copied(graph: Subgraph, device: Device) -> Subgraph:
    """A graph whose fetches are Identities of what was asked for. They alone wait for the copies, so that others use a
    tensor that is fetched without waiting."""
    if as_asynchronous(device) is None or not graph.fetches:
        return graph
    copies: dict[TensorId, Node] = {}
    for tensor_id in graph.fetches:
        dtype, shape = graph.type_of(tensor_id)
        if tensor_id not in copies and not dtype.is_ref and dtype.kind != "S":
            made_by = graph.nodes.get(tensor_id.node)
            copies[tensor_id] = Node(
                name=f"{tensor_id.node}/_{tensor_id.port}{_FETCHED}",
                op="Identity",
                inputs=(tensor_id,),
                attrs=MappingProxyType({}),
                dtypes=(dtype,),
                shapes=(shape,),
                device=device.name,
                where=made_by.where if made_by is not None else None,
            )
    fetches = tuple(TensorId(copies[e].name, 0) if e in copies else e for e in graph.fetches)
    return replace(graph, nodes={**graph.nodes, **{n.name: n for n in copies.values()}}, fetches=fetches)
