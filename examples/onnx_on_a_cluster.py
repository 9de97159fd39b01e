"""An ONNX model that is cut into parts, each of which runs in a process of its own.

python examples/onnx_on_a_cluster.py --workers 3

Without a model it makes one: a small residual network, which `af.onnx.save` writes. The file is loaded twice. Once all of it runs
in this process. Once the nodes lie on the workers, in the order in which the file has them: the first third on the first worker,
and so on. The answers are the same, bit by bit.

python examples/onnx_on_a_cluster.py --model resnet.onnx --shape 1 3 224 224
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

import anyio
import numpy as np

import actorflow as af

CHANNELS, BLOCKS = 16, 4


async def write(path: Path) -> None:
    """A residual network for images of 32 x 32, with random weights, as an ONNX file."""
    with af.Graph().as_default() as graph:
        af.set_random_seed(1)
        images = af.placeholder(af.float32, [None, 32, 32, 3], name="images")
        x = af.layers.conv2d(images, CHANNELS, 3, padding="same", activation=af.nn.relu)
        for _ in range(BLOCKS):
            inner = af.layers.conv2d(x, CHANNELS, 3, padding="same", activation=af.nn.relu)
            x = af.nn.relu(x + af.layers.conv2d(inner, CHANNELS, 3, padding="same"))
        shares = af.nn.softmax(af.layers.dense(af.reduce_mean(x, [1, 2]), 10), name="shares")
        initialize = af.global_variables_initializer()
    async with af.Session(graph=graph) as session:
        await session.run(initialize)
        await af.onnx.save(path, session, [shares], [images])


def load(path: Path, shape: list[int], workers: int) -> tuple[af.Graph, af.onnx.Model]:
    """The model in a graph of its own, its nodes on as many workers; on none with 0."""
    with af.Graph().as_default():
        name = next(iter(af.onnx.load(path).inputs))
    with af.Graph().as_default() as whole:
        af.onnx.load(path, shapes={name: shape})
    each = -(-len(whole.get_operations()) // max(workers, 1))
    count = 0

    def place(operation: af.Operation) -> str:
        nonlocal count
        count += 1
        return f"/job:worker/task:{min((count - 1) // each, workers - 1)}"

    with af.Graph().as_default() as graph, af.device(place if workers else None):
        return graph, af.onnx.load(path, shapes={name: shape})


async def main(path: Path | None, shape: list[int], workers: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if path is None:
            path = Path(folder) / "model.onnx"
            await write(path)
        image = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        graph, model = load(path, shape, 0)
        async with af.Session(graph=graph) as session:
            alone = await session.run(model.outputs, dict.fromkeys(model.inputs.values(), image))
        graph, model = load(path, shape, workers)
    places = Counter(operation.device for operation in graph.get_operations())
    for device, number in sorted(places.items()):
        print(f"{number:5} nodes on {device}")
    async with af.LocalCluster({"worker": workers}) as cluster, af.Session(cluster.target, graph) as session:
        together = await session.run(model.outputs, dict.fromkeys(model.inputs.values(), image))
    for name, value in together.items():
        print(f"{name} {value.shape}: the same as in one process, bit by bit: {np.array_equal(value, alone[name])}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Runs an ONNX model on several processes.")
    parser.add_argument("--model", type=Path, help="an ONNX file with one input; a small network unless given")
    parser.add_argument("--shape", type=int, nargs="+", default=[2, 32, 32, 3], help="of the input (2 32 32 3)")
    parser.add_argument("--workers", type=int, default=3, help="processes (3)")
    options = parser.parse_args()
    anyio.run(main, options.model, options.shape, options.workers)
