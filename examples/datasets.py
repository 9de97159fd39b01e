"""Two workers that each read their part of the data, and ask a service that takes its time for the labels.

python examples/datasets.py --epochs 6 --output examples/out/datasets

scikit-learn's digits are written to four TFRecord files, without labels. Each worker has an iterator of its own, which reads its
half of the files and shuffles. A coroutine asks the service for the label of each image. An answer takes some milliseconds, 32
questions of a worker are on their way at once, and no thread waits for them. Both workers train one model, each with its batches
as they come. Outputs: the record files, and stages.txt, which has the seconds of each stage.
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

OUTPUT = Path(__file__).parent / "out" / "datasets"
FILES, WORKERS, BATCH, AT_ONCE = 4, 2, 32, 32
PIXELS, CLASSES = 64, 10


class Service:
    """Knows the label of each image. It stands for a database or a web service."""

    def __init__(self, labels: np.ndarray[Any, Any], seconds: float) -> None:
        self.labels, self.seconds = labels.astype(np.int64), seconds
        self.asked = self.now = self.most = 0

    async def label(self, number: Any, image: Any) -> tuple[Any, Any]:
        """An image with its label, after a while."""
        self.asked += 1
        self.now += 1
        self.most = max(self.most, self.now)
        await anyio.sleep(self.seconds)
        self.now -= 1
        return image, self.labels[int(number)]


def write(folder: Path, images: np.ndarray[Any, Any]) -> None:
    """Writes the images to several files: their numbers and their pixels."""
    for part in range(FILES):
        with af.io.TFRecordWriter(folder / f"part-{part}.tfrecord") as writer:
            for number in range(part, len(images), FILES):
                writer.write(np.int64(number).tobytes() + images[number].astype(np.uint8).tobytes())


def dataset(folder: Path, service: Service, worker: int, seed: int) -> af.data.Dataset:
    """The batches of a worker: names of files are divided, so that each file is read by one worker only."""
    files = af.data.Dataset.list_files(str(folder / "*.tfrecord"), shuffle=False).shard(WORKERS, worker)
    records = files.interleave(af.data.TFRecordDataset, cycle_length=2)
    images = records.map(split).shuffle(1000, seed=seed)
    signature = (af.TensorSpec([PIXELS], af.float32), af.TensorSpec([], af.int64))
    labelled = images.map(service.label, num_parallel_calls=AT_ONCE, output_signature=signature)
    return labelled.batch(BATCH).prefetch(2)


def split(record: af.Tensor) -> tuple[af.Tensor, af.Tensor]:
    """The number of an image, and its pixels from 0 to 1."""
    pixels = af.cast(af.decode_raw(af.substr(record, 8, PIXELS), af.uint8), af.float32) / 16.0
    return af.decode_raw(record, af.int64)[0], af.reshape(pixels, [PIXELS])


def logits_of(images: af.Tensor) -> af.Tensor:
    """A linear model, whose weights all towers share."""
    with af.variable_scope("classifier", reuse=af.AUTO_REUSE):
        weights = af.get_variable("weights", [PIXELS, CLASSES], initializer=af.zeros_initializer())
        return af.matmul(images, weights)


async def train(folder: Path, epochs: int, seed: int) -> float:
    """Trains on what the workers read, and returns the accuracy on other images."""
    pixels, digits = load_digits(return_X_y=True)
    images, held_out, labels, wanted = train_test_split(pixels, digits, test_size=0.25, random_state=seed)
    service = Service(labels, seconds=0.002)
    await anyio.to_thread.run_sync(write, folder, images)
    datasets = [dataset(folder, service, worker, seed) for worker in range(WORKERS)]

    graph = af.Graph()
    with graph.as_default():
        given, answers = af.placeholder(af.float32, [None, PIXELS]), af.placeholder(af.int64, [None])
        losses = af.nn.sparse_softmax_cross_entropy_with_logits(labels=answers, logits=logits_of(given))
        step = af.train.AdamOptimizer(0.02).minimize(af.reduce_mean(losses))
        right = af.reduce_mean(af.cast(af.equal(af.argmax(logits_of(given), 1), answers), af.float32))
        initialize = af.global_variables_initializer()

    async with af.Session(graph=graph) as session:
        await session.run(initialize)
        report = ""
        for epoch in range(epochs):
            batches = [one.iterate() for one in datasets]
            async with anyio.create_task_group() as workers:
                for batch in batches:
                    workers.start_soon(work, session, step, given, answers, batch)
            report = "\n\n".join(f"worker {i}\n{one.statistics()}" for i, one in enumerate(batches))
            accuracy = float(await session.run(right, {given: held_out / 16.0, answers: wanted}))
            print(f"epoch {epoch + 1}  accuracy {accuracy:.1%}")
    async with await anyio.open_file(folder / "stages.txt", "w", encoding="utf-8") as file:
        await file.write(report + "\n")
    print(f"the service was asked {service.asked} times, by up to {service.most} questions at once")
    return accuracy


async def work(session: af.Session, step: Any, images: Any, labels: Any, batches: af.data.DatasetIterator) -> None:
    """The program of a worker: a step for each of its batches."""
    async with batches:
        async for given, answers in batches:
            await session.run(step, {images: given, labels: answers})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    accuracy = anyio.run(train, arguments.output, arguments.epochs, arguments.seed)
    print(f"test accuracy {accuracy:.2%}; outputs are in {arguments.output}")


if __name__ == "__main__":
    main()
