"""Functions that are called once for a block of elements: the bits of single calls, and errors at their elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.models.data.functions import callers
from actorflow.models.data.functions.function import DatasetFunction
from actorflow.models.data.functions.rowwise import RULES
from actorflow.models.data.functions.tracing import trace

Dataset = af.data.Dataset
COUNT = 37


def floats(rng: Any, *shape: int) -> Any:
    return (rng.normal(size=(COUNT, *shape)) * 3).astype(np.float32)


def whole(rng: Any, *shape: int) -> Any:
    return rng.integers(1, 60, (COUNT, *shape))


def words(rng: Any, *shape: int) -> Any:
    return np.array([f" {number} " for number in rng.integers(0, 10**4, COUNT)], object)


def bytes_of(rng: Any, *shape: int) -> Any:
    return np.array([rng.bytes(8) for _ in range(COUNT)], object)


def truths(rng: Any, *shape: int) -> Any:
    return rng.random((COUNT, *shape)) < 0.5


def examples(rng: Any, *shape: int) -> Any:
    found = []
    for number in range(COUNT):
        features = {
            "x": af.train.Feature(float_list=af.train.FloatList(value=rng.normal(size=3))),
            "y": af.train.Feature(int64_list=af.train.Int64List(value=[number])),
            "z": af.train.Feature(bytes_list=af.train.BytesList(value=[b"z" * number])),
        }
        found.append(af.train.Example(features=af.train.Features(feature=features)).SerializeToString())
    return np.array(found, object)


_TABLE = np.arange(120, dtype=np.float32).reshape(60, 2)
_PARSED = {
    "x": af.FixedLenFeature([3], af.float32),
    "y": af.FixedLenFeature([], af.int64),
    "z": af.FixedLenFeature([], af.string),
    "w": af.FixedLenFeature([2], af.float32, [1.0, 2.0]),
}
CASES: dict[str, tuple[Any, Any]] = {
    "Gather": (whole, lambda x: af.gather(_TABLE, x)),
    "rank 2 gather": (lambda rng: whole(rng, 2), lambda x: af.gather(af.constant(_TABLE), x)),
    "ParseSingleExample": (examples, lambda x: af.parse_single_example(x, _PARSED)),
    "Reshape": (lambda rng: floats(rng, 2, 3), lambda x: af.reshape(x, [3, -1])),
    "Squeeze": (lambda rng: floats(rng, 1, 3), af.squeeze),
    "ExpandDims": (lambda rng: floats(rng, 3), lambda x: (af.expand_dims(x, 0), af.expand_dims(x, 1), af.expand_dims(x, -1))),
    "StridedSlice": (
        lambda rng: floats(rng, 4, 3),
        lambda x: (x[1], x[..., 2], x[1:3, ::2], x[::-1], x[:, af.newaxis, 1], x[-1, -1]),
    ),
    "DecodeRaw": (bytes_of, lambda x: (af.decode_raw(x, af.int32)[0], af.decode_raw(x, af.uint8))),
    "DecodeCSV": (words, lambda x: tuple(af.decode_csv(x, [["a"]]))),
    "Substr": (bytes_of, lambda x: af.substr(x, 1, 3)),
    "Substr of several parts": (bytes_of, lambda x: af.substr(x, [0] * COUNT, [1] * COUNT)),
    "Substr at stacked places": (lambda rng: whole(rng, 2), lambda x: af.substr([b"abc" * 30, b"d" * 90], x, x)),
    "StringToNumber": (words, lambda x: af.string_to_number(x, af.int64)),
    "strings": (words, lambda x: (af.strings.strip(x), af.strings.length(x), af.string_to_hash_bucket_fast(x, 100))),
    "AsString": (floats, af.as_string),
    "Cast": (floats, lambda x: (af.cast(x, af.int32), af.cast(x, af.bool), af.cast(x, af.float64))),
    "exponentials": (
        lambda rng: floats(rng, 5),
        lambda x: (af.exp(x), af.log(abs(x)), af.tanh(x), af.sigmoid(x), af.sin(x), af.cos(x)),
    ),
    "roots": (lambda rng: floats(rng, 5), lambda x: (af.sqrt(af.square(x) * 2.0 + 1.0) - 0.5, af.rsqrt(abs(x)), 1.0 / x)),
    "float64": (lambda rng: rng.normal(size=(COUNT, 7)), lambda x: (af.exp(x), af.sin(x), af.log1p(abs(x)), af.nn.softplus(x))),
    "activations": (lambda rng: floats(rng, 5), lambda x: (af.nn.relu(x), af.nn.elu(x), af.nn.selu(x), af.nn.softsign(x))),
    "broadcast": (floats, lambda x: x * [1.0, 2.0, 3.0] + [[1.0], [2.0]]),
    "broadcast of stacks": (lambda rng: floats(rng, 3), lambda x: x * x[0] + af.reshape(x, [3, 1])),
    "whole numbers": (lambda rng: whole(rng, 2), lambda x: (x // 7, x % 7, af.truncatediv(x, 4), af.maximum(x, 9), -x)),
    "logic": (lambda rng: truths(rng, 3), lambda x: (~x, x & x[0], af.reduce_any(x), af.reduce_all(x))),
    "where": (lambda rng: floats(rng, 3), lambda x: af.where_v2(x > 0.0, x, 0.0)),
    "reductions": (lambda rng: whole(rng, 2, 3), lambda x: (af.reduce_sum(x), af.reduce_max(x, 1), af.reduce_min(x, [0], True))),
    "joined": (lambda rng: floats(rng, 2), lambda x: (af.stack([x, -x], 1), af.concat([x, x * 2.0], 0), af.stack([x, x], -1))),
    "the same for all": (floats, lambda x: (af.constant([1, 2]) + 1, x)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
async def test_a_block_has_the_bits_of_single_calls(name: str, seed: int) -> None:
    make, function = CASES[name]
    values = make(np.random.default_rng(seed))
    traced, _ = trace(function, Dataset.from_tensor_slices(values).node.spec, "map")
    assert traced.of_rows() is not None
    dataset = Dataset.from_tensor_slices(values).map(function)
    alone = [leaves(element) async for element in dataset]
    joined = [leaves(element) async for element in dataset.batch(COUNT).unbatch()]
    assert len(alone) == COUNT
    for one, other in zip(alone, joined):
        for a, b in zip(one, other, strict=True):
            assert np.asarray(a).dtype == np.asarray(b).dtype and np.shape(a) == np.shape(b)
            if np.asarray(a).dtype == object:
                assert np.asarray(a).tolist() == np.asarray(b).tolist()
            else:
                assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def leaves(element: Any) -> list[Any]:
    if isinstance(element, dict):
        return [element[key] for key in sorted(element)]
    return list(element) if isinstance(element, (tuple, list)) else [element]


def test_each_rule_is_of_an_op() -> None:
    from actorflow.base.registry.opdef import lookup

    assert [name for name in RULES if lookup(name).stateful] == ["LookupTableFindV2"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + af.random_uniform([]),
        lambda x: af.reduce_sum(af.stack([x, x])),
        lambda x: af.cond(x > 0.0, lambda: x, lambda: -x),
        lambda x: af.py_func(lambda value: value, [x], af.float32),
        lambda x: af.Print(x, [x]),
        lambda x: af.substr("abc", af.cast(x, af.int32), 1),
    ],
)
def test_functions_that_are_called_for_each_element(function: Any) -> None:
    traced, _ = trace(function, Dataset.from_tensors(1.0).node.spec, "map")
    assert isinstance(traced, DatasetFunction) and traced.of_rows() is None


SEVERAL: dict[str, Any] = {
    "product": lambda x: af.matmul(x, af.transpose(x)),
    "sum of stacks": lambda x: (af.reduce_sum(af.stack([x, x])), x),
    "captured": lambda x: af.matmul(x, np.float32([[1.0, 0.5], [0.25, 2.0], [3.0, 1.0]])),
}


@pytest.fixture
def _joined_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans for several elements are made at once, however slow the machine is."""
    monkeypatch.setattr(callers, "_MEASURED", 1)
    monkeypatch.setattr(callers, "TURN", 1e3)


