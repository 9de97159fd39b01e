# `make names` writes this file from the marks in the sources.

from actorflow.records.files import TFRecordCompressionType as TFRecordCompressionType
from actorflow.records.files import TFRecordOptions as TFRecordOptions
from actorflow.records.files import TFRecordWriter as TFRecordWriter
from actorflow.records.files import tf_record_iterator as tf_record_iterator

__all__ = [
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "tf_record_iterator",
]
