"""The two ops of generation: attention over pages, and the choice of tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import errors
from actorflow.graph.ops.random.sampling import sample_tokens
from actorflow.graph.ops.state.paged import paged_attention
from actorflow.kernels.native.library import loaded
from actorflow.kernels.state import paged

BLOCK, SLOTS, SIZE = 4, 64, 24
TABLES = np.array([[3, 5, 7, 0], [1, 2, 9, 15], [4, -1, -1, -1]], np.int32)
OWNERS, PLACES = np.array([0, 0, 0, 1, 1, 2], np.int32), np.array([4, 5, 6, 12, 13, 0], np.int32)


def drawn(seed: int, kind: str, heads: int) -> list[Any]:
    """Two pools with two heads, and queries, keys and values of the tokens."""
    rng = np.random.default_rng(seed)
    shapes = [(SLOTS, 2, SIZE)] * 2 + [(len(OWNERS), heads, SIZE)] + [(len(OWNERS), 2, SIZE)] * 2
    return [rng.normal(size=shape).astype(kind) for shape in shapes]


def by_hand(keys: Any, values: Any, query: Any, key: Any, value: Any, scale: float) -> Any:
    """The attention of each query over the rows of its sequence, row by row, in float64."""
    keys, values = keys.astype(float), values.astype(float)
    slots = [TABLES[o, p // BLOCK] * BLOCK + p % BLOCK for o, p in zip(OWNERS, PLACES)]
    keys[slots], values[slots] = key, value
    out = np.zeros(query.shape)
    for token, (owner, place) in enumerate(zip(OWNERS, PLACES)):
        rows = [TABLES[owner, p // BLOCK] * BLOCK + p % BLOCK for p in range(place + 1)]
        for head in range(query.shape[1]):
            own = head // (query.shape[1] // 2)
            scores = np.exp(keys[rows, own] @ query[token, head].astype(float) * scale)
            out[token, head] = scores / scores.sum() @ values[rows, own]
    return out


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("heads", [2, 6])
async def test_paged_attention_is_attention_over_the_rows_of_a_table(kind: str, heads: int, seed: int) -> None:
    keys, values, *rows = drawn(seed, kind, heads)
    pools = [af.Variable(pool) for pool in (keys, values)]
    fed = [af.placeholder(kind, [None, *array.shape[1:]]) for array in rows]
    out = paged_attention(*pools, *fed, TABLES, OWNERS, PLACES, block_size=BLOCK, scale=0.2)
    async with af.Session() as session:
        await session.run(af.global_variables_initializer())
        value = await session.run(out, dict(zip(fed, rows)))
        np.testing.assert_allclose(value, by_hand(keys, values, *rows, 0.2), rtol=1e-4, atol=1e-5)
        slot = TABLES[1, 3] * BLOCK + 1
        assert (await session.run(pools[0]))[slot].tolist() == rows[1][4].tolist(), "the new rows are kept"


def test_a_token_of_a_page_has_its_bits_whatever_else_is_in_the_call(seed: int) -> None:
    keys, values, *rows = drawn(seed, "float32", 4)
    functions = [paged.attend]
    if loaded() is not None:
        functions.append(lambda *given: loaded().call("paged_attention", 1, *given))
    for function in functions:
        whole = function(keys.copy(), values.copy(), *rows, TABLES, OWNERS, PLACES, BLOCK, 0.2)
        moved = np.where(TABLES >= 0, (TABLES + 1) % 16, -1).astype(np.int32)  # the same rows in other blocks
        pools = [np.zeros_like(pool) for pool in (keys, values)]
        for pool, old in zip(pools, (keys, values)):
            for before, after in zip(TABLES[TABLES >= 0] * BLOCK, moved[TABLES >= 0] * BLOCK):
                pool[after : after + BLOCK] = old[before : before + BLOCK]
        for token in (3, 5):
            one = slice(token, token + 1)
            alone = function(*pools, *[row[one] for row in rows], moved, OWNERS[one], PLACES[one], BLOCK, 0.2)
            assert alone.tobytes() == whole[one].tobytes()


OUTSIDE = {
    "a place": ({"places": PLACES + 16}, r"Places of tokens are in \[0, 16\)"),
    "a negative place": ({"places": PLACES - 5}, r"Places of tokens"),
    "an owner": ({"owners": OWNERS + 1}, "rows of 3 tables"),
    "a block": ({"tables": TABLES + 1}, r"Blocks of a pool are in \[0, 16\)"),
    "a missing block": ({"tables": TABLES - 6}, "Blocks of a pool"),
}


@pytest.mark.parametrize("name", OUTSIDE)
async def test_pages_that_are_outside_are_refused(name: str, seed: int) -> None:
    changes, text = OUTSIDE[name]
    keys, values, *rows = drawn(seed, "float32", 2)
    indices = {"tables": TABLES, "owners": OWNERS, "places": PLACES} | changes
    fed = {key: af.placeholder(af.int32, [None] * array.ndim) for key, array in indices.items()}
    pools = [af.Variable(pool) for pool in (keys, values)]
    out = paged_attention(*pools, *rows, *fed.values(), block_size=BLOCK, scale=0.2)
    async with af.Session() as session:
        await session.run(af.global_variables_initializer())
        with pytest.raises(errors.InvalidArgumentError, match=text):
            await session.run(out, {fed[key]: array for key, array in indices.items()})


@pytest.mark.parametrize(
    "arguments, text",
    [
        (([2, 3, 4], [2, 3, 5], [2, 4], [2, 3, 4]), "'query' with 3 dimensions"),
        (([8, 3, 4], [8, 3, 5], [2, 3, 4], [2, 3, 4]), "Keys and values have the same shapes"),
        (([8, 3, 4], [8, 3, 4], [2, 3, 4], [2, 2, 4]), "has no place for rows"),
    ],
)
def test_shapes_that_do_not_fit_raise_at_their_line(arguments: Any, text: str) -> None:
    keys, values, query, key = arguments
    with pytest.raises(ValueError, match=text):
        paged_attention(
            af.Variable(np.zeros(keys, "f4")),
            af.Variable(np.zeros(values, "f4")),
            np.zeros(query, "f4"),
            *[np.zeros(key, "f4")] * 2,
            np.zeros([1, 1], "i4"),
            [0, 0],
            [0, 0],
            block_size=4,
            scale=1.0,
        )


LOGITS = np.log(np.array([0.1, 0.4, 0.05, 0.3, 0.15]))
RULES: dict[str, tuple[float, int, float, list[float]]] = {
    "greedy": (0.0, 0, 1.0, [0, 1, 0, 0, 0]),
    "plain": (1.0, 0, 1.0, [0.1, 0.4, 0.05, 0.3, 0.15]),
    "cold": (0.5, 0, 1.0, [0.01 / 0.285, 0.16 / 0.285, 0.0025 / 0.285, 0.09 / 0.285, 0.0225 / 0.285]),
    "top_k": (1.0, 2, 1.0, [0, 4 / 7, 0, 3 / 7, 0]),
    "top_k of all": (1.0, 99, 1.0, [0.1, 0.4, 0.05, 0.3, 0.15]),
    "top_p": (1.0, 0, 0.75, [0, 0.4 / 0.85, 0, 0.3 / 0.85, 0.15 / 0.85]),
    "a small top_p": (1.0, 0, 0.01, [0, 1, 0, 0, 0]),
    "both": (1.0, 3, 0.5, [0, 4 / 7, 0, 3 / 7, 0]),
}


@pytest.mark.parametrize("kind", ["float32", "float64"])
async def test_tokens_have_their_shares(kind: str) -> None:
    count = 4000
    rules = list(RULES.values())
    order = np.random.default_rng(3).permutation(count * len(rules))  # rows of all rules mixed in one call
    which = np.repeat(np.arange(len(rules)), count)[order]
    columns = [np.array([rule[i] for rule in rules])[which] for i in range(3)]
    kinds = (np.float32, np.int32, np.float32)
    fed = [column.astype(kind) for column, kind in zip(columns, kinds)]
    seeds = np.tile(np.arange(count, dtype=np.int64), len(rules))[order]
    logits = np.tile(LOGITS.astype(kind), (len(order), 1))
    tokens = sample_tokens(logits, *fed, seeds, np.full(len(order), 7, np.int64))
    async with af.Session() as session:
        chosen = await session.run(tokens)
    for index, (name, (*_, shares)) in enumerate(RULES.items()):
        drawn = np.bincount(chosen[which == index], minlength=5) / count
        assert np.abs(drawn - shares).max() < 0.03, (name, drawn)
        assert (drawn[np.array(shares) == 0] == 0).all(), name


@pytest.mark.parametrize("temperature", [0.0, 0.8])
async def test_rows_whose_logits_are_no_numbers_have_no_token(temperature: float) -> None:
    logits = np.array([[np.nan, 1], [-np.inf, 1], [np.inf, 1], [-np.inf, -np.inf], [9e9, 0]], "f4")
    zeros = np.zeros(5, "i8")
    tokens = sample_tokens(logits, np.full(5, temperature, "f4"), [0, 0, 1, 0, 0], [0.5, 0.5, 1, 1, 1], zeros, zeros)
    none = sample_tokens(logits[:, :0], np.full(5, temperature, "f4"), [0] * 5, [1.0] * 5, zeros, zeros)
    async with af.Session() as session:
        assert (await session.run(tokens)).tolist() == [-1, 1, -1, -1, 0]
        assert (await session.run(none)).tolist() == [-1] * 5
