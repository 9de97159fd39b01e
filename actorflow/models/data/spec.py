"""The structure of a dataset's elements: nested structures whose leaves are types and shapes of tensors, or datasets.

Tuples, named tuples and dicts are structures. Lists are tensors, as in TensorFlow's datasets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base.dtypes import DType, DTypeLike, as_dtype, float32, int64
from actorflow.base.shapes import Shape, TensorShape, as_shape, merge
from actorflow.engine.eager.functions.signature import TensorSpec
from actorflow.graph.sparse_tensor import SparseTensor, SparseTensorValue
from actorflow.graph.tensor import Tensor
from actorflow.public import public

Element = tuple[Any, ...]
"""The leaves of an element while it goes through the stages: arrays, numpy scalars, `bytes`, and nodes of inner datasets."""


@public("af.data")
class DatasetSpec:
    """The type of a leaf that is a dataset itself, such as those of `Dataset.window` (`tf.data.DatasetSpec`).

    Example:
        >>> af.data.Dataset.range(6).window(2).element_spec
        DatasetSpec(TensorSpec(shape=(), dtype=actorflow.int64, name=None))

    Args:
        element_spec: what its elements look like.
        dataset_shape: the shape of a tensor of datasets; always `()` here, a single dataset.

    Raises:
        ValueError: another shape.
    """

    __slots__ = ("spec",)

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        if as_shape(dataset_shape) != ():
            raise ValueError(f"A leaf is a single dataset here: dataset_shape must be (), not {dataset_shape}.")
        self.spec = element_spec if isinstance(element_spec, Spec) else Spec(element_spec)

    @property
    def element_spec(self) -> Any:
        """The form of its elements."""
        return self.spec.structure

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatasetSpec) and self.spec == other.spec

    def __hash__(self) -> int:
        return hash(self.spec)

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r})"


@public("af", "af.sparse")
class SparseTensorSpec:
    """The shape and element type of a SparseTensor (`tf.SparseTensorSpec`).

    Example:
        >>> af.SparseTensorSpec([None, 10], af.int64)
        SparseTensorSpec((?, 10), actorflow.int64)

    Args:
        shape: the shape of the whole; its rank counts. None where the rank is not known.
        dtype: the type of the elements.
    """

    __slots__ = ("dtype", "static_shape")

    def __init__(self, shape: Any = None, dtype: DTypeLike = float32) -> None:
        self.static_shape, self.dtype = as_shape(shape), as_dtype(dtype)

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return TensorShape(self.static_shape)

    @property
    def parts(self) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
        """Those of its indices, values and shape."""
        rank = None if self.static_shape is None else len(self.static_shape)
        return TensorSpec((None, rank), int64), TensorSpec((None,), self.dtype), TensorSpec((rank,), int64)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SparseTensorSpec) and (self.static_shape, self.dtype) == (
            other.static_shape,
            other.dtype,
        )

    def __hash__(self) -> int:
        return hash((self.static_shape, self.dtype))

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self.shape}, {self.dtype!r})"


def _sparse(parts: Sequence[Any]) -> Any:
    """A sparse tensor of three parts; or what is said of it, from what is said of the parts."""
    indices, values, shape = parts
    if isinstance(values, Tensor):
        return SparseTensor(indices, values, shape)
    if isinstance(values, TensorSpec):
        return SparseTensorSpec(_open(shape.static_shape), values.dtype)
    if isinstance(values, TensorShape):
        return TensorShape(_open(as_shape(shape)))
    if isinstance(values, DType):
        return values
    if isinstance(values, DatasetSpec):
        raise TypeError("A window of sparse tensors is no dataset: batch them, or make them dense first.")
    return SparseTensor if values is Tensor else SparseTensorValue(indices, values, shape)


def _open(shape: Shape) -> Shape:
    """A shape of the rank that a vector of sizes has."""
    return None if shape is None or shape[0] is None else (None,) * shape[0]


class Spec:
    """The structure of elements: `structure` as the user sees it, its `leaves`, and `rebuild`, which makes the structure of other
    leaves."""

    __slots__ = ("leaves", "rebuild", "sparse", "structure")

    def __init__(self, structure: Any) -> None:
        leaves, self.rebuild = parse(structure)
        for leaf in leaves:
            if not isinstance(leaf, (TensorSpec, DatasetSpec)):
                raise TypeError(f"A spec is made of TensorSpec and DatasetSpec, not of a {type(leaf).__name__}.")
        self.leaves: tuple[Any, ...] = tuple(leaves)
        self.structure = structure
        self.sparse = tuple([place for place, begins in enumerate(_begins_sparse(structure)) if begins])
        """The places of leaves with which a sparse tensor begins: its indices, values and shape are three leaves."""

    def map(self, function: Callable[[Any], Any]) -> Spec:
        """The same structure with `function` of each leaf."""
        return Spec(self.rebuild([function(leaf) for leaf in self.leaves]))

    def of(self, element: Sequence[Any]) -> Any:
        """An element in this structure."""
        return self.rebuild(element)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and self.structure == other.structure

    def __hash__(self) -> int:
        return hash(self.leaves)

    def __repr__(self) -> str:
        return repr(self.structure)


def stack(column: Sequence[Any]) -> Any:
    """Leaves of several elements as one array. Raises ValueError where their shapes differ."""
    first = column[0]
    if isinstance(first, bytes):
        column_array = np.empty(len(column), object)
        column_array[:] = column
        return column_array
    if isinstance(first, np.generic):
        return np.array(column, first.dtype)
    return np.stack(column)


def size_of(element: Element) -> int:
    """The bytes of the tensors of an element."""
    total = 0
    for value in element:
        if isinstance(value, bytes):
            total += len(value)
        elif isinstance(value, (np.ndarray, np.generic)):
            total += sum(map(len, value.flat)) if value.dtype == object else value.nbytes
    return total


def parse(structure: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
    """The leaves of a structure, dicts by sorted keys, and what puts others into their places."""
    if isinstance(structure, (SparseTensor, SparseTensorValue)):
        return [structure.indices, structure.values, structure.dense_shape], _sparse
    if isinstance(structure, SparseTensorSpec):
        return list(structure.parts), _sparse
    if isinstance(structure, Mapping):
        order = list(structure)
        try:
            keys = sorted(order)
        except TypeError:
            raise TypeError("The keys of a dict of a dataset have to be comparable with each other.") from None
        leaves, rebuild = _parts([structure[key] for key in keys])
        kind: Any = type(structure)

        def as_mapping(values: Sequence[Any]) -> Any:
            values_by_key = dict(zip(keys, rebuild(values)))
            return kind((key, values_by_key[key]) for key in order)

        return leaves, as_mapping
    if isinstance(structure, tuple):
        leaves, rebuild = _parts(structure)
        make: Any = type(structure)
        if hasattr(structure, "_fields"):
            return leaves, lambda values: make(*rebuild(values))
        if _is_flat(structure):
            return leaves, tuple
        return leaves, lambda values: tuple(rebuild(values))
    return [structure], lambda values: values[0]


def _is_flat(structure: tuple[Any, ...]) -> bool:
    return not any(isinstance(part, (tuple, Mapping, SparseTensor, SparseTensorSpec)) for part in structure)


def _begins_sparse(structure: Any) -> list[bool]:
    """For each leaf, whether a sparse tensor begins with it."""
    if isinstance(structure, SparseTensorSpec):
        return [True, False, False]
    if isinstance(structure, Mapping):
        return [begins for key in sorted(structure) for begins in _begins_sparse(structure[key])]
    if isinstance(structure, tuple):
        return [begins for part in structure for begins in _begins_sparse(part)]
    return [False]


def _parts(parts: Sequence[Any]) -> tuple[list[Any], Callable[[Sequence[Any]], list[Any]]]:
    parsed = [parse(part) for part in parts]

    def rebuild(values: Sequence[Any]) -> list[Any]:
        built, at = [], 0
        for leaves, build in parsed:
            built.append(build(values[at : at + len(leaves)]))
            at += len(leaves)
        return built

    return [leaf for leaves, _ in parsed for leaf in leaves], rebuild


def declared(types: Any, shapes: Any = None, classes: Any = None) -> Spec:
    """The spec of `output_types`, `output_shapes` and `output_classes`, structures of the same form. Shapes are unknown unless
    given, and classes `Tensor`."""
    leaves, rebuild = parse(types)
    if shapes is None:
        sizes: list[Any] = [None] * len(leaves)
    else:
        sizes = _shapes_like(types, shapes)
    kinds = [Tensor] * len(leaves) if classes is None else parse(classes)[0]
    specs = [SparseTensorSpec if kind is SparseTensor else TensorSpec for kind in kinds]
    return Spec(rebuild([spec(as_shape(size), as_dtype(leaf)) for spec, leaf, size in zip(specs, leaves, sizes)]))


def _shapes_like(types: Any, shapes: Any) -> list[Any]:
    """The shapes at the places of the types: a list or tuple of numbers at the place of a type is a shape."""
    if isinstance(types, Mapping):
        return [size for key in sorted(types) for size in _shapes_like(types[key], shapes[key])]
    if isinstance(types, tuple):
        if not isinstance(shapes, (tuple, list)) or len(shapes) != len(types):
            raise TypeError(f"The shapes {shapes!r} have another structure than the types {types!r}.")
        return [size for kind, part in zip(types, shapes) for size in _shapes_like(kind, part)]
    return [shapes]


def types_of(spec: Spec) -> Any:
    """The element types in the structure (`tf.data.Dataset.output_types`)."""
    return spec.rebuild([leaf.dtype for leaf in tensor_leaves(spec)])


def shapes_of(spec: Spec) -> Any:
    """The shapes in the structure."""
    return spec.rebuild([TensorShape(leaf.static_shape) for leaf in tensor_leaves(spec)])


def tensor_leaves(spec: Spec) -> tuple[TensorSpec, ...]:
    """The leaves, which are all tensors. Raises TypeError if a leaf is a dataset."""
    for leaf in spec.leaves:
        if isinstance(leaf, DatasetSpec):
            raise TypeError(
                "An element has a dataset in it, where tensors are needed: take its elements out with flat_map or interleave."
            )
    return spec.leaves


def batched(spec: Spec, count: int | None) -> Spec:
    """Each leaf with one more dimension in front."""
    leaves = [TensorSpec(_longer(leaf.static_shape, count), leaf.dtype) for leaf in tensor_leaves(spec)]
    for place in spec.sparse:
        _, values, shape = spec.leaves[place : place + 3]
        leaves[place : place + 3] = SparseTensorSpec(_longer(_open(shape.static_shape), None), values.dtype).parts
    return Spec(spec.rebuild(leaves))


def dense_leaves(spec: Spec, what: str) -> tuple[TensorSpec, ...]:
    """The leaves, which are all dense tensors. Raises TypeError if a leaf is a dataset, or sparse."""
    if spec.sparse:
        raise TypeError(f"{what} of sparse tensors is not there: make them dense first, with tf.sparse.to_dense.")
    return tensor_leaves(spec)


def _longer(shape: Shape, count: int | None) -> Shape:
    return None if shape is None else (count, *shape)


def most_specific(left: Spec, right: Spec, what: str) -> Spec:
    """A spec that describes elements of both. Raises TypeError where types or structures differ."""
    if len(left.leaves) != len(right.leaves) or types_of(left) != types_of(right):
        raise TypeError(
            f"Incompatible: the two datasets have different types, {what} has elements of {left!r}, but the other of {right!r}."
        )
    joined = []
    for left_leaf, other in zip(left.leaves, right.leaves):
        joined.append(TensorSpec(_common(left_leaf.static_shape, other.static_shape), left_leaf.dtype))
    return Spec(left.rebuild(joined))


def _common(left: Shape, right: Shape) -> Shape:
    if left is None or right is None or len(left) != len(right):
        return None
    return tuple(a if a == b else None for a, b in zip(left, right))


def fits(array: Any, dtype: DType, shape: Shape) -> bool:
    """Whether a value has this type, and a shape that this one allows."""
    if array.shape != shape:
        try:
            merge(array.shape, shape)
        except ValueError:
            return False
    return bool(array.dtype == dtype.numpy_dtype)
