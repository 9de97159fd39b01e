"""The graphs that are compared. `lib` is `actorflow` or `tensorflow.compat.v1`: the same calls build either."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.definitions import Build, Work

SEED = 7
BATCHES = 8


def one_add(lib: Any) -> Work:
    """The sum of two fed float32 scalars: nothing but the way into a step and out again."""
    import numpy as np

    graph = lib.Graph()
    with graph.as_default():
        x, y = lib.placeholder(lib.float32, []), lib.placeholder(lib.float32, [])
        return Work(graph, x + y, (x, y), [(np.float32(i), np.float32(4.5)) for i in range(BATCHES)])


def a_fed_value(lib: Any) -> Work:
    """A fed scalar, fetched: a step without nodes."""
    import numpy as np

    graph = lib.Graph()
    with graph.as_default():
        x = lib.placeholder(lib.float32, [])
        return Work(graph, x, (x,), [(np.float32(i),) for i in range(BATCHES)])


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


def lenet(batch: int, rate: float = 0.01) -> Build:
    """One step of gradient descent of a convolutional classifier of 28 × 28 images.

    5×5×32, pool, 5×5×64, pool, 512 units, 10 classes. The graph knows the size of a batch.
    """

    def build(lib: Any) -> Work:
        import numpy as np

        rng = np.random.default_rng(SEED)

        def weights(*shape: int) -> Any:
            deviation = (2 / np.prod(shape[:-1])) ** 0.5
            return lib.Variable(rng.normal(0, deviation, shape).astype(np.float32))

        def bias(units: int) -> Any:
            return lib.Variable(np.full(units, 0.1, np.float32))

        def stage(images: Any, kernel: Any, offset: Any) -> Any:
            convolved = lib.nn.conv2d(images, kernel, strides=[1, 1, 1, 1], padding="SAME")
            active = lib.nn.relu(lib.nn.bias_add(convolved, offset))
            return lib.nn.max_pool(active, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")

        batches = [
            (rng.normal(size=(batch, 28, 28, 1)).astype(np.float32), rng.integers(0, 10, size=batch).astype(np.int32))
            for _ in range(BATCHES)
        ]
        graph = lib.Graph()
        with graph.as_default():
            x, labels = lib.placeholder(lib.float32, [batch, 28, 28, 1]), lib.placeholder(lib.int32, [batch])
            value = stage(stage(x, weights(5, 5, 1, 32), bias(32)), weights(5, 5, 32, 64), bias(64))
            flat = lib.reshape(value, [batch, 7 * 7 * 64])
            hidden = lib.nn.relu(lib.matmul(flat, weights(7 * 7 * 64, 512)) + bias(512))
            logits = lib.matmul(hidden, weights(512, 10)) + bias(10)
            losses = lib.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = lib.reduce_mean(losses)
            train = lib.train.GradientDescentOptimizer(rate).minimize(loss)
            return Work(graph, [loss, train], (x, labels), batches, lib.global_variables_initializer())

    return build


def cheap_elementwise(size: int) -> Build:
    """Ten cheap elementwise ops, one after the other, on a vector: fed, so that none can be computed beforehand."""

    def build(lib: Any) -> Work:
        import numpy as np

        rng = np.random.default_rng(SEED)
        graph = lib.Graph()
        with graph.as_default():
            x, y = lib.placeholder(lib.float32, [size]), lib.placeholder(lib.float32, [size])
            value = x * y + x
            value = lib.maximum(value - y, 0.5 * x)
            value = lib.square(value) - x * value
            value = lib.minimum(value + y, 4.0)
            batches = [tuple(rng.normal(size=(2, size)).astype(np.float32)) for _ in range(BATCHES)]
            return Work(graph, value, (x, y), batches)

    return build


def adam(size: int) -> Build:
    """One update of a vector by Adam with a fed gradient: all that there is to do is to stream four vectors."""

    def build(lib: Any) -> Work:
        import numpy as np

        rng = np.random.default_rng(SEED)
        graph = lib.Graph()
        with graph.as_default():
            gradient = lib.placeholder(lib.float32, [size])
            weights = lib.Variable(np.zeros(size, np.float32))
            train = lib.train.AdamOptimizer(0.001).apply_gradients([(gradient, weights)])
            batches = [(rng.normal(size=size).astype(np.float32),) for _ in range(BATCHES)]
            with graph.control_dependencies([train]):
                answer = lib.identity(weights.read_value())
            return Work(graph, train, (gradient,), batches, lib.global_variables_initializer(), answer)

    return build


class Lstm:
    """A training step of one LSTM layer, in a loop or unrolled: the same variables, the same arithmetic, the same loss.

    The cell is written by hand, its four gates in one product; it learns to repeat its input, and the loss is the mean
    square of what it gets wrong. `inputs` is at least `units`.
    """

    def __init__(self, units: int = 64, batch: int = 32, steps: int = 50, inputs: int = 64) -> None:
        self.units, self.batch, self.steps, self.inputs = units, batch, steps, inputs

    def loop(self, lib: Any) -> Work:
        """Through `while_loop`, with the inputs read from a TensorArray, and all states written to another."""
        return self._work(lib, self._looped)

    def unrolled(self, lib: Any) -> Work:
        return self._work(lib, self._spelled_out)

    def _looped(self, lib: Any, x: Any, cell: Any, zeros: Any) -> Any:
        read = lib.TensorArray(lib.float32, size=self.steps).unstack(x)
        written = lib.TensorArray(lib.float32, size=self.steps)

        def body(i: Any, state: Any, output: Any, array: Any) -> Any:
            state, output = cell(read.read(i), state, output)
            return i + 1, state, output, array.write(i, output)

        end = lib.while_loop(
            lambda i, state, output, array: i < self.steps, body, (lib.constant(0), zeros, zeros, written)
        )
        return end[3].stack()

    def _spelled_out(self, lib: Any, x: Any, cell: Any, zeros: Any) -> Any:
        state = output = zeros
        outputs = []
        for value in lib.unstack(x):
            state, output = cell(value, state, output)
            outputs.append(output)
        return lib.stack(outputs)

    def _work(self, lib: Any, run: Any) -> Work:
        import numpy as np

        rng = np.random.default_rng(SEED)
        units, width = self.units, self.inputs + self.units
        shape = (self.steps, self.batch, self.inputs)
        graph = lib.Graph()
        with graph.as_default():
            x = lib.placeholder(lib.float32, shape)
            kernel = lib.Variable(rng.normal(0, width**-0.5, (width, 4 * units)).astype(np.float32))
            offset = lib.Variable(np.zeros(4 * units, np.float32))

            def cell(value: Any, state: Any, output: Any) -> tuple[Any, Any]:
                gates = lib.nn.bias_add(lib.matmul(lib.concat([value, output], 1), kernel), offset)
                inner, candidate, forget, outer = lib.split(gates, 4, 1)
                state = state * lib.sigmoid(forget + 1.0) + lib.sigmoid(inner) * lib.tanh(candidate)
                return state, lib.tanh(state) * lib.sigmoid(outer)

            outputs = run(lib, x, cell, lib.zeros([self.batch, units]))
            loss = lib.reduce_mean(lib.square(outputs - x[:, :, :units]))
            train = lib.train.GradientDescentOptimizer(0.1).minimize(loss)
            batches = [(rng.normal(size=shape).astype(np.float32),) for _ in range(BATCHES)]
            return Work(graph, [loss, train], (x,), batches, lib.global_variables_initializer())


def counting_loop(lib: Any) -> Work:
    """`while i < n: i += 1` with a fed n."""
    import numpy as np

    graph = lib.Graph()
    with graph.as_default():
        n = lib.placeholder(lib.int32, [])
        end = lib.while_loop(lambda i: i < n, lambda i: i + 1, [lib.constant(0)])
        return Work(graph, end, (n,), [(np.int32(1000),)])
