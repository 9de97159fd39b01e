"""Kernels of byte strings (`tf.strings`).

elementwise.py   ops on the characters of strings: joining, parts, case, patterns, encodings
hash.py          hash buckets, and the hashes: FarmHash's Fingerprint64, SipHash-2-4, and TensorFlow's own
numbers.py       kernels between numbers and the strings that spell them
objects.py       byte strings in kernels that only move data
packed_hash.py   the same hashes of many strings at once
re_syntax.py     patterns in RE2's syntax as patterns of Python's `re`, and what backtracking over them may cost
regex.py         regular expressions of strings, matched by RE2 (the extra `strings`) or, without that, by Python's `re`
split.py         take strings apart and put many together
"""
