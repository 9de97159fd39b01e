"""Trains a small GPT on the documentation of this project, letter by letter, saves it, and writes with it; or serves it.

python examples/gpt.py             trains for a minute, and writes a page
python examples/gpt.py --serve     serves it: a page at http://127.0.0.1:8501/generate, and /v1/completions

One function builds the network for both: training attends to whole pieces of text at once, and generation to keys and values that
are kept in blocks. `generate` prints letters as they come; the server streams them to any number of readers.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import numpy as np

import actorflow as af

ROOT = Path(__file__).parent.parent
OUTPUT = Path(__file__).parent / "out" / "gpt"
Attend = Callable[[af.Tensor, af.Tensor, af.Tensor], af.Tensor]


@dataclass(frozen=True)
class Sizes:
    """The sizes of the network."""

    vocabulary: int
    context: int = 128
    units: int = 96
    heads: int = 4
    layers: int = 3


def corpus() -> str:
    """The pages of the documentation, in the letters of ASCII."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*/*.md"))]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    return "".join(letter for letter in text if letter == "\n" or " " <= letter <= "~")


def normalized(x: af.Tensor, name: str) -> af.Tensor:
    """Rows of the mean 0 and the deviation 1, scaled and moved."""
    scale = af.get_variable(f"{name}/scale", [x.shape[-1]], initializer=af.ones_initializer())
    offset = af.get_variable(f"{name}/offset", [x.shape[-1]], initializer=af.zeros_initializer())
    centred = x - af.reduce_mean(x, -1, keepdims=True)
    return centred * af.rsqrt(af.reduce_mean(centred * centred, -1, keepdims=True) + 1e-5) * scale + offset


