"""`map_fn`, `scan`, `foldl` and `foldr`: loops over the rows of tensors (`tf.map_fn` and others)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorflow.base import nest
from actorflow.base.dtypes import as_dtype
from actorflow.base.reports.user_line import user_line
from actorflow.errors import describe
from actorflow.graph.control_flow.tensor_array import TensorArray
from actorflow.graph.control_flow.while_loop import while_loop
from actorflow.graph.convert import convert_to_tensor, graph_of
from actorflow.graph.ops.array.shape import shape
from actorflow.graph.tensor import Tensor
from actorflow.public import public


@public("af")
def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """`fn` of each row of `elems`, stacked (`tf.map_fn`).

    Example:
        >>> af.map_fn(lambda x: x * x, af.constant([1.0, 2.0, 3.0]))
        [1. 4. 9.]
        >>> pairs = af.constant([1, 2]), af.constant([10, 20])
        >>> af.map_fn(lambda pair: pair[0] * pair[1], pairs, dtype=af.int32)
        [10 40]

    Args:
        fn: takes a row, in the structure of `elems`, and gives a tensor or a structure of tensors. It is called once,
            to build the loop's body.
        elems: a tensor, or a structure of tensors with the same size in dimension 0, whose rows are taken.
        dtype: the types of the results, in their structure, if they are not those of `elems`.
        parallel_iterations: the maximum number of iterations that run concurrently; 10 unless given.
        back_prop: whether gradients may be taken.
        swap_memory: whether values that the gradient needs may be kept on the host.
        infer_shape: whether all results have one shape.

    Raises:
        TypeError: `fn` is not a function.
        ValueError: there are no tensors, or `fn` gives another structure than `dtype` says.
    """
    _check(fn)
    rows = _Rows(elems)
    structure = nest.map_structure(lambda t: t.dtype, rows.structure) if dtype is None else dtype
    with rows.graph.as_default(), rows.graph.name_scope(name or "map"):
        row_arrays = rows.arrays()
        results = [TensorArray(as_dtype(d), size=rows.count, infer_shape=infer_shape) for d in nest.flatten(structure)]

        def body(i: Tensor, arrays: list[TensorArray]) -> Any:
            result = fn(rows.at(row_arrays, i))
            _check_structure(structure, result)
            return i + 1, [array.write(i, value) for array, value in zip(arrays, nest.flatten(result))]

        _, done = while_loop(
            lambda i, _: i < rows.count,
            body,
            (0, results),
            parallel_iterations=parallel_iterations or 10,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=rows.count,
        )
        return nest.pack_sequence_as(structure, [_stacked(array, rows.static) for array in done])


@public("af")
def scan(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """All intermediate results of `a = fn(a, row)` over the rows of `elems`, stacked (`tf.scan`).

    Example:
        >>> af.scan(lambda a, x: a + x, af.constant([1.0, 2.0, 3.0]))
        [1. 3. 6.]

    Args:
        fn: `fn(a, row)` gives the next `a`, in the same structure and of the same types. It is called once, to build
            the loop's body.
        elems: a tensor, or a structure of tensors with the same size in dimension 0, whose rows are taken.
        initializer: `a` before the first call; the first row (the last with `reverse`) unless given, which is then the
            first result.
        parallel_iterations: the maximum number of iterations that run concurrently.
        back_prop: whether gradients may be taken.
        swap_memory: whether values that the gradient needs may be kept on the host.
        infer_shape: whether all results have one shape.
        reverse: whether to take the rows from the last to the first; the results stay in the order of the rows.

    Raises:
        TypeError: `fn` is not a function.
        ValueError: `fn` gives another structure than `a` has.
    """
    _check(fn)
    rows = _Rows(elems)
    with rows.graph.as_default(), rows.graph.name_scope(name or "scan"):
        row_arrays = rows.arrays()
        count = rows.count
        first = initializer is None
        start = rows.at(row_arrays, count - 1 if reverse else 0) if first else _tensors(initializer)
        flat = nest.flatten(start)
        results = [TensorArray(t.dtype, size=count, infer_shape=infer_shape) for t in flat]
        begin: Any = (count - 1 if reverse else 0) if not first else (count - 2 if reverse else 1)
        if first:
            results = [a.write(count - 1 if reverse else 0, t) for a, t in zip(results, flat)]

        def body(i: Tensor, state: Any, arrays: list[TensorArray]) -> Any:
            result = fn(state, rows.at(row_arrays, i))
            _check_structure(start, result)
            values = [convert_to_tensor(v, t.dtype) for v, t in zip(nest.flatten(result), flat)]
            written = [array.write(i, value) for array, value in zip(arrays, values)]
            return (i - 1 if reverse else i + 1), nest.pack_sequence_as(start, values), written

        _, _, done = while_loop(
            (lambda i, *_: i >= 0) if reverse else (lambda i, *_: i < count),
            body,
            (convert_to_tensor(begin), start, results),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=count,
        )
        return nest.pack_sequence_as(start, [_stacked(array, rows.static) for array in done])


@public("af")
def foldl(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last `a` of `a = fn(a, row)` over the rows of `elems` from the first to the last (`tf.foldl`).

    Example:
        >>> af.foldl(lambda a, x: a - x, af.constant([1.0, 2.0, 3.0]))
        -4.0

    Args:
        fn: `fn(a, row)` gives the next `a`, in the same structure and of the same types. It is called once, to build
            the loop's body.
        elems: a tensor, or a structure of tensors with the same size in dimension 0, whose rows are taken.
        initializer: `a` before the first call; the first row unless given.
        parallel_iterations: the maximum number of iterations that run concurrently.
        back_prop: whether gradients may be taken.
        swap_memory: whether values that the gradient needs may be kept on the host.

    Raises:
        TypeError: `fn` is not a function.
        ValueError: `fn` gives another structure than `a` has.
    """
    return _fold(fn, elems, initializer, False, parallel_iterations, back_prop, swap_memory, name or "foldl")


