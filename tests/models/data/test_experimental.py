"""`tf.data.experimental`, with the elements that TensorFlow 2.15 gives."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf

X = tf.data.experimental
D = af.data.Dataset
NAMESPACES = ("data.experimental", "data", "estimator.experimental", "train", "io", "nn", "layers", "metrics", "losses")


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tf.SparseTensorValue):
        return value.indices.tolist(), value.values.tolist(), value.dense_shape.tolist()
    if isinstance(value, tuple):
        return tuple([plain(part) for part in value])
    return np.asarray(value).tolist()


async def elements(dataset: Any) -> list[Any]:
    """The elements on a client; in the place of one with an error the error's class, which ends them."""
    collected = []
    try:
        async for element in dataset:
            collected.append(plain(element))
    except af.errors.OpError as error:
        collected.append(type(error))
    return collected


async def restored(dataset: Any) -> list[Any]:
    """The same by iterators of which each gives one element, and goes on where the one before it was."""
    collected: list[Any] = []
    state: bytes | None = None
    while True:
        iterator = dataset.iterate(state)
        try:
            collected.append(plain(await anext(iterator)))
        except StopAsyncIteration:
            return collected
        except af.errors.OpError as error:
            return [*collected, type(error)]
        finally:
            state = iterator.state()
            await iterator.aclose()


def rows() -> Any:
    lists = [[1], [1, 2], [3], [1, 2, 3, 4], [5, 6], [1, 2, 3]]
    return D.from_generator(lambda: iter(lists), af.int32, [None])


def length(row: Any) -> Any:
    return af.size(row)


CASES: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "group_by_window": (
        lambda: D.range(10).apply(X.group_by_window(lambda x: x % 3, lambda key, window: window.batch(4), 2)),
        [[0, 3], [1, 4], [2, 5], [6, 9], [7], [8]],
    ),
    "group_by_window, a size of each key": (
        lambda: D.range(10).apply(
            X.group_by_window(
                lambda x: x % 2, lambda key, window: window.batch(9), window_size_func=lambda key: key + 2
            )
        ),
        [[0, 2], [1, 3, 5], [4, 6], [8], [7, 9]],
    ),
    "group_by_window of pairs": (
        lambda: D.zip((D.range(4), D.range(4))).apply(
            X.group_by_window(lambda x, y: x % 2, lambda key, window: window.batch(4), 2)
        ),
        [([0, 2], [0, 2]), ([1, 3], [1, 3])],
    ),
    "bucket_by_sequence_length": (
        lambda: rows().apply(X.bucket_by_sequence_length(length, [2, 4], [2, 2, 2])),
        [[[1], [3]], [[1, 2], [5, 6]], [[1, 2, 3]], [[1, 2, 3, 4]]],
    ),
    "bucket_by_sequence_length to the boundary": (
        lambda: rows().apply(X.bucket_by_sequence_length(length, [3, 6], [2, 2, 2], pad_to_bucket_boundary=True)),
        [[[1, 0], [1, 2]], [[3, 0], [5, 6]], [[1, 2, 3, 4, 0], [1, 2, 3, 0, 0]]],
    ),
    "bucket_by_sequence_length beyond the boundary": (
        lambda: rows().apply(X.bucket_by_sequence_length(length, [2, 4], [2, 2, 2], pad_to_bucket_boundary=True)),
        [[[1], [3]], [[1, 2, 0], [5, 6, 0]], [[1, 2, 3]], af.errors.InvalidArgumentError],
    ),
    "bucket_by_sequence_length, whole batches": (
        lambda: rows().apply(
            X.bucket_by_sequence_length(length, [2, 4], [2, 2, 2], [None], padding_values=-1, drop_remainder=True)
        ),
        [[[1], [3]], [[1, 2], [5, 6]]],
    ),
    "group_by_reducer": (
        lambda: D.range(10).apply(
            X.group_by_reducer(
                lambda x: x % 3, X.Reducer(lambda key: np.int64(0), lambda s, x: s + x, lambda s: s * 10)
            )
        ),
        [180, 120, 150],
    ),
    "scan": (lambda: D.range(6).apply(X.scan(np.int64(10), lambda s, x: (s + x, s * x))), [0, 10, 22, 39, 64, 100]),
    "scan of a pair": (
        lambda: D.range(5).apply(X.scan((np.int64(0), np.int64(1)), lambda s, x: ((s[1], s[0] + s[1]), s[1]))),
        [1, 1, 2, 3, 5],
    ),
    "unique": (lambda: D.from_tensor_slices(["a", "b", "a", "c", "b"]).apply(X.unique()), [b"a", b"b", b"c"]),
    "choose_from_datasets": (
        lambda: X.choose_from_datasets([D.from_tensors(w).repeat(2) for w in ("a", "b", "c")], D.range(3).repeat(2)),
        [b"a", b"b", b"c"] * 2,
    ),
    "choose_from_datasets, some at their end": (
        lambda: X.choose_from_datasets(
            [D.range(2), D.range(10, 15)], D.from_tensor_slices(np.array([0, 0, 0, 1, 1, 0, 1], np.int64))
        ),
        [0, 1, 10, 11, 12],
    ),
    "choose_from_datasets beyond them": (
        lambda: X.choose_from_datasets([D.range(2)], D.from_tensor_slices(np.array([0, 3], np.int64))),
        [0, af.errors.InvalidArgumentError],
    ),
    "sample_from_datasets of one": (
        lambda: X.sample_from_datasets([D.range(3), D.range(10, 13)], [1.0, 0.0]),
        [0, 1, 2],
    ),
    "rejection_resample to one class": (
        lambda: (
            D.from_tensor_slices([0, 1] * 200).apply(X.rejection_resample(lambda x: x, [1.0, 0.0], [0.5, 0.5])).take(3)
        ),
        [(0, 0)] * 3,
    ),
    "assert_cardinality": (lambda: D.range(3).apply(X.assert_cardinality(3)), [0, 1, 2]),
    "assert_cardinality of more": (
        lambda: D.range(3).apply(X.assert_cardinality(4)),
        [0, 1, 2, af.errors.FailedPreconditionError],
    ),
    "from_sparse_tensor_slices": (
        lambda: D.from_sparse_tensor_slices(
            tf.SparseTensorValue(np.array([[0, 1], [2, 0]]), np.array([5, 7]), np.array([3, 2]))
        ),
        [([[1]], [5], [2]), ([], [], [2]), ([[0]], [7], [2])],
    ),
    "slices of sparse and dense ones": (
        lambda: D.from_tensor_slices(
            {"s": tf.SparseTensorValue(np.array([[1, 1]]), np.array([5]), np.array([2, 2])), "d": np.arange(2)}
        ),
        [{"s": ([], [], [2]), "d": 0}, {"s": ([[1]], [5], [2]), "d": 1}],
    ),
}


