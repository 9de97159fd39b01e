"""Tables as datasets: Parquet, record batches, databases; predictions written back; types that have no tensor."""

from __future__ import annotations

import datetime
import decimal
import os
import re
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.base.process import machine


async def all_of(dataset: Any) -> list[Any]:
    return [element async for element in dataset]


def database(path: Path, rows: int = 10) -> Any:
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (x real, n integer, name text)")
        connection.executemany("insert into t values (?, ?, ?)", [(i / 2, i, f"r{i}") for i in range(rows)])
    connection.close()
    return lambda: sqlite3.connect(path)


TYPES = {"x": af.float32, "n": af.int64, "name": af.string}


async def test_rows_of_a_database(tmp_path: Path) -> None:
    connect = database(tmp_path / "rows.db")
    query = "select x, n, name from t where n >= ? order by n"
    batches = await all_of(af.data.SqlDataset(connect, query, TYPES, (3,), batch_size=4))
    assert [len(batch["n"]) for batch in batches] == [4, 3] and batches[0]["x"].dtype == np.float32
    assert batches[1]["name"].tolist() == [b"r7", b"r8", b"r9"]
    rows = await all_of(af.data.SqlDataset(connect, query, TYPES, (8,)))
    assert [(row["n"], row["name"]) for row in rows] == [(8, b"r8"), (9, b"r9")]
    assert await all_of(af.data.SqlDataset(connect, query, TYPES, (99,), batch_size=4)) == []


async def test_a_database_is_read_no_further_than_its_readers_need(tmp_path: Path) -> None:
    fetched = 0
    is_read, closed = True, threading.Event()

    class Cursor:
        description = ("n",)

        def execute(self, query: str, parameters: Any) -> None:
            pass

        def fetchmany(self, size: int) -> list[Any]:
            nonlocal fetched
            fetched += 1
            return [(fetched,)] * size

        def close(self) -> None:
            nonlocal is_read
            is_read = False

    class Connection:
        def cursor(self) -> Cursor:
            return Cursor()

        def close(self) -> None:
            assert not is_read and not closed.is_set()
            closed.set()

    dataset = af.data.SqlDataset(Connection, "endless", {"n": af.int64}, batch_size=2)
    assert [batch["n"].tolist() async for batch in dataset.take(3)] == [[1, 1], [2, 2], [3, 3]]
    assert await machine.on_thread(closed.wait, 10), "a thread that fetches closes the connection when it has its rows"
    assert fetched < 200


async def test_values_that_are_no_tensor_are_named(tmp_path: Path) -> None:
    connect = database(tmp_path / "rows.db")
    cases = {
        "select name, n, name from t": "'x' has values that are no float32, such as 'r0'",
        "select x, x, name from t": "'n' has values that are no int64",
        "select x, n, n from t": "'name' has 0, which is no text",
        "select null, n, name from t": "'x' has nulls",
        "select x from t": "has 1 columns, but 3 types",
    }
    for query, words in cases.items():
        with pytest.raises(af.errors.InvalidArgumentError, match=words):
            await all_of(af.data.SqlDataset(connect, query, TYPES, batch_size=4))
    filled = af.data.SqlDataset(connect, "select null, n, name from t", TYPES, batch_size=4, fill={"x": -1.0})
    assert (await all_of(filled))[0]["x"].tolist() == [-1.0] * 4


@pytest.mark.parametrize("ending", ("its rows", "a reader that leaves", "an error of the database"))
async def test_one_thread_uses_a_connection_from_its_opening_to_its_closing(ending: str) -> None:
    threads: list[threading.Thread] = []

    class Connection:
        description = ("n",)

        def __init__(self) -> None:
            self.rows = 0
            self.used()

        def used(self, *_: Any) -> None:
            threads.append(threading.current_thread())

        execute = close = used

        def cursor(self) -> Connection:
            self.used()
            return self

        def fetchmany(self, size: int) -> list[Any]:
            self.used()
            self.rows += 1
            if self.rows > 40 and ending.startswith("an error"):
                raise sqlite3.OperationalError("the disk is gone")
            return [(self.rows,)] if self.rows <= 40 or ending.startswith("a reader") else []

    dataset = af.data.SqlDataset(Connection, "rows", {"n": af.int64}, batch_size=1)
    iterator = aiter(dataset.take(20) if ending.startswith("a reader") else dataset)
    rows: list[int] = []
    failures: list[Exception] = []
    try:
        async for batch in iterator:
            rows += batch["n"].tolist()
            # Meanwhile the lane's first thread is busy, so that another thread pulls.
            await machine.on_thread(threading.Event().is_set)
    except Exception as error:
        failures.append(error)
    assert rows == list(range(1, len(rows) + 1)) and len(rows) == (20 if ending.startswith("a reader") else 40)
    assert ["the disk is gone" in str(error) for error in failures] == [True] * ending.startswith("an error")
    (owner,) = set(threads)
    owner.join(10)
    assert not owner.is_alive() and owner is not threading.main_thread()


