"""Files, records and decoding under TensorFlow's names (`tf.io`, `tf.python_io`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorflow.lazy import lazily

if TYPE_CHECKING:
    from actorflow.ops.decoding import (
        decode_compressed,
        decode_csv,
        decode_json_example,
        decode_npy,
        decode_raw,
        parse_tensor,
        serialize_tensor,
    )
    from actorflow.ops.images import decode_image, decode_jpeg, decode_png, encode_jpeg, encode_png
    from actorflow.ops.io_ops import matching_files, read_file, write_file
    from actorflow.ops.parsing import (
        FixedLenFeature,
        FixedLenSequenceFeature,
        VarLenFeature,
        parse_example,
        parse_single_example,
        parse_single_sequence_example,
    )
    from actorflow.records.files import TFRecordCompressionType, TFRecordOptions, TFRecordWriter, tf_record_iterator

__getattr__, __dir__ = lazily(__name__, __file__)

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_compressed",
    "decode_csv",
    "decode_image",
    "decode_jpeg",
    "decode_json_example",
    "decode_npy",
    "decode_png",
    "decode_raw",
    "encode_jpeg",
    "encode_png",
    "matching_files",
    "parse_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_tensor",
    "tf_record_iterator",
    "write_file",
]
