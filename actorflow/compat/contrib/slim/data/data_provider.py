"""`DataProvider`: tensors by the names of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class DataProvider:
    """Gives tensors by the names of items, such as `image` and `label`.

    Args:
        items_to_tensors: the tensor of each item.
        num_samples: the number of records in the data set.
    """

    def __init__(self, items_to_tensors: Mapping[str, Any], num_samples: int | None) -> None:
        self._items_to_tensors = items_to_tensors
        self._num_samples = num_samples

    def get(self, items: Sequence[str]) -> list[Any]:
        """The tensors of some items, in their order.

        Raises:
            ValueError: `items` is neither a list nor a tuple, or names an item that is not there.
        """
        self._validate_items(items)
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> Any:
        """The names of all items."""
        return self._items_to_tensors.keys()

    def num_samples(self) -> int | None:
        """The number of records in the data set."""
        return self._num_samples

    def _validate_items(self, items: Sequence[str]) -> None:
        if not isinstance(items, (list, tuple)):
            raise ValueError(f"items must be a list or tuple, such as ['image', 'label'], and not {items!r}.")
        names = self.list_items()
        for item in items:
            if item not in names:
                raise ValueError(f"Item [{item}] is invalid. Valid entries include: {', '.join(names)}.")
