"""From Example messages to tensors: `parse_example` and its like, and what describes the features to find.

features = {"image": af.FixedLenFeature([784], af.float32), "words": af.VarLenFeature(af.string)}
parsed = af.parse_example(serialized, features)     # {"image": Tensor, "words": SparseTensor}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from actorflow.base.dtypes import DType, DTypeLike, as_dtype, int64, string
from actorflow.base.shapes import Shape, ShapeLike, as_shape, is_static, num_elements, show
from actorflow.graph.convert import as_array, convert_to_tensor, graph_of, is_symbolic
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.shape import reshape
from actorflow.graph.ops.building import composite, outputs_of
from actorflow.graph.ops.io.parsing_rules import (
    FEATURE_TYPES,
    parse_example_op,
    parse_single_example_op,
    parse_single_sequence_example_op,
)
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.graph.tensor import Tensor, TensorLike
from actorflow.public import public


@public("af", "af.io")
class FixedLenFeature(NamedTuple):
    """A feature of one shape in each example (`tf.FixedLenFeature`).

    Example:
        >>> example = af.train.Example()
        >>> example.features.feature["age"].int64_list.value.append(7)
        >>> features = {"age": af.FixedLenFeature([], af.int64), "size": af.FixedLenFeature([2], af.float32, [0.0, 1.0])}
        >>> af.parse_single_example(example.SerializeToString(), features)
        {'age': 7, 'size': [0. 1.]}

    Args:
        shape: of its values in one example; [] for a single value.
        dtype: float32, int64 or string.
        default_value: stands for a feature that an example lacks; without a default, each example has to have the feature.
    """

    shape: ShapeLike
    dtype: DTypeLike
    default_value: Any = None


@public("af", "af.io")
class VarLenFeature(NamedTuple):
    """A feature of any length, which may be missing; it becomes a sparse tensor (`tf.VarLenFeature`).

    Example:
        >>> example = af.train.Example()
        >>> example.features.feature["words"].bytes_list.value.extend([b"a", b"b"])
        >>> af.parse_single_example(example.SerializeToString(), {"words": af.VarLenFeature(af.string)})
        {'words': SparseTensor(indices=[[0]
                                        [1]], values=[b'a' b'b'], dense_shape=[2])}
    """

    dtype: DTypeLike


@public("af", "af.io")
class FixedLenSequenceFeature(NamedTuple):
    """Any number of values of one shape (`tf.FixedLenSequenceFeature`).

    Example:
        >>> one, two = af.train.Example(), af.train.Example()
        >>> one.features.feature["scores"].float_list.value.extend([1.0, 2.0])
        >>> two.features.feature["scores"].float_list.value.extend([3.0])
        >>> features = {"scores": af.FixedLenSequenceFeature([], af.float32, allow_missing=True)}
        >>> af.parse_example([one.SerializeToString(), two.SerializeToString()], features)
        {'scores': [[1. 2.]
                    [3. 0.]]}

    Args:
        shape: of each value; [] for scalars.
        dtype: float32, int64 or string.
        allow_missing: an example may lack it; `parse_example` needs this.
        default_value: pads what is shorter than the longest; zero or "" unless given.
    """

    shape: ShapeLike
    dtype: DTypeLike
    allow_missing: bool = False
    default_value: Any = None


@public("af", "af.io")
class SparseFeature(NamedTuple):
    """Values at places that another feature of the same example lists; it becomes a sparse tensor (`tf.SparseFeature`).

    Example:
        >>> example = af.train.Example()
        >>> example.features.feature["at"].int64_list.value.extend([3, 1])
        >>> example.features.feature["weight"].float_list.value.extend([0.5, 2.0])
        >>> weights = af.SparseFeature("at", "weight", af.float32, size=4)
        >>> parsed = af.parse_single_example(example.SerializeToString(), {"weights": weights})
        >>> af.sparse_tensor_to_dense(parsed["weights"])
        [0.  2.  0.  0.5]

    Args:
        index_key: the name of the feature with the places, int64; a list of names for places of several dimensions.
        value_key: the name of the feature with the values: a value for each place.
        dtype: of the values: float32, int64 or string.
        size: the number of places; a list of such numbers for several dimensions.
        already_sorted: says that the places of each example rise, so that nothing is sorted.
    """

    index_key: str | Sequence[str]
    value_key: str
    dtype: DTypeLike
    size: int | Sequence[int]
    already_sorted: bool = False

    def parts(self) -> dict[str, VarLenFeature]:
        """The features that hold the places and the values."""
        keys = [self.index_key] if isinstance(self.index_key, str) else list(self.index_key)
        return {key: VarLenFeature(int64) for key in keys} | {self.value_key: VarLenFeature(self.dtype)}

    def of(self, parsed: Mapping[str, Any], name: str) -> SparseTensor:
        """The sparse tensor, from the parts as they were parsed."""
        from actorflow.graph.ops.sparse.tensor import sparse_merge

        keys = self.index_key
        places = parsed[keys] if isinstance(keys, str) else [parsed[key] for key in keys]
        return sparse_merge(places, parsed[self.value_key], self.size, _safe(name), self.already_sorted)


def _with_parts(features: Mapping[str, Any]) -> dict[str, Any]:
    """The features to parse: each `SparseFeature` is replaced by the features of its parts.

    Raises:
        ValueError: a part is described in another way too.
    """
    plain = {key: feature for key, feature in features.items() if not isinstance(feature, SparseFeature)}
    for key, feature in features.items():
        if isinstance(feature, SparseFeature):
            for part, described in feature.parts().items():
                other = plain.setdefault(part, described)
                if not isinstance(other, VarLenFeature) or as_dtype(other.dtype) is not as_dtype(described.dtype):
                    raise ValueError(
                        f"The feature {part!r} of the SparseFeature {key!r} is described as {other!r} too."
                    )
    return plain


class _Plan:
    """Features, in the order of their names, as the attributes and inputs of an op."""

    def __init__(self, features: Mapping[str, Any], graph: Graph, *, sequences: bool = True) -> None:
        self._features = features
        features = _with_parts(features)
        self.sparse_keys: list[str] = []
        self.sparse_types: list[DType] = []
        self.dense_keys: list[str] = []
        self.dense_shapes: list[Shape] = []
        self.defaults: list[Tensor] = []
        for key in sorted(features):
            feature = features[key]
            if isinstance(feature, VarLenFeature):
                self.sparse_keys.append(key)
                self.sparse_types.append(_feature_type(key, feature))
                continue
            if not isinstance(feature, FixedLenFeature | FixedLenSequenceFeature) or (
                isinstance(feature, FixedLenSequenceFeature) and not sequences
            ):
                raise ValueError(f"The feature {key!r} is described by {feature!r}, which has no place here.")
            dtype, shape = _feature_type(key, feature), as_shape(feature.shape)
            if not is_static(shape):
                raise ValueError(
                    f"Missing shape for feature {key}: it is {show(shape)}. For values of any number there are "
                    f"FixedLenSequenceFeature and VarLenFeature."
                )
            assert shape is not None
            sequence = isinstance(feature, FixedLenSequenceFeature)
            if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
                raise ValueError(
                    f"The feature {key!r} is a FixedLenSequenceFeature, which needs allow_missing=True here."
                )
            self.dense_keys.append(key)
            self.dense_shapes.append((None, *shape) if sequence else shape)
            self.defaults.append(
                _default(key, dtype, () if sequence else shape, feature.default_value, sequence, graph)
            )

    def attributes(self) -> dict[str, Any]:
        return {
            "sparse_keys": tuple(self.sparse_keys),
            "sparse_types": tuple(self.sparse_types),
            "dense_keys": tuple(self.dense_keys),
            "dense_shapes": tuple(self.dense_shapes),
        }

    def take(self, outputs: list[Tensor]) -> dict[str, Any]:
        """The features by name; their tensors are taken off the front of `outputs`."""
        parsed: dict[str, Any] = _sparse(self.sparse_keys, outputs)
        for key in self.dense_keys:
            parsed[key] = outputs.pop(0)
        described = sorted(self._features.items())
        return {key: f.of(parsed, key) if isinstance(f, SparseFeature) else parsed[key] for key, f in described}


def _sparse(keys: Sequence[str], outputs: list[Tensor]) -> dict[str, Any]:
    count = len(keys)
    parts = [[outputs.pop(0) for _ in range(count)] for _ in range(3)]
    return {key: SparseTensor(*tensors) for key, *tensors in zip(keys, *parts)}


def _feature_type(key: str, feature: Any) -> DType:
    dtype = as_dtype(feature.dtype)
    if dtype not in FEATURE_TYPES:
        raise TypeError(f"The feature {key!r} has type {dtype}, but Examples hold float32, int64 and string.")
    return dtype


def _default(key: str, dtype: DType, shape: Shape, value: Any, padding: bool, graph: Graph) -> Tensor:
    """The stand-in for a missing feature: an empty vector if it may not be missing."""
    if value is None:
        value = np.zeros((), dtype.numpy_dtype) if padding else np.zeros(0, dtype.numpy_dtype)
        if padding and dtype is string:
            value = b""
        return convert_to_tensor(value, dtype, f"key_{_safe(key)}", graph=graph)
    if is_symbolic(value):
        return reshape(convert_to_tensor(value, dtype), shape)
    array = as_array(value, dtype)
    if array.size != num_elements(shape):
        raise ValueError(
            f"Cannot reshape a tensor with {array.size} elements to shape {show(shape)}: the default of the feature {key!r}."
        )
    return convert_to_tensor(array.reshape(shape), dtype, f"key_{_safe(key)}", graph=graph)


def _safe(key: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in key)


@public("af", "af.io")
def parse_example(
    serialized: TensorLike,
    features: Mapping[str, FixedLenFeature | VarLenFeature | SparseFeature | FixedLenSequenceFeature],
    name: str | None = None,
    example_names: TensorLike | None = None,
) -> dict[str, Any]:
    """Features of a batch of Example messages (`tf.parse_example`).

    Example:
        >>> example = af.train.Example()
        >>> example.features.feature["age"].int64_list.value.append(7)
        >>> messages = [example.SerializeToString()] * 2
        >>> af.parse_example(messages, {"age": af.FixedLenFeature([], af.int64)})
        {'age': [7 7]}

    Args:
        serialized: strings `[batch]`.
        features: what to find. A `FixedLenFeature` becomes a tensor `[batch, *shape]`, a `FixedLenSequenceFeature` one
            `[batch, longest, *shape]`, a `VarLenFeature` a `SparseTensor` `[batch, longest]`, a `SparseFeature` a
            `SparseTensor` `[batch, *size]`.
        example_names: strings `[batch]` that name the examples in messages of errors.

    Raises:
        ValueError: no feature, or a feature that can't be described so.
        InvalidArgumentError: in the run, for an invalid message, a missing feature, or a feature of another type or size.
    """
    names = np.empty(0, object) if example_names is None else example_names
    return _parse(parse_example_op, "ParseExample", serialized, features, name, names)


@public("af", "af.io")
def parse_single_example(
    serialized: TensorLike,
    features: Mapping[str, FixedLenFeature | VarLenFeature | SparseFeature | FixedLenSequenceFeature],
    name: str | None = None,
    example_names: TensorLike | None = None,
) -> dict[str, Any]:
    """`parse_example` of one message, a scalar string: without the dimension of the batch (`tf.parse_single_example`).

    `example_names` is not used.

    Example:
        >>> example = af.train.Example()
        >>> example.features.feature["age"].int64_list.value.append(7)
        >>> af.parse_single_example(example.SerializeToString(), {"age": af.FixedLenFeature([1], af.int64)})
        {'age': [7]}

    Args:
        serialized: a scalar string, the message.
        features: the features to find, by name; see `parse_example`.
        example_names: taken, and not used.
    """
    return _parse(parse_single_example_op, "ParseSingleExample", serialized, features, name)


def _parse(
    op: Callable[..., Any],
    default: str,
    serialized: TensorLike,
    features: Mapping[str, Any],
    name: str | None,
    *names: Any,
) -> dict[str, Any]:
    if not features:
        raise ValueError("There is no feature to parse: `features` is empty.")
    with composite(name, default, serialized) as scope:
        plan = _Plan(features, graph_of([serialized]))
        operation = op(serialized, *names, plan.defaults, **plan.attributes(), name=scope)
        return plan.take(outputs_of(operation))


@public("af", "af.io")
def parse_single_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, FixedLenFeature | VarLenFeature] | None = None,
    sequence_features: Mapping[str, FixedLenSequenceFeature | VarLenFeature] | None = None,
    example_name: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The context and the sequences of one SequenceExample message (`tf.parse_single_sequence_example`).

    Example:
        >>> example = af.train.SequenceExample()
        >>> for pair in [1, 2], [3, 4]:
        ...     values = af.train.Int64List(value=pair)
        ...     example.feature_lists.feature_list["pairs"].feature.append(af.train.Feature(int64_list=values))
        >>> pairs = {"pairs": af.FixedLenSequenceFeature([2], af.int64)}
        >>> af.parse_single_sequence_example(example.SerializeToString(), sequence_features=pairs)
        ({}, {'pairs': [[1 2]
                        [3 4]]})

    Args:
        serialized: a scalar string.
        context_features: become tensors as by `parse_single_example`.
        sequence_features: a `FixedLenSequenceFeature` becomes a tensor `[steps, *shape]` (of no steps if it is missing and
            `allow_missing` is set), a `VarLenFeature` a `SparseTensor` `[steps, longest]`.
        example_name: a scalar string that names the example in messages of errors.

    Raises:
        ValueError: no feature at all, or a feature that can't be described so.
        InvalidArgumentError: in the run, for an invalid message, a missing feature, or a feature of another type or size.
    """
    if not context_features and not sequence_features:
        raise ValueError("There is no feature to parse.")
    with composite(name, "ParseSingleSequenceExample", serialized) as scope:
        graph = graph_of([serialized])
        context = _Plan(context_features or {}, graph, sequences=False)
        sequences = sequence_features or {}
        for key, feature in sequences.items():
            if not isinstance(feature, FixedLenSequenceFeature | VarLenFeature):
                raise ValueError(f"The sequence {key!r} is described by {feature!r}, which has no place here.")
        sparse = [key for key in sorted(sequences) if isinstance(sequences[key], VarLenFeature)]
        dense = {key: f for key, f in sorted(sequences.items()) if isinstance(f, FixedLenSequenceFeature)}
        parsed = parse_single_sequence_example_op(
            serialized,
            "" if example_name is None else example_name,
            context.defaults,
            **{f"context_{key}": value for key, value in context.attributes().items()},
            feature_list_sparse_keys=tuple(sparse),
            feature_list_sparse_types=tuple(_feature_type(key, sequences[key]) for key in sparse),
            feature_list_dense_keys=tuple(dense),
            feature_list_dense_types=tuple(_feature_type(key, f) for key, f in dense.items()),
            feature_list_dense_shapes=tuple(_step_shape(key, f) for key, f in dense.items()),
            feature_list_dense_missing_assumed_empty=tuple(key for key, f in dense.items() if f.allow_missing),
            name=scope,
        )
        outputs = outputs_of(parsed)
        features = context.take(outputs)
        lists = _sparse(sparse, outputs)
        lists.update(zip(dense, outputs))  # what is left of them
        return features, dict(sorted(lists.items()))


def _step_shape(key: str, feature: FixedLenSequenceFeature) -> Shape:
    shape = as_shape(feature.shape)
    if not is_static(shape):
        raise ValueError(f"The sequence {key!r} needs steps of a known shape, but it is {show(shape)}.")
    return shape
