"""Strings and sparse tensors: from text to features, and a linear model of them."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.definitions import Case
from benchmarks.models.blocks import BATCHES, Model, Parts, model

_WORDS = [f"word{i}" for i in range(500)]


def _lines(m: Model, batch: int, words: int) -> list[Any]:
    return [
        m.np.array([" ".join(m.data.choice(_WORDS, words)).encode() for _ in range(batch)], object)
        for _ in range(BATCHES)
    ]


def text_features(m: Model, batch: int = 64, words: int = 20, buckets: int = 4096) -> Parts:
    """Lines to words, words to buckets, buckets to the sums of their weights."""
    lib = m.lib
    lines = lib.placeholder(lib.string, [batch])
    tokens = lib.string_split(lines)
    buckets_of = lib.string_to_hash_bucket_fast(tokens.values, buckets)
    ids = lib.SparseTensor(tokens.indices, buckets_of, tokens.dense_shape)
    summed = lib.nn.embedding_lookup_sparse(m.weights(buckets, 16, scale=0.1), ids, None, combiner="sum")
    return (lines,), (_lines(m, batch, words),), summed, None


def sparse_linear(m: Model, batch: int = 64, words: int = 20, buckets: int = 4096) -> Parts:
    """Logistic regression over hashed words of lines, by FTRL."""
    lib = m.lib
    lines, labels = lib.placeholder(lib.string, [batch]), lib.placeholder(lib.float32, [batch])
    tokens = lib.string_split(lines)
    ids = lib.SparseTensor(tokens.indices, lib.string_to_hash_bucket_fast(tokens.values, buckets), tokens.dense_shape)
    logits = lib.squeeze(lib.nn.embedding_lookup_sparse(m.full(0.0, buckets, 1), ids, None, combiner="sum"), [1])
    loss = lib.reduce_mean(lib.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
    train = lib.train.FtrlOptimizer(0.1).minimize(loss)
    return (
        (lines, labels),
        (_lines(m, batch, words), [one.astype(m.np.float32) for one in m.ints(2, batch)]),
        loss,
        train,
    )


TRAINING = (Case("sparse_linear", "linear model of hashed words by FTRL, batch 64", model(sparse_linear)),)
INFERENCE = (Case("text_features", "lines to sums of embeddings, batch 64", model(text_features)),)
