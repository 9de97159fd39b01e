# `make names` writes this file from the marks in the sources.

from actorflow.models.data import experimental as experimental
from actorflow.models.data.dataset import AUTOTUNE as AUTOTUNE
from actorflow.models.data.dataset import Dataset as Dataset
from actorflow.models.data.experimental.options import Options as Options
from actorflow.models.data.iteration import DatasetIterator as DatasetIterator
from actorflow.models.data.iterator import Iterator as Iterator
from actorflow.models.data.iterator import get_output_classes as get_output_classes
from actorflow.models.data.iterator import get_output_shapes as get_output_shapes
from actorflow.models.data.iterator import get_output_types as get_output_types
from actorflow.models.data.iterator import make_initializable_iterator as make_initializable_iterator
from actorflow.models.data.iterator import make_one_shot_iterator as make_one_shot_iterator
from actorflow.models.data.readers import FixedLengthRecordDataset as FixedLengthRecordDataset
from actorflow.models.data.readers import TFRecordDataset as TFRecordDataset
from actorflow.models.data.readers import TextLineDataset as TextLineDataset
from actorflow.models.data.samples.images import ImageFolder as ImageFolder
from actorflow.models.data.samples.tars import TarDataset as TarDataset
from actorflow.models.data.sharing.shared_files import SharedFiles as SharedFiles
from actorflow.models.data.spec import DatasetSpec as DatasetSpec
from actorflow.models.data.statistics import IteratorStatistics as IteratorStatistics
from actorflow.models.data.tables.csv_files import CsvDataset as CsvDataset
from actorflow.models.data.tables.database import SqlDataset as SqlDataset
from actorflow.models.data.tables.parquet import ArrowDataset as ArrowDataset
from actorflow.models.data.tables.parquet import ParquetDataset as ParquetDataset
from actorflow.models.data.tables.parquet import write_parquet as write_parquet

__all__ = [
    "AUTOTUNE",
    "ArrowDataset",
    "CsvDataset",
    "Dataset",
    "DatasetIterator",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "ImageFolder",
    "Iterator",
    "IteratorStatistics",
    "Options",
    "ParquetDataset",
    "SharedFiles",
    "SqlDataset",
    "TFRecordDataset",
    "TarDataset",
    "TextLineDataset",
    "experimental",
    "get_output_classes",
    "get_output_shapes",
    "get_output_types",
    "make_initializable_iterator",
    "make_one_shot_iterator",
    "write_parquet",
]
