"""Ragged tensors and texts of several results, over TensorFlow 1.15 and over actorflow: each case gives a tensor, or several.

`python tests/compat/ragged_programs.py > tests/compat/ragged_programs_tf115.json`, with TensorFlow 1.15, writes the answers.
"""

import json
import sys

import numpy as np

TEXTS = ["Göödnight".encode(), "あ".encode(), b""]


def cases(tf):
    """For each name a function that builds the tensors."""
    R, ragged, strings = tf.RaggedTensor, tf.ragged, tf.strings

    def rows():
        return ragged.constant([[1, 2, 3], [], [4]])

    def deep():
        return ragged.constant([[[1], [2, 3]], [], [[4, 5, 6]]])

    return {
        "constant": lambda: ragged.constant([[1, 2, 3], [], [4]]),
        "constant3": lambda: ragged.constant([[[1], [2, 3]], [], [[4, 5, 6]]]),
        "constant_inner": lambda: ragged.constant([[[1, 2], [3, 4]], [[5, 6]]], ragged_rank=1),
        "inner_shape": lambda: ragged.constant([[[1, 2], [3, 4]], []], inner_shape=(2,)),
        "strings": lambda: ragged.constant([["a", "bc"], ["d"]]),
        "value": lambda: ragged.constant([[1, 2], [3]]),
        "lengths": lambda: R.from_row_lengths([3, 1, 4, 1, 5, 9, 2, 6], [4, 0, 3, 1, 0]),
        "splits": lambda: R.from_row_splits([3, 1, 4, 1, 5, 9, 2, 6], [0, 4, 4, 7, 8, 8]),
        "limits": lambda: R.from_row_limits([3, 1, 4, 1, 5, 9, 2, 6], [4, 4, 7, 8, 8]),
        "starts": lambda: R.from_row_starts([3, 1, 4, 1, 5, 9, 2, 6], [0, 4, 4, 7, 8]),
        "rowids": lambda: R.from_value_rowids([3, 1, 4, 1, 5, 9, 2, 6], [0, 0, 0, 0, 2, 2, 2, 3], nrows=5),
        "nested": lambda: R.from_nested_row_lengths([1, 2, 3, 4, 5], [[2, 0, 1], [2, 1, 2]]),
        "nested_ids": lambda: R.from_nested_value_rowids([1, 2, 3, 4, 5], [[0, 0, 2], [0, 0, 1, 2, 2]], [4, 3]),
        "bad": lambda: R.from_row_splits([1, 2, 3], [1, 2, 3]),
        "from_tensor": lambda: R.from_tensor([[5, 7, 0], [0, 3, 0], [6, 0, 0]]),
        "from_tensor_lengths": lambda: R.from_tensor([[5, 7, 0], [0, 3, 0], [6, 0, 0]], lengths=[1, 0, 3]),
        "from_tensor_padding": lambda: R.from_tensor([[5, 7, 0], [0, 3, 0], [6, 0, 0]], padding=0),
        "from_sparse": lambda: R.from_sparse(tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 2, 3], [4, 3])),
        "from_sparse_bad": lambda: R.from_sparse(tf.SparseTensor([[0, 1]], [1], [4, 3])),
        "to_tensor": lambda: rows().to_tensor(),
        "to_tensor_d": lambda: deep().to_tensor(-1),
        "to_sparse": lambda: deep().to_sparse(),
        "row_lengths": lambda: rows().row_lengths(),
        "row_lengths2": lambda: deep().row_lengths(axis=2),
        "nrows": lambda: rows().nrows(),
        "bounding": lambda: deep().bounding_shape(),
        "bounding1": lambda: deep().bounding_shape(axis=1),
        "rowids_": lambda: rows().value_rowids(),
        "starts_": lambda: rows().row_starts(),
        "limits_": lambda: rows().row_limits(),
        "nested_lengths": lambda: list(deep().nested_row_lengths()),
        "nested_value_rowids": lambda: list(deep().nested_value_rowids()),
        "add": lambda: rows() + 1,
        "mul": lambda: rows() * rows(),
        "rsub": lambda: 10 - rows(),
        "neg": lambda: -rows(),
        "gt": lambda: rows() > 2,
        "row": lambda: rows()[0],
        "rowslice": lambda: rows()[1:],
        "rowlast": lambda: rows()[-1],
        "elem": lambda: rows()[0, 1],
        "r3row": lambda: deep()[0],
        "map": lambda: ragged.map_flat_values(tf.square, rows()),
        "map2": lambda: ragged.map_flat_values(tf.add, rows(), ragged.constant([[1], [2], [3]])),
        "range": lambda: ragged.range([3, 0, 5], [6, 2, 5]),
        "range1": lambda: ragged.range([1, 3]),
        "ranged": lambda: ragged.range(0.0, [2.0, 1.0], [0.5, 0.25]),
        "stackr": lambda: ragged.stack([rows(), ragged.constant([[9]])]),
        "sdp": lambda: ragged.stack_dynamic_partitions(["a", "b", "c", "d"], [2, 0, 2, 0], 3),
        "mask": lambda: ragged.boolean_mask(
            tf.constant([[1, 2, 3], [4, 5, 6], [7, 8, 9]]),
            tf.constant([[True, False, True], [False, False, False], [True, False, False]]),
        ),
        "maskr": lambda: ragged.boolean_mask(rows(), ragged.constant([[False, True, True], [], [True]], dtype=tf.bool)),
        "maskrows": lambda: ragged.boolean_mask(rows(), [True, True, False]),
        "ids": lambda: ragged.row_splits_to_segment_ids([0, 3, 3, 5, 6, 9]),
        "splits_": lambda: ragged.segment_ids_to_row_splits([0, 0, 0, 2, 2, 3, 4, 4, 4]),
        "splits_n": lambda: ragged.segment_ids_to_row_splits([0, 2], num_segments=5),
        "decode": lambda: strings.unicode_decode(TEXTS, "UTF-8"),
        "decode0": lambda: strings.unicode_decode(TEXTS[0], "UTF-8"),
        "decode_off": lambda: list(strings.unicode_decode_with_offsets(TEXTS, "UTF-8")),
        "decode2": lambda: strings.unicode_decode([[TEXTS[0], TEXTS[1]], [TEXTS[2], b"x"]], "UTF-8"),
        "decode_bad": lambda: strings.unicode_decode([b"a\xffb", b"\xe3\x81"], "UTF-8"),
        "decode_ign": lambda: strings.unicode_decode([b"a\xffb"], "UTF-8", errors="ignore"),
        "decode_strict": lambda: strings.unicode_decode([b"a\xffb"], "UTF-8", errors="strict"),
        "decode_ctl": lambda: strings.unicode_decode([b"a\x01b"], "UTF-8", replace_control_characters=True),
        "split": lambda: strings.unicode_split(TEXTS, "UTF-8"),
        "split0": lambda: strings.unicode_split(TEXTS[0], "UTF-8"),
        "split_off": lambda: list(strings.unicode_split_with_offsets(TEXTS, "UTF-8")),
        "encode": lambda: strings.unicode_encode(ragged.constant([[71, 246, 246], [12354], []]), "UTF-8"),
        "encode1": lambda: strings.unicode_encode([72, 101], "UTF-16-BE"),
        "encode2": lambda: strings.unicode_encode([[72, 101], [73, 102]], "UTF-8"),
        "enc_bad": lambda: strings.unicode_encode([72, 0xD800], "UTF-8"),
        "bytes": lambda: strings.bytes_split(["hello", "123", ""]),
        "bytes0": lambda: strings.bytes_split("abc"),
        "bytes2": lambda: strings.bytes_split([["ab", "c"], ["", "def"]]),
        "bytesr": lambda: strings.bytes_split(ragged.constant([["ab"], ["c", "d"]])),
        "ngrams": lambda: strings.ngrams(["a", "b", "c"], 2),
        "ngrams2": lambda: strings.ngrams([["a", "b", "c"], ["d", "e", "f"]], [1, 2]),
        "ngramsp": lambda: strings.ngrams(
            ragged.constant([["a", "b", "c"], ["d"], []]), 3, pad_values="X", padding_width=1
        ),
        "ngramss": lambda: strings.ngrams(
            ragged.constant([["a", "b", "c"], ["d"], []]), 3, preserve_short_sequences=True
        ),
    }


def plain(value):
    """A value as lists, numbers and texts."""
    if hasattr(value, "to_list"):
        return plain(value.to_list())
    if isinstance(value, bytes):
        return value.decode("latin1")
    if hasattr(value, "dense_shape"):
        return [plain(value.indices), plain(value.values), plain(value.dense_shape)]
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    listed = np.asarray(value).tolist()
    return plain(listed) if isinstance(listed, (list, bytes)) else listed


def answer(tf, name):
    """The value of a case, or the name of the error of its run."""
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            return plain(session.run(cases(tf)[name]()))
        except tf.errors.InvalidArgumentError as error:
            return type(error).__name__


if __name__ == "__main__":
    import tensorflow

    json.dump({name: answer(tensorflow, name) for name in cases(tensorflow)}, sys.stdout, indent=1, sort_keys=True)
