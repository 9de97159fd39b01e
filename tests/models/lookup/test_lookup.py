"""Lookup tables: what is in them, where they live, and what they refuse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clusters import servers

import actorflow as af
from actorflow import errors
from actorflow.graph.ops.lookup import tables as ops

WORDS = ["emerson", "lake", "palmer"]


@pytest.fixture(autouse=True)
def graph() -> Iterator[af.Graph]:
    with af.Graph().as_default() as made:
        yield made


@pytest.fixture
def session(graph: af.Graph) -> Iterator[af.blocking.Session]:
    with af.blocking.Session(graph=graph) as made:
        yield made


def pairs(keys: Any = ("a", "b"), values: Any = (1, 2), **types: Any) -> Any:
    return af.lookup.KeyValueTensorInitializer(list(keys), list(values), **types)


def text(*values: str) -> af.Tensor:
    return af.constant(list(values))


# ---- tables that are filled once


def test_a_table_gives_the_values_of_its_keys(session: af.blocking.Session) -> None:
    table = af.lookup.StaticHashTable(pairs(), -1)
    found = table.lookup(af.constant([["a"], ["z"]]))
    assert found.shape == (2, 1) and found.dtype is table.value_dtype is af.int32
    session.run(af.tables_initializer())
    assert session.run(found).tolist() == [[1], [-1]]
    assert session.run(table[text("b")]).tolist() == [2]
    assert session.run(table.size()) == 2
    keys, values = session.run(table.export())
    assert (keys.tolist(), values.tolist()) == ([b"a", b"b"], [1, 2])
    sparse = session.run(table.lookup(af.SparseTensor([[0, 3]], ["b"], [1, 5])))
    assert (sparse.indices.tolist(), sparse.values.tolist(), sparse.dense_shape.tolist()) == ([[0, 3]], [2], [1, 5])


@pytest.mark.parametrize(
    ("keys", "values", "key_dtype", "value_dtype", "default"),
    [
        ([1, 5], ["x", "y"], "int64", "string", "?"),
        ([1, 5], [0.5, np.inf], "int32", "float32", 0.25),
        (["", "a\0b"], [True, False], "string", "bool", True),
        ([2**31, 3], [1 + 2j, 3], "uint32", "complex64", 1j),
        ([1, 2], [0.1, 0.2], "int64", "float64", 0.3),
        ([1, 2], [2**63 - 1, -(2**63)], "int64", "int64", 0),
    ],
)
def test_of_all_types(
    session: af.blocking.Session, keys: Any, values: Any, key_dtype: str, value_dtype: str, default: Any
) -> None:
    table = af.lookup.HashTable(pairs(keys, values, key_dtype=key_dtype, value_dtype=value_dtype), default)
    session.run(table.init)
    asked = af.constant([keys[1], keys[0], keys[1]], key_dtype)
    expected = np.asarray(session.run(af.constant([values[1], values[0], values[1]], value_dtype)))
    assert np.array_equal(session.run(table.lookup(asked)), expected)


def test_a_table_without_content_says_what_fills_it(session: af.blocking.Session) -> None:
    table = af.lookup.StaticHashTable(pairs(), -1)
    assert session.run(table.size()) == 0
    with pytest.raises(errors.FailedPreconditionError, match="Table not initialized"):
        session.run(table.lookup(text("a")))


def test_a_table_is_filled_again_with_the_same_content_only(session: af.blocking.Session) -> None:
    with af.container("shared_tables"):
        one, same, other = (
            af.lookup.StaticHashTable(pairs(values=values), -1, shared_name="t") for values in ([1, 2], [1, 2], [1, 3])
        )
    session.run(one.initializer)
    session.run(same.initializer)
    with pytest.raises(errors.FailedPreconditionError, match="already initialized with different data"):
        session.run(other.initializer)
    assert session.run(same.lookup(text("b"))).tolist() == [2]
    with af.container("shared_tables"):
        floats = af.lookup.StaticHashTable(pairs(values=[1.0, 2.0]), -1.0, shared_name="t")
    with pytest.raises(errors.InvalidArgumentError, match="from string to int32"):
        session.run(floats.size())
    af.Session.reset(containers=["shared_tables"])


def test_a_key_with_two_values_is_refused(session: af.blocking.Session) -> None:
    session.run(af.lookup.StaticHashTable(pairs(["a", "a"], [1, 1]), -1).initializer)
    with pytest.raises(errors.FailedPreconditionError, match=r"different value for same key\. Key a has 1 and 2"):
        session.run(af.lookup.StaticHashTable(pairs(["a", "a"], [1, 2]), -1).initializer)


def test_what_is_refused_as_the_graph_is_built() -> None:
    table = af.lookup.StaticHashTable(pairs(), -1)
    for kind, words, build in (
        (TypeError, "must be string, received: int32", lambda: table.lookup(af.constant([1]))),
        (ValueError, "2.*3|3.*2", lambda: af.lookup.StaticHashTable(pairs(values=[1, 2, 3]), -1)),
        (ValueError, "is a scalar", lambda: af.lookup.StaticHashTable(pairs(), [-1])),
        (TypeError, "integers or strings, not float32", lambda: af.lookup.StaticHashTable(pairs([0.5, 1.5]), -1)),
        (TypeError, "Invalid value dtype for table", lambda: pairs(values=[0.5, 1.5]).initialize(table)),
    ):
        with pytest.raises(kind, match=words):
            build()


# ---- from files


@pytest.fixture
def file(tmp_path: Path) -> Any:
    def write(content: bytes) -> str:
        path = tmp_path / "words.txt"
        path.write_bytes(content)
        return str(path)

    return write


def looked_up(session: af.blocking.Session, table: Any, *keys: str) -> Any:
    session.run(table.initializer)
    return [*session.run(table.lookup(text(*keys))).tolist(), int(session.run(table.size()))]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0, 2, -1, -1, -1, 3]),
        ({"vocab_size": 2}, [0, -1, -1, -1, -1, 2]),
        ({"num_oov_buckets": 3}, [0, 2, 5, 4, 4, 6]),
        ({"default_value": 7}, [0, 2, 7, 7, 7, 3]),
    ],
)
def test_lines_have_numbers(session: af.blocking.Session, file: Any, options: Any, expected: Any) -> None:
    """The answers are TensorFlow's."""
    table = af.lookup.index_table_from_file(file(b"x\ny\r\nz\n"), **options)
    assert looked_up(session, table, "x", "z", "q", "hello", "world") == expected