VALUES = (
    (af.bool, [2], "no bool, such as 2"),
    (af.bool, [True, 0.5], "no bool, such as 0.5"),
    (af.float32, [1.0, 1e300], "no float32, such as 1e+300"),
    (af.float16, [10**6], "no float16, such as 1000000"),
    (af.uint64, [1, -1], "no uint64, such as -1"),
    (af.int64, [0, 2.0**63], "no int64, such as 9.22"),
    (af.int8, [1, 128], "no int8, such as 128"),
    (af.int64, [1, float("nan")], "no int64, such as nan"),
    (af.bool, [1, 0], [True, False]),
    (af.int64, [2**53 + 1, 1.0], [2**53 + 1, 1]),
    (af.uint64, [2**63, 1.0], [2**63, 1]),
    (af.float32, [float("inf"), 0.5, 3], [float("inf"), 0.5, 3.0]),
)


@pytest.mark.parametrize("dtype, column, expected", VALUES)
async def test_no_value_of_a_database_changes_in_silence(dtype: Any, column: list[Any], expected: Any) -> None:
    class Connection:
        description = ("v",)
        execute = close = lambda self, *_: None

        def cursor(self) -> Connection:
            self.rows = [(value,) for value in column]
            return self

        def fetchmany(self, size: int) -> list[Any]:
            rows, self.rows = self.rows, []
            return rows

    dataset = af.data.SqlDataset(Connection, "", {"v": dtype}, batch_size=8)
    if isinstance(expected, str):
        with pytest.raises(af.errors.InvalidArgumentError, match=re.escape(expected)):
            await all_of(dataset)
    else:
        assert (await all_of(dataset))[0]["v"].tolist() == expected


def test_a_database_s_fill_is_of_its_column_s_type() -> None:
    with pytest.raises(af.errors.InvalidArgumentError, match=r"fill of the column 'n' .* no int64, such as 0\.5"):
        af.data.SqlDataset(lambda: None, "", {"n": af.int64}, fill={"n": 0.5})


def table() -> Any:
    arrow = pytest.importorskip("pyarrow")
    rows = np.arange(10)
    return arrow.table(
        {
            "x": rows.astype(np.float32),
            "flag": rows % 2 == 0,
            "name": arrow.array([f"r{i}" for i in rows]).dictionary_encode(),
            "pixels": arrow.FixedSizeListArray.from_arrays(arrow.array(np.arange(40, dtype=np.uint8)), 4),
        }
    )


@pytest.mark.extras("pyarrow")
async def test_batches_of_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    files = [tmp_path / name for name in ("a.parquet", "b.parquet")]
    for file in files:
        parquet.write_table(table(), file, row_group_size=3)
    dataset = af.data.ParquetDataset(files, batch_size=8)
    batches = await all_of(dataset)
    assert [len(batch["x"]) for batch in batches] == [8, 8, 4]
    whole = {key: np.concatenate([batch[key] for batch in batches]) for key in batches[0]}
    assert whole["x"].tolist() == [*range(10)] * 2 and whole["x"].dtype == np.float32
    assert whole["flag"].tolist() == [True, False] * 10 and whole["name"][11] == b"r1"
    assert whole["pixels"].shape == (20, 4) and whole["pixels"][-1].tolist() == [36, 37, 38, 39]
    assert list(dataset.element_spec) == ["x", "flag", "name", "pixels"]
    rows = await all_of(af.data.ParquetDataset(files[0], columns=["name", "x"]).skip(8))
    assert [(row["name"], row["x"]) for row in rows] == [(b"r8", 8.0), (b"r9", 9.0)]


