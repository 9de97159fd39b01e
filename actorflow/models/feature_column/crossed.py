"""Crosses of columns: each combination of categories is a category (`tf.feature_column.crossed_column`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from actorflow.base.dtypes import string
from actorflow.graph.ops.io.parsing import VarLenFeature
from actorflow.graph.ops.sparse.cross import sparse_cross_hashed
from actorflow.models.feature_column.categorical import HashedColumn
from actorflow.models.feature_column.column import BatchFeatures, CategoricalColumn, Ids
from actorflow.public import public


@dataclass(frozen=True, slots=True)
class CrossedColumn(CategoricalColumn):
    """Combinations of features of strings and of categories, divided into categories by a hash."""

    keys: tuple[str | CategoricalColumn, ...]
    hash_bucket_size: int
    hash_key: int | None

    @property
    def name(self) -> str:
        return "_X_".join(sorted(key if isinstance(key, str) else key.name for key in self.leaves))

    @property
    def leaves(self) -> tuple[str | CategoricalColumn, ...]:
        """The keys, with crosses taken apart."""
        return tuple(leaf for key in self.keys for leaf in (key.leaves if isinstance(key, CrossedColumn) else (key,)))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        features: dict[str, Any] = {}
        for key in self.keys:
            features |= {key: VarLenFeature(string)} if isinstance(key, str) else key.parse_example_spec
        return features

    @property
    def num_buckets(self) -> int:
        return self.hash_bucket_size

    def find_ids(self, features: BatchFeatures) -> Ids:
        inputs = []
        for key in self.leaves:
            if isinstance(key, str):
                inputs.append(features.raw(key))
                continue
            ids = features.ids(key)
            if ids.weight_tensor is not None:
                raise ValueError(
                    "crossed_column does not support weight_tensor, but the given column populates weight_tensor. Given column: "
                    f"{key.name}"
                )
            inputs.append(ids.id_tensor)
        return Ids(sparse_cross_hashed(inputs, self.hash_bucket_size, self.hash_key))


@public("af.feature_column")
def crossed_column(
    keys: Sequence[str | CategoricalColumn], hash_bucket_size: int, hash_key: int | None = None
) -> CrossedColumn:
    """Each combination of categories as a category, by a hash (`tf.feature_column.crossed_column`).

    Example:
        >>> crossed = af.feature_column.crossed_column(["city", "street"], 4)
        >>> features = {"city": [["Basel"], ["Bern"]], "street": [["high"], ["low"]]}
        >>> layer = af.feature_column.input_layer(features, [af.feature_column.indicator_column(crossed)])
        >>> await session.run(layer)
        [[0. 0. 1. 0.]
         [1. 0. 0. 0.]]

    Args:
        keys: two or more names of features of strings, or categorical columns other than those by hash.
        hash_bucket_size: how many categories there are.
        hash_key: what the hash begins with.

    Raises:
        ValueError: there are fewer than two keys, a key is of another kind, or there are no buckets.
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, CategoricalColumn)):
            raise ValueError(
                f"Unsupported key type. All keys must be either string, or categorical column. Given: {key!r:.80}"
            )
        if isinstance(key, HashedColumn):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before crossing will increase "
                f"probability of collision. Instead, use the feature name as a string. Given: {key}"
            )
    return CrossedColumn(tuple(keys), int(hash_bucket_size), hash_key)
