"""`DatasetDataProvider`: the items of a data set, one record at a time."""

from __future__ import annotations

from typing import Any

from actorflow.compat.contrib.slim.data.data_provider import DataProvider
from actorflow.compat.contrib.slim.data.parallel_reader import parallel_read


class DatasetDataProvider(DataProvider):
    """Gives the items of a data set's next record. With `num_epochs`, initialize local variables.

    Args:
        dataset: a `slim.dataset.Dataset`.
        num_readers: the number of readers, each of a file of its own.
        reader_kwargs: arguments of the readers.
        shuffle: whether files and records are drawn in a random order.
        num_epochs: how often each file is read; None without end.
        common_queue_capacity: the most records that wait.
        common_queue_min: the fewest that stay behind when a record is drawn.
        record_key: the item that is the record's key.
        seed: the seed of the order.
        scope: the scope of names.

    Raises:
        ValueError: the data set has an item with the name `record_key`.
    """

    def __init__(
        self,
        dataset: Any,
        num_readers: int = 1,
        reader_kwargs: Any = None,
        shuffle: bool = True,
        num_epochs: int | None = None,
        common_queue_capacity: int = 256,
        common_queue_min: int = 128,
        record_key: str = "record_key",
        seed: int | None = None,
        scope: str | None = None,
    ) -> None:
        key, record = parallel_read(
            dataset.data_sources,
            reader_class=dataset.reader,
            num_epochs=num_epochs,
            num_readers=num_readers,
            reader_kwargs=reader_kwargs,
            shuffle=shuffle,
            capacity=common_queue_capacity,
            min_after_dequeue=common_queue_min,
            seed=seed,
            scope=scope,
        )
        items = list(dataset.decoder.list_items())
        tensors = dict(zip(items, dataset.decoder.decode(record, items), strict=False))
        if record_key in tensors:
            raise ValueError(
                f"The item name used for `record_key` cannot also be used for a dataset item: {record_key}. "
                "Pass another name as record_key."
            )
        super().__init__({**tensors, record_key: key}, dataset.num_samples)
