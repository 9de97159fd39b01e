"""`sites`: which nodes can have weights of int8, and the nodes that replace them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from actorflow.exchange.export.messages import COPIES, Messages, constant, controls, data_inputs, split
from actorflow.graph.graphdef.attributes import to_attr
from actorflow.graph.graphdef.protos import NodeDef
from actorflow.graph.ops.quantize.int8 import ACTIVATIONS

PRODUCTS = frozenset(
    {"MatMul", "Conv2D", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Conv3D", "DepthwiseConv2dNative"}
)
"""Ops that have weights, where an input is a constant."""
_INTO_PARTS = frozenset({"Enter", "RefEnter", "Switch", "RefSwitch"})
"""Ops that bring a value into a loop or a branch."""
_SUMS = frozenset({"Add", "AddV2", "BiasAdd"})
_NEVER_NEGATIVE = frozenset({"Relu", "Relu6", "Sigmoid", "Softmax", "Square", "Abs", "Exp", "Softplus"})
_KEEPING_SIGNS = frozenset(
    {
        "MaxPool",
        "AvgPool",
        "Reshape",
        "Identity",
        "Squeeze",
        "ExpandDims",
        "Transpose",
        "StopGradient",
        "Slice",
        "StridedSlice",
    }
)


@dataclass(frozen=True, slots=True)
class QuantizedSite:
    """A product or convolution with constant weights, and the bias and activation behind it.

    `weights` are float32 with the output channels last, and `source` is the node that they come from. The nodes of `chain`
    are replaced, and the last of them gives its name.
    """

    node: NodeDef
    chain: tuple[str, ...]
    input: str
    weights: Any
    source: str
    bias: Any
    activation: str
    never_negative: bool

    @property
    def name(self) -> str:
        """The name of the node that replaces the chain."""
        return self.chain[-1]


def sites(
    messages: Messages, outputs: Collection[str], keep: Collection[str] = (), smallest: int = 0
) -> tuple[list[QuantizedSite], dict[str, str]]:
    """The nodes that can be replaced, and why others are not, by name.

    Args:
        messages: the nodes.
        outputs: names of nodes whose values are asked for, so that no chain goes on behind them.
        keep: names of nodes that stay.
        smallest: the fewest weights of a node that is replaced.
    """
    uses = messages.uses() + Counter(outputs)
    users: dict[str, list[NodeDef]] = {}
    for node in messages.nodes.values():
        for text in node.input:
            users.setdefault(split(text)[0], []).append(node)
    site_list, left = [], {}
    for node in messages.ordered():
        if node.op in PRODUCTS:
            reason = f"it is to stay (keep={node.name!r})" if node.name in keep else _refusal(messages, node, smallest)
            if reason:
                left[node.name] = reason
            else:
                site_list.append(_site(messages, node, uses, users, keep))
    return site_list, left


def _flag(node: NodeDef, name: str) -> bool:
    return bool(name in node.attr and node.attr[name].b)


def _refusal(messages: Messages, node: NodeDef, smallest: int) -> str:
    """Why a node can't be replaced; "" if it can."""
    if node.op not in ("MatMul", "Conv2D"):
        return f"{node.op} has no form in int8 here"
    weights = messages.constant(data_inputs(node)[1])
    if weights is None:
        return _not_constant(messages, data_inputs(node)[1])
    if weights.dtype != np.float32:
        return f"its weights are {weights.dtype}"
    if not weights.size or not np.isfinite(weights).all():
        return "its weights are empty, or not finite"
    if weights.size < smallest:
        return f"its {weights.size:,} weights are fewer than {smallest:,}, so it is quicker in float32"
    if _flag(node, "transpose_a"):
        return "its first matrix is transposed"
    layout = node.attr["data_format"].s.decode() if "data_format" in node.attr else ""
    return f"its layout is {layout}" if layout not in ("", "NHWC") else ""


def _source(messages: Messages, text: str) -> str:
    """The node that an input is a copy of."""
    name, _ = split(text)
    while messages.nodes[name].op in COPIES:
        name, _ = split(messages.nodes[name].input[0])
    return name


def _not_constant(messages: Messages, text: str) -> str:
    """Why an input is no constant."""
    node = messages.nodes[_source(messages, text)]
    if node.op in _INTO_PARTS and messages.constant(node.input[0]) is not None:
        return f"its weights come into a loop or a branch ({node.op}), where they stay in float32"
    return "its weights are computed in the run"