def test_numbers_have_lines(session: af.blocking.Session, file: Any) -> None:
    table = af.lookup.index_to_string_table_from_file(file(b"x\ny\nz"))
    session.run(table.initializer)
    assert session.run(table.lookup(af.constant([0, 2, 7], af.int64))).tolist() == [b"x", b"z", b"UNK"]
    assert af.get_collection(af.GraphKeys.ASSET_FILEPATHS)


def test_columns_of_lines(session: af.blocking.Session, file: Any) -> None:
    path = file(b"x,10,1.5\ny,-20,2.5\n")
    for column, dtype, default, expected in ((1, af.int64, 0, [10, -20, 0]), (2, af.float32, 0.0, [1.5, 2.5, 0])):
        source = af.lookup.TextFileInitializer(path, af.string, 0, dtype, column, delimiter=",")
        assert looked_up(session, af.lookup.StaticHashTable(source, default), "x", "y", "z") == [*expected, 2]
    numbers = af.lookup.TextFileInitializer(
        path,
        af.string,
        0,
        af.int64,
        af.lookup.TextFileIndex.LINE_NUMBER,
        delimiter=",",
        value_index_offset=5,
    )
    assert looked_up(session, af.lookup.StaticHashTable(numbers, -1), "y") == [6, 2]


@pytest.mark.parametrize(
    ("content", "options", "kind", "words"),
    [
        (None, {}, errors.NotFoundError, "no_such_file"),
        (b"x\n", {"vocab_size": 5}, errors.InvalidArgumentError, "Invalid vocab_size .* expected 5 but got 1"),
        (b"x\n\ny\n", {}, errors.InvalidArgumentError, "line 1 is empty"),
        (b"x\nx\n", {}, errors.FailedPreconditionError, "different value for same key"),
        (b"x\n", {"key_column_index": 1}, errors.InvalidArgumentError, "Invalid number of columns .* at least 2"),
        (b"x\n", {"key_dtype": af.int64}, errors.InvalidArgumentError, "'x' in line 0 .* is not a valid int64"),
    ],
)
def test_files_that_are_wrong(
    session: af.blocking.Session, file: Any, content: Any, options: Any, kind: Any, words: str
) -> None:
    path = "no_such_file" if content is None else file(content)
    with pytest.raises(kind, match=words):
        session.run(af.lookup.index_table_from_file(path, **options).initializer)