@public("af")
def foldr(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last `a` of `a = fn(a, row)` over the rows of `elems` from the last to the first (`tf.foldr`).

    Example:
        >>> af.foldr(lambda a, x: a - x, af.constant([1.0, 2.0, 3.0]))
        0.0

    Args:
        fn: `fn(a, row)` gives the next `a`, in the same structure and of the same types. It is called once, to build
            the loop's body.
        elems: a tensor, or a structure of tensors with the same size in dimension 0, whose rows are taken.
        initializer: `a` before the first call; the last row unless given.
        parallel_iterations: the maximum number of iterations that run concurrently.
        back_prop: whether gradients may be taken.
        swap_memory: whether values that the gradient needs may be kept on the host.

    Raises:
        TypeError: `fn` is not a function.
        ValueError: `fn` gives another structure than `a` has.
    """
    return _fold(fn, elems, initializer, True, parallel_iterations, back_prop, swap_memory, name or "foldr")


def _fold(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any,
    reverse: bool,
    parallel_iterations: int,
    back_prop: bool,
    swap_memory: bool,
    name: str,
) -> Any:
    _check(fn)
    rows = _Rows(elems)
    with rows.graph.as_default(), rows.graph.name_scope(name):
        row_arrays = rows.arrays()
        count = rows.count
        first = initializer is None
        start = rows.at(row_arrays, count - 1 if reverse else 0) if first else _tensors(initializer)
        begin: Any = (count - 1 if reverse else 0) if not first else (count - 2 if reverse else 1)
        _, result = while_loop(
            (lambda i, _: i >= 0) if reverse else (lambda i, _: i < count),
            lambda i, state: ((i - 1 if reverse else i + 1), fn(state, rows.at(row_arrays, i))),
            (convert_to_tensor(begin), start),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=count,
        )
        return result


class _Rows:
    """The rows of a structure of tensors."""

    def __init__(self, elems: Any) -> None:
        if not nest.flatten(elems):
            raise ValueError("There are no tensors to go through.")
        self.structure = _tensors(elems)
        self.flat: list[Tensor] = nest.flatten(self.structure)
        self.graph = graph_of(self.flat)
        for tensor in self.flat:
            if tensor.static_shape == ():
                raise ValueError(
                    describe(f"{tensor.name} is a scalar, and has no rows to go through.", where=user_line())
                )
        sizes = [t.static_shape[0] for t in self.flat if t.static_shape and t.static_shape[0] is not None]
        if len(set(sizes)) > 1:
            raise ValueError(
                describe(f"The tensors have different numbers of rows: {sorted(set(sizes))}.", where=user_line())
            )
        self.static = sizes[0] if sizes else None
        with self.graph.as_default():
            self.count: Any = shape(self.flat[0])[0] if self.static is None else self.static

    def arrays(self) -> list[TensorArray]:
        return [TensorArray(t.dtype, size=self.count).unstack(t) for t in self.flat]

    def at(self, arrays: list[TensorArray], index: Any) -> Any:
        return nest.pack_sequence_as(self.structure, [array.read(index) for array in arrays])


def _tensors(structure: Any) -> Any:
    leaves, rebuild = nest.parse(structure)
    return rebuild([convert_to_tensor(leaf) for leaf in leaves])


def _stacked(array: TensorArray, rows: int | None) -> Tensor:
    stacked = array.stack()
    if rows is not None and array.element_shape is not None:
        stacked.set_shape((rows, *array.element_shape))
    return stacked


def _check_structure(expected: Any, actual: Any) -> None:
    try:
        nest.assert_same_structure(expected, actual, check_types=False)
    except (TypeError, ValueError) as error:
        raise type(error)(describe(f"fn gives another structure than is wanted. {error}", where=user_line())) from None


def _check(fn: Any) -> None:
    if not callable(fn):
        raise TypeError(f"fn is a function, but {fn!r:.60} was given.")
