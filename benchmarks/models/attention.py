"""Transformers: an encoder that classifies, and a small GPT that predicts the next token."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.definitions import Case
from benchmarks.models.blocks import Model, Parts, model


def block(m: Model, x: Any, batch: int, steps: int, width: int, heads: int, causal: bool) -> Any:
    """Attention and a layer of four times the width, each with a normalization before it and a sum behind it."""
    lib = m.lib
    size = width // heads

    def divided(value: Any) -> Any:
        return lib.transpose(lib.reshape(value, [batch, steps, heads, size]), [0, 2, 1, 3])

    def rows(value: Any) -> Any:
        return lib.reshape(value, [batch * steps, width])

    normal = rows(m.layer_norm(x, width))
    query, key, value = (divided(m.dense(normal, width, width)) for _ in range(3))
    scores = lib.matmul(query, key, transpose_b=True) * size**-0.5
    if causal:
        scores = scores + lib.constant(m.np.triu(m.np.full((steps, steps), -1e9, m.np.float32), 1))
    seen = lib.transpose(lib.matmul(lib.nn.softmax(scores), value), [0, 2, 1, 3])
    x = x + lib.reshape(m.dense(rows(seen), width, width), [batch, steps, width])
    inner = m.dense(rows(m.layer_norm(x, width)), width, 4 * width, lib.nn.relu)
    return x + lib.reshape(m.dense(inner, 4 * width, width), [batch, steps, width])


def transformer(
    m: Model,
    batch: int,
    steps: int,
    width: int = 64,
    heads: int = 4,
    layers: int = 2,
    words: int = 256,
    causal: bool = False,
) -> Parts:
    """Tokens to a class each: their own next one (`causal`), or a label of the whole text."""
    lib = m.lib
    tokens = lib.placeholder(lib.int32, [batch, steps])
    x = lib.gather(m.weights(words, width, scale=0.1), tokens) + m.weights(steps, width, scale=0.1)
    for _ in range(layers):
        x = block(m, x, batch, steps, width, heads, causal)
    x = m.layer_norm(x, width)
    if causal:
        logits = m.dense(lib.reshape(x, [batch * steps, width]), width, words)
        count = batch * steps
    else:
        logits = m.dense(lib.reduce_mean(x, 1), width, words)
        count = batch
    if not m.training:
        return (tokens,), (m.ints(words, batch, steps),), lib.nn.softmax(logits), None
    labels = lib.placeholder(lib.int32, [count])
    loss = m.classified(logits, labels)
    return (tokens, labels), (m.ints(words, batch, steps), m.ints(words, count)), loss, m.descent(loss)


TRAINING = (
    Case("transformer", "transformer encoder of 2 layers, batch 8", model(transformer, batch=8, steps=32)),
    Case("gpt", "GPT of 2 layers, batch 4", model(transformer, batch=4, steps=32, causal=True)),
)
INFERENCE = (
    Case(
        "transformer_inference", "transformer encoder, batch 1", model(transformer, training=False, batch=1, steps=32)
    ),
    Case("gpt_inference", "GPT, batch 1", model(transformer, training=False, batch=1, steps=32, causal=True)),
)