@pytest.mark.parametrize("run", [elements, restored])
@pytest.mark.parametrize("case", CASES)
async def test_elements_are_tensorflows_also_from_each_state(case: str, run: Any) -> None:
    build, expected = CASES[case]
    dataset = build()
    if run is restored and ("rejection" in case or case.startswith("sample")):
        pytest.skip("a function of random numbers is no part of the state")
    assert await run(dataset) == expected


async def test_a_sample_has_each_element_once() -> None:
    sample = await elements(X.sample_from_datasets([D.range(30), D.range(100, 130)], seed=3))
    assert sorted(sample) == [*range(30), *range(100, 130)] and sample != sorted(sample)


CSV = b'a,b,c\r\n1,x,2.5\r\nNA,"y,z",\r\n3,,1e40\r\n'
TABLES: dict[str, tuple[Callable[[str], Any], list[Any]]] = {
    "CsvDataset": (
        lambda path: X.CsvDataset(path, [[0], [""], [0.0]], header=True, na_value="NA"),
        [(1, b"x", 2.5), (0, b"y,z", 0.0), (3, b"", np.inf)],
    ),
    "CsvDataset of a column that is required": (
        lambda path: X.CsvDataset([path], [af.string], header=True, select_cols=[1]),
        [(b"x",), (b"y,z",), af.errors.InvalidArgumentError],
    ),
    "make_csv_dataset": (
        lambda path: X.make_csv_dataset(path, 2, na_value="NA", num_epochs=1, shuffle=False),
        [{"a": [1, 0], "b": [b"x", b"y,z"], "c": [2.5, 0.0]}, {"a": [3], "b": [b""], "c": [1e40]}],
    ),
    "make_csv_dataset with labels": (
        lambda path: X.make_csv_dataset(
            path, 3, na_value="NA", num_epochs=1, shuffle=False, label_name="c", select_columns=["a", "c"]
        ),
        [({"a": [1, 0, 3]}, [2.5, 0.0, 1e40])],
    ),
    "make_csv_dataset without a header": (
        lambda path: X.make_csv_dataset(
            path,
            2,
            ["x", "y", "z"],
            [[""], ["q"], [""]],
            num_epochs=1,
            shuffle=False,
            header=False,
            select_columns=[0, 1],
        ),
        [{"x": [b"a", b"1"], "y": [b"b", b"x"]}, {"x": [b"NA", b"3"], "y": [b"y,z", b"q"]}],
    ),
    "make_csv_dataset without end": (
        lambda path: X.make_csv_dataset(path, 2, na_value="NA", shuffle=False, select_columns=["a"]).take(3),
        [{"a": [1, 0]}, {"a": [3, 1]}, {"a": [0, 3]}],
    ),
}


