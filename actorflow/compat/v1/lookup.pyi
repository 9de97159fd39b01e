# `make names` writes this file from the marks in the sources.

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
