"""Ops of `com.microsoft` that optimizers and quantizers of onnxruntime write: whole numbers with scales, and fused ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import actorflow as af
from actorflow.errors import InvalidArgumentError, UnimplementedError
from actorflow.exchange.onnx.builders.common import known, number, rank_of, size_of, vector, whole, widened
from actorflow.exchange.onnx.builders.elementwise import gelu_of
from actorflow.exchange.onnx.builders.nn.attention import heads_apart, heads_together, scale_of
from actorflow.exchange.onnx.builders.nn.quantized import dequantize, quantize, scaled_product, to_whole, to_wide
from actorflow.exchange.onnx.builders.nn.windows import average_pool, convolved, global_pool
from actorflow.exchange.onnx.builders.products import product
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op
from actorflow.exchange.onnx.values import dtype_of, static

_DOMAIN = "com.microsoft"


def _op(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return onnx_op(*names, domain=_DOMAIN)


_op("QuantizeLinear")(quantize)
_op("DequantizeLinear")(dequantize)


# ---- whole numbers with scales: as numbers, by the op, and back


@_op("QLinearAdd", "QLinearMul")
def qlinear_binary(
    node: OnnxNode, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, scale: Any, zero: Any = None
) -> Any:
    x, y = to_wide(a, a_scale, a_zero), to_wide(b, b_scale, b_zero)
    return to_whole(x + y if node.op == "QLinearAdd" else x * y, scale, zero, dtype_of(a))


def _of_one(function: Callable[[OnnxNode, Any], Any]) -> Callable[..., Any]:
    def build(node: OnnxNode, x: Any, x_scale: Any, x_zero: Any, scale: Any, zero: Any = None) -> Any:
        return to_whole(function(node, to_wide(x, x_scale, x_zero)), scale, zero, dtype_of(x))

    return build


def _behind(function: Callable[[OnnxNode, Any], Any]) -> Callable[[OnnxNode, Any], Any]:
    """A pool of images that may have their channels last."""

    def build(node: OnnxNode, x: Any) -> Any:
        if not node.attr("channels_last", 0):
            return function(node, x)
        rank = rank_of(x)
        result = function(node, af.transpose(x, [0, rank - 1, *range(1, rank - 1)]))
        return af.transpose(result, [0, *range(2, rank), 1])

    return build


def _mean_of(node: OnnxNode, x: Any) -> Any:
    return af.reduce_mean(x, node.attr("axes"), keepdims=bool(node.attr("keepdims", 1)))


def _averages(node: OnnxNode, x: Any) -> Any:
    node.op = "GlobalAveragePool"
    return global_pool(node, x)


_op("QLinearSigmoid")(_of_one(lambda node, x: af.sigmoid(x)))
_op("QLinearLeakyRelu")(_of_one(lambda node, x: af.nn.leaky_relu(x, alpha=node.attr("alpha", 0.01))))
_op("QLinearSoftmax")(_of_one(lambda node, x: af.nn.softmax(x, axis=node.attr("axis", -1))))
_op("QLinearAveragePool")(_of_one(_behind(average_pool)))
_op("QLinearGlobalAveragePool")(_of_one(_behind(_averages)))
_op("QLinearReduceMean")(_of_one(_mean_of))


@_op("QLinearConcat")
def qlinear_concat(node: OnnxNode, scale: Any, zero: Any, *parts: Any) -> Any:
    values = [to_wide(*parts[at : at + 3]) for at in range(0, len(parts), 3)]
    return to_whole(af.concat(values, node.required("axis")), scale, zero, dtype_of(parts[0]))


@_op("QLinearWhere")
def qlinear_where(
    node: OnnxNode,
    condition: Any,
    x: Any,
    x_scale: Any,
    x_zero: Any,
    y: Any,
    y_scale: Any,
    y_zero: Any,
    scale: Any,
    zero: Any,
) -> Any:
    selected = af.where_v2(condition, to_wide(x, x_scale, x_zero), to_wide(y, y_scale, y_zero))
    return to_whole(selected, scale, zero, dtype_of(x))


@_op("QGemm")
def qgemm(
    node: OnnxNode, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, c: Any = None, scale: Any = None,
    zero: Any = None,
) -> Any:  # fmt: skip
    """Sums of whole numbers, to which `c` is added. Without a scale of the result they are numbers again."""
    a = af.transpose(a) if node.attr("transA", 0) else a
    b = af.transpose(b) if node.attr("transB", 0) else b
    scaled = scaled_product(a, a_scale, a_zero, b, b_scale, b_zero, c) * number(node.attr("alpha", 1.0), a_scale)
    return scaled if scale is None else to_whole(scaled, scale, zero, dtype_of(a))


@_op("MatMulIntegerToFloat")
def matmul_integer_to_float(
    node: OnnxNode, a: Any, b: Any, a_scale: Any, b_scale: Any, a_zero: Any = None, b_zero: Any = None, bias: Any = None
) -> Any:
    scaled = scaled_product(a, a_scale, a_zero, b, b_scale, b_zero)
    return scaled if bias is None else scaled + bias


@_op("DynamicQuantizeMatMul")
def dynamic_quantize_matmul(node: OnnxNode, a: Any, b: Any, b_scale: Any, b_zero: Any = None, bias: Any = None) -> Any:
    from actorflow.exchange.onnx.builders.nn.quantized import dynamic_quantize

    whole, scale, zero = dynamic_quantize(node, a)
    return matmul_integer_to_float(node, whole, b, scale, b_scale, zero, b_zero, bias)


@_op("MatMulNBits")
def matmul_n_bits(
    node: OnnxNode, a: Any, b: Any, scales: Any, zeros: Any = None, groups: Any = None, bias: Any = None
) -> Any:
    """A product with weights of few bits, in blocks of a scale each. They are spread out while the graph is built."""
    bits, block = node.attr("bits", 4), node.required("block_size")
    rows, width = node.required("N"), node.required("K")
    count = -(-width // block)
    parts = [static(value) for value in (b, scales, zeros)]
    if parts[0] is None or parts[1] is None or (zeros is not None and parts[2] is None) or groups is not None:
        raise UnimplementedError(f"{node} has weights that only a run knows, or an order of groups.")

    def spread(values: Any, each: int) -> Any:
        flat = np.asarray(values, np.uint8).reshape(rows, -1)
        pieces = np.stack([flat >> shift & (1 << bits) - 1 for shift in range(0, 8, bits)], -1)
        return pieces.reshape(rows, -1)[:, :each].astype(np.float32)

    whole = spread(parts[0], count * block).reshape(rows, count, block)
    middle: Any = np.float32(1 << bits - 1)
    if parts[2] is not None:
        stored = parts[2].dtype == np.uint8
        middle = (spread(parts[2], count) if stored else parts[2].astype(np.float32).reshape(rows, count))[:, :, None]
    weights = (whole - middle) * parts[1].astype(np.float32).reshape(rows, count, 1)
    matrix = np.ascontiguousarray(weights.reshape(rows, -1)[:, :width].T)
    output = product(a, number(matrix, a))
    return output if bias is None else output + bias


# ---- fused ops

_ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "": lambda x: x,
    "Relu": af.nn.relu,
    "Tanh": af.tanh,
    "Sigmoid": af.sigmoid,
    "LeakyRelu": lambda x, alpha=0.01: af.nn.leaky_relu(x, alpha=alpha),
    "Clip": lambda x, low, high: af.minimum(af.maximum(x, number(low, x)), number(high, x)),
    "HardSigmoid": lambda x, alpha=0.2, beta=0.5: af.minimum(
        af.maximum(x * number(alpha, x) + number(beta, x), number(0, x)), number(1, x)
    ),
}


def _activated(node: OnnxNode, x: Any, params: Sequence[float]) -> Any:
    name = node.attr("activation", "")
    if name not in _ACTIVATIONS:
        raise InvalidArgumentError(
            f"activation of {node} is {name!r}; known are {', '.join(filter(None, _ACTIVATIONS))}."
        )
    return _ACTIVATIONS[name](x, *params)


@_op("FusedConv")
def fused_conv(node: OnnxNode, x: Any, weights: Any, bias: Any = None, added: Any = None) -> Any:
    convolution = convolved(node, x, weights, bias)
    return _activated(node, convolution if added is None else convolution + added, node.attr("activation_params") or [])


@_op("FusedGemm")
def fused_gemm(node: OnnxNode, a: Any, b: Any, c: Any = None) -> Any:
    from actorflow.exchange.onnx.builders.products import gemm

    params = [node.attr(f"activation_{name}") for name in ("alpha", "beta", "gamma")]
    return _activated(node, gemm(node, a, b, c), [value for value in params if value is not None])


@_op("FusedMatMul", "TransposeMatMul")
def fused_matmul(node: OnnxNode, a: Any, b: Any) -> Any:
    def turned(x: Any, side: str) -> Any:
        rank = rank_of(x)
        order = list(range(rank))
        if rank < 2:
            return x
        if node.attr(f"transBatch{side}", 0):  # the dimension in front goes to the last but one place
            order = [*order[1:-1], order[0], order[-1]]
        if node.attr(f"trans{side}", 0):
            order[-2:] = order[:-3:-1]
        return x if order == sorted(order) else af.transpose(x, order)

    output = product(turned(a, "A"), turned(b, "B"))
    return output * number(node.attr("alpha", 1.0), output)


@_op("Gelu", "BiasGelu")
def gelu(node: OnnxNode, x: Any, bias: Any = None) -> Any:
    return widened(gelu_of("none"), x if bias is None else x + bias)


@_op("FastGelu")
def fast_gelu(node: OnnxNode, x: Any, bias: Any = None) -> Any:
    return widened(gelu_of("tanh"), x if bias is None else x + bias)


@_op("QuickGelu")
def quick_gelu(node: OnnxNode, x: Any) -> Any:
    return x * af.sigmoid(x * number(node.attr("alpha", 1.702), x))


def _normal(x: Any, scale: Any, offset: Any, epsilon: float, *, centred: bool = True) -> tuple[Any, Any, Any]:
    """Rows of a normal size along the last dimension; their means, and one over their deviations."""

    def rows(x: Any) -> tuple[Any, Any, Any]:
        mean = af.reduce_mean(x, -1, keepdims=True)
        rest = x - mean if centred else x
        inverse = af.rsqrt(af.reduce_mean(rest * rest, -1, keepdims=True) + number(epsilon, x))
        return rest * inverse, mean, inverse

    kind = dtype_of(x)
    normal, mean, inverse = rows(x if kind is af.float64 else af.cast(x, af.float32))
    normal = af.cast(normal, kind) * scale
    return normal if offset is None else normal + offset, mean, inverse


@onnx_op("SimplifiedLayerNormalization")
def simplified_layer_norm(node: OnnxNode, x: Any, scale: Any) -> Any:
    normal, _, inverse = _normal(x, scale, None, node.attr("epsilon", 1e-5), centred=False)
    return normal, inverse


@_op("LayerNormalization")
def layer_norm(node: OnnxNode, x: Any, scale: Any, offset: Any = None) -> Any:
    return _normal(x, scale, offset, node.attr("epsilon", 1e-5))


@_op("SkipLayerNormalization")
def skip_layer_norm(node: OnnxNode, x: Any, skip: Any, scale: Any, offset: Any = None, bias: Any = None) -> Any:
    whole = x + skip if bias is None else x + skip + bias
    return (*_normal(whole, scale, offset, node.attr("epsilon", 1e-12)), whole)


@_op("SkipSimplifiedLayerNormalization")
def skip_simplified_layer_norm(node: OnnxNode, x: Any, skip: Any, scale: Any, bias: Any = None) -> Any:
    whole = x + skip if bias is None else x + skip + bias
    return (*_normal(whole, scale, None, node.attr("epsilon", 1e-5), centred=False), whole)


@_op("EmbedLayerNormalization")
def embed_layer_norm(
    node: OnnxNode, ids: Any, segments: Any, words: Any, places: Any, kinds: Any, scale: Any, offset: Any, mask: Any = None,
    position_ids: Any = None,
) -> Any:  # fmt: skip
    """Sums of the vectors of words, places and segments, normalised; and how many words of each row count."""
    own = af.gather(places, af.range_(af.shape(ids)[1]) if position_ids is None else position_ids)
    whole = af.gather(words, ids) + own
    if segments is not None:
        whole = whole + af.gather(kinds, segments)
    normal, *_ = _normal(whole, scale, offset, node.attr("epsilon", 1e-12))
    count = af.zeros(af.shape(ids)[:1], af.int32) if mask is None else af.reduce_sum(af.cast(mask, af.int32), 1)
    return normal, count, whole


def _weighed(node: OnnxNode, query: Any, keys: Any, values: Any, mask: Any, added: Any) -> Any:
    """Sums of values, of `[batch, heads, places, size]`. A place that is barred has `mask_filter_value` in its score."""
    scores = af.matmul(query, keys, transpose_b=True) * af.cast(scale_of(node, size_of(query, 3)), dtype_of(query))
    least = number(node.attr("mask_filter_value", -10000.0), scores)
    queries, length = size_of(scores, 2), size_of(scores, 3)
    if mask is not None:
        if rank_of(mask) == 1:
            mask = af.cast(af.range_(af.shape(scores)[3]) < af.cast(af.expand_dims(mask, 1), af.int32), af.int32)
        wide = af.expand_dims(af.expand_dims(mask, 1), 1) if rank_of(mask) == 2 else af.expand_dims(mask, 1)
        scores = scores + (number(1, scores) - af.cast(wide, dtype_of(scores))) * least
    if added is not None:
        scores = scores + added
    if node.attr("unidirectional", 0):
        ahead = af.range_(whole(length)) - af.expand_dims(af.range_(whole(queries)), 1)
        scores = af.where_v2(ahead > whole(length) - whole(queries), least, scores)
    return af.matmul(af.nn.softmax(scores), values)


@_op("Attention")
def attention(
    node: OnnxNode,
    x: Any,
    weights: Any,
    bias: Any = None,
    mask: Any = None,
    past: Any = None,
    added: Any = None,
    *rest: Any,
) -> Any:
    """Queries, keys and values by one product, attention of each head, and keys and values for the next call."""
    if any(value is not None for value in rest) or node.attr("do_rotary", 0):
        raise UnimplementedError(f"{node} shares its buffers or turns its queries, which is not supported.")
    heads = node.required("num_heads")
    every = product(x, weights)
    every = every if bias is None else every + bias
    query, keys, values = (
        heads_apart(part, heads) for part in af.split(every, node.attr("qkv_hidden_sizes") or 3, axis=2)
    )
    if past is not None:
        keys, values = af.concat([past[0], keys], 2), af.concat([past[1], values], 2)
    return heads_together(_weighed(node, query, keys, values, mask, added)), af.stack([keys, values])


@_op("MultiHeadAttention")
def multi_head_attention(
    node: OnnxNode, query: Any, key: Any = None, value: Any = None, bias: Any = None, mask: Any = None, added: Any = None,
    past_key: Any = None, past_value: Any = None, *rest: Any,
) -> Any:  # fmt: skip
    if key is None or value is None or rank_of(query) != 3 or any(operand is not None for operand in rest):
        raise UnimplementedError(f"{node} has queries, keys and values in one tensor, which is not supported.")
    heads = node.required("num_heads")
    parts = [query, key, value]
    if bias is not None:
        sizes = known(vector([size_of(query, -1)] * 2), "The size of a query")
        cuts = af.split(bias, [sizes[0], sizes[1], -1], axis=0)
        parts = [part if rank_of(part) == 4 else part + cut for part, cut in zip(parts, cuts)]
    query, key, value = (part if rank_of(part) == 4 else heads_apart(part, heads) for part in parts)
    if past_key is not None:
        key, value = af.concat([past_key, key], 2), af.concat([past_value, value], 2)
    return heads_together(_weighed(node, query, key, value, mask, added)), key, value
