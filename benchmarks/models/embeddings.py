"""Tables of which a step reads and updates few rows: word2vec, matrix factorisation, wide and deep, text CNN."""

from __future__ import annotations

from benchmarks.harness.definitions import Case
from benchmarks.models.blocks import BATCHES, Model, Parts, model


def word2vec(m: Model, loss: str, batch: int = 128, words: int = 20_000, width: int = 64, sampled: int = 64) -> Parts:
    """Skip-gram. The sampled words are fed, as are their expected counts, so that both sides get the same."""
    lib = m.lib
    centers, context = lib.placeholder(lib.int32, [batch]), lib.placeholder(lib.int64, [batch, 1])
    wrong = lib.placeholder(lib.int64, [sampled])
    table, out, bias = m.weights(words, width, scale=0.1), m.weights(words, width, scale=0.1), m.full(0.0, words)
    expected = (lib.fill([batch, 1], 0.01), lib.fill([sampled], 0.01))
    losses = getattr(lib.nn, loss)(
        weights=out,
        biases=bias,
        labels=context,
        inputs=lib.nn.embedding_lookup(table, centers),
        num_sampled=sampled,
        num_classes=words,
        sampled_values=(wrong, *expected),
    )
    result = lib.reduce_mean(losses)
    columns = (
        m.ints(words, batch),
        [one.astype(m.np.int64) for one in m.ints(words, batch, 1)],
        [m.data.choice(words, sampled, replace=False).astype(m.np.int64) for _ in range(BATCHES)],
    )
    return (centers, context, wrong), columns, result, m.descent(result, 0.1)


def factorisation(m: Model, optimizer: str, batch: int = 256, rows: int = 10_000, width: int = 32) -> Parts:
    """Ratings as products of a row of each table."""
    lib = m.lib
    users, items = lib.placeholder(lib.int32, [batch]), lib.placeholder(lib.int32, [batch])
    ratings = lib.placeholder(lib.float32, [batch])
    left = lib.nn.embedding_lookup(m.weights(rows, width, scale=0.1), users)
    right = lib.nn.embedding_lookup(m.weights(rows, width, scale=0.1), items)
    loss = lib.reduce_mean(lib.square(lib.reduce_sum(left * right, 1) - ratings))
    train = lib.train.AdamOptimizer(0.001).minimize(loss) if optimizer == "adam" else m.descent(loss, 0.1)
    return (users, items, ratings), (m.ints(rows, batch), m.ints(rows, batch), m.floats(batch)), loss, train


def wide_and_deep(m: Model, batch: int, fields: int = 8, values: int = 1000, width: int = 8) -> Parts:
    """A weight for each value of a field, beside an MLP of their embeddings."""
    lib = m.lib
    ids = lib.placeholder(lib.int32, [batch, fields])
    wide = lib.reduce_sum(lib.nn.embedding_lookup(m.full(0.0, values, 1), ids), 1)
    value = lib.reshape(lib.nn.embedding_lookup(m.weights(values, width, scale=0.1), ids), [batch, fields * width])
    for inputs, units in ((fields * width, 64), (64, 32)):
        value = m.dense(value, inputs, units, lib.nn.relu)
    logits = lib.squeeze(m.dense(value, 32, 1) + wide, [1])
    if not m.training:
        return (ids,), (m.ints(values, batch, fields),), lib.sigmoid(logits), None
    labels = lib.placeholder(lib.float32, [batch])
    loss = lib.reduce_mean(lib.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
    train = lib.train.AdagradOptimizer(0.05).minimize(loss)
    return (
        (ids, labels),
        (m.ints(values, batch, fields), [one.astype(m.np.float32) for one in m.ints(2, batch)]),
        loss,
        train,
    )


def text_cnn(m: Model, batch: int, steps: int = 50, words: int = 2000, width: int = 32) -> Parts:
    """Convolutions over 3, 4 and 5 words, the maximum of each over the text."""
    lib = m.lib
    tokens = lib.placeholder(lib.int32, [batch, steps])
    x = lib.expand_dims(lib.nn.embedding_lookup(m.weights(words, width, scale=0.1), tokens), -1)
    pooled = []
    for size in (3, 4, 5):
        convolved = lib.nn.conv2d(x, m.weights(size, width, 1, 32), strides=[1, 1, 1, 1], padding="VALID")
        pooled.append(lib.reduce_max(lib.nn.relu(lib.nn.bias_add(convolved, m.full(0.1, 32))), [1, 2]))
    logits = m.dense(lib.concat(pooled, 1), 96, 5)
    if not m.training:
        return (tokens,), (m.ints(words, batch, steps),), lib.nn.softmax(logits), None
    labels = lib.placeholder(lib.int32, [batch])
    loss = m.classified(logits, labels)
    return (tokens, labels), (m.ints(words, batch, steps), m.ints(5, batch)), loss, m.descent(loss)


TRAINING = (
    Case("word2vec_nce", "word2vec, nce, batch 128", model(word2vec, loss="nce_loss")),
    Case("word2vec_softmax", "word2vec, sampled softmax, batch 128", model(word2vec, loss="sampled_softmax_loss")),
    Case("factorisation", "matrix factorisation by SGD, batch 256", model(factorisation, optimizer="descent")),
    Case("factorisation_adam", "the same by Adam", model(factorisation, optimizer="adam")),
    Case("wide_and_deep", "wide and deep by Adagrad, batch 128", model(wide_and_deep, batch=128)),
    Case("text_cnn", "text CNN, batch 16", model(text_cnn, batch=16)),
)
INFERENCE = (
    Case("wide_and_deep_inference", "wide and deep, batch 1", model(wide_and_deep, training=False, batch=1)),
    Case("text_cnn_inference", "text CNN, batch 1", model(text_cnn, training=False, batch=1)),
)
