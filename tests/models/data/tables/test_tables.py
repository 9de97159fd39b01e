"""Tables as datasets: Parquet, record batches, databases; predictions written back; types that have no tensor."""

from __future__ import annotations

import datetime
import decimal
import os
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af


async def all_of(dataset: Any) -> list[Any]:
    return [element async for element in dataset]


def database(path: Path, rows: int = 10) -> Any:
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (x real, n integer, name text)")
        connection.executemany("insert into t values (?, ?, ?)", [(i / 2, i, f"r{i}") for i in range(rows)])
    connection.close()
    return lambda: sqlite3.connect(path, check_same_thread=False)


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
    fetched = closed = 0

    class Cursor:
        description = ("n",)

        def execute(self, query: str, parameters: Any) -> None:
            pass

        def fetchmany(self, size: int) -> list[Any]:
            nonlocal fetched
            fetched += 1
            return [(fetched,)] * size

    class Connection:
        def cursor(self) -> Cursor:
            return Cursor()

        def close(self) -> None:
            nonlocal closed
            closed += 1

    dataset = af.data.SqlDataset(Connection, "endless", {"n": af.int64}, batch_size=2)
    assert [batch["n"].tolist() async for batch in dataset.take(3)] == [[1, 1], [2, 2], [3, 3]]
    assert fetched < 200 and closed == 1


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