def test_arguments_of_files_that_are_wrong() -> None:
    whole, number = af.lookup.TextFileIndex.WHOLE_LINE, af.lookup.TextFileIndex.LINE_NUMBER
    make = af.lookup.TextFileInitializer
    for words, build in (
        ("argument required", lambda: make("", af.string, whole, af.int64, number)),
        ("should be >= -2", lambda: make("f", af.string, -3, af.int64, number)),
        ("must be int64", lambda: make("f", af.string, whole, af.int32, number)),
        ("either integer or string", lambda: make("f", af.float32, whole, af.int64, number)),
        ("should be > 0", lambda: make("f", af.string, whole, af.int64, number, vocab_size=0)),
        ("must not be empty", lambda: af.lookup.index_table_from_file("")),
        ("greater than 0, got 0", lambda: af.lookup.index_table_from_file("f", vocab_size=0)),
        ("greater or equal than 0", lambda: af.lookup.index_table_from_file("f", num_oov_buckets=-1)),
    ):
        with pytest.raises(ValueError, match=words):
            build()


# ---- vocabularies


def test_words_have_numbers_and_others_buckets(session: af.blocking.Session) -> None:
    """The answers are TensorFlow's."""
    table = af.lookup.index_table_from_tensor(WORDS, num_oov_buckets=2)
    assert looked_up(session, table, "emerson", "lake", "and", "palmer", "x", "y") == [0, 1, 4, 2, 3, 4, 5]
    back = af.lookup.index_to_string_table_from_tensor(["p", "q"], default_value="?")
    session.run(back.initializer)
    assert session.run(back.lookup(af.constant([0, 1, 2, -1], af.int64))).tolist() == [b"p", b"q", b"?", b"?"]


def test_integers_have_numbers_too(session: af.blocking.Session) -> None:
    table = af.lookup.index_table_from_tensor(np.int32([5, 7]), num_oov_buckets=4, dtype=af.int32)
    session.run(table.initializer)
    assert session.run(table.lookup(af.constant([5, 7, 9, 1000]))).tolist() == [0, 1, 3, 3]


def test_buckets_alone(session: af.blocking.Session) -> None:
    words = text("a", "b", "c")
    strong = af.lookup.IdTableWithHashBuckets(None, 10, af.lookup.StrongHashSpec([1, 2]))
    assert session.run(strong.lookup(words)).tolist() == [6, 4, 9]
    fast = af.lookup.StaticVocabularyTable(None, 10)
    assert np.array_equal(*session.run([fast.lookup(words), af.string_to_hash_bucket_fast(words, 10)]))
    assert session.run(fast.size()) == 10 and fast.resource_handle is None
    session.run(fast.initializer)


