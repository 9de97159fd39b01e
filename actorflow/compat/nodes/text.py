"""Nodes of text: characters, runs of words, and crosses of categories."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import actorflow as af
from actorflow.graph.graphdef.rewrites.attributes import Attributes

ENCODINGS = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}


def _encoding(a: Attributes, name: str) -> str:
    encoding = a(name, "UTF-8")
    if encoding not in ENCODINGS:
        raise a.refuse(f"has text in {encoding}")
    return ENCODINGS[encoding]


def characters(texts: Any, encoding: str, errors: str, other: int, drops_controls: bool) -> tuple[Any, Any, Any]:
    """The characters of all texts as numbers, where each text begins and ends, and the byte at which each character begins.

    Args:
        texts: bytes objects, a vector.
        encoding: of the texts.
        errors: `replace`, `ignore` or `strict`: for bytes that are no character.
        other: the character in the place of such bytes.
        drops_controls: whether control characters are `other` as well.

    Raises:
        InvalidArgumentError: bytes are no character, and `errors` is `strict`.
    """
    points: list[int] = []
    places: list[int] = []
    splits = [0]
    for text in texts:
        at = 0
        while at < len(text):
            character, step = _first(text, at, encoding)
            is_other = character is None or drops_controls and ord(character) < 32
            if character is None and errors == "strict":
                raise af.errors.InvalidArgumentError(f"Byte {at} of {text!r:.60} begins no character of {encoding}.")
            if not (is_other and errors == "ignore"):
                points.append(other if is_other or character is None else ord(character))
                places.append(at)
            at += step
        splits.append(len(points))
    return np.array(points, np.int32), np.array(splits, np.int64), np.array(places, np.int64)


def _first(text: bytes, at: int, encoding: str) -> tuple[str | None, int]:
    """The character at a byte and its length in bytes; None for bytes that are no character."""
    unit = {"utf-8": 1, "utf-16-be": 2, "utf-32-be": 4}[encoding]
    for length in range(unit, 5, unit):
        try:
            return text[at : at + length].decode(encoding), length
        except UnicodeDecodeError as error:
            if "unexpected end" not in error.reason and "truncated" not in error.reason:
                return None, max(unit, error.end - error.start)
            if at + length >= len(text):
                return None, len(text) - at
    return None, unit


def decoded(texts: Any, encoding: str, errors: str, other: int, drops: bool) -> tuple[Any, Any, Any]:
    """Tensors of the splits, the characters and the places of `characters`.

    Args:
        texts: a tensor of texts, as a vector.
        encoding, errors, other: see `characters`.
        drops: whether control characters are `other` as well.
    """

    def decode(texts: Any) -> tuple[Any, Any, Any]:
        return characters(texts.ravel(), encoding, errors, other, drops)

    points, splits, places = af.py_func(decode, [texts], [af.int32, af.int64, af.int64], stateful=False)
    for tensor in (points, splits, places):
        tensor.set_shape([None])
    return splits, points, places


def _decode(a: Attributes, t: Sequence[Any]) -> Any:
    other, drops = a("replacement_char", 0xFFFD), a("replace_control_characters", False)
    splits, points, places = decoded(t[0], _encoding(a, "input_encoding"), a("errors", "replace"), other, drops)
    splits = af.cast(splits, a("Tsplits", af.int64))
    return [splits, points, places] if a.op == "UnicodeDecodeWithOffsets" else [splits, points]


def encoded(points: Any, splits: Any, encoding: str, errors: str, other: int) -> Any:
    """A tensor with a text for each row of characters.

    Args:
        points: the characters as numbers.
        splits: the place of each row's first character, and the end of the last.
        encoding, errors, other: see `characters`.
    """

    def encode(points: Any, splits: Any) -> Any:
        texts = [b""] * (len(splits) - 1)
        for row, (begin, end) in enumerate(itertools.pairwise(splits)):
            kept = [int(point) for point in points[begin:end]]
            wrong = [point for point in kept if not 0 <= point < 0x110000 or 0xD800 <= point < 0xE000]
            if wrong and errors == "strict":
                raise af.errors.InvalidArgumentError(f"{wrong[0]} is no character of Unicode, in row {row}.")
            if wrong:
                replaced = [] if errors == "ignore" else [other]
                kept = [new for point in kept for new in (replaced if point in wrong else [point])]
            texts[row] = "".join(map(chr, kept)).encode(encoding)
        return np.array(texts, object)

    texts = af.py_func(encode, [points, splits], af.string, stateful=False)
    texts.set_shape([None])
    return texts


def _encode(a: Attributes, t: Sequence[Any]) -> Any:
    encoding, errors, other = _encoding(a, "output_encoding"), a("errors", "replace"), a("replacement_char", 0xFFFD)
    return encoded(t[0], t[1], encoding, errors, other)


def word_runs(
    words: Any, splits: Any, texts: Sequence[bytes], widths: Sequence[int], pad: int, keeps_short: bool
) -> list[Any]:
    """Tensors of the runs of words of all rows, and of the splits of these.

    Args:
        words: the words of all rows.
        splits: the place of each row's first word, and the end of the last.
        texts: what stands between words, before the first, and behind the last.
        widths: how many words runs have.
        pad: how often the words before the first and behind the last stand there; negative for as often as a run can have them.
        keeps_short: whether a row that is shorter than all runs is a run by itself.
    """
    separator, left, right = texts

    def ngrams(words: Any, splits: Any) -> tuple[Any, Any]:
        runs: list[bytes] = []
        ends = [0]
        for begin, end in itertools.pairwise(splits):
            row = list(words[begin:end])
            before = len(runs)
            for width in widths:
                count = width - 1 if pad < 0 else min(pad, width - 1)
                padded = [left] * count + row + [right] * count
                runs += [separator.join(padded[i : i + width]) for i in range(len(padded) - width + 1)]
            if keeps_short and len(runs) == before and row:
                count = 0 if pad < 0 else pad
                runs.append(separator.join([left] * count + row + [right] * count))
            ends.append(len(runs))
        return np.array(runs, object), np.array(ends, splits.dtype)

    runs, ends = af.py_func(ngrams, [words, splits], [af.string, splits.dtype], stateful=False)
    for tensor in (runs, ends):
        tensor.set_shape([None])
    return [runs, ends]


def _ngrams(a: Attributes, t: Sequence[Any]) -> Any:
    texts = [a(name, "").encode() for name in ("separator", "left_pad", "right_pad")]
    return word_runs(
        t[0], t[1], texts, list(a("ngram_widths")), a("pad_width", -1), a("preserve_short_sequences", False)
    )


def _crossed(a: Attributes, t: Sequence[Any]) -> Any:
    """`SparseCross`: as hashes, or as texts."""
    count = a("N", 0)
    sparse = [af.SparseTensor(t[i], t[count + i], t[2 * count + i]) for i in range(count)]
    columns = [*sparse, *t[3 * count :]]
    if not a("hashed_output", False):
        raise a.refuse("crosses texts")
    key = a("hash_key")
    crossed = af.sparse.cross_hashed(columns, num_buckets=a("num_buckets", 0), hash_key=key)
    return [crossed.indices, crossed.values, crossed.dense_shape]


def _padded_numbers(a: Attributes, t: Sequence[Any]) -> Any:
    texts, length = t
    numbers = a("out_type")
    order = "<" if a("little_endian", True) else ">"
    kind = np.dtype(numbers.as_numpy_dtype)

    def decode(texts: Any, length: Any) -> Any:
        whole = [text[: int(length)].ljust(int(length), b"\0") for text in texts.ravel()]
        values = np.frombuffer(b"".join(whole), kind.newbyteorder(order)).astype(kind)
        return values.reshape(*texts.shape, int(length) // kind.itemsize)

    result = af.py_func(decode, [texts, length], numbers, stateful=False)
    if texts.static_shape is not None:
        result.set_shape([*texts.static_shape, None])
    return result


FORMS = {
    "DecodePaddedRaw": _padded_numbers,
    "SparseCross": _crossed,
    "StringNGrams": _ngrams,
    "UnicodeDecode": _decode,
    "UnicodeDecodeWithOffsets": _decode,
    "UnicodeEncode": _encode,
}
"""For each op how it is built."""
