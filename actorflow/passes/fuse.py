"""Fusion: products and convolutions take the bias and the activation after them in, products what they are added to, and a
step of gradient descent the product that it subtracts. The gradient of an activation moves to the small side of a pool.
(Paper section 5.4: optimised libraries for the kernels.)

The fused node has the name of the last of those that it stands for, so its users stay as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from actorflow import dtypes
from actorflow.analysis.pauses import paced
from actorflow.analysis.subgraph import Subgraph
from actorflow.graph.node import Endpoint, Node
from actorflow.ops.nn.fused import ACTIVATIONS
from actorflow.shapes import is_static

_FUSED = {"MatMul": "_FusedMatMul", "Conv2D": "_FusedConv2D"}
_TYPES = frozenset((dtypes.float32, dtypes.float64))
JOINED = "_joined"
"""The attribute of a fused node that names the others for which it stands."""


def fuse(graph: Subgraph) -> Subgraph:
    """Replaces MatMul or Conv2D with BiasAdd (or Add of a vector) and an activation by one node, and MatMul with an Add of
    its shape or with ApplyGradientDescent.

    A value in between may have no other user: it is not fetched, fed or waited for, and its node no target. All are on one
    device.
    """
    uses = _uses(graph)
    nodes: dict[str, Node] = {}
    for node in paced(graph.nodes.values()):
        nodes[node.name] = node
        if node.dtypes and node.dtypes[0] not in _TYPES:
            continue

        def inner(position: int, node: Node = node) -> Node | None:
            """The node that computes an input, if nobody else uses it."""
            endpoint = node.inputs[position]
            source = nodes.get(endpoint.node)
            if source is None or endpoint in graph.feeds or uses[endpoint.node] != 1 or source.device != node.device:
                return None
            return source

        if node.op == "ApplyGradientDescent":
            product = inner(2)
            if product is not None and product.op == "MatMul" and product.dtypes[0] in _TYPES:
                del nodes[product.name]
                nodes[node.name] = _joined(node, "_SgdMatMul", product, (*node.inputs[:2], *product.inputs), {})
        elif node.op == "ReluGrad":
            pool = inner(0)
            if pool is not None and pool.op == "MaxPoolGrad" and _pools(nodes, pool, node.inputs[1]):
                images, pooled, gradient = pool.inputs
                shapes = nodes[pooled.node].shapes[pooled.port : pooled.port + 1]
                nodes[pool.name] = replace(
                    pool, op="ReluGrad", inputs=(gradient, pooled), attrs=node.attrs, shapes=shapes
                )
                moved = (images, pooled, Endpoint(pool.name, 0))
                nodes[node.name] = replace(node, op="MaxPoolGrad", inputs=moved, attrs=pool.attrs)
        elif node.op in ("BiasAdd", "Add"):
            for position in (0, 1) if node.op == "Add" else (0,):
                product, bias = inner(position), node.inputs[1 - position]
                if product is not None and product.op in _FUSED and _is_bias(graph, node, product, bias):
                    del nodes[product.name]
                    inputs = (*product.inputs, bias)
                    nodes[node.name] = _joined(node, _FUSED[product.op], product, inputs, {"activation": ""})
                    break
                if product is not None and product.op == "MatMul" and _is_alike(graph, product, bias):
                    del nodes[product.name]
                    nodes[node.name] = _joined(node, "_AddMatMul", product, (bias, *product.inputs), {})
                    break
        elif node.op in ACTIVATIONS:
            biased = inner(0)
            if biased is not None and biased.op in _FUSED.values() and not biased.attrs["activation"]:
                del nodes[biased.name]
                nodes[node.name] = _joined(node, biased.op, biased, biased.inputs, {"activation": node.op})
    return graph.with_nodes(nodes.values())


def _uses(graph: Subgraph) -> Counter[str]:
    """How many inputs, control edges, fetches and targets name each node."""
    uses: Counter[str] = Counter()
    for node in paced(graph.nodes.values()):
        uses.update(endpoint.node for endpoint in node.inputs)
        uses.update(node.controls)
    uses.update(endpoint.node for endpoint in graph.fetches)
    uses.update(graph.targets)
    return uses


def _is_bias(graph: Subgraph, node: Node, product: Node, bias: Endpoint) -> bool:
    """Whether an addition adds a vector to the last dimension of a product."""
    if product.attrs.get("data_format", "NHWC") != "NHWC":
        return False
    if node.op == "BiasAdd":
        return product.op == "MatMul" or bool(node.attrs["data_format"] == "NHWC")
    shape, vector = product.shapes[0], graph.type_of(bias)[1]
    if shape is None or vector is None or len(vector) != 1:
        return False
    return vector[0] is not None and vector[0] == shape[-1]


def _pools(nodes: Mapping[str, Node], gradient: Node, images: Endpoint) -> bool:
    """Whether a MaxPoolGrad is that of a pool of `images`. A window's maximum is positive where the element is that has its
    gradient, so the gradients may be masked before they are spread over the images, where they are fewer."""
    pool = nodes.get(gradient.inputs[1].node)
    if pool is None or pool.op != "MaxPool" or gradient.inputs[0] != images or pool.inputs[0] != images:
        return False
    return all(pool.attrs[name] == gradient.attrs[name] for name in ("ksize", "strides", "padding", "data_format"))


def _is_alike(graph: Subgraph, product: Node, other: Endpoint) -> bool:
    """Whether a product and another tensor have one shape, which is known."""
    return is_static(product.shapes[0]) and graph.type_of(other)[1] == product.shapes[0]


def _joined(last: Node, op: str, first: Node, inputs: tuple[Endpoint, ...], attrs: Mapping[str, Any]) -> Node:
    """A node in the place of `last` that does the work of `first` as well."""
    return replace(
        last,
        op=op,
        inputs=inputs,
        controls=tuple(dict.fromkeys((*first.controls, *last.controls))),
        attrs=MappingProxyType({**first.attrs, **attrs, JOINED: (*first.attrs.get(JOINED, ()), first.name)}),
    )
