"""Ops of byte strings (`tf.strings`).

elementwise.py   ops on single byte strings, elementwise: joining, parts, case, patterns, numbers (`tf.strings`)
hash.py          ops that put strings into buckets by their hash: `tf.string_to_hash_bucket*`
split.py         ops that take strings apart and put many together: split, reduce_join, unsorted_segment_join, format
                 (`tf.strings`)
"""