def test_a_vocabulary_of_an_initializer(session: af.blocking.Session) -> None:
    source = pairs(WORDS, [0, 1, 2], value_dtype=af.int64)
    table = af.lookup.StaticVocabularyTable(source, 2)
    assert looked_up(session, table, "palmer", "and", "x") == [2, 4, 3, 5]
    sparse = session.run(table.lookup(af.SparseTensor([[7]], ["lake"], [9])))
    assert sparse.values.tolist() == [1] and sparse.dense_shape.tolist() == [9]


def test_vocabularies_that_are_wrong() -> None:
    numbers = pairs(value_dtype=af.int64)
    for kind, words, build in (
        (ValueError, "use StaticHashTable", lambda: af.lookup.StaticVocabularyTable(numbers, 0)),
        (TypeError, "expected int64 but got int32", lambda: af.lookup.StaticVocabularyTable(pairs(), 1)),
        (ValueError, "`oov_buckets` must be > 0", lambda: af.lookup.IdTableWithHashBuckets(None, 0)),
        (TypeError, "integer or string", lambda: af.lookup.IdTableWithHashBuckets(None, 1, key_dtype=af.float32)),
        (TypeError, "HasherSpec, got str", lambda: af.lookup.IdTableWithHashBuckets(None, 1, "fast")),  # type: ignore[arg-type]
        (ValueError, "unknown hasher x", lambda: af.lookup.IdTableWithHashBuckets(None, 1, af.lookup.HasherSpec("x", None))),
        (ValueError, "must be specified", lambda: af.lookup.index_table_from_tensor(None)),
        (ValueError, "Expected int64, got string", lambda: af.lookup.index_table_from_tensor(["a"], dtype=af.int64)),
        (ValueError, "size 2", lambda: af.lookup.StrongHashSpec([1])),
        (TypeError, "unsigned", lambda: af.lookup.StrongHashSpec([1, -1])),
    ):  # fmt: skip
        with pytest.raises(kind, match=words):
            build()


# ---- tables that change


def test_a_table_changes(session: af.blocking.Session) -> None:
    table = af.lookup.MutableHashTable(af.string, af.int64, -1)
    asked = table.lookup(text("a", "b", "c"))
    assert session.run(table.size()) == 0 and session.run(asked).tolist() == [-1, -1, -1]
    session.run(table.insert(["a", "b", "a"], [1, 2, 3]))
    assert session.run(asked).tolist() == [3, 2, -1], "of equal keys the last counts"
    session.run(table.remove(text("a", "never there")))
    keys, values = session.run(table.export())
    assert (keys.tolist(), values.tolist()) == ([b"b"], [2])
    assert session.run(table.lookup(text("a", "b"), text_default := af.constant([8, 9], af.int64))).tolist() == [8, 2]
    assert text_default.dtype is table.value_dtype


def test_values_may_be_vectors(session: af.blocking.Session) -> None:
    table = af.lookup.MutableHashTable(af.int64, af.float32, [0.0, -1.0])
    session.run(table.insert([1, 2], [[1.0, 2.0], [3.0, 4.0]]))
    found = table.lookup(af.constant([[1], [5]], af.int64))
    assert found.shape == (2, 1, 2)
    assert session.run(found).tolist() == [[[1, 2]], [[0, -1]]]
    each = table.lookup(af.constant([1, 9], af.int64), [[7.0, 7.0], [8.0, 8.0]])
    assert session.run(each).tolist() == [[1, 2], [8, 8]]
    keys, values = session.run(table.export())
    assert keys.tolist() == [1, 2] and values.tolist() == [[1, 2], [3, 4]]


