"""Rows of a Parquet file as batches of arrays, by `ParquetDataset`, beside pyarrow alone and beside the package datasets.

The file has 400,000 rows of six float32 columns and two of int64, in row groups of 100,000; that for datasets has a tenth.
pyarrow's side reads record batches and makes an array of each column, as a program would.
"""

from __future__ import annotations

import asyncio
import importlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.definitions import Call, Comparison
from benchmarks.harness.sides import our_library

ROWS, FEW_ROWS, GROUP = 400_000, 40_000, 100_000
SIZES = (1024, 4096, 16384)


@contextmanager
def _written(rows: int) -> Iterator[str]:
    """The name of the file."""
    arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"f{number}": rng.random(rows, np.float32) for number in range(6)}
    columns |= {"id": np.arange(rows), "label": rng.integers(0, 10, rows)}
    with tempfile.TemporaryDirectory() as folder:
        name = str(Path(folder, "rows.parquet"))
        parquet.write_table(arrow.table(columns), name, row_group_size=GROUP)
        yield name


@asynccontextmanager
async def _ours(rows: int, size: int) -> AsyncIterator[Call]:
    with _written(rows) as name:
        dataset = our_library().data.ParquetDataset(name, batch_size=size)

        async def read() -> list[float]:
            count, labels = 0, 0
            async for batch in dataset:
                count += len(batch["id"])
                labels += int(batch["label"][0])
            return [count, labels]

        yield read
        await asyncio.sleep(0)


@contextmanager
def _pyarrow(rows: int, size: int) -> Iterator[Call]:
    parquet = importlib.import_module("pyarrow.parquet")
    with _written(rows) as name:

        def read() -> list[float]:
            count, labels = 0, 0
            with parquet.ParquetFile(name, memory_map=True) as file:
                for record in file.iter_batches(size):
                    batch = {key: record.column(key).to_numpy(zero_copy_only=False) for key in record.schema.names}
                    count += len(batch["id"])
                    labels += int(batch["label"][0])
            return [count, labels]

        yield read


@contextmanager
def _datasets(rows: int, size: int) -> Iterator[Call]:
    package: Any = importlib.import_module("datasets")
    with _written(rows) as name, tempfile.TemporaryDirectory() as cache:
        dataset = package.Dataset.from_parquet(name, cache_dir=cache).with_format("numpy")

        def read() -> list[float]:
            count, labels = 0, 0
            for batch in dataset.iter(size):
                count += len(batch["id"])
                labels += int(batch["label"][0])
            return [count, labels]

        yield read


BENCHMARKS = (
    *(
        Comparison(
            f"pyarrow_{size}",
            f"{ROWS:,} rows into batches of {size:,}, by pyarrow alone",
            partial(_ours, ROWS, size),
            partial(_pyarrow, ROWS, size),
        )
        for size in SIZES
    ),
    *(
        Comparison(
            f"datasets_{size}",
            f"{FEW_ROWS:,} rows into batches of {size:,}, by the package datasets, whose cache of Arrow is made before",
            partial(_ours, FEW_ROWS, size),
            partial(_datasets, FEW_ROWS, size),
        )
        for size in SIZES[:1]
    ),
)
