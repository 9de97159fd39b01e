"""Learns a text that ships with Python by heart, letter by letter, and writes it down: the Zen of Python.

python examples/char_lstm.py --steps 300 --units 96 --seed 0

An LSTM reads the text and says which letter comes next. It reads at several places at once, piece by piece; the state after a
piece is fed with the next one, so that it learns from more than a piece holds. The perplexity is the number of letters between
which it hesitates: as many as there are at first, one where it knows the text.
"""

from __future__ import annotations

import argparse
import io
import time
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

import anyio
import numpy as np

import actorflow as af

BATCH, LENGTH = 16, 32


def zen() -> str:
    """The text, which the module `this` prints when it is imported."""
    with redirect_stdout(io.StringIO()) as printed:
        import this  # noqa: F401
    return printed.getvalue()


@dataclass(frozen=True)
class Model:
    """The graph, and the parts of it that are run. `start` and `end` are the LSTM's states before and after."""

    graph: af.Graph
    letters: af.Tensor
    following: af.Tensor
    start: Any
    end: Any
    chances: af.Tensor
    perplexity: af.Tensor
    train: af.Operation
    initialize: af.Operation


def build(alphabet: int, units: int, seed: int) -> Model:
    """An LSTM with a layer of logits on top. Letters are numbers, [batch, time]."""
    graph = af.Graph()
    with graph.as_default():
        af.set_random_seed(seed)
        letters = af.placeholder(af.int64, [None, None], name="letters")
        following = af.placeholder(af.int64, [None, None], name="following")
        cell = af.nn.rnn_cell.LSTMCell(units)
        start = cell.zero_state(af.shape(letters)[0], af.float32)
        outputs, end = af.nn.dynamic_rnn(cell, af.one_hot(letters, alphabet), initial_state=start)
        kernel = af.get_variable("logits/kernel", [units, alphabet])
        bias = af.get_variable("logits/bias", [alphabet], initializer=af.zeros_initializer())
        logits = af.matmul(af.reshape(outputs, [-1, units]), kernel) + bias
        losses = af.nn.sparse_softmax_cross_entropy_with_logits(labels=af.reshape(following, [-1]), logits=logits)
        loss = af.reduce_mean(losses)
        global_step = af.train.get_or_create_global_step()
        rate = af.train.exponential_decay(
            0.015, global_step, decay_steps=150, decay_rate=0.3
        )  # the last steps are small
        optimizer = af.train.AdamOptimizer(rate)
        gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
        clipped, _ = af.clip_by_global_norm(gradients, 1.0)  # what is known by heart is not unlearnt in one large step
        return Model(
            graph=graph,
            letters=letters,
            following=following,
            start=start,
            end=end,
            chances=af.nn.softmax(logits),
            perplexity=af.exp(loss),
            train=optimizer.apply_gradients(zip(clipped, variables, strict=True), global_step),
            initialize=af.global_variables_initializer(),
        )


async def write(session: af.Session, model: Model, begin: Any, count: int) -> list[int]:
    """`count` letters after `begin`, the likeliest one each time. The state is fetched, and fed to the next run."""
    fetches = [model.chances, *model.end]
    chances, *state = await session.run(fetches, {model.letters: [begin]})
    written: list[int] = []
    while len(written) < count:
        written.append(int(chances[-1].argmax()))
        feeds = {model.letters: [written[-1:]], **dict(zip(model.start, state, strict=True))}
        chances, *state = await session.run(fetches, feeds)
    return written


async def learn(text: str, *, steps: int, units: int, seed: int) -> None:
    """Trains on the text, which is read round and round from several places, and prints what the network writes down."""
    alphabet = sorted(set(text))
    numbers = np.array([alphabet.index(letter) for letter in text])
    model = build(len(alphabet), units, seed)
    async with af.Session(graph=model.graph) as session:
        await session.run(model.initialize)
        begun = time.perf_counter()
        places = np.arange(BATCH) * (len(text) // BATCH)
        carried: dict[af.Tensor, Any] = {}  # the state at the end of each piece, zero at first
        for step in range(1, steps + 1):
            pieces = numbers[(places[:, None] + np.arange(LENGTH + 1)) % len(text)]
            feeds = {model.letters: pieces[:, :-1], model.following: pieces[:, 1:], **carried}
            perplexity, state, _ = await session.run([model.perplexity, model.end, model.train], feeds)
            carried = dict(zip(model.start, state, strict=True))
            places += LENGTH
            if step == 1 or step % 50 == 0:
                print(f"step {step:4}  perplexity {perplexity:6.2f}  {time.perf_counter() - begun:5.1f} s")
        whole = {model.letters: [numbers[:-1]], model.following: [numbers[1:]]}
        print(f"perplexity on the whole text: {await session.run(model.perplexity, whole):.2f}")
        begin, rest = text[:32], numbers[32:]
        written = await write(session, model, list(numbers[:32]), len(rest))
        print(f"after {begin!r} it writes:\n{''.join(alphabet[number] for number in written)}")
        print(f"{sum(one == other for one, other in zip(written, rest))} of {len(rest)} letters are right")


def main() -> None:
    parser = argparse.ArgumentParser(description="Learns the Zen of Python by heart, letter by letter.")
    parser.add_argument("--steps", type=int, default=300, help="training steps (300)")
    parser.add_argument("--units", type=int, default=96, help="of the LSTM (96)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the order (0)")
    options = parser.parse_args()
    text = zen()
    print(f"{len(text)} letters, {len(set(text))} different ones")

    async def work() -> None:
        await learn(text, steps=options.steps, units=options.units, seed=options.seed)

    anyio.run(work)


if __name__ == "__main__":
    main()
