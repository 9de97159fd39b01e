# `make names` writes this file from the marks in the sources.

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

from actorflow.models.lookup.initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from actorflow.models.lookup.initializers import TextFileIndex as TextFileIndex
from actorflow.models.lookup.initializers import TextFileInitializer as TextFileInitializer
from actorflow.models.lookup.tables import MutableHashTable as MutableHashTable
from actorflow.models.lookup.tables import StaticHashTable as HashTable
from actorflow.models.lookup.tables import StaticHashTable as StaticHashTable
from actorflow.models.lookup.vocabulary import FastHashSpec as FastHashSpec
from actorflow.models.lookup.vocabulary import HasherSpec as HasherSpec
from actorflow.models.lookup.vocabulary import IdTableWithHashBuckets as IdTableWithHashBuckets
from actorflow.models.lookup.vocabulary import StaticVocabularyTable as StaticVocabularyTable
from actorflow.models.lookup.vocabulary import StrongHashSpec as StrongHashSpec
from actorflow.models.lookup.vocabulary import index_table_from_file as index_table_from_file
from actorflow.models.lookup.vocabulary import index_table_from_tensor as index_table_from_tensor
from actorflow.models.lookup.vocabulary import index_to_string_table_from_file as index_to_string_table_from_file
from actorflow.models.lookup.vocabulary import index_to_string_table_from_tensor as index_to_string_table_from_tensor

__all__ = [
    "FastHashSpec",
    "HashTable",
    "HasherSpec",
    "IdTableWithHashBuckets",
    "KeyValueTensorInitializer",
    "MutableHashTable",
    "StaticHashTable",
    "StaticVocabularyTable",
    "StrongHashSpec",
    "TextFileIndex",
    "TextFileInitializer",
    "index_table_from_file",
    "index_table_from_tensor",
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
]
