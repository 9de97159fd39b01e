"""Lookup tables: from keys to values, such as from words to numbers (`tf.lookup`).

    table = af.lookup.index_table_from_tensor(["cat", "dog"], num_oov_buckets=2)
    ids = table.lookup(af.constant(["dog", "bird"]))            # 1, and 2 or 3
    await session.run(af.tables_initializer())
    print(await session.run(ids))

A table is a node whose state lives on a device, under its container and name, as a queue does; with `af.device` that may be a
task of a cluster. A node that asks the table goes to the same device. Tables that are filled once get their content
from an initializer; those that change are in the checkpoints of their session.

initializers.py   where the content of a table comes from: tensors, or the lines of a file
tables.py         `StaticHashTable`, which is filled once, and `MutableHashTable`
vocabulary.py     tables between words and numbers, with buckets for words that they do not know
"""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.lookup", __name__)
