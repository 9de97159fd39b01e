"""Small models that generate, on the disk, and what their answers are by another way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import actorflow as af

UNITS, HEADS, CONTEXT, VOCABULARY = 16, 2, 48, 256


def network(tokens: Any, places: Any, attend: Any) -> Any:
    """Logits of all tokens by a layer of attention. A letter's own row counts twice."""
    with af.variable_scope("small", reuse=af.AUTO_REUSE):
        normal = af.random_normal_initializer(stddev=0.5, seed=3)
        table = af.get_variable("table", [VOCABULARY, UNITS], initializer=normal)
        x = af.gather(table, tokens) + af.gather(
            af.get_variable("places", [CONTEXT, UNITS], initializer=normal), places
        )
        joined = af.layers.dense(x, 3 * UNITS, name="joined", kernel_initializer=normal)
        query, key, value = (af.reshape(part, [-1, HEADS, UNITS // HEADS]) for part in af.split(joined, 3, axis=1))
        x = x + af.reshape(attend(query, key, value), [-1, UNITS])
        return af.matmul(af.layers.dense(x, UNITS, af.nn.relu, name="hidden"), table, transpose_b=True)


def whole_attention(query: Any, key: Any, value: Any) -> Any:
    """Attention of one sequence to itself, without a cache."""
    q, k, v = (af.transpose(x, [1, 0, 2]) for x in (query, key, value))
    length = af.shape(query)[0]
    hidden = af.constant(-1e9) * (1.0 - af.matrix_band_part(af.ones([length, length]), -1, 0))
    scores = af.matmul(q, k, transpose_b=True) / float(np.sqrt(UNITS // HEADS)) + hidden
    return af.transpose(af.matmul(af.nn.softmax(scores), v), [1, 0, 2])


async def write_attention(
    path: Path, *, blocks: int = 64, block_size: int = 4, stop_tokens: tuple[int, ...] = ()
) -> Path:
    """A model with a layer of attention, which takes bytes; `serving_default` gives the logits of a whole text."""
    graph = af.Graph()
    with graph.as_default():
        af.set_random_seed(5)
        decoding = af.generation.Decoding(CONTEXT, VOCABULARY, block_size=block_size, blocks=blocks)
        decoding.choose(decoding.last(network(decoding.tokens, decoding.places, decoding.attention)))
        text = af.placeholder(af.int32, [None], name="text")
        logits = network(text, af.range_(af.shape(text)[0]), whole_attention)
        init = af.global_variables_initializer()
    async with af.Session(graph=graph) as session:
        await session.run(init)
        await af.generation.save(
            session,
            path,
            decoding,
            tokenizer=af.generation.Bytes(),
            stop_tokens=stop_tokens,
            inputs={"text": text},
            outputs={"logits": logits},
        )
    return path


async def write_letters(path: Path, *, context: int = 400, blocks: int = 64) -> Path:
    """A model that says the byte behind the last, without a cache."""
    graph = af.Graph()
    with graph.as_default():
        decoding = af.generation.Decoding(context, VOCABULARY, block_size=16, blocks=blocks)
        following = np.roll(np.eye(VOCABULARY, dtype=np.float32), 1, 1) * 100
        decoding.choose(decoding.last(af.gather(af.constant(following), decoding.tokens)))
    async with af.Session(graph=graph) as session:
        await af.generation.save(session, path, decoding, tokenizer=af.generation.Bytes())
    return path


async def write_recurrent(path: Path) -> Path:
    """A model whose state is the sum of its tokens: it says that sum, as a byte."""
    graph = af.Graph()
    with graph.as_default():
        decoding = af.generation.Decoding(CONTEXT, VOCABULARY, block_size=4, blocks=32)
        before, variable = decoding.state(1)
        after = before + af.cast(af.expand_dims(decoding.tokens, 1), af.float32)
        decoding.keep(variable, after)
        sums = af.cast(af.floormod(decoding.last(after)[:, 0], 251.0), af.int32)
        decoding.choose(af.one_hot(sums, VOCABULARY) * 9.0)
    async with af.Session(graph=graph) as session:
        await af.generation.save(session, path, decoding)
    return path


async def greedy_without_cache(path: Path, prompt: list[int], count: int) -> list[int]:
    """The likeliest tokens by the whole attention, computed again for each token."""
    tokens = list(prompt)
    async with af.load_model(path) as session:
        for _ in range(count):
            (logits,) = await session.run_async(["logits"], {"text": np.array(tokens, np.int32)})
            tokens.append(int(logits[-1].argmax()))
    return tokens[len(prompt) :]


def ids(tokens: list[Any]) -> list[int]:
    return [token.id for token in tokens if token.id >= 0]
