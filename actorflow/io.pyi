# `make names` writes this file from the marks in the sources.

"""Files, records and decoding under TensorFlow's names (`tf.io`, `tf.python_io`)."""

from actorflow.base.records.files import TFRecordCompressionType as TFRecordCompressionType
from actorflow.base.records.files import TFRecordOptions as TFRecordOptions
from actorflow.base.records.files import TFRecordWriter as TFRecordWriter
from actorflow.base.records.files import tf_record_iterator as tf_record_iterator
from actorflow.graph.ops.io.decoding import decode_compressed as decode_compressed
from actorflow.graph.ops.io.decoding import decode_csv as decode_csv
from actorflow.graph.ops.io.decoding import decode_json_example as decode_json_example
from actorflow.graph.ops.io.decoding import decode_npy as decode_npy
from actorflow.graph.ops.io.decoding import decode_raw as decode_raw
from actorflow.graph.ops.io.decoding import parse_tensor as parse_tensor
from actorflow.graph.ops.io.decoding import serialize_tensor as serialize_tensor
from actorflow.graph.ops.io.files import matching_files as matching_files
from actorflow.graph.ops.io.files import read_file as read_file
from actorflow.graph.ops.io.files import write_file as write_file
from actorflow.graph.ops.io.images import decode_and_crop_jpeg as decode_and_crop_jpeg
from actorflow.graph.ops.io.images import decode_bmp as decode_bmp
from actorflow.graph.ops.io.images import decode_gif as decode_gif
from actorflow.graph.ops.io.images import decode_image as decode_image
from actorflow.graph.ops.io.images import decode_jpeg as decode_jpeg
from actorflow.graph.ops.io.images import decode_png as decode_png
from actorflow.graph.ops.io.images import encode_jpeg as encode_jpeg
from actorflow.graph.ops.io.images import encode_png as encode_png
from actorflow.graph.ops.io.images import is_jpeg as is_jpeg
from actorflow.graph.ops.io.parsing import FixedLenFeature as FixedLenFeature
from actorflow.graph.ops.io.parsing import FixedLenSequenceFeature as FixedLenSequenceFeature
from actorflow.graph.ops.io.parsing import SparseFeature as SparseFeature
from actorflow.graph.ops.io.parsing import VarLenFeature as VarLenFeature
from actorflow.graph.ops.io.parsing import parse_example as parse_example
from actorflow.graph.ops.io.parsing import parse_single_example as parse_single_example
from actorflow.graph.ops.io.parsing import parse_single_sequence_example as parse_single_sequence_example
from actorflow.graph.ops.sparse.serialize import deserialize_many_sparse as deserialize_many_sparse
from actorflow.graph.ops.sparse.serialize import serialize_many_sparse as serialize_many_sparse
from actorflow.graph.ops.sparse.serialize import serialize_sparse as serialize_sparse

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "SparseFeature",
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_compressed",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_json_example",
    "decode_npy",
    "decode_png",
    "decode_raw",
    "deserialize_many_sparse",
    "encode_jpeg",
    "encode_png",
    "is_jpeg",
    "matching_files",
    "parse_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "tf_record_iterator",
    "write_file",
]
