# `make names` writes this file from the marks in the sources.

from actorflow.data import experimental as experimental
from actorflow.data.dataset import AUTOTUNE as AUTOTUNE
from actorflow.data.dataset import Dataset as Dataset
from actorflow.data.experimental.options import Options as Options
from actorflow.data.iteration import DatasetIterator as DatasetIterator
from actorflow.data.iterator import Iterator as Iterator
from actorflow.data.iterator import get_output_classes as get_output_classes
from actorflow.data.iterator import get_output_shapes as get_output_shapes
from actorflow.data.iterator import get_output_types as get_output_types
from actorflow.data.iterator import make_initializable_iterator as make_initializable_iterator
from actorflow.data.iterator import make_one_shot_iterator as make_one_shot_iterator
from actorflow.data.readers import FixedLengthRecordDataset as FixedLengthRecordDataset
from actorflow.data.readers import TFRecordDataset as TFRecordDataset
from actorflow.data.readers import TextLineDataset as TextLineDataset
from actorflow.data.sharing.shared_files import SharedFiles as SharedFiles
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
    "Options",
    "SharedFiles",
    "TFRecordDataset",
    "TextLineDataset",
    "experimental",
    "get_output_classes",
    "get_output_shapes",
    "get_output_types",
    "make_initializable_iterator",
    "make_one_shot_iterator",
]
