"""Trains on a TFRecord file through a shuffling queue: reading, decoding and training share one event loop.

python examples/records.py --epochs 12 --output examples/out/records

scikit-learn's digits are written to a TFRecord file, one `tf.train.Example` each. The input part of the graph reads the
file with a reader node, parses the records, and fills a shuffling queue; `prefetch` takes batches from it while the
previous one trains. Outputs: the two record files, and accuracy.txt.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import anyio
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import actorflow as af

OUTPUT = Path(__file__).parent / "out" / "records"
PIXELS, HIDDEN, CLASSES = 64, 96, 10
BATCH = 64


def write(path: Path, pixels: np.ndarray[Any, Any], digits: np.ndarray[Any, Any]) -> None:
    """Writes one Example for each image: its pixels as bytes, and its digit."""
    with af.io.TFRecordWriter(str(path)) as writer:
        for image, digit in zip(pixels.astype(np.uint8), digits):
            features = {
                "pixels": af.train.Feature(bytes_list=af.train.BytesList(value=[image.tobytes()])),
                "digit": af.train.Feature(int64_list=af.train.Int64List(value=[int(digit)])),
            }
            writer.write(af.train.Example(features=af.train.Features(feature=features)).SerializeToString())


def batches(path: Path, epochs: int, seed: int) -> tuple[af.Tensor, af.Tensor]:
    """The input part of the graph: shuffled batches of pixels from 0 to 1 and of digits."""
    files = af.train.string_input_producer([str(path)], num_epochs=epochs, shuffle=False)
    _, record = af.TFRecordReader().read(files)
    parsed = af.parse_single_example(
        record, {"pixels": af.io.FixedLenFeature([], af.string), "digit": af.io.FixedLenFeature([], af.int64)}
    )
    pixels = af.cast(af.decode_raw(parsed["pixels"], af.uint8), af.float32) / 16.0
    pixels.set_shape((PIXELS,))
    batch: list[af.Tensor] = af.train.shuffle_batch(
        [pixels, parsed["digit"]], BATCH, capacity=1000, min_after_dequeue=500, seed=seed, num_threads=4
    )
    return batch[0], batch[1]


def logits_of(pixels: af.Tensor) -> af.Tensor:
    """A network of one hidden layer; a second call uses the same weights."""
    with af.variable_scope("classifier", reuse=af.AUTO_REUSE):
        first = af.get_variable("first", (PIXELS, HIDDEN))
        second = af.get_variable("second", (HIDDEN, CLASSES))
        return af.matmul(af.nn.relu(af.matmul(pixels, first)), second)


async def train(folder: Path, epochs: int, seed: int) -> float:
    """Writes the files, trains on one, and returns the accuracy on the images of the other."""
    pixels, digits = load_digits(return_X_y=True)
    parts = train_test_split(pixels, digits, test_size=0.25, random_state=seed, stratify=digits)
    write(folder / "train.tfrecord", parts[0], parts[2])
    write(folder / "test.tfrecord", parts[1], parts[3])
    graph = af.Graph()
    with graph.as_default():
        af.set_random_seed(seed)
        batch = batches(folder / "train.tfrecord", epochs, seed)
        images, labels = af.placeholder(af.float32, (None, PIXELS)), af.placeholder(af.int64, (None,))
        losses = af.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits_of(images))
        loss = af.reduce_mean(losses)
        step = af.train.AdamOptimizer(0.003).minimize(loss)
        right = af.equal(af.argmax(logits_of(images), 1), labels)
        accuracy = af.reduce_mean(af.cast(right, af.float32))
        initialize = af.group(af.global_variables_initializer(), af.local_variables_initializer())
    async with af.Session(graph=graph) as session:
        await session.run(initialize)
        async with af.train.Coordinator() as coordinator:
            af.train.start_queue_runners(session, coordinator)
            count = 0
            async for seen, wanted in af.train.prefetch(session, batch):
                value, _ = await session.run([loss, step], {images: seen, labels: wanted})
                count += 1
                if count % 50 == 0:
                    print(f"batch {count:4d}  loss {value:.4f}")
            coordinator.request_stop()
        return float(await session.run(accuracy, {images: parts[1] / 16.0, labels: parts[3]}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    accuracy = anyio.run(train, arguments.output, arguments.epochs, arguments.seed)
    (arguments.output / "accuracy.txt").write_text(f"{accuracy:.4f}\n", encoding="utf-8")
    print(f"test accuracy {accuracy:.2%}; outputs are in {arguments.output}")


if __name__ == "__main__":
    main()
