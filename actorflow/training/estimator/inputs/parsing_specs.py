"""Parsing specs of canned Estimators: features, label and weight of an example as one spec for `parse_example`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from actorflow.base.dtypes import DTypeLike, as_dtype, float32, int64
from actorflow.graph.ops.io.parsing import FixedLenFeature
from actorflow.models.feature_column.column import FeatureColumn
from actorflow.models.feature_column.models import make_parse_example_spec
from actorflow.models.feature_column.numeric import NumericColumn, numeric_column
from actorflow.public import public


@public("af.estimator")
def classifier_parse_example_spec(
    feature_columns: Iterable[FeatureColumn],
    label_key: str,
    label_dtype: DTypeLike = int64,
    label_default: Any = None,
    weight_column: str | NumericColumn | None = None,
) -> dict[str, Any]:
    """The features that a classifier takes, with its label and weight, for `af.parse_example`.

    Example:
        >>> price = af.feature_column.numeric_column("price")
        >>> spec = af.estimator.classifier_parse_example_spec([price], "sold", weight_column="importance")
        >>> list(spec)
        ['price', 'sold', 'importance']
        >>> spec["sold"]
        FixedLenFeature(shape=(1,), dtype=actorflow.int64, default_value=None)

    Args:
        feature_columns: the columns of the classifier.
        label_key: the name of the label in an example.
        label_dtype: its type: int64, string where the classifier has a `label_vocabulary`, or float32.
        label_default: stands for it in an example that lacks it; without a default, each example has to have it.
        weight_column: the weight of an example, by its name or as a numeric column; None without weights.

    Raises:
        ValueError: the label or the weight is a feature too, something is no feature column, or `weight_column` is no
            numeric column.
    """
    return _with_label(feature_columns, label_key, (1,), label_dtype, label_default, weight_column)


@public("af.estimator")
def regressor_parse_example_spec(
    feature_columns: Iterable[FeatureColumn],
    label_key: str,
    label_dtype: DTypeLike = float32,
    label_default: Any = None,
    label_dimension: int = 1,
    weight_column: str | NumericColumn | None = None,
) -> dict[str, Any]:
    """The features that a regressor takes, with its label and weight, for `af.parse_example`.

    Example:
        >>> size = af.feature_column.numeric_column("size")
        >>> spec = af.estimator.regressor_parse_example_spec([size], "place", label_dimension=2)
        >>> spec["place"]
        FixedLenFeature(shape=(2,), dtype=actorflow.float32, default_value=None)

    Args:
        feature_columns: the columns of the regressor.
        label_key, label_default, weight_column: see `classifier_parse_example_spec`.
        label_dtype: the type of the label.
        label_dimension: how many numbers a label has.

    Raises:
        ValueError: the label or the weight is a feature too, something is no feature column, or `weight_column` is no
            numeric column.
    """
    return _with_label(feature_columns, label_key, (label_dimension,), label_dtype, label_default, weight_column)


def _with_label(
    columns: Iterable[FeatureColumn],
    label_key: str,
    shape: tuple[int, ...],
    dtype: DTypeLike,
    default: Any,
    weight_column: str | NumericColumn | None,
) -> dict[str, Any]:
    spec = make_parse_example_spec(columns)
    if label_key in spec:
        raise ValueError(
            f"label should not be used as feature. label_key: {label_key}, features: {', '.join(map(str, spec))}"
        )
    spec[label_key] = FixedLenFeature(shape, as_dtype(dtype), default)
    if weight_column is None:
        return spec
    if isinstance(weight_column, str):
        weight_column = numeric_column(weight_column)
    if not isinstance(weight_column, NumericColumn):
        raise ValueError(
            "weight_column should be an instance of tf.feature_column.numeric_column. "
            f"Given type: {type(weight_column)} value: {weight_column!r:.80}"
        )
    if weight_column.key in spec:
        raise ValueError(
            f"weight_column should not be used as feature. weight_column: {weight_column.key}, "
            f"features: {', '.join(map(str, spec))}"
        )
    return {**spec, **weight_column.parse_example_spec}
