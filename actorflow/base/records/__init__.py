"""Formats of records: checksums, TFRecord framing, Example messages, CSV, and how files fall into records.

Only `files` and `reading` do I/O; the rest are functions of bytes.

crc32c.py         CRC-32C (Castagnoli) and TFRecord's masked form of it, in numpy
csv.py            one record of CSV as fields, by RFC 4180 as TensorFlow's DecodeCSV reads it
example.py        `Example` and `SequenceExample`: named lists of bytes, floats or integers (`tf.train.Example` and its parts)
features.py       the lists in `tensorflow.Feature` messages, read and written without objects in between
files.py          TFRecord files in plain Python: a writer and an iterator (`tf.python_io`)
formats.py        how files fall into records: whole, lines, fixed lengths, TFRecord
messages/         messages of Protocol Buffers as Python classes: fields, the wire format, the text format; Examples from JSON
png.py            PNG files, the bytes that libpng writes
proto_tensor.py   tensors as `tensorflow.TensorProto` messages
roots.py          which files a graph's nodes may touch: all, or those below some roots
summaries.py      `Summary` and `Event` messages: what TensorBoard shows
tfrecord.py       TFRecord's framing: length, masked checksum of the length, data, masked checksum of the data
reading/          files as records, read piece by piece: what readers and datasets stand on
unpacking.py      unpacking of zlib and gzip streams piece by piece, with all that comes before damage
wire.py           the wire format of Protocol Buffers, as far as the messages here need it: fields as (number, value), and back
"""