def test_changes_that_are_wrong(session: af.blocking.Session) -> None:
    table = af.lookup.MutableHashTable(af.string, af.int64, -1)
    with pytest.raises(ValueError, match="2"):
        table.insert(["a", "b", "c"], [1, 2])
    some = af.placeholder(af.int64)
    with pytest.raises(errors.InvalidArgumentError, match=r"shape \[3\], not \[2\]"):
        session.run(table.insert(["a", "b", "c"], some), {some: [1, 2]})
    with pytest.raises(errors.InvalidArgumentError, match=r"shape \[\], or \[1\]"):
        session.run(table.lookup(text("a"), some), {some: [1, 2]})
    with pytest.raises(TypeError, match="received: int64"):
        table.insert(some, some)
    with pytest.raises(ValueError, match="known shape"):
        af.lookup.MutableHashTable(af.string, af.int64, some)


def test_content_is_in_checkpoints(tmp_path: Path, graph: af.Graph) -> None:
    v = af.Variable(1.0)
    words = af.lookup.MutableHashTable(af.string, af.int64, -1)
    rows = af.lookup.MutableHashTable(af.int64, af.float32, [0.0, 0.0])
    lost = af.lookup.MutableHashTable(af.int64, af.int64, 0, checkpoint=False)
    saver = af.train.Saver()
    with af.blocking.Session(graph=graph) as session:
        session.run(
            [v.initializer, words.insert(["a", "b"], [1, 2]), rows.insert([3], [[1.0, 2.0]]), lost.insert([1], [1])]
        )
        path = saver.save(session, str(tmp_path / "model"))
        session.run([words.insert(["c"], [3]), words.remove(text("a"))])
        saver.restore(session, path)
        assert sorted(session.run(words.export())[0].tolist()) == [b"a", b"b"]
        assert session.run(lost.size()) == 1, "it is not the checkpoint's"
    with af.blocking.Session(graph=graph) as session:
        saver.restore(session, path)
        assert session.run(words.lookup(text("b"))).tolist() == [2]
        assert session.run(rows.lookup(af.constant([3], af.int64))).tolist() == [[1, 2]]
        assert session.run(lost.size()) == 0


# ---- on a cluster


async def test_a_table_lives_on_its_task(graph: af.Graph) -> None:
    with af.device("/job:ps"):
        table = af.lookup.index_table_from_tensor(WORDS)
        counts = af.lookup.MutableHashTable(af.string, af.int64, 0)
    with af.device("/job:worker"):
        words = af.placeholder(af.string, [None])
        ids = table.lookup(words)
        more = counts.insert(words, counts.lookup(words) + 1)
    async with servers({"ps": 1, "worker": 1}) as cluster, af.Session(cluster[1].target, graph) as session:
        await session.run(af.tables_initializer())
        assert (await session.run(ids, {words: ["lake", "and"]})).tolist() == [1, -1]
        for _ in range(2):
            await session.run(more, {words: ["lake"]})
        assert (await session.run(counts.lookup(words), {words: ["lake", "x"]})).tolist() == [2, 0]
        assert session.placement(ids).endswith("/job:ps/replica:0/task:0/device:CPU:0")
        async with af.Session(cluster[0].target, graph) as other:
            assert (await other.run(ids, {words: ["palmer"]})).tolist() == [2], "it outlives sessions"


def test_a_table_takes_all_content_at_once(session: af.blocking.Session) -> None:
    """As TensorFlow's graphs fill tables."""
    changes = af.lookup.MutableHashTable(af.string, af.int64, -1)
    session.run(changes.insert(["a"], [1]))
    session.run(ops.import_all(changes.resource_handle, ["b", "c"], np.int64([2, 3])))
    assert session.run(changes.lookup(text("a", "b", "c"))).tolist() == [-1, 2, 3]
    once = af.lookup.StaticHashTable(pairs(), -1)
    session.run(ops.import_all(once.resource_handle, ["x"], np.int32([7])))
    assert session.run(once.lookup(text("x", "a"))).tolist() == [7, -1]
    with pytest.raises(errors.FailedPreconditionError, match="does not change"):
        session.run(ops.remove(once.resource_handle, ["x"]))
