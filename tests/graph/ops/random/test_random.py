"""Random ops: equal seeds draw equal numbers everywhere, and the numbers have the distribution that they should have.

All seeds are fixed, so that a test of a distribution always sees the same numbers.
"""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from interpreter import Interpreter
from patience import PATIENCE

import actorflow as af
from actorflow import nn
from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.random.distributions import DEFAULT_GRAPH_SEED, get_seed

FLOATS = ("float16", "bfloat16", "float32", "float64")
# Each draws 24 numbers, of two kinds of seeds.
DRAWS: dict[str, Callable[..., Any]] = {
    "RandomUniform": lambda seed: af.random_uniform([4, 6], seed=seed),
    "RandomUniformInt": lambda seed: af.random_uniform([4, 6], 0, 1000, "int32", seed=seed),
    "RandomStandardNormal": lambda seed: af.random_normal([4, 6], seed=seed),
    "TruncatedNormal": lambda seed: af.truncated_normal([4, 6], seed=seed),
    "RandomShuffle": lambda seed: af.random_shuffle(np.arange(24), seed=seed),
    "Multinomial": lambda seed: af.multinomial(np.zeros((4, 9), np.float32), 6, seed=seed),
    "RandomGamma": lambda seed: af.random_gamma([4, 6], 0.5, seed=seed),
    "RandomPoissonV2": lambda seed: af.random_poisson(50.0, [4, 6], seed=seed),
}


def draw(build: Callable[[], Any], runs: int = 1, graph_seed: int | None = None) -> list[Any]:
    """The values of `runs` runs in a new session."""
    graph = af.Graph()
    graph.seed = graph_seed
    with graph.as_default():
        tensor = build()
    with af.blocking.Session(graph=graph) as session:
        return [session.run(tensor) for _ in range(runs)]


def one(build: Callable[[], Any]) -> Any:
    return draw(build)[0]


def assert_fits(counts: Sequence[int] | Any, chances: Sequence[float] | Any) -> None:
    """Pearson's chi-square of `counts` is within six standard deviations of what the chances make it."""
    counts, chances = np.asarray(counts, np.float64), np.asarray(chances, np.float64)
    expected = counts.sum() * chances / chances.sum()
    statistic, freedom = float(((counts - expected) ** 2 / expected).sum()), len(counts) - 1
    assert statistic < freedom + 6 * math.sqrt(2 * freedom), (statistic, freedom)


# ---- seeds


@pytest.mark.parametrize("name", DRAWS)
def test_equal_seeds_draw_equal_numbers(name: str) -> None:
    first, second = (draw(lambda: DRAWS[name](7), 3) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert len({value.tobytes() for value in first}) == 3, "each run draws anew"
    assert not np.array_equal(first[0], one(lambda: DRAWS[name](8)))
    assert not np.array_equal(first[0], draw(lambda: DRAWS[name](7), graph_seed=1)[0])


@pytest.mark.parametrize("name", DRAWS)
def test_without_seeds_each_session_draws_its_own(name: str) -> None:
    assert not np.array_equal(one(lambda: DRAWS[name](None)), one(lambda: DRAWS[name](None)))


def digest() -> str:
    """The numbers of all random ops in two runs, as one number."""
    values = [value.tobytes() for build in DRAWS.values() for value in draw(lambda b=build: b(None), 2, graph_seed=3)]
    return hashlib.sha256(b"".join(values)).hexdigest()


def test_f34_another_process_draws_the_same_numbers() -> None:
    command = f"import sys; sys.path[:0] = {sys.path!r}; from graph.ops.random import test_random; print(test_random.digest())"
    made = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert made.stdout.strip() == digest()


def test_the_nth_run_draws_the_same_whatever_else_was_drawn() -> None:
    graph = af.Graph()
    with graph.as_default():
        size = af.placeholder("int32", [1])
        watched, other = af.random_normal(size, seed=5), af.random_normal([3], seed=6)
    with af.blocking.Session(graph=graph) as session:
        alone = [session.run(watched, {size: [4]}) for _ in range(3)]
    with af.blocking.Session(graph=graph) as session:
        session.run([watched, other], {size: [1000]})
        session.run(other)
        session.run([other, watched], {size: [0]})
        np.testing.assert_array_equal(session.run(watched, {size: [4]}), alone[2])


def test_f34_the_device_and_the_partition_change_no_number() -> None:
    for build in DRAWS.values():
        np.testing.assert_array_equal(draw(lambda b=build: b(3), 2), draw_on_two(lambda b=build: b(3)))


def draw_on_two(build: Callable[[], Any]) -> list[Any]:
    """Two runs in a session of two devices, in which the result crosses from one to the other."""
    graph = af.Graph()
    with graph.as_default():
        with af.device("/device:CPU:1"):
            drawn = build()
        with af.device("/device:CPU:0"):
            tensor = af.identity(drawn)
    with af.blocking.Session(graph=graph, devices={"CPU": 2}) as session:
        return [session.run(tensor) for _ in range(2)]


def test_nodes_of_one_graph_draw_different_numbers() -> None:
    graph = af.Graph()
    with graph.as_default():
        af.set_random_seed(11)
        assert graph.seed == 11
        tensors = [af.random_uniform([8]) for _ in range(2)]
    with af.blocking.Session(graph=graph) as session:
        first, second = session.run(tensors)
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["random_uniform", "random_normal", "truncated_normal"])
def test_large_tensors_are_drawn_into_memory_of_the_device(name: str, dtype: str) -> None:
    graph = af.Graph()
    with graph.as_default():
        values = getattr(af, name)([300, 200], dtype=dtype, seed=5)
    with af.blocking.Session(graph=graph) as session:
        np.testing.assert_array_equal(session.run(values), Interpreter(graph).run([values])[0])


