# `make names` writes this file from the marks in the sources.

from actorflow.lookup.initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from actorflow.lookup.initializers import TextFileIndex as TextFileIndex
from actorflow.lookup.initializers import TextFileInitializer as TextFileInitializer
from actorflow.lookup.tables import MutableHashTable as MutableHashTable
from actorflow.lookup.tables import StaticHashTable as HashTable
from actorflow.lookup.tables import StaticHashTable as StaticHashTable
from actorflow.lookup.vocabulary import FastHashSpec as FastHashSpec
from actorflow.lookup.vocabulary import HasherSpec as HasherSpec
from actorflow.lookup.vocabulary import IdTableWithHashBuckets as IdTableWithHashBuckets
from actorflow.lookup.vocabulary import StaticVocabularyTable as StaticVocabularyTable
from actorflow.lookup.vocabulary import StrongHashSpec as StrongHashSpec
from actorflow.lookup.vocabulary import index_table_from_file as index_table_from_file
from actorflow.lookup.vocabulary import index_table_from_tensor as index_table_from_tensor
from actorflow.lookup.vocabulary import index_to_string_table_from_file as index_to_string_table_from_file
from actorflow.lookup.vocabulary import index_to_string_table_from_tensor as index_to_string_table_from_tensor

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
