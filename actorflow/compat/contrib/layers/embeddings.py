"""Embeddings and encodings of ids, as functions that make their variables."""

from __future__ import annotations

from typing import Any

import actorflow.compat.v1 as tf
from actorflow.compat.contrib.framework.arguments import add_arg_scope
from actorflow.compat.contrib.framework.variables import model_variable
from actorflow.compat.contrib.layers.outputs import collect_named_outputs


def embed_sequence(
    ids: Any,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Any:
    """The vectors of sequences of ids: [batch, length, `embed_dim`].

    Args:
        ids: [batch, length] of integers.
        vocab_size, embed_dim: the shape of the variable `embeddings`.
        unique: whether to look up each id once.
        initializer, regularizer, trainable: of the variable.
        scope, reuse: see `tf.variable_scope`.

    Raises:
        ValueError: the sizes are not given for a new variable.
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            f"Must specify vocab size and embedding dimension when not reusing. Got {vocab_size=} and {embed_dim=}"
        )
    with tf.variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shape = [vocab_size, embed_dim] if vocab_size and embed_dim else None
        embeddings = model_variable(
            "embeddings", shape=shape, initializer=initializer, regularizer=regularizer, trainable=trainable
        )
        if unique:
            return embedding_lookup_unique(embeddings, ids)
        return tf.nn.embedding_lookup(embeddings, ids)


@add_arg_scope
def one_hot_encoding(
    labels: Any,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """A vector for each label, with `on_value` at its place."""
    with tf.name_scope(scope, "OneHotEncoding", [labels, num_classes]) as name:
        labels = tf.convert_to_tensor(labels)
        labels = tf.cast(labels, tf.int64) if labels.dtype == tf.int32 else labels
        outputs = tf.one_hot(labels, num_classes, on_value=on_value, off_value=off_value)
        return collect_named_outputs(outputs_collections, name, outputs)


def bow_encoder(
    ids: Any,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Any:
    """The mean of the vectors of each row's ids: [batch, `embed_dim`]."""
    with tf.variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        embeddings = model_variable(
            "embeddings",
            shape=[vocab_size, embed_dim],
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if isinstance(ids, tf.SparseTensor):
            return tf.nn.embedding_lookup_sparse(embeddings, ids, sp_weights=None, combiner="mean")
        return tf.reduce_mean(tf.nn.embedding_lookup(embeddings, ids), 1)


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = None,
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
) -> Any:
    """Vectors of sparse ids, joined for each row; zeros for a row without ids: see `tf.nn.safe_embedding_lookup_sparse`."""
    return tf.nn.safe_embedding_lookup_sparse(
        embedding_weights,
        sparse_ids,
        sparse_weights,
        combiner or "mean",
        default_id,
        name,
        partition_strategy,
        max_norm,
    )


def embedding_lookup_unique(params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None) -> Any:
    """Vectors of ids, each id looked up once."""
    with tf.name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = tf.convert_to_tensor(ids)
        unique, positions = tf.unique(tf.reshape(ids, [-1]))
        vectors = tf.gather(tf.nn.embedding_lookup(params, unique, partition_strategy), positions)
        whole = tf.reshape(vectors, tf.concat([tf.shape(ids), tf.shape(vectors)[1:]], 0))
        whole.set_shape(ids.shape.concatenate(vectors.shape[1:]))
        return whole
