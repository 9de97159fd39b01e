"""Elements and what was stated of them: lists, names, sizes and rests are taken as they are meant, or refused, never changed."""

from __future__ import annotations

import gc
import gzip
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf

Dataset = af.data.Dataset
Pair = namedtuple("Pair", ["x", "y"])
Other = namedtuple("Other", ["x", "z"])


async def in_a_session(build: Callable[[], Any]) -> list[Any]:
    """All elements of a dataset by a session, with the class of the error where one ends them."""
    elements: list[Any] = []
    with af.Graph().as_default():
        element = build().make_one_shot_iterator().get_next()
        async with af.Session() as session:
            while True:
                try:
                    elements.append(plain(await session.run(element)))
                except af.errors.OutOfRangeError:
                    return elements
                except af.errors.OpError as error:
                    return [*elements, type(error)]


async def on_a_client(build: Callable[[], Any]) -> list[Any]:
    elements: list[Any] = []
    try:
        async for element in build():
            elements.append(plain(element))
    except af.errors.OpError as error:
        elements.append(type(error))
    return elements


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple([plain(part) for part in value])
    return np.asarray(value).tolist()


PLACES = pytest.mark.parametrize("elements_of", [in_a_session, on_a_client])
REFUSED = [af.errors.InvalidArgumentError]

GENERATED: list[tuple[Any, Any, Any, Any]] = [
    # types, shapes, an element, and what comes of it
    (af.int32, [2], [1, 2], [1, 2]),
    (af.int32, [None], [], []),
    (af.int32, [2, 2], [[1, 2], [3, 4]], [[1, 2], [3, 4]]),
    (af.int32, [2], (1, 2), [1, 2]),
    (af.string, [None], ["a", b"b"], [b"a", b"b"]),
    (af.int32, [], [1], REFUSED),
    ((af.int32, af.string), None, (1, "a"), (1, b"a")),
    ((af.int32, af.int32), None, ([1, 2], [3]), ([1, 2], [3])),
    ((af.int32, af.int32), None, (1, 2, 3), REFUSED),
    ((af.int32, af.int32), None, (1,), REFUSED),
    ((af.int32, af.int32), None, {"a": 1, "b": 2}, REFUSED),
    ((af.int32, (af.int32, af.int32)), None, (1, (2, 3)), (1, (2, 3))),
    ((af.int32, (af.int32, af.int32)), None, (1, 2, 3), REFUSED),
    ({"a": af.int32}, None, {"a": [1, 2]}, {"a": [1, 2]}),
    ({"a": af.int32}, None, {"b": 1}, REFUSED),
    ({"a": af.int32}, None, {"a": 1, "b": 2}, REFUSED),
    ({"a": af.int32, "b": af.int32}, None, {"a": 1}, REFUSED),
    ({"a": af.int32, "b": af.int32}, None, {"b": 1, "a": 2}, {"a": 2, "b": 1}),
    ({"a": af.int32}, None, (1,), REFUSED),
    ({"a": {"b": af.int32}}, None, {"a": {"c": 1}}, REFUSED),
    (({"a": af.int32}, af.int32), None, ({"a": 1}, 2), ({"a": 1}, 2)),
    (({"a": af.int32}, af.int32), None, ({"b": 1}, 2), REFUSED),
    (Pair(af.int32, af.int32), None, Pair(1, 2), (1, 2)),
    (Pair(af.int32, af.int32), None, Other(1, 2), REFUSED),
    (Pair(af.int32, af.int32), None, {"x": 1, "y": 2}, REFUSED),
]


@PLACES
@pytest.mark.parametrize("case", GENERATED, ids=repr)
async def test_an_element_of_a_generator_has_the_structure_that_was_stated(
    case: tuple[Any, ...], elements_of: Any
) -> None:
    types, shapes, element, expected = case
    elements = await elements_of(lambda: Dataset.from_generator(lambda: iter([element]), types, shapes))
    assert elements == (expected if expected is REFUSED else [expected])


