"""TensorFlow's checkpoints ("V2", tensor bundles), written and read: the format `tensor_bundle`.

A checkpoint is a table of names, `model.index`, and files of tensors' bytes, `model.data-00000-of-00001`. The table has
LevelDB's format. TensorFlow restores what is written here, and a `Saver` restores what TensorFlow has written.

bundle.py   `BUNDLE`: the format: one file of bytes, then the table, whose appearance makes it a checkpoint
entries.py  the table's values: which tensor is where; keys of slices; strings as bytes
table.py    the table: sorted keys and values in blocks with checksums
"""
