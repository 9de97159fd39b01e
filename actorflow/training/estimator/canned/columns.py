"""Features as one matrix, or as a linear sum: by feature columns, or by the names of numeric features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import actorflow as af
from actorflow.graph.tensor import Tensor
from actorflow.models import feature_column

_WORDS = "It is a list of feature columns, or of the names of numeric features"


def checked(columns: Any, name: str) -> list[Any]:
    """Columns as a list.

    Raises:
        ValueError: there are none.
        TypeError: it is no list.
    """
    if isinstance(columns, (str, Mapping)) or not hasattr(columns, "__iter__"):
        raise TypeError(f"{name}: {_WORDS}, but {columns!r:.80} was given.")
    column_list = list(columns)
    if not column_list:
        raise ValueError(f"{name} must not be empty. {_WORDS}.")
    kinds = {isinstance(column, str) for column in column_list}
    if len(kinds) > 1:
        raise TypeError(f"{name}: {_WORDS}, but both are in {column_list!r:.80}.")
    return column_list


def input_layer(features: Any, columns: Sequence[Any]) -> Tensor:
    """All features as a matrix, [batch, n]."""
    if not isinstance(columns[0], str):
        return feature_column.input_layer(features, columns)
    parts = [_matrix(features, name) for name in sorted(columns)]
    return parts[0] if len(parts) == 1 else af.concat(parts, 1)


def linear_model(features: Any, columns: Sequence[Any], units: int, sparse_combiner: str) -> Tensor:
    """A weighted sum of all features and a bias, [batch, units]. All weights begin at zero."""
    if not isinstance(columns[0], str):
        return feature_column.linear_model(features, columns, units, sparse_combiner)
    with af.variable_scope("linear_model"):
        terms = []
        for name in sorted(columns):
            part = _matrix(features, name)
            with af.variable_scope(name):
                weights = af.get_variable("weights", [part.shape[1], units], initializer=af.zeros_initializer())
            terms.append(af.matmul(part, weights))
        bias = af.get_variable("bias_weights", [units], initializer=af.zeros_initializer())
        return (terms[0] if len(terms) == 1 else af.add_n(terms)) + bias


def _matrix(features: Any, name: str) -> Tensor:
    """A numeric feature as float32, [batch, n]."""
    if not isinstance(features, Mapping) or name not in features:
        there = sorted(features) if isinstance(features, Mapping) else type(features).__name__
        raise ValueError(f"Feature {name} is not in features dictionary: {there}.")
    tensor = af.convert_to_tensor(features[name])
    if not (tensor.dtype.is_floating or tensor.dtype.is_integer):
        raise ValueError(f"The feature {name!r} is of {tensor.dtype.name}: only numbers go without a feature column.")
    tensor = af.cast(tensor, af.float32)
    sizes = tensor.shape.as_list()
    count = 1
    for size in sizes[1:]:
        if size is None:
            raise ValueError(f"The shape of the feature {name!r} is not known: {sizes}.")
        count *= size
    return tensor if len(sizes) == 2 else af.reshape(tensor, [-1, count])
