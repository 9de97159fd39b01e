"""Ops on a single string by the place where it comes from: each gives what it gives for a string that is fed.

Variables, Python functions, files, queues and data sets may hand out Python's bytes, which have neither a shape nor a type.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow.compat.v1 as tf
from actorflow.base.dtypes import STRING
from actorflow.base.registry import kernel, opdef

SINGLE = "a1"


def _table(values: list[Any], default: Any) -> Any:
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([SINGLE], values), default)


def _ranked(e: Any) -> Any:
    """The same tensor, of which it is said that it has one element."""
    e.set_shape([])
    return e


def _sparse(e: Any) -> Any:
    return tf.SparseTensor([[0, 0], [2, 0]], tf.stack([e, e]), [3, 2])


OPS: dict[str, Callable[[Any], Any]] = {
    "lower": tf.strings.lower,
    "upper": tf.strings.upper,
    "strip": tf.strings.strip,
    "part": lambda e: tf.strings.substr(e, 0, 1),
    "characters": lambda e: tf.strings.substr(e, 0, 1, unit="UTF8_CHAR"),
    "length": tf.strings.length,
    "replaced": lambda e: tf.strings.regex_replace(e, "[a-z]", "b"),
    "a computed pattern": lambda e: tf.regex_replace(["abca1"], e, "b"),
    "a computed text": lambda e: tf.regex_replace(["abc"], "b", e),
    "matched": lambda e: tf.strings.regex_full_match(e, "a."),
    "a pattern to match": lambda e: tf.strings.regex_full_match(["a1", "b"], e),
    "joined": lambda e: tf.strings.join([e, "!"]),
    "joined with many": lambda e: tf.strings.join([e, ["!", "?"]], "-"),
    "joined with itself": lambda e: tf.strings.join([e, e]),
    "joined along none": lambda e: tf.reduce_join(e, axis=[]),
    "joined along all": tf.strings.reduce_join,
    "segments": lambda e: tf.strings.unsorted_segment_join([e, e], [0, 0], 2, separator="-"),
    "fast hash": lambda e: tf.strings.to_hash_bucket_fast(e, 99),
    "strong hash": lambda e: tf.strings.to_hash_bucket_strong(e, 99, [1, 2]),
    "hash": lambda e: tf.strings.to_hash_bucket(e, 99),
    "number": lambda e: tf.string_to_number(tf.strings.substr(e, 1, 1)),
    "no number": tf.string_to_number,
    "record": lambda e: tf.decode_csv(e, [["k"]])[0],
    "a default of a record": lambda e: tf.decode_csv([",q"], [tf.reshape(e, [1]), ["k"]])[0],
    "raw": lambda e: tf.decode_raw(e, tf.uint8),
    "base64": tf.io.encode_base64,
    "of base64": lambda e: tf.io.decode_base64(tf.io.encode_base64(e)),
    "equal": lambda e: tf.equal(e, SINGLE),
    "unequal": lambda e: tf.not_equal(e, ["b", SINGLE]),
    "split": lambda e: tf.string_split([e], "").values,
    "a delimiter": lambda e: tf.string_split(["xa1y", "1"], e).values,
    "split at": lambda e: tf.strings.split(tf.stack([_ranked(e)]), sep="a").values,
    "a separator": lambda e: tf.strings.split(["xa1y"], sep=e).values,
    "letters": lambda e: tf.strings.unicode_decode(_ranked(e), "UTF-8"),
    "bytes": lambda e: tf.strings.bytes_split(_ranked(e)),
    "another code": lambda e: tf.strings.unicode_transcode(e, "UTF-8", "UTF-16-BE"),
    "a template": lambda e: tf.strings.format("<{}>", e),
    "words of a table": lambda e: _table(["v"], "d").lookup(e),
    "numbers of a table": lambda e: _table([5], -1).lookup(e),
    "a default of a table": lambda e: _table(["v"], e).lookup(tf.constant(["a1", "b"])),
    "many together": lambda e: tf.concat([[e], ["b"]], 0),
    "stacked": lambda e: tf.stack([e, e]),
    "filled": lambda e: tf.fill([2], e),
    "padded": lambda e: tf.pad(["q"], [[1, 1]], constant_values=e),
    "one hot": lambda e: tf.one_hot([1], 2, on_value=e, off_value="-"),
    "one cold": lambda e: tf.one_hot([1], 2, on_value="-", off_value=e),
    "chosen": lambda e: tf.where(tf.constant(True), e, e),
    "chosen of two": lambda e: tf.where_v2([True, False], e, "z"),
    "reshaped": lambda e: tf.reshape(e, [1]),
    "another rank": lambda e: tf.expand_dims(e, 0),
    "squeezed": tf.squeeze,
    "transposed": tf.transpose,
    "tiled": lambda e: tf.tile(tf.expand_dims(e, 0), [2]),
    "broadcast": lambda e: tf.broadcast_to(e, [2]),
    "zeros": tf.zeros_like,
    "sum": lambda e: tf.add(e, "b"),
    "shape": lambda e: [tf.shape(e), tf.size(e), tf.rank(e)],
    "with a shape": lambda e: tf.ensure_shape(e, []),
    "handed on": tf.identity,
    "handed on with others": lambda e: tf.identity_n([e, e]),
    "printed": lambda e: tf.Print(e, [e], "single: "),
    "a Python function": lambda e: tf.py_func(lambda text: text + b"!", [e], tf.string),
    "a branch": lambda e: tf.cond(tf.equal(e, SINGLE), lambda: tf.strings.join([e, "y"]), lambda: e),
    "elements": lambda e: tf.map_fn(lambda x: tf.strings.join([x, "!"]), tf.stack([e, e])),
    "a loop": lambda e: tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, tf.strings.join([x, "+"])), [0, e])[1],
    "different ones": lambda e: tf.unique([e, e])[0],
    "scattered": lambda e: tf.scatter_nd([[1], [1]], [e, e], [2]),
    "changed": lambda e: tf.tensor_scatter_update(["p", "q"], [[1]], [e]),
    "a default of a dense tensor": lambda e: tf.sparse_to_dense([1], [3], ["r"], default_value=e),
    "one value of a dense tensor": lambda e: tf.sparse_to_dense([0, 1], [3], e, default_value="."),
    "empty rows": lambda e: tf.sparse.fill_empty_rows(_sparse(tf.constant("r")), e)[0].values,
    "a message": lambda e: tf.parse_tensor(tf.serialize_tensor(e), tf.string),
    "no message": lambda e: tf.parse_tensor(e, tf.string),
    "no array": lambda e: tf.io.decode_compressed([e], "GZIP"),
    "unpacked": tf.io.decode_compressed,
    "JSON": tf.io.decode_json_example,
    "examples": lambda e: tf.parse_example([e], {"x": tf.FixedLenFeature([], tf.string, "d")}),
    "an example": lambda e: tf.parse_single_example(e, {"x": tf.FixedLenFeature([], tf.string, "d")}),
    "a default of an example": lambda e: tf.parse_example([b""], {"x": tf.FixedLenFeature([], tf.string, e)}),
    "sequences": lambda e: tf.parse_single_sequence_example(e, {"x": tf.FixedLenFeature([], tf.string, "d")}),
    "PNG": tf.image.decode_png,
    "JPEG": tf.image.decode_jpeg,
    "BMP": tf.image.decode_bmp,
    "GIF": tf.image.decode_gif,
    "image": tf.image.decode_image,
    "files": tf.io.matching_files,
    "file": tf.io.read_file,
    "queued": lambda e: _queued(e),
}
ELSEWHERE = {
    "PrintV2", "DecodeNpy", "FilePoolBegin", "FilePoolTake", "FilePoolRenew", "WriteFile", "IteratorFromStringHandleV2",
    "BarrierInsertMany", "ReaderRestoreStateV2", "ScalarSummary", "HistogramSummary", "ImageSummary", "AudioSummaryV2",
    "TensorSummaryV2", "MergeSummary", "InitializeTableFromTextFileV2", "DeserializeManySparse", "GetSessionTensor",
    "DeleteSessionTensor",
}  # fmt: skip
"""Ops on names and handles of what else is there, and ops that take vectors alone."""


def _queued(e: Any) -> Any:
    queue = tf.FIFOQueue(1, [tf.string], shapes=[[]])
    with tf.control_dependencies([queue.enqueue(e)]):
        return tf.strings.join([queue.dequeue(), "!"])


def _variable(file: str) -> Any:
    return tf.Variable(SINGLE).read_value()


def _of_python(file: str) -> Any:
    single = tf.py_func(lambda: SINGLE.encode(), [], tf.string)
    single.set_shape([])
    return single


def _unknown(file: str) -> Any:
    return tf.py_func(lambda: SINGLE.encode(), [], tf.string)


def _of_data(file: str) -> Any:
    return tf.data.make_one_shot_iterator(tf.data.Dataset.from_tensors(SINGLE).repeat()).get_next()


def _of_queue(file: str) -> Any:
    queue = tf.FIFOQueue(1, [tf.string], shapes=[[]])
    with tf.control_dependencies([queue.enqueue(SINGLE)]):
        return queue.dequeue()


def _element(file: str) -> Any:
    vector = tf.py_func(lambda: np.array([SINGLE.encode()], object), [], tf.string)
    return tf.TensorArray(tf.string, 1).unstack(vector).read(0)


SOURCES: dict[str, Callable[[str], Any]] = {
    "a variable": _variable,
    "a Python function": _of_python,
    "a Python function without a shape": _unknown,
    "a data set": _of_data,
    "a queue": _of_queue,
    "a file": tf.read_file,
    "an element": _element,
    "a constant": lambda file: tf.constant(SINGLE),
}


def _run(session: Any, fetches: Any, feed: Any) -> str:
    """The result of a run, or the first line of its error, as text."""
    try:
        return repr(session.run(fetches, feed))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def _built(op: str, source: Callable[[str], Any], file: str) -> tuple[Any, Any]:
    graph = tf.Graph()
    with graph.as_default(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return graph, OPS[op](source(file))


@pytest.mark.parametrize("op", OPS)
def test_ops_take_a_single_string_from_everywhere(op: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / SINGLE).write_text(SINGLE)
    placeholders = []

    def fed(file: str) -> Any:
        placeholders.append(tf.placeholder(tf.string, []))
        return placeholders[0]

    results = {}
    for name, source in {"a feed": fed, **SOURCES}.items():
        graph, fetches = _built(op, source, SINGLE)
        with tf.Session(graph=graph) as session, graph.as_default():
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            results[name] = _run(session, fetches, {placeholders[0]: SINGLE} if name == "a feed" else {})
    assert "AttributeError" not in results["a feed"]
    assert results == dict.fromkeys(results, results["a feed"])


def test_the_table_has_all_ops_of_strings() -> None:
    ops: set[str] = set()
    for op in OPS:
        graph, _ = _built(op, lambda file: tf.placeholder(tf.string, []), SINGLE)
        ops.update(operation.type for operation in graph.get_operations())
    of_strings = {
        op
        for op, entries in kernel.registered().items()
        if any(spec.allowed == STRING for spec in opdef.lookup(op).inputs)
        and entries[0].function.__module__.startswith("actorflow.kernels.")
    }
    assert of_strings - ops == ELSEWHERE
