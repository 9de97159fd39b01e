"""Attention."""

from __future__ import annotations

import math
from typing import Any

import actorflow as af
from keras_actorflow.src.core import convert_to_tensor
from keras_actorflow.src.numpy.creation import tri
from keras_actorflow.src.numpy.promotion import common, kind
from keras_actorflow.src.sizes import size_of


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    scale: float | None = None,
    is_causal: bool = False,
    flash_attention: bool | None = None,
    attn_logits_soft_cap: float | None = None,
) -> Any:
    """Values weighted by how well their keys fit a query: batch, length, heads, width."""
    if flash_attention:
        raise ValueError("Flash attention is not supported in actorflow backend.")
    query, key, value = common(query, key, value)
    if len(query.shape) != 4:
        raise ValueError(
            "`dot_product_attention` only supports 4D inputs. "
            f"Received: query.shape={tuple(query.shape)}, key.shape={tuple(key.shape)}, value.shape={tuple(value.shape)}."
        )
    name = kind(query)
    scale = 1 / math.sqrt(int(query.shape[-1])) if scale is None else scale
    heads, groups = int(query.shape[2]), int(key.shape[2])
    if heads != groups:  # some heads share their keys
        key, value = af.repeat(key, heads // groups, 2), af.repeat(value, heads // groups, 2)
    wide = "float32" if name in ("float16", "bfloat16") else name
    q, k, v = (af.transpose(x, [0, 2, 1, 3]) for x in (query, key, value))
    logits = af.cast(af.matmul(q, k, transpose_b=True), wide) * scale
    if attn_logits_soft_cap is not None:
        logits = attn_logits_soft_cap * af.tanh(logits / attn_logits_soft_cap)
    if bias is not None:
        logits = logits + convert_to_tensor(bias, wide)
    allowed = None if mask is None else convert_to_tensor(mask, "bool")
    if is_causal:
        lower = tri(size_of(q, 2), size_of(k, 2), dtype="bool")
        allowed = lower if allowed is None else af.logical_and(allowed, lower)
    if allowed is not None:
        logits = af.where_v2(allowed, logits, convert_to_tensor(-0.7 * 3.4028235e38, wide))
    weights = af.cast(af.nn.softmax(logits), name)
    return af.transpose(af.matmul(weights, v), [0, 2, 1, 3])
