"""`tf.strings` with several results for each text: characters, bytes and runs of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import actorflow as af
from actorflow.compat.nodes import text as nodes
from actorflow.compat.ragged.factories import constant
from actorflow.compat.ragged.tensor import RaggedTensor
from actorflow.public import public


@public("tf.strings")
def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The characters of texts as numbers: a vector of a single text, ragged of several (`tf.strings.unicode_decode`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.strings.unicode_decode(["ab", "c"], "UTF-8").to_tensor()
        [[97 98]
         [99  0]]

    Args:
        input: texts: a tensor, or a ragged tensor.
        input_encoding: `UTF-8`, `UTF-16-BE` or `UTF-32-BE`.
        errors: `replace`, `ignore` or `strict`: for bytes that are no character.
        replacement_char: the character in the place of such bytes.
        replace_control_characters: whether control characters are replaced as well.
        name: a scope.

    Raises:
        ValueError: another encoding or another word for errors.
        InvalidArgumentError: in the run: bytes are no character, and `errors` is `strict`.
    """
    return unicode_decode_with_offsets(
        input, input_encoding, errors, replacement_char, replace_control_characters, name
    )[0]


@public("tf.strings")
def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """`unicode_decode`, and the byte at which each character begins (`tf.strings.unicode_decode_with_offsets`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.strings.unicode_decode_with_offsets("äb", "UTF-8")
        ([228  98], [0 2])

    Args:
        input, input_encoding, errors: see `unicode_decode`.
        replacement_char, replace_control_characters, name: see there.
    """
    _check(input_encoding, errors)
    with af.name_scope(name, "UnicodeDecode"):
        return _characters(input, nodes.ENCODINGS[input_encoding], errors, replacement_char, replace_control_characters)


def _characters(texts: Any, *options: Any) -> tuple[Any, Any]:
    if isinstance(texts, RaggedTensor):
        points, places = _characters(texts.flat_values, *options)
        return texts.with_flat_values(points), texts.with_flat_values(places)
    texts = af.convert_to_tensor(texts, af.string)
    rank = None if texts.static_shape is None else len(texts.static_shape)
    if rank is None:
        raise ValueError("The rank of the texts has to be known.")
    splits, points, places = nodes.decoded(af.reshape(texts, [-1]), *options)
    if rank == 0:
        return points, places
    rows = [RaggedTensor(each, splits, internal=True) for each in (points, places)]
    return tuple(_outer(each, texts, rank) for each in rows)


def _outer(rows: Any, texts: Any, rank: int) -> Any:
    """The rows of all texts, in the dimensions of the texts."""
    shape = af.shape(texts, out_type=af.int64)
    for axis in range(rank - 1, 0, -1):
        count = af.reduce_prod(shape[:axis])
        rows = RaggedTensor(rows, af.range_(0, count + 1) * shape[axis], internal=True)
    return rows


@public("tf.strings")
def unicode_encode(
    input: Any, output_encoding: str, errors: str = "replace", replacement_char: int = 0xFFFD, name: str | None = None
) -> Any:
    """Texts of characters as numbers, in the last dimension (`tf.strings.unicode_encode`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.strings.unicode_encode([[97, 98], [99, 100]], "UTF-8")
        [b'ab' b'cd']

    Args:
        input: int32: a tensor, or a ragged tensor.
        output_encoding: `UTF-8`, `UTF-16-BE` or `UTF-32-BE`.
        errors: `replace`, `ignore` or `strict`: for numbers that are no character.
        replacement_char: the character in the place of such numbers.
        name: a scope.
    """
    _check(output_encoding, errors)
    with af.name_scope(name, "UnicodeEncode"):
        if isinstance(input, RaggedTensor):
            if input.ragged_rank > 1:
                return input.with_values(unicode_encode(input.values, output_encoding, errors, replacement_char))
            return nodes.encoded(
                input.flat_values, input.row_splits, nodes.ENCODINGS[output_encoding], errors, replacement_char
            )
        points = af.convert_to_tensor(input, af.int32)
        length = af.shape(points, out_type=af.int64)[-1]
        count = af.reduce_prod(af.shape(points, out_type=af.int64)[:-1])
        splits = af.range_(0, count + 1) * length
        texts = nodes.encoded(
            af.reshape(points, [-1]), splits, nodes.ENCODINGS[output_encoding], errors, replacement_char
        )
        return af.reshape(texts, af.shape(points)[:-1])


@public("tf.strings")
def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> Any:
    """The characters of texts as texts: a vector of a single text, ragged of several (`tf.strings.unicode_split`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.strings.unicode_split("ab", "UTF-8")
        [b'a' b'b']

    Args:
        input, input_encoding, errors, replacement_char, name: see `unicode_decode`.
    """
    return unicode_split_with_offsets(input, input_encoding, errors, replacement_char, name)[0]


