"""Attention, linear attention, rotary embeddings, causal convolutions with a state."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.builders.common import (
    computed,
    known,
    number,
    rank_of,
    shaped,
    size_of,
    sizes_of,
    vector,
    whole,
    widened,
)  # fmt: skip
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op
from actorflow.exchange.onnx.types import dtype_of as element_type
from actorflow.exchange.onnx.values import dtype_of


def heads_apart(x: Any, heads: int) -> Any:
    """[batch, places, heads · size] as [batch, heads, places, size]."""
    parts = shaped(x, [size_of(x, 0), size_of(x, 1), heads, size_of(x, 2) // heads])
    return af.transpose(parts, [0, 2, 1, 3])


def heads_together(x: Any) -> Any:
    """[batch, heads, places, size] as [batch, places, heads · size]."""
    return shaped(af.transpose(x, [0, 2, 1, 3]), [size_of(x, 0), size_of(x, 2), size_of(x, 1) * size_of(x, 3)])


def for_each_query_head(x: Any, heads: int) -> Any:
    """Each head of keys or values as often as queries share it."""
    own = size_of(x, 1)
    if own == heads:
        return x
    if isinstance(heads, int) and isinstance(own, int) and heads % own:
        raise InvalidArgumentError(f"{heads} heads of queries don't share {own} heads of keys evenly.")
    return af.gather(x, computed(lambda all_, own: af.range_(all_) // (all_ // own), whole(heads), whole(own)), axis=1)


def scale_of(node: OnnxNode, width: Any) -> Any:
    """The factor of scores, in float64: the inverse root of the size of a head unless the file says another factor."""
    scale = node.attr("scale")
    if scale:
        return np.asarray(scale, np.float64)
    return computed(lambda width: af.rsqrt(af.cast(width, af.float64)), whole(width))


_RAW, _CAPPED, _BIASED, _WEIGHTS = range(4)
"""The values of `qk_matmul_output_mode`: which of the scores the last output has."""


@onnx_op("Attention")
def attention(
    node: OnnxNode,
    query: Any,
    key: Any,
    value: Any,
    mask: Any = None,
    past_key: Any = None,
    past_value: Any = None,
    lengths: Any = None,
) -> Any:
    """Scores of queries and keys, a bias of minus infinity where a query may not look, weights, sums of values."""
    flat = rank_of(query) == 3
    if flat:
        query = heads_apart(query, node.required("q_num_heads"))
        key, value = (heads_apart(x, node.required("kv_num_heads")) for x in (key, value))
    kind = dtype_of(query)
    if past_key is not None:
        key, value = af.concat([past_key, key], 2), af.concat([past_value, value], 2)
    present = key, value
    heads = size_of(query, 1)
    keys, values = (for_each_query_head(x, heads) for x in present)

    factor = af.cast(computed(af.sqrt, scale_of(node, size_of(query, 3))), kind)
    scores = af.matmul(query * factor, keys * factor, transpose_b=True)
    stages = {_RAW: scores}
    cap = node.attr("softcap", 0.0)
    if cap:
        scores = af.tanh(scores / number(cap, scores)) * number(cap, scores)
    stages[_CAPPED] = scores
    bias = _bias(node, scores, mask, past_key, lengths)
    if bias is not None:
        scores = scores + bias
    stages[_BIASED] = scores
    code = node.attr("softmax_precision")
    precise = element_type(code) if code else kind
    weights = af.nn.softmax(af.cast(scores, precise))
    if bias is not None:  # a query that may look nowhere gets zeros
        nowhere = af.equal(af.reduce_max(bias, -1, keepdims=True), number(-np.inf, bias))
        weights = af.where_v2(nowhere, number(0, weights), weights)
    weights = stages[_WEIGHTS] = af.cast(weights, kind)
    output = af.matmul(weights, values)
    output = heads_together(output) if flat else output
    return (output, *present, stages[node.attr("qk_matmul_output_mode", 0)])[: max(1, len(node.outputs))]


@onnx_op("FlexAttention", domain="ai.onnx.preview")
def flex_attention(node: OnnxNode, query: Any, key: Any, value: Any) -> Any:
    """Attention whose scores and weights go through graphs that the node brings with it."""
    kind, heads = dtype_of(query), size_of(query, 1)
    code = node.attr("softmax_precision")
    precise = element_type(code) if code else kind if kind is af.float64 else af.float32
    query, keys, values = (af.cast(x, precise) for x in (query, key, value))
    scale = af.cast(scale_of(node, size_of(query, 3)), precise)
    scores = af.matmul(query, for_each_query_head(keys, heads), transpose_b=True) * scale
    if "score_mod" in node.attrs:
        (scores,) = node.scope.subgraph(node.attrs["score_mod"], [scores])
    weights = af.nn.softmax(scores)
    if "prob_mod" in node.attrs:
        (weights,) = node.scope.subgraph(node.attrs["prob_mod"], [weights])
    return af.cast(af.matmul(weights, for_each_query_head(values, heads)), kind)


def _bias(node: OnnxNode, scores: Any, mask: Any, past_key: Any, lengths: Any) -> Any:
    """The bias of the scores: the mask, and minus infinity where a query may not look. None where all may."""
    queries, keys = size_of(scores, 2), size_of(scores, 3)
    causal = bool(node.attr("is_causal", 0))
    left, right = node.attr("left_window_size", -1), node.attr("right_window_size", -1)
    bias, allowed = None, None
    if mask is not None:
        mask = _as_wide(mask, keys)
        if dtype_of(mask).is_bool:
            allowed = mask
        else:
            bias = mask
    if causal or left >= 0 or right >= 0:
        at = af.range_(af.cast(queries, af.int64))[:, None]
        if past_key is not None:
            at = at + af.cast(size_of(past_key, 2), af.int64)
        elif lengths is not None:
            at = at + af.reshape(lengths - af.cast(queries, af.int64), [-1, 1, 1, 1])
        distance = at - af.range_(af.cast(keys, af.int64))
        for rule in (
            [distance >= 0] * causal
            + [distance <= np.int64(left)] * (left >= 0)
            + [distance >= np.int64(-right)] * (right >= 0)
        ):
            allowed = rule if allowed is None else af.logical_and(allowed, rule)
    if lengths is not None:
        inside = af.range_(af.cast(keys, af.int64)) < af.reshape(lengths, [-1, 1, 1, 1])
        allowed = inside if allowed is None else af.logical_and(allowed, inside)
    if allowed is not None:
        barred = af.where_v2(allowed, number(0, scores), number(-np.inf, scores))
        bias = barred if bias is None else bias + barred
    return bias


def _as_wide(mask: Any, keys: Any) -> Any:
    """A mask that is too short bars the keys behind its end."""
    width = size_of(mask, -1)
    if width == keys:
        return mask
    missing = af.cast(keys, af.int32) - af.cast(width, af.int32)
    pads = af.concat([np.zeros([rank_of(mask) - 1, 2], np.int32), af.reshape(af.stack([0, missing]), [1, 2])], 0)
    if dtype_of(mask).is_bool:
        return af.cast(af.pad(af.cast(mask, af.uint8), pads), af.bool)
    return af.pad(mask, pads, constant_values=number(-np.inf, mask))


@onnx_op("RotaryEmbedding")
def rotary_embedding(node: OnnxNode, x: Any, cosine: Any, sine: Any, places: Any = None) -> Any:
    """Pairs of elements of each head are turned by the angle of their place."""
    flat = rank_of(x) == 3
    heads = shaped(x, [size_of(x, 0), size_of(x, 1), node.required("num_heads"), -1]) if flat else None
    x = heads if flat else af.transpose(x, [0, 2, 1, 3])
    width = size_of(x, 3)
    turned = node.attr("rotary_embedding_dim", 0) or width
    if places is not None:
        cosine, sine = af.gather(cosine, places), af.gather(sine, places)
    cosine, sine = af.expand_dims(cosine, 2), af.expand_dims(sine, 2)
    inside, rest = x[..., :turned], x[..., turned:]
    if node.attr("interleaved", 0):
        left, two = inside[..., 0::2], inside[..., 1::2]
    else:
        left, two = inside[..., : turned // 2], inside[..., turned // 2 :]
    real, imaginary = cosine * left - sine * two, sine * left + cosine * two
    if node.attr("interleaved", 0):
        rotated = af.reshape(af.stack([real, imaginary], -1), sizes_of(inside))
    else:
        rotated = af.concat([real, imaginary], -1)
    rotated = rotated if turned == width else af.concat([rotated, rest], -1)
    return (
        shaped(rotated, [size_of(rotated, 0), size_of(rotated, 1), -1]) if flat else af.transpose(rotated, [0, 2, 1, 3])
    )


@onnx_op("LinearAttention")
def linear_attention(
    node: OnnxNode, query: Any, key: Any, value: Any, past: Any = None, decay: Any = None, beta: Any = None
) -> Any:
    """A state of products of keys and values, which each place decays, corrects and adds to, and reads with its query."""
    rule = node.attr("update_rule", "gated_delta")
    heads, own = node.required("q_num_heads"), node.required("kv_num_heads")
    if rule not in ("linear", "gated", "delta", "gated_delta"):
        raise InvalidArgumentError(f"update_rule of {node} is {rule!r}.")
    kind, state_kind = dtype_of(query), dtype_of(query if past is None else past)
    batch, length = size_of(query, 0), size_of(query, 1)

    def parts(x: Any, count: int) -> Any:  # [places, batch, heads, size] in float32
        return af.cast(af.transpose(heads_apart(x, count), [2, 0, 1, 3]), af.float32)

    q, k, v = parts(query, heads), parts(key, own), parts(value, own)
    width, depth = size_of(k, 3), size_of(v, 3)
    state = af.zeros(vector([batch, own, width, depth]), af.float32) if past is None else af.cast(past, af.float32)
    scale = af.cast(scale_of(node, width), af.float32)
    gate = None if decay is None or "gated" not in rule else af.exp(parts(decay, own))
    share = None if beta is None or "delta" not in rule else parts(beta, size_of(beta, 2))
    if ("gated" in rule and gate is None) or ("delta" in rule and share is None):
        raise InvalidArgumentError(f"{node} with update_rule={rule!r} lacks its decay or beta.")

    def step(at: Any, state: Any, rows: Any) -> Any:
        if gate is not None:
            state = state * af.expand_dims(gate[at], -1)
        key, value = k[at], v[at]
        if share is not None:
            recalled = af.squeeze(af.matmul(af.expand_dims(key, 2), state), [2])
            value = share[at] * (value - recalled)
        state = state + af.expand_dims(key, 3) * af.expand_dims(value, 2)
        read = af.matmul(af.expand_dims(q[at], 2), for_each_query_head(state, heads))
        return at + 1, state, rows.write(at, af.squeeze(read, [2]) * scale)

    count = af.cast(length, af.int32)
    rows = af.TensorArray(af.float32, size=count)
    _, state, rows = af.while_loop(lambda at, *_: at < count, step, [np.int32(0), state, rows])
    output = af.transpose(rows.stack(), [1, 0, 2, 3])
    return af.cast(shaped(output, [batch, length, heads * depth]), kind), af.cast(state, state_kind)


@onnx_op("CausalConvWithState")
def causal_conv(node: OnnxNode, x: Any, weights: Any, bias: Any = None, past: Any = None) -> Any:
    """Each channel has a filter of its own over the places before; the last places are the state of the next call."""
    (reach,) = known(vector([size_of(weights, 2)]), "The size of a filter")
    before = af.zeros(vector([size_of(x, 0), size_of(x, 1), reach - 1]), dtype_of(x)) if past is None else past
    whole = af.concat([before, x], 2)
    length = size_of(x, 2)

    def convolved(whole: Any, weights: Any, *bias: Any) -> Any:
        sums = sum(whole[:, :, at : at + length] * weights[:, 0, at : at + 1] for at in range(reach))
        sums = sums + af.reshape(bias[0], [-1, 1]) if bias else sums
        return sums * af.sigmoid(sums) if node.attr("activation", "none") in ("silu", "swish") else sums

    output = widened(convolved, whole, weights, *([] if bias is None else [bias]))
    return output, whole[:, :, size_of(whole, 2) - (reach - 1) :]