@pytest.mark.parametrize(
    ("graph_seed", "op_seed", "expected"),
    [
        (None, None, (0, 0)),
        (5, 3, (5, 3)),
        (None, 3, (DEFAULT_GRAPH_SEED, 3)),
        (5, None, (5, 2)),
        (0, 0, (0, 2**31 - 1)),
        (2**31, 2**31 + 4, (1, 5)),
        (-1, 1, (2**31 - 2, 1)),
    ],
)
def test_the_rule_of_seeds(graph_seed: int | None, op_seed: int | None, expected: tuple[int, int]) -> None:
    graph = af.Graph()
    graph.seed = graph_seed
    with graph.as_default():
        af.constant(1), af.constant(2)
        assert get_seed(op_seed) == expected


def test_runs_are_counted_in_the_context() -> None:
    graph = af.Graph()
    with graph.as_default():
        value = af.random_uniform([2], seed=1, name="u")
    oracle = Interpreter(graph)
    first, second = (oracle.run([value])[0] for _ in range(2))
    assert oracle.contexts["u"].state["runs"] == 2
    oracle.contexts["u"].state["runs"] = 0
    np.testing.assert_array_equal(oracle.run([value])[0], first)
    np.testing.assert_array_equal(oracle.run([value])[0], second)


# ---- distributions


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_numbers(dtype: str) -> None:
    values = one(lambda: af.random_uniform([100_000], dtype=dtype, seed=1))
    assert values.dtype == af.as_dtype(dtype).numpy_dtype
    wide = values.astype(np.float64)
    assert 0 <= wide.min() and wide.max() < 1
    assert_fits(np.histogram(wide, 64, (0, 1))[0], [1] * 64)
    pairs = np.histogram2d(wide[::2], wide[1::2], 8, ((0, 1), (0, 1)))[0]
    assert_fits(pairs.reshape(-1), [1] * 64)


def test_uniform_numbers_in_an_interval() -> None:
    values = one(lambda: af.random_uniform([2, 50_000], -3.0, 5.0, seed=1))
    assert values.dtype == np.float32 and values.shape == (2, 50_000)
    assert -3 <= values.min() < -2.99 and 4.99 < values.max() <= 5
    assert_fits(np.histogram(values, 50, (-3, 5))[0], [1] * 50)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_uniform_integers(dtype: str) -> None:
    values = one(lambda: af.random_uniform([70_000], -3, 4, dtype, seed=1))
    assert values.dtype == dtype
    assert set(values.tolist()) == set(range(-3, 4))
    assert_fits(np.unique(values, return_counts=True)[1], [1] * 7)


def normal_cdf(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["random_normal", "truncated_normal"])
def test_normal_numbers(name: str, dtype: str) -> None:
    values = one(lambda: getattr(af, name)([100_000], dtype=dtype, seed=1))
    assert values.dtype == af.as_dtype(dtype).numpy_dtype
    edges = np.linspace(-2, 2, 17)
    chances = np.diff([normal_cdf(e) for e in edges])
    # The 16 bit types are rounded to their neighbours, a little past an edge.
    inner = values.astype(np.float64) + 1e-9
    counts = np.histogram(inner, edges)[0]
    if dtype not in ("bfloat16", "float16"):
        assert_fits(counts, chances)
    if name == "truncated_normal":
        assert np.abs(inner).max() <= 2 + 1e-6 and abs(inner.std() - 0.8796) < 0.01
    else:
        assert np.abs(inner).max() > 3.5 and abs(inner.std() - 1) < 0.01
    assert abs(inner.mean()) < 0.01


