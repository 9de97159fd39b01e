"""Large JSON is read and written in pieces: it gives what a parser of the whole gives, and keeps its bounds."""

from __future__ import annotations

import gzip
import json
import random
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorflow.errors import DeadlineExceededError, InvalidArgumentError
from actorflow.frontends.serving.protocols import bodies, pieces, rest, writing
from actorflow.frontends.serving.protocols.bodies import TooLargeError, parsed, unpacked
from actorflow.frontends.serving.protocols.pieces import Work, load
from actorflow.frontends.serving.protocols.writing import WrittenRows, dump_json


def plain(value: Any) -> Any:
    """A value without arrays."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def random_value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.random() if depth < 5 else 0.0
    if kind < 0.3:
        return rng.choice([1, 2.5, -3, "a", '[,]"\\', "é\n", None, True, "x" * rng.randrange(300)])
    if kind < 0.65:
        return [random_value(rng, depth + 1) for _ in range(rng.randrange(6))]
    return {f"key {number}": random_value(rng, depth + 1) for number in range(rng.randrange(6))}


@pytest.mark.parametrize("size", [64, 128, 1024])
def test_pieces_give_what_the_whole_gives(monkeypatch: pytest.MonkeyPatch, seed: int, size: int) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(pieces, "PIECE", size)
    for number in range(20):
        value = {
            "any": random_value(rng),
            "several": [random_value(rng) for _ in range(30)],
            "numbers": list(range(200)),
            "rows": [[rng.random(), 2, -3.5e10] for _ in range(60)],
            "uneven": [[1] * rng.randrange(4) for _ in range(60)],
        }
        text = json.dumps(value, indent=rng.choice([None, 1]), ensure_ascii=rng.random() < 0.5).encode()
        assert plain(load(text, Work())) == value, (seed, number)


def test_numbers_of_a_large_body_are_one_array() -> None:
    rows = np.random.default_rng(0).random((500, 3, 50)).round(4)
    content = load(json.dumps({"instances": rows.tolist()}).encode(), Work())
    assert isinstance(content["instances"], np.ndarray)
    np.testing.assert_array_equal(content["instances"], rows)


def _instances(inner: bytes) -> bytes:
    return b'{"instances":[%b]}' % inner


HOSTILE: dict[str, tuple[bytes, type[Exception]]] = {
    "empty lists": (_instances(b"[]," * 300_000 + b"[]"), TooLargeError),
    "many numbers": (_instances(b"1," * 600_000 + b"1"), TooLargeError),
    "short strings": (_instances(b'"a",' * 300_000 + b'"a"'), TooLargeError),
    "objects": (_instances(b'{"b64":""},' * 200_000 + b"{}"), TooLargeError),
    "keys": (b"{%b}" % b",".join(b'"%d":1' % number for number in range(300_000)), TooLargeError),
    "digits": (_instances(b"1" * 300_000), InvalidArgumentError),
    "nested lists": (_instances(b"[" * 200_000 + b"]" * 200_000), InvalidArgumentError),
    "nested objects": (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, InvalidArgumentError),
    "large nested lists": (_instances(b"[" * 60 + b"1," * 90_000 + b"1" + b"]" * 60), InvalidArgumentError),
    "a key twice, far apart": (b'{"a":[%b],"a":[]}' % (b"1," * 90_000 + b"1"), InvalidArgumentError),
    "no end": (_instances(b"1," * 90_000 + b"1")[:-1], InvalidArgumentError),
    "an open text": (b'{"instances":["%b}' % (b"a" * 200_000), InvalidArgumentError),
    "two ends": (_instances(b"1," * 90_000 + b"1") + b"}", InvalidArgumentError),
    "another end": (_instances(b"1," * 90_000 + b"1")[:-2] + b"}}", InvalidArgumentError),
    "a comma at the end": (_instances(b"1," * 90_000), InvalidArgumentError),
    "two commas": (_instances(b"1," * 40_000 + b"," + b"1," * 40_000 + b"1"), InvalidArgumentError),
    "no comma": (_instances(b"1," * 40_000 + b"1 1," + b"1," * 40_000 + b"1"), InvalidArgumentError),
    "a list": (b"[%b1]" % (b"1," * 90_000), InvalidArgumentError),
    "a text": (b'"%b"' % (b"a" * 200_000), InvalidArgumentError),
    "no text": (b'{"instances":["%b"]}' % (b"\xff" * 200_000), InvalidArgumentError),
    "blanks": (b" " * 200_000, InvalidArgumentError),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_json_is_refused(name: str) -> None:
    body, error = HOSTILE[name]
    with pytest.raises(InvalidArgumentError) as refusal:
        load(body, Work(most_elements=500_000))
    assert type(refusal.value) is error, refusal.value


@pytest.mark.parametrize("name", HOSTILE)
def test_no_piece_takes_long(name: str) -> None:
    """A thread that reads a body gives the interpreter back at each check, so others wait for a piece at most."""
    times = [time.thread_time()]
    with pytest.raises(InvalidArgumentError):
        load(HOSTILE[name][0], Work(500_000, check=lambda: times.append(time.thread_time())))
    assert max(np.diff(times), default=0) < 0.25


def test_a_deadline_ends_the_reading() -> None:
    def check() -> None:
        raise DeadlineExceededError("late")

    with pytest.raises(DeadlineExceededError):
        load(_instances(b"1," * 90_000 + b"1"), Work(check=check))
    with pytest.raises(DeadlineExceededError):
        unpacked(gzip.compress(bytes(100)), "gzip", 1000, check)


@pytest.mark.parametrize("text", [b'{"a":1,"a":2}', b'{"b":[{"a":1,"\\u0061":2}]}', b'{"x":NaN,"a":1,"a":{}}'])
def test_a_key_that_is_there_twice_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidArgumentError, match="there twice"):
        parsed(text)


def test_texts_may_have_colons() -> None:
    assert parsed(b'{"a":"::","b":[{"c":":"}]}') == {"a": "::", "b": [{"c": ":"}]}


# ---- compression

PACKED: dict[str, tuple[bytes, str]] = {
    "cut off": (gzip.compress(b"abc")[:-3], "cut off"),
    "empty": (b"", "cut off"),
    "junk behind": (gzip.compress(b"abc") + b"junk", "follow its end"),
    "zeros behind": (gzip.compress(b"abc") + bytes(8), "follow its end"),
    "a second member that is cut off": (gzip.compress(b"abc") + gzip.compress(b"de")[:-1], "cut off"),
    "too many members": (gzip.compress(b"") * 2000, "follow its end"),
    "damaged": (gzip.compress(b"abc")[:-6] + bytes(6), "incorrect"),
    "many times its size": (gzip.compress(bytes(8 << 20)), "100 times"),
    "too large": (gzip.compress(random.Random(0).randbytes(100_000)) * 100, "more than"),
}


@pytest.mark.parametrize("name", PACKED)
def test_packed_bodies_that_are_refused(name: str) -> None:
    body, text = PACKED[name]
    with pytest.raises(InvalidArgumentError, match=text):
        unpacked(body, "gzip", 9 << 20)


def test_a_packed_body_may_have_several_members() -> None:
    assert unpacked(gzip.compress(b"abc") + gzip.compress(b"") + gzip.compress(b"de"), "gzip", 100) == b"abcde"
    zeros = bytes(1 << 20)
    assert unpacked(zlib.compress(zeros), "deflate", 2 << 20) == zeros
    with pytest.raises(InvalidArgumentError, match="follow its end"):
        unpacked(zlib.compress(b"abc") * 2, "deflate", 100)


# ---- answers


def wide(shape: tuple[int, ...]) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


ANSWERS: dict[str, Callable[[], Any]] = {
    "a vector": lambda: {"predictions": wide((20_000,))},
    "narrow rows": lambda: {"predictions": wide((10_000, 3))},
    "wide rows": lambda: {"predictions": wide((2, 3, 9_000)), "b": "text"},
    "no rows": lambda: {"predictions": wide((0, 3)), "more": wide((9_000,))},
    "not a number": lambda: {"predictions": np.full(9_000, np.nan)},
    "texts": lambda: {"predictions": ["é"] * 20_000},
    "lists of texts": lambda: {"predictions": [["a"] * 9_000, ["b"]]},
}


@pytest.mark.parametrize("name", ANSWERS)
def test_large_answers_are_written_in_pieces_that_join(name: str) -> None:
    value = ANSWERS[name]()
    assert isinstance(value["predictions"], list) or writing.is_large(value.values())
    read = json.loads(dump_json(value))
    assert repr(read) == repr(plain(value))


@pytest.mark.parametrize("width", [1, 5, 9_000])
def test_rows_of_several_outputs_are_written_in_pieces_that_join(width: int) -> None:
    count = 20_000 // width
    outputs = {"a": wide((count, width)), "b": wide((count,)).astype(np.int64), "c": np.full(count, b"\xff", object)}
    answer = rest.predict_answer(outputs, True)
    assert isinstance(answer["predictions"], WrittenRows)
    rows = json.loads(dump_json(answer))["predictions"]
    assert rows == [{"a": a.tolist(), "b": int(b), "c": {"b64": "/w=="}} for a, b in zip(outputs["a"], outputs["b"])]


def test_without_the_quicker_reader_all_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "orjson", None)
    monkeypatch.setattr(writing, "orjson", None)
    rows = wide((5_000, 7))
    content = load(json.dumps({"instances": rows.tolist()}).encode(), Work())
    np.testing.assert_array_equal(content["instances"], rows)
    assert json.loads(dump_json({"predictions": rows})) == {"predictions": rows.tolist()}
