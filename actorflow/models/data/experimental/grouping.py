"""Transformations that sort elements by a key, or carry a state from one element to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from actorflow.base.dtypes import int32, int64, string
from actorflow.base.shapes import as_shape
from actorflow.engine.eager.functions.signature import TensorSpec
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.default_graph import control_dependencies
from actorflow.graph.ops.array.gather import gather
from actorflow.graph.ops.array.sort import searchsorted
from actorflow.graph.ops.flow.asserts import assert_less
from actorflow.graph.ops.flow.control import identity
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.tensor import Tensor
from actorflow.models.data.dataset import Dataset
from actorflow.models.data.functions.tracing import trace
from actorflow.models.data.node import DatasetNode
from actorflow.models.data.sources import Sources
from actorflow.models.data.spec import DatasetSpec, Spec, tensor_leaves, types_of

Transformation: TypeAlias = Callable[[Dataset], Dataset]

__all__ = ["Reducer", "bucket_by_sequence_length", "group_by_reducer", "group_by_window", "scan", "unique"]

_MOST = np.iinfo(np.int64).max


class Reducer:
    """The functions of `group_by_reducer`: the first state of a key, the next state, and the result of the last state."""

    def __init__(
        self, init_func: Callable[[Any], Any], reduce_func: Callable[..., Any], finalize_func: Callable[[Any], Any]
    ) -> None:
        self.init_func, self.reduce_func, self.finalize_func = init_func, reduce_func, finalize_func


def element_of(dataset: Dataset, arguments: Sequence[Any]) -> Any:
    """The element of which a function of `map` got these arguments."""
    return tuple(arguments) if type(dataset.node.spec.structure) is tuple else arguments[0]


def key_of(function: Callable[..., Any], arguments: Sequence[Any], what: str) -> Tensor:
    """The key of an element, an int64. Raises ValueError for anything else."""
    key = convert_to_tensor(function(*arguments))
    if key.dtype is not int64 or key.static_shape not in ((), None):
        raise ValueError(
            f"`{what}` must return a single tf.int64 scalar tensor, but it gave {key.dtype} of shape {key.shape}."
        )
    return key


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[[Any, Dataset], Dataset],
    window_size: Any = None,
    window_size_func: Callable[[Any], Any] | None = None,
) -> Transformation:
    """The elements of `reduce_func(key, window)`, for each window of `window_size` elements of one key."""
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Must pass either window_size or window_size_func, but not both.")

    def apply(dataset: Dataset) -> Dataset:
        def keyed(*arguments: Any) -> Any:
            key = key_of(key_func, arguments, "key_func")
            size = window_size if window_size_func is None else window_size_func(key)
            size = np.int64(size) if isinstance(size, int) else cast(size, int64)
            return key, size, element_of(dataset, arguments)

        spec = Spec((TensorSpec((), int64), DatasetSpec(dataset.node.spec)))
        return dataset.map(keyed)._then("group_by_window", spec).flat_map(reduce_func)

    return apply


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """One element for each key, in the order of the keys: what the reducer makes of all its elements."""

    def reduced(key: Any, window: Dataset) -> Dataset:
        states: Dataset = window._reduced(reducer.init_func(key), reducer.reduce_func)
        return states.map(reducer.finalize_func)

    return group_by_window(key_func, reduced, _MOST)


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Batches of elements of about one length: those between two boundaries go together."""
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
    boundaries = np.array(bucket_boundaries, np.int64)
    sizes = np.array(bucket_batch_sizes, np.int64)

    def bucket(*arguments: Any) -> Any:
        length = cast(element_length_func(*arguments), int64)
        return cast(searchsorted(boundaries, length[None], side="right")[0], int64)

    def batched(key: Any, window: Dataset) -> Dataset:
        size = gather(sizes, key)
        if no_padding:
            return window.batch(size, drop_remainder)
        shapes = padded_shapes
        if pad_to_bucket_boundary:
            text = "When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries)."
            with control_dependencies([assert_less(key, np.int64(len(boundaries)), message=text)]):
                longest = gather(boundaries, identity(key)) - 1
            shapes = _filled(window.node.spec, padded_shapes, longest)
        return window.padded_batch(size, shapes, padding_values, drop_remainder)

    return group_by_window(bucket, batched, window_size_func=lambda key: gather(sizes, key))


def _filled(spec: Spec, shapes: Any, longest: Tensor) -> Any:
    """Padded shapes with a size in the place of those that are not known."""
    from actorflow.models.data.padding import shapes_of_leaves

    full_shapes = []
    for shape, leaf in zip(shapes_of_leaves(spec, shapes), tensor_leaves(spec)):
        static = leaf.static_shape if shape is None else as_shape(shape)
        if static is None:
            raise ValueError("You must provide `padded_shapes` where the rank of a component is not known.")
        full_shapes.append([longest if size is None else size for size in static])
    return spec.rebuild(full_shapes)


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """The outputs of `scan_func(state, element)`, which gives the next state beside them."""

    def apply(dataset: Dataset) -> Dataset:
        first = Sources.from_tensors(initial_state).node
        function, captured = trace(scan_func, dataset.node.spec, "scan", first.spec)
        result = function.spec.structure
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError("The scan function must return a pair comprising the new state and the output value.")
        state = Spec(result[0])
        if types_of(state) != types_of(first.spec):
            raise TypeError(
                f"The element types for the new state must match the initial state. Expected {types_of(first.spec)}; got "
                f"{types_of(state)}."
            )
        return Dataset(DatasetNode("scan", Spec(result[1]), (dataset.node, first), tuple(captured), function=function))

    return apply


def unique() -> Transformation:
    """The elements that were not there before; they are scalars of int32, int64 or string."""

    def apply(dataset: Dataset) -> Dataset:
        leaves = tensor_leaves(dataset.node.spec)
        if len(leaves) != 1 or leaves[0].dtype not in (int32, int64, string):
            raise TypeError(
                "`tf.data.experimental.unique()` only supports inputs with a single `tf.int32`, `tf.int64`, or `tf.string` "
                f"component, but the elements are {dataset.element_spec!r}."
            )
        return dataset._then("unique")

    return apply
