"""`SqlDataset`: the rows of a query, by any connection of Python's database interface (PEP 249)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from typing import Any

from actorflow.base.dtypes import DTypeLike, as_dtype
from actorflow.engine.eager.functions.signature import TensorSpec
from actorflow.errors import InvalidArgumentError
from actorflow.models.data.dataset import Dataset
from actorflow.models.data.sources import from_batches
from actorflow.models.data.tables.threads import on_one_thread
from actorflow.models.data.tables.values import array_of, fills_of
from actorflow.public import public

_ROWS = 1024


@public("af.data")
class SqlDataset(Dataset):
    """The rows of a query. A thread fetches them, some batches ahead of those who pull, and no more.

    Example:
        >>> import sqlite3
        >>> with sqlite3.connect("rows.db") as rows:
        ...     _ = rows.execute("create table t (x real, name text)")
        ...     _ = rows.executemany("insert into t values (?, ?)", [(1.0, "a"), (2.0, "b"), (3.0, "c")])
        >>> rows.close()
        >>> connect = lambda: sqlite3.connect("rows.db")
        >>> batches = af.data.SqlDataset(connect, "select x, name from t", {"x": af.float32, "name": af.string}, batch_size=2)
        >>> [batch["name"] async for batch in batches]
        [[b'a' b'b'], [b'c']]

    Args:
        connect: opens a connection for each iterator. One thread opens, reads and closes it.
        query: the query.
        types: the element types of its columns, in their order, by the names that they get.
        parameters: the parameters of the query.
        batch_size: the rows of an element, which is a dict of arrays; the last element may have fewer. None gives single rows.
        fill: values in the place of nulls, by the names of columns.

    Raises:
        InvalidArgumentError: no rows are asked for, or a value of `fill` is none of its column's type.

    In a run it raises the errors of the database, and InvalidArgumentError for a value that its column's type does not hold.
    Floats are rounded to their type.
    """

    __slots__ = ()

    def __init__(
        self,
        connect: Callable[[], Any],
        query: str,
        types: Mapping[str, DTypeLike],
        parameters: Sequence[Any] | Mapping[str, Any] = (),
        *,
        batch_size: int | None = None,
        fill: Mapping[str, Any] | None = None,
    ) -> None:
        if batch_size is not None and (isinstance(batch_size, bool) or batch_size < 1):
            raise InvalidArgumentError(f"A batch has a row at least, not {batch_size}.")
        specs = {name: TensorSpec((None,), as_dtype(dtype)) for name, dtype in types.items()}
        fills_of(fill, specs)
        values = dict(fill or {})

        def arrays() -> Generator[dict[str, Any], None, None]:
            with closing(connect()) as connection, closing(connection.cursor()) as cursor:
                cursor.execute(query, parameters)
                width = len(cursor.description or ())
                if width != len(specs):
                    raise InvalidArgumentError(f"The query has {width} columns, but {len(specs)} types are stated.")
                while rows := cursor.fetchmany(batch_size or _ROWS):
                    columns = zip(*rows, strict=True)
                    yield {
                        name: _column(name, column, spec, values)
                        for (name, spec), column in zip(specs.items(), columns)
                    }

        whole = from_batches(lambda: on_one_thread(arrays), specs)
        super().__init__((whole if batch_size is not None else whole.unbatch()).node)


def _column(name: str, column: Sequence[Any], spec: TensorSpec, fill: Mapping[str, Any]) -> Any:
    """The values of a column as an array."""
    if any(value is None for value in column):
        if name not in fill:
            raise InvalidArgumentError(
                f"The column {name!r} has nulls, and tensors have none.",
                hint=f"fill={{{name!r}: ...}} gives them a value.",
            )
        column = [fill[name] if value is None else value for value in column]
    return array_of(f"The column {name!r}", column, spec.dtype)
