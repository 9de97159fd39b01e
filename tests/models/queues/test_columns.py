"""Example messages that are read in step: what comes out is what the reader of single messages gives, errors included."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from actorflow.base.dtypes import float32, int64, string
from actorflow.base.records.features import write_feature
from actorflow.base.records.wire import write_field, write_int
from actorflow.errors import InvalidArgumentError
from actorflow.kernels.io import columns, parsing
from actorflow.kernels.io.columns import FEWEST, read_columns

LONG = "a name of more than 127 bytes" * 5
DENSE: dict[str, tuple[Any, Any]] = {
    "floats": ((3,), np.zeros(3, np.float32)),
    "number": ((), np.array(7, np.int64)),
    "text": ((1,), np.array([b"none"], object)),
    "steps": ((None, 2), np.array(-1.0, np.float32)),
    "words": ((None,), np.array(b"-", object)),
    "nothing": ((0,), np.zeros(0, np.float32)),
}
SPARSE = {"ids": int64, "some": string, LONG: float32}


@pytest.fixture(autouse=True, params=["C", "numpy"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader in C, where there is the library, and the one that does without."""
    if request.param == "numpy":
        monkeypatch.setattr(columns, "loaded", lambda: None)


def entry(name: str, feature: bytes) -> bytes:
    return write_field(1, write_field(1, name.encode()) + write_field(2, feature))


def example(*entries: bytes) -> bytes:
    return write_field(1, b"".join(entries))


def random_features(rng: random.Random) -> dict[str, bytes]:
    def strings(count: int) -> list[bytes]:
        return [rng.randbytes(rng.choice((0, 1, 5, 200))) for _ in range(count)]

    def floats(count: int) -> list[float]:
        return [rng.uniform(-9, 9) for _ in range(count)]

    made = {
        "floats": write_feature(float32, floats(3)),
        "number": write_feature(int64, [rng.choice((0, 127, 128, -1, 2**62, -(2**63)))]),
        "text": write_feature(string, strings(1)),
        "steps": write_feature(float32, floats(2 * rng.randrange(4))),
        "words": write_feature(string, strings(rng.randrange(4))),
        "ids": write_feature(int64, [rng.randrange(-(2**40), 2**40) for _ in range(rng.randrange(5))]),
        "some": write_feature(string, strings(rng.randrange(3))),
        LONG: write_feature(float32, floats(rng.randrange(60))),
        "unwanted": rng.randbytes(9),
    }
    for name in rng.sample(sorted(made), rng.randrange(4)):
        if rng.random() < 0.5:
            del made[name]
        else:
            made[name] = b""  # a feature without a list
    return made


def random_batch(rng: random.Random) -> list[bytes]:
    batch = []
    for _ in range(rng.choice((FEWEST, 20, 64))):
        entries = [entry(*pair) for pair in random_features(rng).items()]
        rng.shuffle(entries)
        batch.append(rng.choice((b"", example(*entries), example(*entries), example(*entries))))
    return batch


def parse(messages: list[bytes]) -> Any:
    serialized = np.empty(len(messages), object)
    serialized[:] = messages
    try:
        return parsing.parse_example(
            np,
            serialized,
            np.zeros(0, object),
            [default for _, default in DENSE.values()],
            sparse_keys=list(SPARSE),
            sparse_types=list(SPARSE.values()),
            dense_keys=list(DENSE),
            dense_shapes=[shape for shape, _ in DENSE.values()],
        )
    except InvalidArgumentError as error:
        return error.message


def one_by_one(messages: list[bytes]) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "FEWEST", len(messages) + 1)
        return parse(messages)


def assert_same(found: Any, expected: Any) -> None:
    if isinstance(expected, str):
        assert found == expected
        return
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(a, b)  # a NaN is one


def test_batches_give_what_single_messages_give(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(30):
        batch = random_batch(rng)
        assert read_columns(batch, {"number": int64, **SPARSE}) is not None, "read in step"
        assert_same(parse(batch), one_by_one(batch))


UNUSUAL = {
    "numbers that are not packed": entry("number", write_field(3, write_int(1, 5))),
    "a name twice": entry("number", write_feature(int64, [1])) + entry("number", write_feature(int64, [2])),
    "the value before the name": write_field(1, write_field(2, write_feature(int64, [3])) + write_field(1, b"number")),
    "two lists in a feature": entry("number", write_feature(float32, [1.0]) + write_feature(int64, [4])),
    "another type": entry("number", write_feature(float32, [1.0])),
    "more values than the shape has": entry("number", write_feature(int64, [1, 2])),
    "half a step": entry("steps", write_feature(float32, [1.0])),
    "half a float": entry("floats", write_field(2, write_field(1, b"12345"))),
    "half a number": entry("number", write_field(3, write_field(1, b"\xff"))),
    "a length beyond the end": b"\x0a\x7f",
    "a length without an end": b"\x0a" + b"\xff" * 20,
    "another field": write_int(7, 1) + entry("number", write_feature(int64, [6])),
}


@pytest.mark.parametrize("unusual", UNUSUAL)
def test_what_is_unusual_or_broken_is_left_to_the_reader_of_single_messages(unusual: str, seed: int) -> None:
    rng = random.Random(seed)
    batch = [example(*(entry(*pair) for pair in random_features(rng).items())) for _ in range(FEWEST)]
    batch[rng.randrange(FEWEST)] = example(UNUSUAL[unusual])
    assert_same(parse(batch), one_by_one(batch))


def test_any_change_of_a_byte_gives_the_same_values_or_the_same_error(seed: int) -> None:
    rng = random.Random(seed)
    batch = [example(*(entry(*pair) for pair in random_features(rng).items())) for _ in range(FEWEST)]
    for _ in range(200):
        index = rng.randrange(FEWEST)
        changed = bytearray(batch[index])
        changed[rng.randrange(min(len(changed), 60))] = rng.randrange(256)
        harmed = [*batch[:index], bytes(changed), *batch[index + 1 :]]
        assert_same(parse(harmed), one_by_one(harmed))