@pytest.mark.parametrize("case", TABLES)
async def test_tables_of_files(case: str, tmp_path: Path) -> None:
    build, expected = TABLES[case]
    (tmp_path / "x.csv").write_bytes(CSV)
    assert await elements(build(str(tmp_path / "x.csv"))) == expected


async def test_examples_of_files(tmp_path: Path) -> None:
    with af.io.TFRecordWriter(str(tmp_path / "r")) as writer:
        for number in range(3):
            example = af.train.Example()
            example.features.feature["x"].int64_list.value.append(number)
            example.features.feature["y"].float_list.value.append(number / 2)
            writer.write(example.SerializeToString())
    features = {"x": af.FixedLenFeature([], af.int64), "y": af.FixedLenFeature([], af.float32)}
    batches = X.make_batched_features_dataset(
        str(tmp_path / "r"), 2, features, label_key="y", shuffle=False, num_epochs=1
    )
    assert await elements(batches) == [({"x": [0, 1]}, [0.0, 0.5]), ({"x": [2]}, [1.0])]


def test_a_writer_writes_the_elements_in_a_run(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        written = X.TFRecordWriter(str(tmp_path / "w"), "GZIP").write(D.from_tensor_slices(["a", "bc"]))
        session.run(written)
    assert gzip.decompress((tmp_path / "w").read_bytes()).count(b"bc") == 1
    assert list(tf.python_io.tf_record_iterator(str(tmp_path / "w"), "GZIP")) == [b"a", b"bc"]


COUNTS = {
    "range": (D.range(7), 7), "down": (D.range(5, 0, -2), 3), "repeat": (D.range(7).repeat(2), 14),
    "without end": (D.range(3).repeat(), X.INFINITE_CARDINALITY), "nothing": (D.range(0).repeat(), 0),
    "batch": (D.range(7).batch(3), 3), "whole batches": (D.range(7).batch(3, True), 2),
    "padded_batch": (D.range(5).padded_batch(2, []), 3), "filter": (D.range(7).filter(lambda x: x > 1), X.UNKNOWN_CARDINALITY),
    "take": (D.range(7).repeat().take(4), 4), "skip": (D.range(7).skip(10), 0), "shard": (D.range(7).shard(3, 1), 2),
    "zip": (D.zip((D.range(3), D.range(5).repeat())), 3), "concatenate": (D.range(3).concatenate(D.range(4)), 7),
    "slices": (D.from_tensor_slices(np.zeros((4, 2))), 4), "tensors": (D.from_tensors([1, 2]), 1),
    "generator": (D.from_generator(lambda: iter([1]), af.int64), X.UNKNOWN_CARDINALITY),
    "files": (af.data.TextLineDataset("x"), X.UNKNOWN_CARDINALITY),
    "the same number": (D.range(3).prefetch(1).shuffle(2).cache().enumerate(), 3),
}  # fmt: skip


@pytest.mark.parametrize("case", COUNTS)
def test_how_many_elements_there_are(case: str) -> None:
    dataset, expected = COUNTS[case]
    assert int(tf.get_static_value(X.cardinality(dataset))) == expected


def test_options_are_kept_and_a_wrong_name_is_refused() -> None:
    options = tf.data.Options()
    options.experimental_optimization.map_fusion = True
    assert options.experimental_optimization.map_fusion is True and options.experimental_deterministic is None
    with pytest.raises(AttributeError, match="experimental_treading"):
        options.experimental_treading = 1
    with pytest.raises(TypeError):
        options.experimental_deterministic = "yes"


@pytest.mark.parametrize("path", NAMESPACES)
def test_no_names_of_typing_are_public(path: str) -> None:
    namespace: Any = tf
    for part in path.split("."):
        namespace = getattr(namespace, part)
    public = [name for name in getattr(namespace, "__all__", dir(namespace)) if not name.startswith("_")]
    assert not {"Any", "Callable", "TypeAlias", "annotations", "Sequence", "Mapping"}.intersection(public)


def test_a_dataset_tells_its_options_and_those_of_its_inputs() -> None:
    def options(**settings: Any) -> Any:
        each = tf.data.Options()
        for name, value in settings.items():
            part, _, rest = name.partition("__")
            setattr(getattr(each, part) if rest else each, rest or part, value)
        return each

    plain = D.range(4)
    assert plain.options() == tf.data.Options()
    first = plain.with_options(
        options(experimental_deterministic=False, experimental_threading__private_threadpool_size=2)
    )
    assert plain.options() == tf.data.Options()
    later = first.map(lambda x: x).batch(2)
    assert later.options() == first.options() and later.options().experimental_deterministic is False
    last = later.with_options(
        options(experimental_deterministic=True, experimental_threading__max_intra_op_parallelism=1)
    )
    assert last.options().experimental_deterministic is True
    threads = last.options().experimental_threading
    assert (threads.private_threadpool_size, threads.max_intra_op_parallelism) == (2, 1)
    assert D.zip((last, plain)).options().experimental_deterministic is True