def test_mean_and_deviation() -> None:
    values = one(lambda: af.random_normal([50_000, 2], [10.0, -10.0], [0.5, 2.0], seed=1))
    np.testing.assert_allclose(values.mean(axis=0), [10, -10], atol=0.05)
    np.testing.assert_allclose(values.std(axis=0), [0.5, 2], rtol=0.02)
    values = one(lambda: af.truncated_normal([50_000], 1.0, 0.1, "float64", seed=1))
    assert 0.8 <= values.min() and values.max() <= 1.2


def test_shuffled_rows() -> None:
    rows = np.arange(10).reshape(5, 2)
    places = np.zeros((5, 5), int)
    for shuffled in draw(lambda: af.random_shuffle(rows, seed=1), 2000):
        assert sorted(map(tuple, shuffled)) == [tuple(r) for r in rows]
        places[np.arange(5), shuffled[:, 0] // 2] += 1
    for counts in places:
        assert_fits(counts, [1] * 5)
    words = np.array([b"a", b"b", b"c"], object)
    assert sorted(one(lambda: af.random_shuffle(words, seed=1)).tolist()) == words.tolist()
    assert one(lambda: af.random_shuffle(np.float32(3), seed=1)) == 3


def test_classes_by_their_chances() -> None:
    logits = np.log([[0.1, 0.2, 0.7], [0.5, 0.5, 1e-300]]).astype(np.float64) + [[5.0], [-400.0]]
    values = one(lambda: af.multinomial(logits, 20_000, seed=1))
    assert values.dtype == np.int64 and values.shape == (2, 20_000)
    assert_fits(np.bincount(values[0], minlength=3), [0.1, 0.2, 0.7])
    assert_fits(np.bincount(values[1]), [0.5, 0.5])
    small = one(lambda: af.multinomial([[0.0, -np.inf]], 5, seed=1, output_dtype="int32"))
    assert small.dtype == np.int32 and not small.any()


# ---- dropout


def test_dropout_keeps_its_share_and_its_mean() -> None:
    values = one(lambda: nn.dropout(np.ones((100, 400), np.float32), rate=0.25, seed=1))
    assert set(np.unique(values).tolist()) == {0.0, np.float32(1) / np.float32(0.75)}
    assert_fits([(values == 0).sum(), (values > 0).sum()], [0.25, 0.75])
    whole_rows = one(lambda: nn.dropout(np.ones((100, 4), np.float32), 0.5, noise_shape=[100, 1], seed=1))
    assert all(len(set(row)) == 1 for row in whole_rows.tolist()) and 0 < (whole_rows == 0).mean() < 1


def test_the_gradient_of_dropout_has_its_mask() -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder("float64", [1000])
        y = nn.dropout(x, rate=0.5, seed=1)
        (slope,) = af.gradients(y, x)
    with af.blocking.Session(graph=graph) as session:
        value, gradient = session.run([y, slope], {x: np.full(1000, 3.0)})
    np.testing.assert_array_equal(value, 3 * gradient)
    assert set(gradient.tolist()) == {0.0, 2.0}


@pytest.mark.parametrize(
    "arguments", [{}, {"keep_prob": 0.5, "rate": 0.5}, {"rate": 1.0}, {"rate": -0.1}, {"keep_prob": 0.0}]
)
def test_dropout_rejects(arguments: dict[str, float]) -> None:
    with af.Graph().as_default(), pytest.raises(ValueError):
        nn.dropout([1.0], **arguments)


# ---- what is refused


@pytest.mark.parametrize(
    "build",
    [
        lambda: af.random_uniform([2], dtype="int32"),
        lambda: af.random_uniform([2], 5, 5, dtype="int32"),
        lambda: af.random_uniform([2], dtype="uint8"),
        lambda: af.random_uniform([-2]),
        lambda: af.multinomial([1.0, 2.0], 3),
        lambda: af.multinomial([[1.0, 2.0]], -1),
    ],
)
def test_refused_while_building(build: Callable[[], Any]) -> None:
    with af.Graph().as_default(), pytest.raises(ValueError):
        build()


def test_refused_in_the_run() -> None:
    graph = af.Graph()
    with graph.as_default():
        sizes, bound, logits = af.placeholder("int32"), af.placeholder("int32"), af.placeholder("float32")
        floats, integers = af.random_uniform(sizes), af.random_uniform([2], 3, bound, "int32")
        classes = af.multinomial(logits, 2)
    with af.blocking.Session(graph=graph) as session:
        for tensor, feeds in (
            (floats, {sizes: [-1]}),
            (floats, {sizes: 3}),
            (integers, {bound: 3}),
            (classes, {logits: [1.0]}),
            (classes, {logits: np.zeros((1, 0))}),
        ):
            with pytest.raises(InvalidArgumentError):
                session.run(tensor, feeds)
