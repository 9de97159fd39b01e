"""Sparse tensors: products and their gradients, embeddings of lists of ids, sums of segments, updates of rows by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.harness.definitions import Case
from benchmarks.models.blocks import BATCHES, Model, Parts, model

RUNGS = (
    (5, 20, 4, 2),
    (10, 100, 8, 10),
    (64, 1000, 16, 20),
    (256, 5000, 64, 40),
    (2000, 20_000, 33, 50),
    (10_000, 50_000, 8, 100),
)
"""Rows, columns, width of the table, and elements of each row: 10 to 10⁶ elements."""


def _cells(m: Model, rows: int, columns: int, each: int) -> list[Any]:
    """Places of elements in order, a list for each batch."""
    np = m.np
    made = []
    for _ in range(BATCHES):
        picked = np.sort(m.data.integers(0, columns - each + 1, (rows, each)), 1) + np.arange(each)
        made.append(np.stack([np.repeat(np.arange(rows), each), picked.reshape(-1)], 1).astype(np.int64))
    return made


def _tensor(m: Model, rows: int, columns: int, each: int) -> tuple[Any, list[Any], list[list[Any]]]:
    lib, np = m.lib, m.np
    cells = _cells(m, rows, columns, each)
    numbers = [m.data.normal(size=len(some)).astype(np.float32) for some in cells]
    places, values = lib.placeholder(lib.int64, [None, 2]), lib.placeholder(lib.float32, [None])
    return lib.SparseTensor(places, values, [rows, columns]), [places, values], [cells, numbers]


def product(m: Model, rows: int, columns: int, width: int, each: int) -> Parts:
    """A fed sparse tensor times weights."""
    x, feeds, batches = _tensor(m, rows, columns, each)
    return feeds, batches, m.lib.sparse_tensor_dense_matmul(x, m.weights(columns, width)), None


def linear(m: Model, rows: int, columns: int, width: int, each: int) -> Parts:
    """A training step of a layer of a fed sparse tensor."""
    x, feeds, batches = _tensor(m, rows, columns, each)
    y = m.lib.sparse_tensor_dense_matmul(x, m.weights(columns, width))
    loss = m.lib.reduce_mean(m.lib.square(y - 1.0))
    return feeds, batches, loss, m.descent(loss)


def lists(m: Model, rows: int, columns: int, width: int, each: int) -> Parts:
    """A training step of means of embeddings of lists of ids."""
    lib, np = m.lib, m.np
    cells = _cells(m, rows, columns, each)
    places, ids = lib.placeholder(lib.int64, [None, 2]), lib.placeholder(lib.int64, [None])
    keys = lib.SparseTensor(places, ids, [rows, columns])
    y = lib.nn.embedding_lookup_sparse(m.weights(columns, width), keys, None, combiner="mean")
    loss = lib.reduce_mean(lib.square(y - 1.0))
    picked = [m.data.integers(0, columns, len(some)).astype(np.int64) for some in cells]
    return (places, ids), (cells, picked), loss, m.descent(loss)


def weighted(m: Model, rows: int, columns: int, width: int, each: int) -> Parts:
    """A training step of weighted sums of embeddings of lists of ids."""
    lib, np = m.lib, m.np
    x, feeds, batches = _tensor(m, rows, columns, each)
    ids = lib.placeholder(lib.int64, [None])
    keys = lib.SparseTensor(x.indices, ids, x.dense_shape)
    y = lib.nn.embedding_lookup_sparse(m.weights(columns, width), keys, x, combiner="sqrtn")
    loss = lib.reduce_mean(lib.square(y - 1.0))
    picked = [m.data.integers(0, columns, rows * each).astype(np.int64) for _ in range(BATCHES)]
    return (*feeds, ids), (*batches, picked), loss, m.descent(loss)


def segments(m: Model, rows: int, columns: int, width: int, each: int) -> Parts:
    """Sums, means and largest elements of segments, and the gradient of the sums."""
    lib, np = m.lib, m.np
    x, ids = lib.placeholder(lib.float32, [rows * each, width]), lib.placeholder(lib.int32, [rows * each])
    sums, means = lib.segment_sum(x, ids), lib.segment_mean(x, ids)
    most = lib.unsorted_segment_max(x, ids, rows)
    slopes = lib.gradients(lib.reduce_sum(lib.square(sums)) + lib.reduce_sum(means), x)[0]
    keys = [np.sort(m.data.integers(0, rows, rows * each)).astype(np.int32) for _ in range(BATCHES)]
    for some in keys:
        some[:] = np.sort(np.concatenate([np.arange(rows), some[rows:]]))
    return (x, ids), (m.floats(rows * each, width), keys), [sums, means, most, slopes], None


def by_hand(m: Model, rows: int, columns: int, width: int, each: int) -> Parts:
    """Rows of two tables, a loss, and `scatter_sub` of the slopes of those rows."""
    lib = m.lib
    users, items = m.weights(columns, width, scale=0.3), m.weights(columns, width, scale=0.3)
    who, what = lib.placeholder(lib.int32, [rows * each]), lib.placeholder(lib.int32, [rows * each])
    u, v = lib.gather(users, who), lib.gather(items, what)
    loss = lib.reduce_mean(lib.square(lib.reduce_sum(u * v, 1) - 1.0))
    of_u, of_v = lib.gradients(loss, [u, v])
    train = lib.group(lib.scatter_sub(users, who, 0.1 * of_u), lib.scatter_sub(items, what, 0.1 * of_v))
    return (who, what), (m.ints(columns, rows * each), m.ints(columns, rows * each)), loss, train


def reshaped(m: Model, rows: int, columns: int, width: int, each: int) -> Parts:
    """Sums of a sparse tensor, its elements in order, and two side by side."""
    lib = m.lib
    x, feeds, batches = _tensor(m, rows, columns, each)
    both = lib.sparse_concat(1, [x, x])
    turned = lib.sparse_reorder(lib.sparse_transpose(x))
    sums = lib.sparse_reduce_sum(x, 1)
    return feeds, batches, [sums, both.values, both.indices, turned.values, turned.indices], None


def summed(m: Model, rows: int, columns: int, width: int, each: int) -> Parts:
    """The sum and the maximum of two sparse tensors, and the gradient of the sum."""
    lib = m.lib
    x, feeds, batches = _tensor(m, rows, columns, each)
    y, more_feeds, more_batches = _tensor(m, rows, columns, each)
    both, most = lib.sparse_add(x, y), lib.sparse_maximum(x, y)
    slopes = lib.gradients(lib.reduce_sum(lib.square(both.values)), [x.values, y.values])
    return [*feeds, *more_feeds], [*batches, *more_batches], [both.values, most.values, *slopes], None


def parts(m: Model, rows: int, columns: int, width: int, each: int) -> Parts:
    """A part of a sparse tensor, with a value in each empty row, in another shape, and the softmax of its rows."""
    lib = m.lib
    x, feeds, batches = _tensor(m, rows, columns, each)
    part = lib.sparse_slice(x, [0, 0], [rows, columns // 2])
    filled = lib.sparse_fill_empty_rows(part, 0.5)[0]
    other = lib.sparse_reshape(filled, [-1, columns // 2 if columns % 4 else columns // 4])
    return feeds, batches, [filled.values, other.indices, lib.sparse_softmax(filled).values], None


def spread(m: Model, rows: int, columns: int, width: int, each: int) -> Parts:
    """Sparse tensors of few columns as dense ones, added to a dense one, and times a column."""
    lib, few = m.lib, 2 * each
    x, feeds, batches = _tensor(m, rows, few, each)
    dense = lib.sparse_tensor_to_dense(x, validate_indices=False)
    scaled = x * m.weights(rows, 1)
    return feeds, batches, [dense, scaled.values, lib.sparse_reduce_max(x, 1), lib.sparse_reduce_sum(x, 0)], None


PROGRAMS: tuple[Callable[..., Parts], ...] = (
    *(product, linear, lists, weighted, segments, by_hand, reshaped),
    *(summed, parts, spread),
)
CASES = tuple(
    Case(
        f"{program.__name__}_{rows}x{columns}",
        f"{program.__name__}: {rows} rows of {each} elements, {columns} columns, width {width}",
        model(program, rows=rows, columns=columns, width=width, each=each),
    )
    for program in PROGRAMS
    for rows, columns, width, each in RUNGS
)