def network(tokens: af.Tensor, places: Any, sizes: Sizes, attend: Attend) -> tuple[af.Tensor, Any]:
    """A row of units for each token, [tokens, units], and the table that turns rows into logits.

    `attend` takes queries, keys and values, [tokens, heads, size].
    """
    units, heads = sizes.units, [-1, sizes.heads, sizes.units // sizes.heads]
    with af.variable_scope("gpt", reuse=af.AUTO_REUSE):
        small = af.random_normal_initializer(stddev=0.02)
        table = af.get_variable("tokens", [sizes.vocabulary, units], initializer=small)
        x = af.gather(table, tokens) + af.gather(
            af.get_variable("places", [sizes.context, units], initializer=small), places
        )
        for layer in range(sizes.layers):
            with af.variable_scope(f"layer_{layer}"):
                joined = af.layers.dense(normalized(x, "before"), 3 * units, name="joined")
                query, key, value = (af.reshape(part, heads) for part in af.split(joined, 3, axis=1))
                seen = af.reshape(attend(query, key, value), [-1, units])
                x = x + af.layers.dense(seen, units, name="seen", kernel_initializer=small)
                hidden = af.layers.dense(normalized(x, "behind"), 4 * units, af.nn.relu, name="hidden")
                x = x + af.layers.dense(hidden, units, name="out", kernel_initializer=small)
        return normalized(x, "last"), table


def whole_attention(batch: int, length: int, sizes: Sizes) -> Attend:
    """Attention over pieces of text of one length, each letter to those before it."""
    size = sizes.units // sizes.heads
    hidden = np.triu(np.full((length, length), -1e9, np.float32), 1)

    def attend(query: af.Tensor, key: af.Tensor, value: af.Tensor) -> af.Tensor:
        q, k, v = (
            af.transpose(af.reshape(x, [batch, length, sizes.heads, size]), [0, 2, 1, 3]) for x in (query, key, value)
        )
        shares = af.nn.softmax(af.matmul(q, k, transpose_b=True) * size**-0.5 + hidden)
        return af.reshape(af.transpose(af.matmul(shares, v), [0, 2, 1, 3]), [-1, sizes.heads, size])

    return attend


def logits_of(tokens: af.Tensor, batch: int, length: int, sizes: Sizes) -> af.Tensor:
    """The logits of the letters that follow, [batch · length, vocabulary], for tokens [batch, length]."""
    places = np.tile(np.arange(length, dtype=np.int32), batch)
    rows, table = network(af.reshape(tokens, [-1]), places, sizes, whole_attention(batch, length, sizes))
    return af.matmul(rows, table, transpose_b=True)


def decoding_of(sizes: Sizes) -> af.generation.Decoding:
    """The same network, as a step of generation."""
    decoding = af.generation.Decoding(sizes.context, sizes.vocabulary, block_size=16, blocks=512)
    rows, table = network(decoding.tokens, decoding.places, sizes, decoding.attention)
    decoding.choose(af.matmul(decoding.last(rows), table, transpose_b=True))
    return decoding


async def train(text: str, path: Path, *, seconds: float, steps: int, seed: int, batch: int = 16) -> float:
    """Trains until the time or the steps are over, and saves the network to `path`. Gives the last loss, in nats a letter."""
    letters = af.generation.Characters("".join(sorted(set(text))))
    numbers = np.array(letters.encode(text), np.int32)
    sizes, rng = Sizes(len(set(text))), np.random.default_rng(seed)
    length = sizes.context
    graph = af.Graph()
    with graph.as_default():
        af.set_random_seed(seed)
        tokens = af.placeholder(af.int32, [batch, length], name="tokens")
        following = af.placeholder(af.int32, [batch, length], name="following")
        logits = logits_of(tokens, batch, length, sizes)
        losses = af.nn.sparse_softmax_cross_entropy_with_logits(labels=af.reshape(following, [-1]), logits=logits)
        loss = af.reduce_mean(losses)
        rate = af.placeholder_with_default(0.002, [])
        optimizer = af.train.AdamOptimizer(rate, beta2=0.99)
        step = optimizer.minimize(loss)
        initialize = af.global_variables_initializer()
        decoding = decoding_of(sizes)
    async with af.Session(graph=graph) as session:
        await session.run(initialize)
        begun, value = time.perf_counter(), float("nan")
        for number in range(1, steps + 1):
            begins = rng.integers(0, len(numbers) - length - 1, batch)
            pieces = numbers[begins[:, None] + np.arange(length + 1)]
            share = max(number / steps, (time.perf_counter() - begun) / max(seconds, 1e-9))
            feeds = {
                tokens: pieces[:, :-1],
                following: pieces[:, 1:],
                rate: 0.003 * min(1.0, number / 50, max(0.0, 1.05 - share)),
            }
            value, _ = await session.run([loss, step], feeds)
            if number == 1 or number % 100 == 0:
                print(f"step {number:5}  loss {value:5.3f}  {time.perf_counter() - begun:5.1f} s", flush=True)
            if share >= 1:
                break
        shutil.rmtree(path, ignore_errors=True)
        await af.generation.save(session, path, decoding, tokenizer=letters)
    return float(value)


async def write(path: Path, prompt: str, *, count: int, temperature: float, seed: int) -> str:
    """Loads a saved network, and prints the letters that it writes after `prompt`, as they come."""
    text = prompt
    print(prompt, end="", flush=True)
    async with af.generation.Model(path) as model:
        begun = time.perf_counter()
        async for token in model.generate(prompt, max_tokens=count, temperature=temperature, top_k=20, seed=seed):
            print(token.text, end="", flush=True)
            text += token.text
    print(f"\n{count / (time.perf_counter() - begun):.0f} letters a second")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a small GPT on the documentation, and writes with it.")
    parser.add_argument("--seconds", type=float, default=60.0, help="of training (60)")
    parser.add_argument("--steps", type=int, default=100_000, help="of training at most")
    parser.add_argument("--prompt", default="A session ", help="the begin of the text")
    parser.add_argument("--letters", type=int, default=100, help="how many follow it (100)")
    parser.add_argument("--temperature", type=float, default=0.7, help="0 takes the likeliest letter (0.7)")
    parser.add_argument("--seed", type=int, default=0, help="of weights, order and letters (0)")
    parser.add_argument("--serve", action="store_true", help="serve the network that is there; train one if none is")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder of the model (examples/out/gpt)")
    options = parser.parse_args()
    path = options.output / "gpt" / "1"

    async def work() -> None:
        if not (options.serve and path.exists()):
            await train(corpus(), path, seconds=options.seconds, steps=options.steps, seed=options.seed)
        if not options.serve:
            rules = {"count": options.letters, "temperature": options.temperature, "seed": options.seed}
            await write(path, options.prompt, **rules)

    anyio.run(work)
    if options.serve:
        raise SystemExit(subprocess.call([sys.executable, "-m", "actorflow", "serve", str(options.output)]))


if __name__ == "__main__":
    main()
