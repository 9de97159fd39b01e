"""`Dataset`: the files of a data set, their reader, and their decoder."""

from __future__ import annotations

from typing import Any


class Dataset:
    """A data set of records in files, for `DatasetDataProvider`. All arguments are its attributes.

    Args:
        data_sources: a file, a pattern of files, or a list of these.
        reader: the class of readers, such as `tf.TFRecordReader`.
        decoder: a `DataDecoder`.
        num_samples: the number of records.
        items_to_descriptions: a text about each item.
        kwargs: further attributes, such as `num_classes`.
    """

    def __init__(
        self,
        data_sources: Any,
        reader: Any,
        decoder: Any,
        num_samples: int | None,
        items_to_descriptions: Any,
        **kwargs: Any,
    ) -> None:
        self.data_sources = data_sources
        self.reader = reader
        self.decoder = decoder
        self.num_samples = num_samples
        self.items_to_descriptions = items_to_descriptions
        self.__dict__.update(kwargs)
