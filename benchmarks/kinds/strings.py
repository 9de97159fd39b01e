"""Strings: lines of words and numbers at several counts and lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.harness.definitions import Case
from benchmarks.models.blocks import BATCHES, Model, Parts, model

RUNGS = ((8, 3), (100, 12), (1000, 20), (3000, 33))
"""Lines, and words of each."""


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


PROGRAMS: tuple[Callable[..., Parts], ...] = (split, hashed, strong, lowered, joined, numbers, replaced)
CASES = tuple(
    Case(
        f"{program.__name__}_{lines}x{words}",
        f"{program.__name__}: {lines} lines of {words}",
        model(program, lines=lines, words=words),
    )
    for program in PROGRAMS
    for lines, words in RUNGS
)
