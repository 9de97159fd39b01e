"""Strings: lines of words and numbers at several counts and lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.harness.definitions import Case
from benchmarks.models.blocks import BATCHES, Model, Parts, model

RUNGS = ((5, 2), (10, 10), (100, 10), (1000, 10), (5000, 20), (20_000, 50))
"""Lines, and words of each: 10 to 10⁶ words."""


def _words(m: Model, count: int) -> Any:
    return m.np.array([f"Word{i}".encode() for i in m.data.integers(0, 5000, count)], object)


def _lines(m: Model, lines: int, words: int) -> list[Any]:
    return [m.np.array([b" ".join(_words(m, words)) for _ in range(lines)], object) for _ in range(BATCHES)]


def _fed(m: Model, lines: int, words: int) -> tuple[Any, list[Any]]:
    return m.lib.placeholder(m.lib.string, [lines]), _lines(m, lines, words)


def split(m: Model, lines: int, words: int) -> Parts:
    """The words of lines, counted."""
    x, batches = _fed(m, lines, words)
    parts = m.lib.string_split(x)
    return (x,), (batches,), [m.lib.size(parts.values), parts.indices], None


def hashed(m: Model, lines: int, words: int) -> Parts:
    """Buckets of the words of lines."""
    x, batches = _fed(m, lines, words)
    buckets = m.lib.string_to_hash_bucket_fast(m.lib.string_split(x).values, 1000)
    return (x,), (batches,), buckets, None


def strong(m: Model, lines: int, words: int) -> Parts:
    """Buckets of words by a key."""
    lib = m.lib
    x = lib.placeholder(lib.string, [lines * words])
    batches = [_words(m, lines * words) for _ in range(BATCHES)]
    return (x,), (batches,), lib.string_to_hash_bucket_strong(x, 1000, [7, 9]), None


def lowered(m: Model, lines: int, words: int) -> Parts:
    """Buckets of the words of lines in lower case."""
    lib = m.lib
    x, batches = _fed(m, lines, words)
    low = lib.strings.lower(lib.string_split(x).values)
    return (x,), (batches,), lib.string_to_hash_bucket_fast(low, 1000), None


def joined(m: Model, lines: int, words: int) -> Parts:
    """Pairs of words, joined, and their lengths."""
    lib = m.lib
    x, y = (lib.placeholder(lib.string, [lines * words]) for _ in range(2))
    batches = [[_words(m, lines * words) for _ in range(BATCHES)] for _ in range(2)]
    both = lib.string_join([x, y], "_")
    return (x, y), batches, [lib.strings.length(both), lib.string_to_hash_bucket_fast(both, 1000)], None


def numbers(m: Model, lines: int, words: int) -> Parts:
    """The numbers of lines, with commas between."""
    lib, np = m.lib, m.np
    x = lib.placeholder(lib.string, [lines])
    batches = [
        np.array([b",".join(b"%.4f" % one for one in m.data.normal(size=words)) for _ in range(lines)], object)
        for _ in range(BATCHES)
    ]
    values = lib.string_to_number(lib.string_split(x, ",").values)
    return (x,), (batches,), lib.reduce_sum(lib.reshape(values, [lines, words]), 1), None


def replaced(m: Model, lines: int, words: int) -> Parts:
    """Lines without digits, and the first letters of each."""
    lib = m.lib
    x, batches = _fed(m, lines, words)
    plain = lib.strings.regex_replace(x, "[0-9]+", "")
    return (
        (x,),
        (batches,),
        [lib.strings.length(plain), lib.string_to_hash_bucket_fast(lib.strings.substr(plain, 0, 4), 100)],
        None,
    )


def letters(m: Model, lines: int, words: int) -> Parts:
    """Buckets of the single bytes of words."""
    lib = m.lib
    x = lib.placeholder(lib.string, [lines * words])
    bytes_of = lib.string_split(x, "")
    buckets = lib.string_to_hash_bucket_fast(bytes_of.values, 64)
    return (x,), ([_words(m, lines * words) for _ in range(BATCHES)],), [buckets, bytes_of.dense_shape], None


def spelled(m: Model, lines: int, words: int) -> Parts:
    """Whole numbers and floats as strings, and back."""
    lib, np = m.lib, m.np
    x, y = lib.placeholder(lib.int64, [lines * words]), lib.placeholder(lib.float32, [lines * words])
    numbers = [m.data.integers(-(10**6), 10**6, lines * words) for _ in range(BATCHES)]
    reals = [m.data.normal(size=lines * words).astype(np.float32) for _ in range(BATCHES)]
    back = lib.string_to_number(lib.as_string(x), lib.int64)
    return (x, y), (numbers, reals), [back, lib.string_to_number(lib.as_string(y, precision=3))], None


def records(m: Model, lines: int, words: int) -> Parts:
    """Records of CSV: numbers, and two strings, of which one is in quotes."""
    lib, np = m.lib, m.np
    x = lib.placeholder(lib.string, [lines])
    batches = []
    for _ in range(BATCHES):
        rows = m.data.normal(size=(lines, words))
        texts = [b",".join(b"%.3f" % number for number in row) + b',"a, ""b""",word' for row in rows]
        batches.append(np.array(texts, object))
    columns = lib.decode_csv(x, [[0.0]] * words + [[""], [""]])
    buckets = [lib.string_to_hash_bucket_fast(column, 100) for column in columns[words:]]
    return (x,), (batches,), [lib.stack(columns[:words], 1), *buckets], None


