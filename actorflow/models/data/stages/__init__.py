"""The stages, one small class each, in a table by the kind of their nodes. Importing this fills the table.

ahead.py        stages that work in tasks of their own: `prefetch`, and what `map` and `interleave` stand on
batching.py     `batch`, `padded_batch`, `unbatch`, `window`
caching.py      `cache`, in memory and in a file
combining.py    `zip`, `concatenate`, `repeat`
grouping.py     `group_by_window`, `scan`, `unique`, `choose`
generators.py   `generator`: generators and asynchronous generators of Python
mapping.py      `map`, `filter`, `take_while`, `reduce`
nested.py       `interleave`, of which `flat_map` is a case: a dataset of each element
records.py      `records`: the records of files
selecting.py    `take`, `skip`, `shard`, `enumerate`, `ignore_errors`
shuffling.py    `shuffle`, with TensorFlow's buffer and random numbers
sources.py      `tensors`, `slices`, `range`, `elements`, `files`
"""

from actorflow.models.data.stages import (
    ahead,
    batching,
    caching,
    combining,
    generators,
    grouping,
    mapping,
    nested,
    records,
    selecting,
    shuffling,
    sources,
)

__all__ = [
    "ahead", "batching", "caching", "combining", "generators", "grouping", "mapping", "nested", "records", "selecting",
    "shuffling", "sources",
]  # fmt: skip
