"""Trains a small network on handwritten digits, puts weights of int8 into it, and says what that costs.

python examples/quantize_digits.py --steps 300 --output examples/out/quantize

The frozen graph and its two forms with weights of int8 (ranges measured in each run, and by calibration) are written beside each
other: `actorflow serve examples/out/quantize` serves them all.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import anyio
import numpy as np
from sklearn.datasets import load_digits

import actorflow as af

OUTPUT = Path(__file__).parent / "out" / "quantize"


async def main() -> None:
    parser = argparse.ArgumentParser(description="Puts weights of int8 into a network.")
    parser.add_argument("--steps", type=int, default=300, help="how many steps to train (300)")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder of the graphs (examples/out/quantize)")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    pixels, digits = load_digits(return_X_y=True)
    images = (pixels / 16).astype(np.float32)
    graph = af.Graph()
    with graph.as_default():
        af.set_random_seed(0)
        x = af.placeholder(af.float32, [None, 64], name="images")
        labels = af.placeholder(af.int64, [None])
        hidden = af.layers.conv2d(af.reshape(x, [-1, 8, 8, 1]), 32, 3, padding="same", activation=af.nn.relu)
        hidden = af.layers.conv2d(af.layers.max_pooling2d(hidden, 2, 2), 64, 3, padding="same", activation=af.nn.relu)
        logits = af.layers.dense(af.layers.dense(af.layers.flatten(hidden), 64, activation=af.nn.relu), 10)
        loss = af.losses.sparse_softmax_cross_entropy(labels, logits)
        train = af.train.AdamOptimizer(0.003).minimize(loss)
        probabilities = af.nn.softmax(logits, name="probabilities")
        init = af.global_variables_initializer()
    async with af.Session(graph=graph) as session:
        await session.run(init)
        rng = np.random.default_rng(0)
        for _ in range(options.steps):
            rows = rng.integers(0, 1400, 64)
            await session.run(train, {x: images[rows], labels: digits[rows]})
        frozen = await af.export.freeze(session, [probabilities], [x])

    calibration = [images[at : at + 100] for at in range(0, 500, 100)]
    unseen = [(images[at : at + 100], digits[at : at + 100]) for at in range(1400, len(images), 100)]
    graphs = {"float": frozen}
    for name, data in (("dynamic", None), ("static", calibration)):
        graphs[name], report = await af.export.quantize(frozen, ["probabilities"], data, evaluation=unseen)
        print(f"{name}: {report}\n")
    for name, graph_def in graphs.items():
        (options.output / f"{name}.pb").write_bytes(graph_def.SerializeToString())


if __name__ == "__main__":
    anyio.run(main)