def looked_up(m: Model, lines: int, words: int) -> Parts:
    """Numbers of words by a table, and the words of those numbers."""
    lib, np = m.lib, m.np
    keys = np.array([f"Word{i}".encode() for i in range(0, 5000, 2)], object)
    numbers = np.arange(len(keys))
    x = lib.placeholder(lib.string, [lines * words])
    content = lib.constant(keys, lib.string), lib.constant(numbers, lib.int64)
    of_words = lib.lookup.StaticHashTable(lib.lookup.KeyValueTensorInitializer(*content), -1)
    of_numbers = lib.lookup.StaticHashTable(lib.lookup.KeyValueTensorInitializer(*content[::-1]), "none")
    found = of_words.lookup(x)
    back = lib.string_to_hash_bucket_fast(of_numbers.lookup(found), 1000)
    return (x,), ([_words(m, lines * words) for _ in range(BATCHES)],), [found, back], None


def distinct(m: Model, lines: int, words: int) -> Parts:
    """The distinct words, and how often each is there."""
    lib = m.lib
    x = lib.placeholder(lib.string, [lines * words])
    values, which, counts = lib.unique_with_counts(x)
    batches = [_words(m, lines * words) for _ in range(BATCHES)]
    return (x,), (batches,), [which, counts, lib.string_to_hash_bucket_fast(values, 1000)], None


def lines_of(m: Model, lines: int, words: int) -> Parts:
    """Words joined to lines."""
    lib = m.lib
    x = lib.placeholder(lib.string, [lines, words])
    joined = lib.reduce_join(x, 1, separator=" ")
    batches = [_words(m, lines * words).reshape(lines, words) for _ in range(BATCHES)]
    return (x,), (batches,), [lib.strings.length(joined), lib.string_to_hash_bucket_fast(joined, 100)], None


PROGRAMS: tuple[Callable[..., Parts], ...] = (
    *(split, hashed, strong, lowered, joined, numbers, replaced),
    *(letters, spelled, records, looked_up, distinct, lines_of),
)
CASES = tuple(
    Case(
        f"{program.__name__}_{lines}x{words}",
        f"{program.__name__}: {lines} lines of {words}",
        model(program, lines=lines, words=words),
    )
    for program in PROGRAMS
    for lines, words in RUNGS
)
