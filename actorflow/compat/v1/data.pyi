# `make names` writes this file from the marks in the sources.

from actorflow.data.dataset import AUTOTUNE as AUTOTUNE
from actorflow.data.dataset import Dataset as Dataset
from actorflow.data.dataset import FixedLengthRecordDataset as FixedLengthRecordDataset
from actorflow.data.dataset import TFRecordDataset as TFRecordDataset
from actorflow.data.dataset import TextLineDataset as TextLineDataset
from actorflow.data.iteration import DatasetIterator as DatasetIterator
from actorflow.data.iterator import Iterator as Iterator
from actorflow.data.spec import DatasetSpec as DatasetSpec
from actorflow.data.statistics import IteratorStatistics as IteratorStatistics

__all__ = [
    "AUTOTUNE",
    "Dataset",
    "DatasetIterator",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Iterator",
    "IteratorStatistics",
    "TFRecordDataset",
    "TextLineDataset",
]