@public("tf.strings")
def unicode_split_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> tuple[Any, Any]:
    """`unicode_split`, and the byte at which each character begins (`tf.strings.unicode_split_with_offsets`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.strings.unicode_split_with_offsets("äb", "UTF-8")[1]
        [0 2]

    Args:
        input, input_encoding, errors, replacement_char, name: see `unicode_decode`.
    """
    points, places = unicode_decode_with_offsets(input, input_encoding, errors, replacement_char, False, name)
    flat = points.flat_values if isinstance(points, RaggedTensor) else points
    texts = unicode_encode(flat[:, None], input_encoding, errors, replacement_char)
    return (points.with_flat_values(texts) if isinstance(points, RaggedTensor) else texts), places


@public("tf.strings")
def bytes_split(input: Any, name: str | None = None) -> Any:
    """The bytes of texts: a vector of a single text, ragged of several (`tf.strings.bytes_split`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.strings.bytes_split("abc")
        [b'a' b'b' b'c']

    Args:
        input: texts: a tensor, or a ragged tensor.
        name: a scope.
    """
    if isinstance(input, RaggedTensor):
        return input.with_flat_values(bytes_split(input.flat_values, name))
    texts = af.convert_to_tensor(input, af.string)
    if texts.static_shape is None:
        raise ValueError("input must have a statically-known rank.")
    rank = len(texts.static_shape)

    def cut(texts: Any) -> tuple[Any, Any]:
        flat = [bytes(text) for text in np.asarray(texts, object).ravel()]
        values = [text[i : i + 1] for text in flat for i in range(len(text))]
        return np.array(values, object), np.cumsum([0, *map(len, flat)]).astype(np.int64)

    values, splits = af.py_func(cut, [texts], [af.string, af.int64], stateful=False, name=name)
    values.set_shape([None])
    splits.set_shape([None])
    return values if rank == 0 else _outer(RaggedTensor(values, splits, internal=True), texts, rank)


@public("tf.strings")
def ngrams(
    data: Any,
    ngram_width: int | Sequence[int],
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Runs of words, in the last dimension (`tf.strings.ngrams`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.strings.ngrams(["a", "b", "c"], 2)
        [b'a b' b'b c']

    Args:
        data: words: a tensor, or a ragged tensor.
        ngram_width: how many words a run has, or several such numbers.
        separator: stands between words.
        pad_values: a word that stands before the first and behind the last, or a pair of such.
        padding_width: how many of them; as many as a run can have unless given.
        preserve_short_sequences: whether a row that is shorter than a run is a run by itself.
        name: a scope.

    Raises:
        ValueError: `padding_width` without `pad_values`, or a number below 1.
    """
    widths = [ngram_width] if isinstance(ngram_width, int) else list(ngram_width)
    if padding_width is not None and (pad_values is None or padding_width < 1):
        raise ValueError("padding_width is 1 or more, and needs pad_values.")
    if min(widths) < 1:
        raise ValueError(f"All ngram_widths must be at least 1. Got {widths}.")
    left, right = (
        ("", "") if pad_values is None else (pad_values, pad_values) if isinstance(pad_values, str) else pad_values
    )
    width = 0 if pad_values is None else -1 if padding_width is None else padding_width
    texts = [text.encode() if isinstance(text, str) else text for text in (separator, left, right)]
    with af.name_scope(name, "StringNGrams"):
        if not isinstance(data, RaggedTensor):
            tensor = (
                af.convert_to_tensor(data, af.string) if not isinstance(data, list) or _even(data) else constant(data)
            )
            rank = 2 if isinstance(tensor, RaggedTensor) else len(tensor.static_shape or ())
            if rank == 1:
                rows = RaggedTensor.from_tensor(tensor[None])
                return _runs(rows, widths, texts, width, preserve_short_sequences).flat_values
            rows = tensor if isinstance(tensor, RaggedTensor) else RaggedTensor.from_tensor(tensor)
            runs = _runs(rows, widths, texts, width, preserve_short_sequences)
            return runs if isinstance(tensor, RaggedTensor) else runs.to_tensor()
        if data.ragged_rank > 1:
            inner = ngrams(data.values, ngram_width, separator, pad_values, padding_width, preserve_short_sequences)
            return data.with_values(inner)
        return _runs(data, widths, texts, width, preserve_short_sequences)


def _even(rows: Any) -> bool:
    return not isinstance(rows[0], (list, tuple)) or len({len(row) for row in rows}) == 1


def _runs(
    rows: RaggedTensor, widths: Sequence[int], texts: Sequence[bytes], padding: int, keeps_short: bool
) -> RaggedTensor:
    runs, splits = nodes.word_runs(rows.flat_values, rows.row_splits, texts, widths, padding, keeps_short)
    return RaggedTensor(runs, splits, internal=True)


def _check(encoding: str, errors: str) -> None:
    if encoding not in nodes.ENCODINGS:
        raise ValueError(f"Text is in {', '.join(nodes.ENCODINGS)}, not in {encoding!r}.")
    if errors not in ("replace", "ignore", "strict"):
        raise ValueError(f"errors is 'replace', 'ignore' or 'strict', not {errors!r}.")
