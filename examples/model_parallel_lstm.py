"""A model that is cut into parts: each layer of a deep LSTM lives on a device of its own (paper section 7).

python examples/model_parallel_lstm.py --layers 3 --steps 15

The network learns to say what it heard two beats ago. Layer 2 computes time t while layer 1 computes t + 1. The tensors
that cross a cut are small: one output for each time, and its gradient on the way back; the weights stay where they are.
The same training on one device gives the same bits.

On a cluster, which has to have a worker for each layer:

actorflow run --jobs worker=3 examples/model_parallel_lstm.py
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass

import anyio
import numpy as np

import actorflow as af
from actorflow.base.registry import plugins

SYMBOLS, UNITS, BATCH, TIME, DELAY = 8, 32, 16, 10, 2


@dataclass(frozen=True)
class Model:
    """A graph and what is run of it."""

    graph: af.Graph
    heard: af.Tensor
    loss: af.Tensor
    train: af.Operation
    initialize: af.Operation
    weights: list[af.Variable]


def build(layers: int, workers: int) -> Model:
    """The LSTM, its layers on the workers in turn."""
    graph = af.Graph()
    places = [f"/job:worker/task:{layer % workers}" for layer in range(layers)]
    with graph.as_default():
        af.set_random_seed(3)
        with af.device(places[0]):
            heard = af.placeholder(af.int32, [BATCH, TIME])
            inputs = af.unstack(af.one_hot(heard, SYMBOLS), axis=1)
        cells = [af.nn.rnn_cell.DeviceWrapper(af.nn.rnn_cell.LSTMCell(UNITS), place) for place in places]
        outputs, _ = af.nn.static_rnn(af.nn.rnn_cell.MultiRNNCell(cells), inputs, dtype=af.float32)
        with af.device(places[-1]):
            kernel = af.get_variable("logits", [UNITS, SYMBOLS])
            said = af.stack(outputs[DELAY:], axis=1)
            logits = af.matmul(af.reshape(said, [-1, UNITS]), kernel)
            wanted = af.reshape(heard[:, :-DELAY], [-1])
            losses = af.nn.sparse_softmax_cross_entropy_with_logits(labels=wanted, logits=logits)
            loss = af.reduce_mean(losses)
        # Gradients are computed where the forward nodes are, so that activations need not travel.
        optimizer = af.train.AdamOptimizer(0.03)
        train = optimizer.apply_gradients(optimizer.compute_gradients(loss, colocate_gradients_with_ops=True))
        return Model(graph, heard, loss, train, af.global_variables_initializer(), af.trainable_variables())


def cut(model: Model) -> int:
    """How many bytes of activations and gradients cross from one worker to another in a step of training."""
    needed, waiting = set(), [model.train, model.loss.op]
    while waiting:
        operation = waiting.pop()
        if operation not in needed:
            needed.add(operation)
            waiting += [*operation.control_inputs, *(tensor.op for tensor in operation.inputs)]
    pairs = {(t, o.device) for o in needed for t in o.inputs if t.op.device and o.device not in ("", t.op.device)}
    return sum((t.shape.num_elements() or 0) * t.dtype.size for t, _ in pairs if t.op.type != "Const")


def open_session(target: str, graph: af.Graph, workers: int) -> af.Session:
    """A session of the cluster, or of this process with devices that are named as the cluster's."""
    if target:
        return af.Session(target, graph=graph)
    make = plugins.load("devices", "CPU")
    return af.Session(
        graph=graph, devices=[make(f"/job:worker/replica:0/task:{task}/device:CPU:0") for task in range(workers)]
    )


async def main(target: str, layers: int, steps: int) -> None:
    data = np.random.default_rng(0).integers(0, SYMBOLS, (steps, BATCH, TIME))
    ends = []
    for workers in (layers, 1):
        model = build(layers, workers)
        print(f"{layers} layers on {workers} devices; in a step {cut(model):,} bytes cross the cuts")
        if workers > 1:
            for weight in model.weights:
                print(f"  {weight.device}  {weight.op.name} {weight.shape}")
        async with open_session(target, model.graph, layers) as session:
            await session.run(model.initialize)
            await session.warmup([model.loss, model.train], [model.heard])
            begun = time.perf_counter()
            losses = [
                (await session.run([model.loss, model.train], {model.heard: batch.astype(np.int32)}))[0]
                for batch in data
            ]
            seconds = (time.perf_counter() - begun) / steps
            ends.append(await session.run(model.weights))
        print(f"  loss {losses[0]:.3f} -> {losses[-1]:.3f}, {1e3 * seconds:.1f} ms for a step")
    same = all(np.array_equal(one, other) for one, other in zip(*ends))
    print(f"the weights are the same, bit by bit: {same}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Puts the layers of an LSTM on devices of their own.")
    target = os.environ.get("ACTORFLOW_TARGET", "")  # that of `actorflow run`
    parser.add_argument("--target", default=target, help="a cluster; devices of this process unless given")
    parser.add_argument("--layers", type=int, default=3, help="of the LSTM (3)")
    parser.add_argument("--steps", type=int, default=15, help="of training (15)")
    options = parser.parse_args()
    anyio.run(main, options.target, options.layers, options.steps)
