"""The handlers of parsed features: each makes an item's tensor from the features of its keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import actorflow.compat.v1 as tf


def _dense(feature: Any) -> Any:
    return tf.sparse_tensor_to_dense(feature) if isinstance(feature, tf.SparseTensor) else feature


class ItemHandler(ABC):
    """How an item's tensor is made from parsed features.

    Args:
        keys: the key of a feature, or a list of keys.
    """

    def __init__(self, keys: str | Sequence[str]) -> None:
        self._keys: Any = list(keys) if isinstance(keys, (tuple, list)) else [keys]

    @property
    def keys(self) -> Any:
        """The keys of the features."""
        return self._keys

    @abstractmethod
    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The item's tensor, from the parsed features by their keys."""


class ItemHandlerCallback(ItemHandler):
    """An item that a function makes.

    Args:
        keys: the keys of the features.
        func: a function of the dict of parsed features.
    """

    def __init__(self, keys: str | Sequence[str], func: Callable[[Mapping[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The function's result."""
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """Boxes in rows of `[ymin, xmin, ymax, xmax]`.

    Args:
        keys: the four keys of the sides, in this order; the names above unless given.
        prefix: a text before each key.

    Raises:
        ValueError: there are not four keys.
    """

    def __init__(self, keys: Sequence[str] | None = None, prefix: str = "") -> None:
        sides = ["ymin", "xmin", "ymax", "xmax"] if keys is None else list(keys)
        if len(sides) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(sides)}: {sides}.")
        super().__init__([prefix + side for side in sides])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The boxes."""
        features = [keys_to_tensors[key] for key in self.keys]
        rows = [each.values if isinstance(each, tf.SparseTensor) else each for each in features]
        return tf.transpose(tf.concat([tf.expand_dims(row, 0) for row in rows], 0))


class Tensor(ItemHandler):
    """A parsed feature, in the shape that is said or that is in the record.

    Args:
        tensor_key: the key of the feature.
        shape_keys: the key of the shape, or a list with the key of each size.
        shape: the shape. Without both the feature keeps its own.
        default_value: the element that a sparse feature does not have.

    Raises:
        ValueError: both `shape_keys` and `shape` are given.
    """

    def __init__(
        self,
        tensor_key: str,
        shape_keys: str | list[str] | None = None,
        shape: Any = None,
        default_value: Any = 0,
    ) -> None:
        if shape_keys and shape is not None:
            raise ValueError(
                "Cannot specify both shape_keys and shape parameters. Leave out shape where the record has it."
            )
        self._tensor_key = tensor_key
        self._shape_keys = [shape_keys] if isinstance(shape_keys, str) and shape_keys else list(shape_keys or ())
        self._shape = shape
        self._default_value = default_value
        super().__init__([tensor_key, *self._shape_keys])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The feature."""
        feature, shape = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            shape = tf.reshape(tf.stack([_dense(keys_to_tensors[key]) for key in self._shape_keys]), [-1])
        if not isinstance(feature, tf.SparseTensor):
            return feature if shape is None else tf.reshape(feature, shape)
        if shape is not None:
            feature = tf.sparse_reshape(feature, shape)
        return tf.sparse_tensor_to_dense(feature, self._default_value)


class LookupTensor(Tensor):
    """The values of a table for a parsed feature, such as the numbers of labels.

    Args:
        tensor_key: the key of the feature.
        table: a table of `tf.contrib.lookup`.
        shape_keys, shape, default_value: see `Tensor`.
    """

    def __init__(
        self,
        tensor_key: str,
        table: Any,
        shape_keys: str | list[str] | None = None,
        shape: Any = None,
        default_value: Any = "",
    ) -> None:
        super().__init__(tensor_key, shape_keys, shape, default_value)
        self._table = table

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The values of the table."""
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """The item of a handler or, where that is empty, the item of another.

    Args:
        handler: the handler that comes first.
        backup: the other.

    Raises:
        ValueError: either is not an `ItemHandler`.
    """

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for role, each in (("Primary", handler), ("Backup", backup)):
            if not isinstance(each, ItemHandler):
                raise ValueError(f"{role} handler is of type {type(each)} instead of ItemHandler.")
        super().__init__([*handler.keys, *backup.keys])
        self._handler, self._backup = handler, backup

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The item of the first handler that has elements."""
        item = self._handler.tensors_to_item(keys_to_tensors)
        return tf.cond(
            tf.equal(tf.reduce_prod(tf.shape(item)), 0),
            lambda: self._backup.tensors_to_item(keys_to_tensors),
            lambda: item,
        )


class SparseTensor(ItemHandler):
    """A sparse tensor from a feature of indices and a feature of values.

    Args:
        indices_key: the key of the indices in the last dimension; `indices` unless given.
        values_key: the key of the values; `values` unless given.
        shape_key: the key of the shape.
        shape: the shape where no key is given. Without both it is that of the parsed indices.
        densify: whether the item is dense.
        default_value: the element of a dense item without a value.
    """

    def __init__(
        self,
        indices_key: str | None = None,
        values_key: str | None = None,
        shape_key: str | None = None,
        shape: Any = None,
        densify: bool = False,
        default_value: Any = 0,
    ) -> None:
        self._indices_key, self._values_key = indices_key or "indices", values_key or "values"
        self._shape_key, self._shape = shape_key, shape
        self._densify, self._default_value = densify, default_value
        super().__init__([self._indices_key, self._values_key, *([shape_key] if shape_key else [])])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The sparse tensor."""
        places, values = keys_to_tensors[self._indices_key], keys_to_tensors[self._values_key]
        shape = _dense(keys_to_tensors[self._shape_key]) if self._shape_key else self._shape or places.dense_shape
        last = tf.reshape(tf.cast(places.values, tf.int64), [-1, 1])
        indices = tf.concat([places.indices[:, :-1], last], 1)
        item = tf.SparseTensor(indices, values.values, shape)
        return tf.sparse_tensor_to_dense(item, self._default_value) if self._densify else item
