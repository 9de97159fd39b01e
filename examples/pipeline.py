"""Two models, a function and a database as one served graph: it finds the handwritten digits in a picture and reads them.

    picture -> detector -> crops -> classifier -> answer
                                        `-> queue -> database

python examples/pipeline.py                             # makes the two models, and reads 100 pictures
actorflow serve examples/pipeline.py:pipeline           # the same behind HTTP, with its stages at http://127.0.0.1:8501/

A picture has 4 x 4 places, and a digit of 8 x 8 pixels at some of them. The detector says which places have ink, a function cuts
them out, and the classifier reads the cuts of all requests that wait. Rows for the database go through a queue, so no answer
waits for it; a database that is lost is connected to again. The models and the database are in the folder `pipeline_digits`.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import anyio
import numpy as np
from sklearn.datasets import load_digits

import actorflow as af

FOLDER = Path("pipeline_digits")
SIDE, PIXELS = 4, 8
Policy = af.serving.StagePolicy


async def make_models(folder: Path) -> None:
    """Saves a detector and a classifier, which is trained here for some seconds."""
    images, digits = load_digits(return_X_y=True)
    with af.Graph().as_default():
        pictures = af.placeholder(af.float32, [None, SIDE * PIXELS, SIDE * PIXELS], name="pictures")
        window = [1, PIXELS, PIXELS, 1]
        ink = af.nn.avg_pool(pictures[..., None], window, window, "VALID")[..., 0]
        async with af.Session() as session:
            await af.saved_model.simple_save(session, folder / "detector", {"pictures": pictures}, {"ink": ink})
    with af.Graph().as_default():
        af.set_random_seed(0)
        cuts = af.placeholder(af.float32, [None, PIXELS, PIXELS], name="cuts")
        labels = af.placeholder(af.int64, [None], name="labels")
        hidden = af.layers.dense(af.reshape(cuts / 16.0, [-1, PIXELS * PIXELS]), 64, activation=af.nn.relu)
        logits = af.layers.dense(hidden, 10)
        loss = af.reduce_mean(af.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        train = af.train.AdamOptimizer(0.01).minimize(loss)
        async with af.Session() as session:
            await session.run(af.global_variables_initializer())
            for _ in range(100):
                await session.run(train, {cuts: images.reshape(-1, PIXELS, PIXELS), labels: digits})
            outputs = {"digits": af.argmax(logits, 1)}
            await af.saved_model.simple_save(session, folder / "classifier", {"cuts": cuts}, outputs)


def cut(picture: Any, ink: Any) -> tuple[Any, Any]:
    """The places of a picture that have ink, and their pixels."""
    places = np.argwhere(ink[0] > 1.0)
    tiles = picture.reshape(SIDE, PIXELS, SIDE, PIXELS).swapaxes(1, 2)
    return tiles[places[:, 0], places[:, 1]], places


@contextlib.contextmanager
def database() -> Any:
    """A connection, which each thread of the pipeline may use in its turn."""
    with contextlib.closing(sqlite3.connect(FOLDER / "digits.db", check_same_thread=False)) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS digits (digit INTEGER, row INTEGER, place INTEGER)")
        yield connection


def store(connection: sqlite3.Connection, digits: Any, places: Any) -> None:
    """Writes rows in one transaction."""
    with connection:
        rows = np.column_stack([digits, places]).tolist()
        connection.executemany("INSERT INTO digits VALUES (?, ?, ?)", rows)


def make_pipeline(folder: Path) -> af.serving.Pipeline:
    """The graph of the stages."""
    with af.serving.Pipeline() as stages:
        picture = af.placeholder(af.float32, [SIDE * PIXELS, SIDE * PIXELS], name="picture")
        ink = stages.model("detector", folder / "detector", picture[None], policy=Policy(timeout=1.0))
        shapes = [[None, PIXELS, PIXELS], [None, 2]]
        cuts, places = stages.function("crops", cut, [picture, ink], [af.float32, af.int64], shapes=shapes)
        reads = Policy(batching=af.Batching(max_size=256), timeout=1.0)
        digits = stages.model("classifier", folder / "classifier", cuts, policy=reads)
        rows = af.FIFOQueue(10_000, [af.int64, af.int64], [[], [2]])
        with af.control_dependencies([rows.enqueue_many([digits, places])]):
            answer = af.identity(digits)
        stages.consumer("database", rows, store, policy=Policy(restart_on=(sqlite3.Error,)), resource=database)
    stages.serves({"picture": picture}, {"digits": answer, "places": places})
    return stages


if not (FOLDER / "classifier").exists():
    anyio.run(make_models, FOLDER)
pipeline = make_pipeline(FOLDER)


async def main() -> None:
    images, digits = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    right = count = 0

    async with af.serving.Model(pipeline) as model:

        async def read() -> None:
            """Reads a picture with digits at random places."""
            nonlocal right, count
            chosen = rng.integers(len(images), size=(SIDE, SIDE))
            is_there = rng.random((SIDE, SIDE)) < 0.5
            tiles = images[chosen].reshape(SIDE, SIDE, PIXELS, PIXELS) * is_there[..., None, None]
            picture = tiles.swapaxes(1, 2).reshape(SIDE * PIXELS, SIDE * PIXELS)
            answer = await model.predict(picture.astype(np.float32))
            right += int(np.sum(digits[chosen[is_there]] == answer["digits"]))
            count += len(answer["digits"])

        async with anyio.create_task_group() as readers:
            for _ in range(100):
                readers.start_soon(read)
        await model.drain()
        for row in model.parts[0].table():
            print("".join(f"{text:>14}" for text in row))
    with database() as connection:
        (rows,) = connection.execute("SELECT COUNT(*) FROM digits").fetchone()
    print(f"{right} of {count} digits read as they are; {rows} rows in the database")


if __name__ == "__main__":
    anyio.run(main)
