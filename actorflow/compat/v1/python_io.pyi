# `make names` writes this file from the marks in the sources.

from actorflow.base.records.files import TFRecordCompressionType as TFRecordCompressionType
from actorflow.base.records.files import TFRecordOptions as TFRecordOptions
from actorflow.base.records.files import TFRecordWriter as TFRecordWriter
from actorflow.base.records.files import tf_record_iterator as tf_record_iterator

__all__ = [
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "tf_record_iterator",
]