@pytest.mark.usefixtures("_joined_early")
@pytest.mark.parametrize("name", SEVERAL)
async def test_several_elements_in_one_plan_have_the_bits_of_single_calls(name: str, seed: int) -> None:
    values = floats(np.random.default_rng(seed), 2, 3)
    traced, _ = trace(SEVERAL[name], Dataset.from_tensor_slices(values).node.spec, "map")
    assert traced.of_rows() is None and traced.of_several(16) is not None
    dataset = Dataset.from_tensor_slices(values).map(SEVERAL[name])
    alone = [leaves(element) async for element in dataset]
    async with dataset.batch(COUNT).unbatch().iterate() as elements:
        joined = [leaves(element) async for element in elements]
    for one, other in zip(alone, joined, strict=True):
        assert [np.asarray(a).tobytes() for a in one] == [np.asarray(b).tobytes() for b in other]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + af.random_uniform([]),
        lambda x: af.cond(x > 0.0, lambda: x, lambda: -x),
        lambda x: af.py_func(lambda value: value, [x], af.float32),
        lambda x: af.Print(x, [x]),
        lambda x: x,
    ],
)
def test_functions_that_are_never_called_for_several(function: Any) -> None:
    traced, _ = trace(function, Dataset.from_tensors(1.0).node.spec, "map")
    assert traced.of_several(16) is None


@pytest.mark.usefixtures("_joined_early")
async def test_an_error_among_several_is_at_its_element() -> None:
    def quotient(x: Any) -> Any:
        return af.reduce_sum(af.cast(af.stack([100 // (x % 7), 0]), af.float32))

    found: list[Any] = []
    async with Dataset.range(40).map(quotient).shuffle(1).prefetch(40).iterate() as elements:
        while len(found) < 40:
            try:
                found.append(int(await elements.__anext__()))
            except af.errors.InvalidArgumentError:
                found.append("error")
    assert found == ["error" if x % 7 == 0 else 100 // (x % 7) for x in range(40)]


async def test_an_error_in_a_block_is_at_its_element() -> None:
    for calls in (None, 2):
        dataset = Dataset.range(20).map(lambda x: 100 // (x % 7), num_parallel_calls=calls).shuffle(1).prefetch(8)
        found: list[Any] = []
        async with dataset.iterate() as elements:
            while True:
                try:
                    found.append(int(await elements.__anext__()))
                except StopAsyncIteration:
                    break
                except af.errors.InvalidArgumentError:
                    found.append("error")
        assert found == ["error" if x % 7 == 0 else 100 // (x % 7) for x in range(20)]


async def test_elements_of_different_shapes_are_called_one_by_one() -> None:
    lines = Dataset.from_tensor_slices(["a", "bc", "", "defg"] * 5)
    found = [x.tolist() async for x in lines.map(lambda x: af.decode_raw(x, af.uint8)).padded_batch(20)]
    assert found[0][3] == list(b"defg") and found[0][2] == [0] * 4


async def test_filters_see_blocks() -> None:
    kept = Dataset.range(100).filter(lambda x: af.equal(x % 3, 0)).map(lambda x: x * 2).batch(50)
    assert [x.tolist() async for x in kept] == [list(range(0, 200, 6))]