def _site(
    messages: Messages, node: NodeDef, uses: Counter[str], users: dict[str, list[NodeDef]], keep: Collection[str]
) -> QuantizedSite:
    x, text = data_inputs(node)[:2]
    weights = messages.constant(text)
    if _flag(node, "transpose_b"):
        weights = np.ascontiguousarray(weights.T)
    chain, bias, activation = [node.name], None, ""
    after = _next(node.name, uses, users, keep)
    if after is not None and after.op in _SUMS:
        bias = _bias(messages, after, node.name, weights.shape[-1])
        if bias is not None:
            chain.append(after.name)
            after = _next(after.name, uses, users, keep)
    if after is not None and after.op in ACTIVATIONS and not controls(after):
        chain.append(after.name)
        activation = after.op
    source, positive = _source(messages, text), _never_negative(messages, x)
    return QuantizedSite(node, tuple(chain), x, weights, source, bias, activation, positive)


def _next(name: str, uses: Counter[str], users: dict[str, list[NodeDef]], keep: Collection[str]) -> NodeDef | None:
    """The only node that takes a value; None where others want it too, or it is to stay."""
    node = users[name][0] if uses[name] == 1 and name in users else None
    return None if node is None or node.name in keep else node


def _bias(messages: Messages, node: NodeDef, before: str, channels: int) -> Any:
    layout = node.attr["data_format"].s.decode() if "data_format" in node.attr else ""
    if controls(node) or layout not in ("", "NHWC"):
        return None
    first, second = data_inputs(node)
    vector = messages.constant(second if split(first)[0] == before else first)
    return vector if vector is not None and vector.shape == (channels,) and vector.dtype == np.float32 else None


def _never_negative(messages: Messages, text: str) -> bool:
    for _ in messages.nodes:
        node = messages.nodes[split(text)[0]]
        if node.op in _NEVER_NEGATIVE:
            return True
        if node.op not in _KEEPING_SIGNS:
            return False
        text = node.input[0]
    return False


Shared = dict[tuple[Any, ...], tuple[str, str]]
"""The nodes of weights of int8 and of their scales, by what they were made from: nodes that share weights go on to share them."""


def replace(messages: Messages, site: QuantizedSite, limit: float, signed: bool, shared: Shared) -> None:
    """Puts a node with weights of int8, its scales and its bias in the place of a chain.

    Args:
        messages: the nodes, which are changed.
        site: the chain.
        limit: the largest magnitude of the input that has a step; 0 measures it in each run.
        signed: whether the input has negative values.
        shared: the nodes that were made for other chains; those that are made here are added.
    """
    device, name, after = site.node.device, site.name, controls(site.node)
    key = (site.source, _flag(site.node, "transpose_b"), device, *after)
    parts = []
    if key not in shared:
        parts = [
            constant(_fresh(messages, f"{name}/{part}"), value, device=device, after=after)
            for part, value in zip(("int8", "scales"), _scaled(site.weights))
        ]
        shared[key] = (parts[0].name, parts[1].name)
    bias = np.zeros(site.weights.shape[-1], np.float32) if site.bias is None else site.bias
    parts.append(constant(_fresh(messages, f"{name}/bias"), bias, device=device, after=after))
    quantized = NodeDef(name=name, op="Int8MatMul" if site.node.op == "MatMul" else "Int8Conv2D", device=device)
    quantized.input.extend([site.input, *shared[key], parts[-1].name, *(f"^{control}" for control in after)])
    for attr in ("strides", "padding", "explicit_paddings", "dilations") if site.node.op == "Conv2D" else ():
        if attr in site.node.attr:
            quantized.attr[attr].CopyFrom(site.node.attr[attr])
    quantized.attr["limit"].CopyFrom(to_attr(float(limit)))
    quantized.attr["signed"].CopyFrom(to_attr(bool(signed)))
    quantized.attr["activation"].CopyFrom(to_attr(site.activation))
    for gone in site.chain:
        del messages.nodes[gone]
    messages.nodes.update({node.name: node for node in (*parts, quantized)})


def _scaled(weights: Any) -> tuple[Any, Any]:
    """Weights as whole numbers, and the scale of each output channel."""
    flat = weights.reshape(-1, weights.shape[-1])
    scales = np.abs(flat).max(axis=0) / np.float32(127)
    inverse = np.divide(np.float32(1), scales, out=np.zeros_like(scales), where=scales > np.finfo(np.float32).tiny)
    return np.clip(np.rint(flat * inverse), -127, 127).astype(np.int8).reshape(weights.shape), scales


def _fresh(messages: Messages, name: str) -> str:
    while name in messages.nodes:
        name += "_of_int8"
    return name
