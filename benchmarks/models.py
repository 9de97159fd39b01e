"""The graphs that are compared. `lib` is `actorflow` or `tensorflow.compat.v1`: the same calls build either."""

from __future__ import annotations

from typing import Any

from benchmarks.definitions import Build, Work

SEED = 7
BATCHES = 8


def one_add(lib: Any) -> Work:
    """The sum of two fed float32 scalars: nothing but the way into a step and out again."""
    import numpy as np

    graph = lib.Graph()
    with graph.as_default():
        x, y = lib.placeholder(lib.float32, []), lib.placeholder(lib.float32, [])
        return Work(graph, x + y, (x, y), [(np.float32(i), np.float32(4.5)) for i in range(BATCHES)])


def chain_of_constants(length: int) -> Build:
    """x + 1 + 1 + ..., which an optimizer of graphs may fold into one addition."""

    def build(lib: Any) -> Work:
        import numpy as np

        graph = lib.Graph()
        with graph.as_default():
            x = value = lib.placeholder(lib.float32, [])
            for _ in range(length):
                value = value + 1.0
            return Work(graph, value, (x,), [(np.float32(i),) for i in range(BATCHES)])

    return build


def chain_of_adds(length: int) -> Build:
    """x + y + y + ... for a fed y: no addition can be computed before the one in front of it, and none be folded."""

    def build(lib: Any) -> Work:
        import numpy as np

        graph = lib.Graph()
        with graph.as_default():
            x, y = lib.placeholder(lib.float32, []), lib.placeholder(lib.float32, [])
            value = x
            for _ in range(length):
                value = value + y
            return Work(graph, value, (x, y), [(np.float32(i), np.float32(1.0)) for i in range(BATCHES)])

    return build


def wide_exponentials(width: int) -> Build:
    """The sum of exp(x * c) for `width` different constants c, so that no two branches can be merged."""

    def build(lib: Any) -> Work:
        import numpy as np

        graph = lib.Graph()
        with graph.as_default():
            x = lib.placeholder(lib.float32, [])
            branches = [lib.exp(x * float(np.float32(1 + i / (2 * width)))) for i in range(width)]
            return Work(graph, lib.add_n(branches), (x,), [(np.float32(i / BATCHES),) for i in range(BATCHES)])

    return build


def mlp(inputs: int, hidden: int, classes: int, batch: int, *, static: bool = True, rate: float = 0.01) -> Build:
    """One step of gradient descent for inputs-hidden-classes with relu and softmax cross entropy.

    Fetches the loss and the training op; batches are synthetic and fed. `static` says whether the graph knows the
    size of a batch.
    """

    def build(lib: Any) -> Work:
        import numpy as np

        rng = np.random.default_rng(SEED)
        first = rng.normal(0, (2 / inputs) ** 0.5, (inputs, hidden)).astype(np.float32)
        second = rng.normal(0, (2 / hidden) ** 0.5, (hidden, classes)).astype(np.float32)
        batches = [
            (
                rng.normal(size=(batch, inputs)).astype(np.float32),
                rng.integers(0, classes, size=batch).astype(np.int32),
            )
            for _ in range(BATCHES)
        ]
        rows = batch if static else None
        graph = lib.Graph()
        with graph.as_default():
            x, labels = lib.placeholder(lib.float32, [rows, inputs]), lib.placeholder(lib.int32, [rows])
            w1, b1 = lib.Variable(first), lib.Variable(np.zeros(hidden, np.float32))
            w2, b2 = lib.Variable(second), lib.Variable(np.zeros(classes, np.float32))
            logits = lib.matmul(lib.nn.relu(lib.matmul(x, w1) + b1), w2) + b2
            losses = lib.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = lib.reduce_mean(losses)
            train = lib.train.GradientDescentOptimizer(rate).minimize(loss)
            return Work(graph, [loss, train], (x, labels), batches, lib.global_variables_initializer())

    return build


def digits(lib: Any) -> Work:
    """A small classifier of 8 × 8 images: 64-64-10, batch 32. Its kernels are so short that the runtime decides."""
    return mlp(64, 64, 10, 32)(lib)


def layers(nodes: int) -> Build:
    """A graph of about `nodes` nodes that no pass makes smaller: rounds of add, multiply, subtract, tanh."""

    def build(lib: Any) -> Work:
        import numpy as np

        graph = lib.Graph()
        with graph.as_default():
            x, y = lib.placeholder(lib.float32, []), lib.placeholder(lib.float32, [])
            value = x
            for _ in range(nodes // 4):
                value = lib.tanh((value + y) - (value * y))
            return Work(graph, value, (x, y), [(np.float32(0.5), np.float32(0.25))])

    return build
