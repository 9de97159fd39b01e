"""Recurrent networks: in a loop, with lengths, unrolled, and two of them with attention between."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.definitions import Case
from benchmarks.models.blocks import Model, Parts, model


class Lstm:
    """A cell whose four gates come from one product, written by hand, so that both sides compute the same."""

    def __init__(self, m: Model, inputs: int, units: int) -> None:
        self.m, self.units = m, units
        self.kernel = m.weights(inputs + units, 4 * units, scale=(inputs + units) ** -0.5)
        self.offset = m.full(0.0, 4 * units)

    def zeros(self, batch: int) -> tuple[Any, ...]:
        return (self.m.lib.zeros([batch, self.units]),) * 2

    def __call__(self, x: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        """The new state; its first part is the output."""
        lib = self.m.lib
        output, memory = state
        gates = lib.nn.bias_add(lib.matmul(lib.concat([x, output], 1), self.kernel), self.offset)
        inner, candidate, forget, outer = lib.split(gates, 4, 1)
        memory = memory * lib.sigmoid(forget + 1.0) + lib.sigmoid(inner) * lib.tanh(candidate)
        return lib.tanh(memory) * lib.sigmoid(outer), memory


class Gru:
    """A gated recurrent unit: reset and update gates from one product, the candidate from another."""

    def __init__(self, m: Model, inputs: int, units: int) -> None:
        self.m, self.units = m, units
        self.gates = m.weights(inputs + units, 2 * units, scale=(inputs + units) ** -0.5)
        self.candidate = m.weights(inputs + units, units, scale=(inputs + units) ** -0.5)

    def zeros(self, batch: int) -> tuple[Any, ...]:
        return (self.m.lib.zeros([batch, self.units]),)

    def __call__(self, x: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        lib = self.m.lib
        (output,) = state
        reset, update = lib.split(lib.sigmoid(lib.matmul(lib.concat([x, output], 1), self.gates)), 2, 1)
        candidate = lib.tanh(lib.matmul(lib.concat([x, reset * output], 1), self.candidate))
        return (update * output + (1.0 - update) * candidate,)


def run(m: Model, cell: Any, x: Any, steps: int, batch: int, lengths: Any = None, unrolled: bool = False) -> Any:
    """The outputs `[steps, batch, units]` for inputs `[steps, batch, ...]`. Behind its length a row keeps its state."""
    lib = m.lib
    zeros = cell.zeros(batch)

    def kept(i: Any, new: tuple[Any, ...], old: tuple[Any, ...]) -> tuple[Any, ...]:
        if lengths is None:
            return new
        runs = lib.tile(lib.expand_dims(i < lengths, 1), [1, cell.units])
        return tuple(lib.where(runs, a, b) for a, b in zip(new, old))

    if unrolled:
        state, outputs = zeros, []
        for i, value in enumerate(lib.unstack(x, steps)):
            state = kept(i, cell(value, state), state)
            outputs.append(state[0])
        return lib.stack(outputs)
    read = lib.TensorArray(lib.float32, size=steps).unstack(x)
    written = lib.TensorArray(lib.float32, size=steps)

    def body(i: Any, array: Any, *state: Any) -> tuple[Any, ...]:
        state = kept(i, cell(read.read(i), state), state)
        return (i + 1, array.write(i, state[0]), *state)

    return lib.while_loop(lambda i, *_: i < steps, body, (lib.constant(0), written, *zeros))[1].stack()


def classifier(
    m: Model, cell: Any, batch: int, steps: int, units: int, lengths: bool = False, unrolled: bool = False
) -> Parts:
    """Says a class after the last step."""
    lib = m.lib
    x = lib.placeholder(lib.float32, [steps, batch, units])
    inputs, columns = [x], [m.floats(steps, batch, units)]
    limits = None
    if lengths:
        limits = lib.placeholder(lib.int32, [batch])
        inputs.append(limits)
        columns.append([one + 1 for one in m.ints(steps, batch)])
    outputs = run(m, cell(m, units, units), x, steps, batch, limits, unrolled)
    logits = m.dense(outputs[steps - 1], units, 10)
    if not m.training:
        return inputs, columns, lib.nn.softmax(logits), None
    labels = lib.placeholder(lib.int32, [batch])
    loss = m.classified(logits, labels)
    return [*inputs, labels], [*columns, m.ints(10, batch)], loss, m.descent(loss, 0.1)


def by_cell(m: Model, batch: int, steps: int, units: int) -> Parts:
    """`classifier` as users write it: a cell of the library's own, which `dynamic_rnn` runs."""
    lib = m.lib
    x, labels = lib.placeholder(lib.float32, [steps, batch, units]), lib.placeholder(lib.int32, [batch])
    columns = (m.floats(steps, batch, units), m.ints(10, batch))
    kernel = m.rng.normal(0, (2 * units) ** -0.5, (2 * units, 4 * units)).astype(m.np.float32)
    cell = lib.nn.rnn_cell.LSTMCell(units, initializer=lib.constant_initializer(kernel))
    outputs, _ = lib.nn.dynamic_rnn(cell, x, dtype=lib.float32, time_major=True)
    loss = m.classified(m.dense(outputs[steps - 1], units, 10), labels)
    return (x, labels), columns, loss, m.descent(loss, 0.1)


def translator(
    m: Model, batch: int, steps: int = 12, units: int = 48, words: int = 200, unrolled: bool = False
) -> Parts:
    """An encoder, in a loop or `unrolled`, and an unrolled decoder, which looks at all of the encoder's outputs in each step."""
    lib = m.lib
    source, target = lib.placeholder(lib.int32, [steps, batch]), lib.placeholder(lib.int32, [steps, batch])
    table = m.weights(words, units, scale=0.1)
    read = run(m, Lstm(m, units, units), lib.gather(table, source), steps, batch, unrolled=unrolled)
    memory = lib.transpose(read, [1, 0, 2])
    cell = Lstm(m, 2 * units, units)
    state, context = cell.zeros(batch), lib.zeros([batch, units])
    outputs = []
    for word in lib.unstack(lib.gather(table, target), steps):
        state = cell(lib.concat([word, context], 1), state)
        scores = lib.reduce_sum(memory * lib.expand_dims(state[0], 1), 2)
        context = lib.reduce_sum(memory * lib.expand_dims(lib.nn.softmax(scores), 2), 1)
        outputs.append(context + state[0])
    logits = m.dense(lib.reshape(lib.stack(outputs), [steps * batch, units]), units, words)
    loss = m.classified(logits, lib.reshape(target, [steps * batch]))
    columns = (m.ints(words, steps, batch), m.ints(words, steps, batch))
    return (source, target), columns, loss, m.descent(loss, 0.1)


_SIZES: dict[str, Any] = {"batch": 32, "steps": 20, "units": 64}
TRAINING = (
    Case("lstm", "LSTM in a loop, 20 steps, batch 32", model(classifier, cell=Lstm, **_SIZES)),
    Case("lstm_lengths", "the same with lengths", model(classifier, cell=Lstm, lengths=True, **_SIZES)),
    Case("lstm_unrolled", "LSTM unrolled, 20 steps, batch 32", model(classifier, cell=Lstm, unrolled=True, **_SIZES)),
    Case("gru", "GRU in a loop, 20 steps, batch 32", model(classifier, cell=Gru, **_SIZES)),
    Case("seq2seq", "sequence to sequence with attention, batch 16", model(translator, batch=16)),
)
INFERENCE = (
    Case(
        "gru_inference",
        "GRU in a loop, 20 steps, batch 1",
        model(classifier, training=False, cell=Gru, batch=1, steps=20, units=64),
    ),
)
