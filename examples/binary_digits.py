"""Trains a network of tanh and sigmoid units on binary images of digits that are drawn here, 30 x 30 pixels each.

python examples/binary_digits.py --images 3000 --epochs 10 --seed 0

A digit is a few strokes. For each image they are turned, sheared, scaled and shifted at random, drawn with a pen of
random width, and some pixels are flipped. 900 inputs, 10 outputs, and the mean squared error as the loss.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import anyio
import numpy as np

import actorflow as af

SIZE = 30
PIXELS, HIDDEN, CLASSES = SIZE * SIZE, 64, 10
BATCH = 50
FLIPPED = 0.02

Array = np.ndarray[Any, Any]


def arc(x: float, y: float, width: float, height: float, begin: float, end: float) -> list[tuple[float, float]]:
    """A part of an ellipse around (x, y), by angles in degrees; 0 points right, 90 down."""
    angles = np.radians(np.linspace(begin, end, 9))
    return [(x + width * np.cos(angle), y + height * np.sin(angle)) for angle in angles]


# Each stroke is a line through points; a digit fills the square from (-0.5, -1) to (0.5, 1), y pointing down.
STROKES: list[list[list[tuple[float, float]]]] = [
    [arc(0, 0, 0.5, 1, 0, 360)],
    [[(-0.3, -0.6), (0.1, -1), (0.1, 1)]],
    [[*arc(0, -0.5, 0.5, 0.5, 180, 380), (-0.5, 1), (0.5, 1)]],
    [[*arc(0, -0.5, 0.5, 0.5, 200, 450), *arc(0, 0.5, 0.5, 0.5, 270, 520)]],
    [[(0.2, 1), (0.2, -1), (-0.5, 0.4), (0.5, 0.4)]],
    [[(0.4, -1), (-0.4, -1), (-0.45, -0.1), *arc(0, 0.4, 0.5, 0.6, 235, 505)]],
    [[*arc(0.4, 0.5, 0.9, 1.5, 265, 180), *arc(0, 0.5, 0.5, 0.5, 180, 540)]],
    [[(-0.5, -1), (0.5, -1), (-0.1, 1)]],
    [arc(0, -0.5, 0.42, 0.5, 90, 450), arc(0, 0.5, 0.5, 0.5, 270, 630)],
    [[*arc(0, -0.5, 0.5, 0.5, 0, 360), *arc(-0.4, -0.5, 0.9, 1.5, 0, 85)]],
]


def distances(points: Array, strokes: list[list[tuple[float, float]]]) -> Array:
    """How far each of `points`, [count, 2], is from the nearest stroke, [count]."""
    nearest = np.full(len(points), np.inf)
    for stroke in strokes:
        for begin, end in zip(np.array(stroke[:-1]), np.array(stroke[1:]), strict=True):
            line = end - begin
            along = np.clip((points - begin) @ line / (line @ line), 0, 1)
            nearest = np.minimum(nearest, np.hypot(*(points - begin - along[:, None] * line).T))
    return nearest


def draw(digit: int, rng: np.random.Generator) -> Array:
    """One image, [900] of zeros and ones."""
    places = (np.arange(SIZE) + 0.5 - SIZE / 2) / (0.4 * SIZE)
    grid = np.stack(np.meshgrid(places, places), -1).reshape(-1, 2) - rng.uniform(-0.2, 0.2, 2)
    turn, shear, scale = rng.uniform(-0.2, 0.2), rng.uniform(-0.2, 0.2), rng.uniform(0.75, 1.05)
    turned = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    # The pixels are moved the other way instead of the strokes.
    pixels = grid @ turned @ np.array([[1, 0], [shear, 1]]) / scale
    inked = distances(pixels, STROKES[digit]) < rng.uniform(0.1, 0.2)
    return np.where(rng.random(PIXELS) < FLIPPED, ~inked, inked).astype(np.float32)


def dataset(count: int, seed: int) -> tuple[Array, Array]:
    """Images, [count, 900], and their digits, [count]; each digit occurs equally often."""
    rng = np.random.default_rng(seed)
    digits = rng.permutation(np.arange(count) % CLASSES)
    return np.stack([draw(digit, rng) for digit in digits]), digits


def show(image: Array) -> str:
    """An image as lines of text, two rows of pixels in each."""
    rows = image.reshape(SIZE // 2, 2, SIZE).astype(int)
    return "\n".join("".join(" ▀▄█"[upper + 2 * lower] for upper, lower in zip(*pair)) for pair in rows)


async def train(images: Array, digits: Array, *, held_out: int, epochs: int, seed: int) -> float:
    """Trains with all but the last `held_out` images; gives the part of those that is recognised."""
    graph = af.Graph()
    with graph.as_default():
        af.set_random_seed(seed)
        pixels = af.placeholder(af.float32, [None, PIXELS], name="pixels")
        labels = af.placeholder(af.int64, [None], name="labels")
        w1 = af.Variable(af.random_normal([PIXELS, HIDDEN], stddev=PIXELS**-0.5), name="w1")
        b1 = af.Variable(af.zeros([HIDDEN]), name="b1")
        w2 = af.Variable(af.random_normal([HIDDEN, CLASSES], stddev=HIDDEN**-0.5), name="w2")
        b2 = af.Variable(af.zeros([CLASSES]), name="b2")
        hidden = af.tanh(af.matmul(pixels, w1) + b1)
        outputs = af.sigmoid(af.matmul(hidden, w2) + b2)
        loss = af.reduce_mean(af.squared_difference(outputs, af.one_hot(labels, CLASSES)))
        recognised = af.equal(af.argmax(outputs, 1), labels)
        accuracy = af.reduce_mean(af.cast(recognised, af.float32))
        optimize = af.train.AdamOptimizer(0.002).minimize(loss)
        initialize = af.global_variables_initializer()

    rng = np.random.default_rng(seed)
    known = len(digits) - held_out
    test = {pixels: images[known:], labels: digits[known:]}
    async with af.Session(graph=graph) as session:
        await session.run(initialize)
        for epoch in range(1, epochs + 1):
            begun = time.perf_counter()
            losses = []
            for chosen in np.array_split(rng.permutation(known), max(1, known // BATCH)):
                error, _ = await session.run([loss, optimize], {pixels: images[chosen], labels: digits[chosen]})
                losses.append(error)
            elapsed = time.perf_counter() - begun
            print(f"epoch {epoch:2}  mean squared error {np.mean(losses):.5f}  {1e3 * elapsed:6.1f} ms")
        return float(await session.run(accuracy, test))


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a network on binary images of digits that are drawn here.")
    parser.add_argument("--images", type=int, default=3000, help="how many; a quarter is held out (3000)")
    parser.add_argument("--epochs", type=int, default=10, help="rounds through the images (10)")
    parser.add_argument("--seed", type=int, default=0, help="of the images, the weights and the order (0)")
    options = parser.parse_args()

    begun = time.perf_counter()
    images, digits = dataset(options.images, options.seed)
    print(
        f"{len(images)} images of {SIZE} x {SIZE} pixels, drawn in {time.perf_counter() - begun:.1f} s; a {digits[0]}:"
    )
    print(show(images[0]))

    async def work() -> float:
        held_out = options.images // 4
        return await train(images, digits, held_out=held_out, epochs=options.epochs, seed=options.seed)

    accuracy = anyio.run(work)
    print(f"accuracy on the {options.images // 4} images that were held out: {accuracy:.2%}")


if __name__ == "__main__":
    main()
