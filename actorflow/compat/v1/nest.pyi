# `make names` writes this file from the marks in the sources.

from actorflow.nest import assert_same_structure as assert_same_structure
from actorflow.nest import flatten as flatten
from actorflow.nest import is_nested as is_nested
from actorflow.nest import map_structure as map_structure
from actorflow.nest import pack_sequence_as as pack_sequence_as

__all__ = [
    "assert_same_structure",
    "flatten",
    "is_nested",
    "map_structure",
    "pack_sequence_as",
]