@pytest.mark.extras("pyarrow")
async def test_predictions_are_written_back(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(table(), tmp_path / "in.parquet")

    async def predictions() -> AsyncIterator[dict[str, Any]]:
        async for batch in af.data.ParquetDataset(tmp_path / "in.parquet", batch_size=4):
            yield {"name": batch["name"], "score": np.stack([batch["x"], -batch["x"]], 1)}

    assert await af.data.write_parquet(tmp_path / "out.parquet", predictions()) == 10
    (scores,) = await all_of(af.data.ParquetDataset(tmp_path / "out.parquet", batch_size=99))
    assert scores["score"][3].tolist() == [3.0, -3.0] and scores["name"][3] == b"r3"
    assert sorted(os.listdir(tmp_path)) == ["in.parquet", "out.parquet"]

    async def broken() -> AsyncIterator[dict[str, Any]]:
        yield {"x": np.ones(2)}
        yield {"y": np.ones(2)}

    with pytest.raises(af.errors.InvalidArgumentError, match="but the first had x: double"):
        await af.data.write_parquet(tmp_path / "out.parquet", broken())
    assert len(await all_of(af.data.ParquetDataset(tmp_path / "out.parquet"))) == 10, "the old file is there"


@pytest.mark.extras("pyarrow")
async def test_a_fill_is_of_its_column_s_type() -> None:
    arrow = pytest.importorskip("pyarrow")
    pairs = arrow.list_(arrow.int64(), 2)
    columns = (
        (arrow.array([1, None]), 0.5, "no int64, such as 0.5"),
        (arrow.array([1, None], arrow.int8()), 300, "no int8, such as 300"),
        (arrow.array([True, None]), 2, "no bool, such as 2"),
        (arrow.array([1.0, None], arrow.float32()), 1e300, "no float32, such as 1e"),
        (arrow.array(["a", None]), 3, "has 3, which is no text"),
        (arrow.array([[1, 2], None], pairs), [1, 2, 3], "has the shape (3,), but its rows have (2,)"),
        (arrow.array([1, None]), -1, [1, -1]),
        (arrow.array([1.0, None], arrow.float16()), 0.5, [1.0, 0.5]),
        (arrow.array(["a", None]).dictionary_encode(), "b", [b"a", b"b"]),
        (arrow.DictionaryArray.from_arrays(arrow.array([0, 1]), arrow.array([1.5, None])), 0, [1.5, 0.0]),
        (arrow.array([[1, 2], None], pairs), [3, 4], [[1, 2], [3, 4]]),
        (arrow.array([[1, 2], None], pairs), 0, [[1, 2], [0, 0]]),
    )
    for column, fill, expected in columns:
        rows = arrow.table({"c": column})
        if isinstance(expected, str):
            with pytest.raises(af.errors.InvalidArgumentError, match=re.escape(expected)):
                af.data.ArrowDataset(rows.schema, rows.to_batches, fill={"c": fill})
        else:
            (batch,) = await all_of(af.data.ArrowDataset(rows.schema, rows.to_batches, batch_size=9, fill={"c": fill}))
            assert batch["c"].tolist() == expected


@pytest.mark.extras("pyarrow")
async def test_a_batch_joins_files_whose_schemas_make_equal_tensors(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    names = [tmp_path / f"{place}.parquet" for place in range(2)]
    parquet.write_table(arrow.table({"n": [1, 2, 3], "t": ["a", "b", "c"]}), names[0])
    n, t = arrow.array([4, 5]), arrow.array(["d", "e"])
    required = arrow.schema([arrow.field("n", arrow.int64(), nullable=False), ("t", arrow.string())])
    tables = {
        "nulls": arrow.table({"n": n, "t": t}, schema=required),
        "metadata": arrow.table({"n": n, "t": t}).replace_schema_metadata({"by": "a writer"}),
        "order": arrow.table({"t": t, "n": n}),
        "kind of text": arrow.table({"n": n, "t": t.cast(arrow.large_binary())}),
        "dictionary": arrow.table({"n": n, "t": t.dictionary_encode()}),
    }
    for difference, rows in tables.items():
        parquet.write_table(rows, names[1])
        batches = await all_of(af.data.ParquetDataset(names, batch_size=2))
        assert [batch["n"].tolist() for batch in batches] == [[1, 2], [3, 4], [5]], difference
        assert [batch["t"].tolist() for batch in batches] == [[b"a", b"b"], [b"c", b"d"], [b"e"]], difference
    others = {
        "'n' has the type int32 in a batch, but int64": arrow.table({"n": n.cast(arrow.int32()), "t": t}),
        "'n' has the type string in a batch, but int64": arrow.table({"n": t, "t": t}),
        "'t' has the type int64 in a batch, but string": arrow.table({"n": n, "t": n}),
        "no column 't'": arrow.table({"n": n}),
    }
    for words, rows in others.items():
        parquet.write_table(rows, names[1])
        with pytest.raises(af.errors.InvalidArgumentError, match=words):
            await all_of(af.data.ParquetDataset(names, batch_size=2))
    pairs, threes = (
        arrow.array([[[1] * b] * a], arrow.list_(arrow.list_(arrow.int64(), b), a)) for a, b in ((2, 3), (3, 2))
    )
    with pytest.raises(af.errors.InvalidArgumentError, match=r"int64 in rows of the shape \(2, 3\) in the first"):
        await all_of(af.data.ArrowDataset(arrow.table({"p": pairs}).schema, arrow.table({"p": threes}).to_batches))


@pytest.mark.extras("pyarrow")
async def test_a_batch_that_is_no_table_is_not_written(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")

    async def written(*batches: dict[str, Any]) -> int:
        async def rows() -> AsyncIterator[dict[str, Any]]:
            for batch in batches:
                yield batch

        return await af.data.write_parquet(tmp_path / "out.parquet", rows())

    row = np.ones(1)
    batches: dict[str, dict[str, Any]] = {
        "column 'c' has values of complex64, which are no column": {"c": np.ones(2, np.complex64)},
        "column 'b' has values of bfloat16": {"b": np.ones(2, af.bfloat16.numpy_dtype)},
        "column 'o' has values of object": {"o": np.array([b"a", 3], object)},
        "different numbers of rows: 'a' has 1, 'b' has 2": {"a": row, "b": np.ones(2)},
        "Rows of the column 'e' have the shape (0,), which has no values": {"e": np.ones((2, 0))},
        "column 's' is a scalar": {"s": np.float32(1)},
    }
    for words, batch in batches.items():
        with pytest.raises(af.errors.InvalidArgumentError, match=re.escape(words)):
            await written(batch)
        with pytest.raises(af.errors.InvalidArgumentError, match=re.escape(words)):
            await written({name: row for name in batch}, batch)
        assert os.listdir(tmp_path) == []
    assert await written({"t": np.array([], object)}, {"t": np.array([b"a"], object)}) == 1


@pytest.mark.extras("pyarrow")
async def test_columns_without_a_tensor_are_named(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    values = {
        "timestamp": [datetime.datetime(2026, 1, 1)],
        "list<": [[1, 2]],
        "struct<": [{"a": 1}],
        "decimal128": [decimal.Decimal("1.5")],
        "date32": [datetime.date(2026, 1, 1)],
    }
    for kind, column in values.items():
        parquet.write_table(arrow.table({"it": column, "x": [1]}), tmp_path / "t.parquet")
        with pytest.raises(af.errors.InvalidArgumentError, match=f"'it' has the type {kind}.*which is no tensor"):
            af.data.ParquetDataset(tmp_path / "t.parquet")
        assert (await all_of(af.data.ParquetDataset(tmp_path / "t.parquet", columns=["x"])))[0]["x"] == 1
    parquet.write_table(arrow.table({"x": [1, None, 3]}), tmp_path / "t.parquet")
    with pytest.raises(af.errors.InvalidArgumentError, match="'x' has nulls, the first in row 1"):
        await all_of(af.data.ParquetDataset(tmp_path / "t.parquet", batch_size=3))
    filled = af.data.ParquetDataset(tmp_path / "t.parquet", batch_size=3, fill={"x": 0})
    assert (await all_of(filled))[0]["x"].tolist() == [1, 0, 3]
    with pytest.raises(af.errors.NotFoundError, match="no column 'y'; it has: x"):
        af.data.ParquetDataset(tmp_path / "t.parquet", columns=["y"])
    with pytest.raises(af.errors.NotFoundError, match="There is no file"):
        af.data.ParquetDataset(tmp_path / "absent.parquet")
    (tmp_path / "text").write_text("no table at all")
    with pytest.raises(af.errors.InvalidArgumentError, match="is no Parquet"):
        af.data.ParquetDataset(tmp_path / "text")
