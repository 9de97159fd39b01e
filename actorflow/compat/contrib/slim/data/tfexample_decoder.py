"""`TFExampleDecoder`: items from a `tf.train.Example`, by handlers of its features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import actorflow.compat.v1 as tf
from actorflow.compat.contrib.slim.data.data_decoder import DataDecoder
from actorflow.compat.contrib.slim.data.images import Image as Image
from actorflow.compat.contrib.slim.data.items import BackupHandler as BackupHandler
from actorflow.compat.contrib.slim.data.items import BoundingBox as BoundingBox
from actorflow.compat.contrib.slim.data.items import ItemHandler as ItemHandler
from actorflow.compat.contrib.slim.data.items import ItemHandlerCallback as ItemHandlerCallback
from actorflow.compat.contrib.slim.data.items import LookupTensor as LookupTensor
from actorflow.compat.contrib.slim.data.items import SparseTensor as SparseTensor
from actorflow.compat.contrib.slim.data.items import Tensor as Tensor


class TFExampleDecoder(DataDecoder):
    """Parses an example into features, and makes the items from these.

    Args:
        keys_to_features: by their keys the features, such as `tf.FixedLenFeature`.
        items_to_handlers: by their names the handlers of the items.
    """

    def __init__(self, keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, ItemHandler]) -> None:
        self._keys_to_features = keys_to_features
        self._items_to_handlers = items_to_handlers

    def list_items(self) -> list[str]:
        """The names of all items."""
        return list(self._items_to_handlers)

    def decode(self, data: Any, items: Sequence[str] | None = None) -> list[Any]:
        """The tensors of some items, all unless given, of a serialized example."""
        features = tf.parse_single_example(data, self._keys_to_features)
        for key, feature in sorted(self._keys_to_features.items()):
            if isinstance(feature, tf.FixedLenFeature):
                features[key] = tf.reshape(features[key], feature.shape)
        handlers = [self._items_to_handlers[item] for item in items or self._items_to_handlers]
        return [each.tensors_to_item({key: features[key] for key in each.keys}) for each in handlers]