@PLACES
@pytest.mark.parametrize(
    ("name", "function", "types"),
    [
        (
            "py_func",
            lambda x: tf.py_func(lambda y: (y, np.float32(y)), [x], [tf.int64, tf.float32]),
            (tf.int64, tf.float32),
        ),
        ("decode_csv", lambda x: tf.decode_csv(tf.as_string(x), [[0]]), (tf.int32,)),
        ("split", lambda x: tf.split(tf.stack([x, x]), 2), (tf.int64, tf.int64)),
        ("a list of equal types", lambda x: [x, x + 1], (tf.int64, tf.int64)),
        ("a list in a tuple", lambda x: ([x, x], x), (tf.int64, tf.int64)),
    ],
)
async def test_a_list_that_map_gives_is_a_tuple(name: str, function: Any, types: Any, elements_of: Any) -> None:
    assert Dataset.range(1).map(function).output_types == types
    (element,) = await elements_of(lambda: Dataset.range(1).map(function))
    assert isinstance(element, tuple) and len(element) == len(types)


@PLACES
async def test_a_named_tuple_is_one_argument_and_a_tuple_is_several(elements_of: Any) -> None:
    pairs = Pair([1, 2], [10, 20])
    assert await elements_of(lambda: Dataset.from_tensor_slices(pairs).map(lambda pair: pair.x + pair.y)) == [11, 22]
    assert await elements_of(lambda: Dataset.from_tensor_slices(tuple(pairs)).map(lambda x, y: x + y)) == [11, 22]
    assert await elements_of(lambda: Dataset.from_tensor_slices(pairs).filter(lambda pair: pair.x > 1)) == [(2, 20)]


@PLACES
@pytest.mark.parametrize(
    "structure", [{"x": [1, 2], "y": [3, 4]}, Pair([1, 2], [3, 4]), ([1, 2], [3, 4]), [1, 2]], ids=repr
)
async def test_a_coroutine_function_gets_elements_in_their_structure(structure: Any, elements_of: Any) -> None:
    seen: list[Any] = []

    async def keep(*arguments: Any) -> Any:
        seen.append([type(argument).__name__ for argument in arguments])
        return np.int64(0)

    spec = af.TensorSpec([], af.int64)
    assert await elements_of(lambda: Dataset.from_tensor_slices(structure).map(keep, output_signature=spec)) == [0, 0]
    if isinstance(structure, (dict, Pair)):
        assert seen == [[type(structure).__name__]] * 2
    else:
        assert {len(kinds) for kinds in seen} == {2 if isinstance(structure, tuple) else 1}


async def test_a_function_within_a_function_lives_as_long_as_the_graph() -> None:
    with af.Graph().as_default():
        numbers = Dataset.range(2).map(lambda x: af.py_func(lambda y: y + 1, [x], af.int64, stateful=False))
        element = numbers.make_one_shot_iterator().get_next()
        del numbers
        gc.collect()
        async with af.Session() as session:
            assert int(await session.run(element)) == 1


# ---- padded shapes

ROWS = [[1], [2, 3]]
SHAPES: dict[str, tuple[Callable[[], Any], Any]] = {
    "a TensorShape": (lambda: tf.TensorShape([None]), [[1, 0], [2, 3]]),
    "a list": (lambda: [None], [[1, 0], [2, 3]]),
    "minus one": (lambda: [-1], [[1, 0], [2, 3]]),
    "a Dimension": (lambda: [tf.Dimension(3)], [[1, 0, 0], [2, 3, 0]]),
    "a TensorShape of a size": (lambda: tf.TensorShape([3]), [[1, 0, 0], [2, 3, 0]]),
    "an array": (lambda: np.array([3], np.int64), [[1, 0, 0], [2, 3, 0]]),
    "a constant": (lambda: tf.constant([3], tf.int64), [[1, 0, 0], [2, 3, 0]]),
    "a tensor": (lambda: tf.placeholder_with_default(np.array([3], np.int64), [1]), [[1, 0, 0], [2, 3, 0]]),
    "a size that is a tensor": (lambda: [tf.placeholder_with_default(3, [])], [[1, 0, 0], [2, 3, 0]]),
    "a tensor of minus one": (lambda: tf.placeholder_with_default(np.array([-1]), [None]), [[1, 0], [2, 3]]),
}


