"""Strings: joins, splits, patterns, stop words, counts of n-grams."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.onnx.builders.common import number, rank_of, size_of, sizes_of, whole
from actorflow.exchange.onnx.nodes import OnnxNode, onnx_op, raw
from actorflow.exchange.onnx.values import dtype_of

_UTF8 = "utf-8"


def words(values: Any) -> Any:
    """A vector of strings."""
    texts = np.empty(len(values), object)
    texts[:] = [raw(value) for value in values]
    return texts


@onnx_op("StringConcat")
def string_concat(node: OnnxNode, x: Any, y: Any) -> Any:
    return x + y


@onnx_op("RegexFullMatch")
def regex_full_match(node: OnnxNode, x: Any) -> Any:
    return af.strings.regex_full_match(x, np.array(raw(node.attr("pattern", "")), object))


@onnx_op("StringSplit")
def string_split(node: OnnxNode, x: Any) -> Any:
    """The parts of each string, filled up with empty strings to the largest number of parts; and how many there are."""
    parts = af.strings.split(
        af.reshape(x, [-1]), np.array(raw(node.attr("delimiter", "")), object), maxsplit=node.attr("maxsplit", -1)
    )
    rows = parts.indices[:, 0]
    sizes = sizes_of(x)
    counts = af.unsorted_segment_sum(af.ones_like(rows), rows, af.size(x, out_type=af.int64))
    width = af.reduce_max(af.concat([counts, [np.int64(0)]], 0), keepdims=True)
    shape = af.stack([af.size(x, out_type=af.int64), width[0]])
    dense = af.sparse_to_dense(parts.indices, shape, parts.values, default_value=b"")
    return af.reshape(dense, af.concat([sizes, width], 0)), af.reshape(counts, sizes)


@onnx_op("StringNormalizer")
def string_normalizer(node: OnnxNode, x: Any) -> Any:
    """Strings in one case, without those that are stop words. Of none that is left one empty string stays."""
    case, exact = node.attr("case_change_action", "NONE"), bool(node.attr("is_case_sensitive", 0))
    stops = node.attr("stopwords") or []
    changes = {"LOWER": af.strings.lower, "UPPER": af.strings.upper, "NONE": lambda x, encoding: x}
    if case not in changes or rank_of(x) > 2:
        raise InvalidArgumentError(f"{node} has case_change_action={case!r}, or strings of more than two dimensions.")
    flat = af.reshape(x, [-1])
    compared, barred = (flat, words(stops)) if exact else (af.strings.lower(flat, encoding=_UTF8), None)
    if barred is None:
        barred = words([stop.lower() for stop in stops])
    texts = changes[case](flat, encoding=_UTF8)
    if stops:
        stays = af.logical_not(af.reduce_any(af.equal(af.expand_dims(compared, 1), barred), 1))
        texts = af.gather(texts, af.reshape(af.where(stays), [-1]))
    missing = af.cast(af.equal(af.size(texts), 0), af.int32)
    texts = af.concat([texts, af.fill(af.reshape(missing, [1]), b"")], 0)
    return af.reshape(texts, [1, -1]) if rank_of(x) == 2 else texts


@onnx_op("TfIdfVectorizer")
def tf_idf(node: OnnxNode, x: Any) -> Any:
    """How often each n-gram of a pool is in a row, also with places left out between its elements."""
    pool: Any = words(node.attrs["pool_strings"]) if "pool_strings" in node.attrs else None
    if pool is None:
        pool = np.asarray(node.required("pool_int64s")).astype(dtype_of(x).numpy_dtype)
    begins, columns = node.required("ngram_counts"), np.asarray(node.required("ngram_indexes"))
    shortest, longest = node.required("min_gram_length"), node.required("max_gram_length")
    rows = x if rank_of(x) == 2 else af.reshape(x, [1, -1])
    length = size_of(rows, 1)
    out = int(columns.max()) + 1
    total = af.zeros(af.stack([af.shape(rows)[0], out]), af.float32)
    passed = 0
    for width, (begin, end) in enumerate(zip(begins, [*begins[1:], len(pool)]), 1):
        grams = pool[begin:end].reshape(-1, width)
        places = columns[passed : passed + len(grams)]
        passed += len(grams)
        if not len(grams) or not shortest <= width <= longest:
            continue
        target = np.zeros([len(grams), out], np.float32)
        target[np.arange(len(grams)), places] = 1
        for stride in range(1, 2 if width == 1 else node.required("max_skip_count") + 2):
            starts = af.range_(af.maximum(whole(length) - np.int64(stride * (width - 1)), np.int64(0)))
            windows = af.gather(rows, af.expand_dims(starts, 1) + np.arange(width) * stride, axis=1)
            same = af.reduce_all(af.equal(af.expand_dims(windows, 2), grams), -1)
            total = total + af.matmul(af.reduce_sum(af.cast(same, af.float32), 1), target)
    mode, weights = node.required("mode"), node.attr("weights")
    if mode == "IDF":
        total = af.cast(total > number(0, total), af.float32)
    if mode != "TF" and weights is not None:
        line = np.ones(out, np.float32)
        line[columns] = np.asarray(weights, np.float32)
        total = total * line
    return total if rank_of(x) == 2 else af.reshape(total, [-1])