@pytest.mark.parametrize("case", SHAPES)
def test_padded_shapes_are_taken_in_all_their_forms(case: str) -> None:
    build, expected = SHAPES[case]
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.data.Dataset.from_generator(lambda: iter(ROWS), tf.int32, tf.TensorShape([None]))
        batches = tf.data.make_initializable_iterator(rows.padded_batch(2, padded_shapes=build()))
        session.run(batches.initializer)
        assert session.run(batches.get_next()).tolist() == expected


@pytest.mark.parametrize(
    ("shapes", "error"),
    [([1, 1], ValueError), (tf.TensorShape(None), ValueError), ([[1]], TypeError), (np.array([1.5]), TypeError)],
    ids=repr,
)
def test_padded_shapes_of_another_rank_or_type_are_refused(shapes: Any, error: Any) -> None:
    rows = Dataset.from_generator(lambda: iter(ROWS), af.int32, [None])
    with pytest.raises(error):
        rows.padded_batch(2, padded_shapes=shapes)


# ---- files of records of one length


def write(name: str, content: bytes) -> None:
    Path(name).write_bytes(content)


FILES: dict[str, tuple[bytes, tuple[int, int, int], list[bytes], bool]] = {
    # the file, (record, header, footer), its records, whether they are all of it
    "whole": (b"HEADabcdefghTAIL", (4, 4, 4), [b"abcd", b"efgh"], True),
    "empty": (b"", (3, 0, 0), [], True),
    "header and footer alone": (b"HEADTAIL", (3, 4, 4), [], True),
    "a rest": (b"HEADabcdefghTAIL", (3, 4, 4), [b"abc", b"def"], False),
    "a rest without footer": (b"abcdefg", (3, 0, 0), [b"abc", b"def"], False),
    "smaller than a record": (b"ab", (3, 0, 0), [], False),
    "smaller than the header": (b"HEA", (3, 4, 0), [], False),
    "smaller than header and footer": (b"HEADTAI", (3, 4, 4), [], False),
}


@PLACES
@pytest.mark.parametrize("case", FILES)
async def test_a_file_that_is_no_whole_number_of_records_is_refused(
    case: str, tmp_path: Path, elements_of: Any
) -> None:
    content, sizes, records, whole = FILES[case]
    plain_file, packed = str(tmp_path / "plain"), str(tmp_path / "packed")
    write(plain_file, content)
    write(packed, gzip.compress(content))
    elements = await elements_of(lambda: af.data.FixedLengthRecordDataset(plain_file, *sizes))
    assert elements == (records if whole else [af.errors.InvalidArgumentError])
    elements = await elements_of(lambda: af.data.FixedLengthRecordDataset(packed, *sizes, compression_type="GZIP"))
    assert elements == (records if whole else [*records, af.errors.DataLossError])


async def test_the_file_after_a_refused_one_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abcde")
    (tmp_path / "b").write_bytes(b"xyz")
    names = [str(tmp_path / "a"), str(tmp_path / "b")]
    with pytest.raises(
        af.errors.InvalidArgumentError, match=r"input file .* has body length .* multiple of the record length"
    ):
        [_ async for _ in af.data.FixedLengthRecordDataset(names, 3)]
    assert [record async for record in af.data.FixedLengthRecordDataset(names, 3).ignore_errors()] == [b"xyz"]


@pytest.mark.parametrize("seed", [0, 7])
def test_the_numbers_of_a_shuffle_may_be_tensors(seed: int) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        size, number = tf.placeholder(tf.int64, []), tf.placeholder(tf.int64, [])
        orders = []
        for buffer_size, chosen in ((size, number), (5, seed)):
            shuffled = tf.data.Dataset.range(5).shuffle(buffer_size, seed=chosen)
            iterator = tf.data.make_initializable_iterator(shuffled)
            session.run(iterator.initializer, {size: 5, number: seed})
            element = iterator.get_next()
            orders.append([int(session.run(element)) for _ in range(5)])
        assert orders[0] == orders[1] and sorted(orders[0]) == [0, 1, 2, 3, 4]
