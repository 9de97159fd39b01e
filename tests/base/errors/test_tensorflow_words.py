"""The words of errors about a mistake that TensorFlow's programs and tests look for: the class, and the words.

Each row raises its class in TensorFlow too, with a text in which the pattern is found: shapes as `[2,3]`, the number of
dimensions, the axis, the index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import actorflow.compat.v1 as tf

InvalidArgumentError = tf.errors.InvalidArgumentError


def f(*shape: int) -> Any:
    """Ones of a shape."""
    return np.ones(shape, np.float32)


def i(*numbers: int) -> Any:
    """A vector of int32."""
    return np.array(numbers, np.int32)


def ran(*tensors: Any) -> None:
    """Runs tensors."""
    with tf.Session() as session:
        session.run(list(tensors))


def fed(build: Callable[..., Any], *arrays: Any) -> None:
    """Runs what `build` makes of placeholders without shapes, which are fed: only the run knows the mistake."""
    places = [tf.placeholder(np.asarray(array).dtype) for array in arrays]
    made = build(*places)
    with tf.Session() as session:
        session.run(made, dict(zip(places, arrays)))


class Row(NamedTuple):
    """A mistake, and what is said of it."""

    error: type[Exception]
    words: str
    mistake: Callable[[], Any]


BROADCAST = (
    *("add", "subtract", "multiply", "maximum", "minimum", "less", "less_equal", "greater", "greater_equal", "pow"),
    *("squared_difference", "mod", "floordiv"),
)

ROWS = [
    Row(ValueError, r"Dimensions must be equal, but are 3 and 2", lambda: tf.logical_and([True] * 3, [True] * 2)),
    Row(
        InvalidArgumentError,
        r"Incompatible shapes: \[3\] vs. \[2\]",
        lambda: fed(tf.logical_or, np.array([True] * 3), np.array([True] * 2)),
    ),
    Row(ValueError, r"Dimensions must be equal, but are 3 and 4", lambda: tf.matmul(f(2, 3), f(4, 5))),
    Row(
        InvalidArgumentError,
        r"Matrix size-incompatible: In\[0\]: \[2,3\], In\[1\]: \[4,5\]",
        lambda: fed(tf.matmul, f(2, 3), f(4, 5)),
    ),
    Row(ValueError, r"Shape must be rank 2 but is rank 1", lambda: tf.matmul(f(3), f(3, 2))),
    Row(ValueError, r"Dimensions must be equal|must have the same", lambda: tf.matmul(f(2, 2, 3), f(2, 4, 5))),
    Row(ValueError, r"Can't concatenate scalars \(use tf\.stack instead\)", lambda: tf.concat([1.0, 2.0], 0)),
    Row(ValueError, r"Cannot infer (num|argument `num`) from shape", lambda: tf.unstack(tf.placeholder(tf.float32))),
    Row(
        ValueError,
        r"Cannot infer (num|argument `num`) from shape \(\?,\)|\(None,\)",
        lambda: tf.unstack(tf.placeholder(tf.float32, [None])),
    ),
    Row(InvalidArgumentError, r"should evenly divide", lambda: fed(lambda a: tf.split(a, 4, 0), f(3, 2))),
    Row(ValueError, r"Dimension size must be evenly divisible by 4 but is 3", lambda: tf.split(f(3, 2), 4, 0)),
    Row(InvalidArgumentError, r"indices\[0,0\] = 7 is not in \[0, 3\)", lambda: ran(tf.gather(f(3), [[7]]))),
    Row(InvalidArgumentError, r"indices\[1\] = -1 is not in \[0, 3\)", lambda: ran(tf.gather(f(3), [0, -1]))),
    Row(ValueError, r"Shape must be at least rank 2 but is rank 1", lambda: tf.gather(f(3), [0], axis=1)),
    Row(
        InvalidArgumentError,
        r"indices\[0(,0)?\] = \[2(, )?0\] does not index into param shape \[2,2\]|\[2\]",
        lambda: ran(tf.gather_nd(f(2, 2), [[2, 0]])),
    ),
    Row(
        InvalidArgumentError,
        r"Expected begin\[0\] in \[0, 3\]|slice index|out of",
        lambda: fed(lambda x: tf.slice(x, [4], [1]), f(3)),
    ),
    Row(ValueError, r"index .* out of|slice index 5 of dimension 0 out of bounds", lambda: tf.constant(f(3))[5]),
    Row(InvalidArgumentError, r"slice index 5 of dimension 0 out of bounds", lambda: fed(lambda x: x[5], f(3))),
    Row(ValueError, r"strides\[0\] must be non-zero", lambda: tf.constant(f(3))[::0]),
    Row(
        InvalidArgumentError,
        r"partitions\[2\] = 99 is not in \[0, 4\)",
        lambda: ran(tf.dynamic_partition(f(3), [0, 1, 99], 4)[0]),
    ),
    Row(
        InvalidArgumentError,
        r"partitions\[0,0\] = 17 is not in \[0, 7\)",
        lambda: ran(tf.dynamic_partition(f(2, 2), [[17, 0], [1, 2]], 7)[0]),
    ),
    Row(InvalidArgumentError, r"partitions = 17 is not in \[0, 7\)", lambda: ran(tf.dynamic_partition(f(), 17, 7)[0])),
    Row(
        ValueError,
        r"Cannot reshape a tensor with 6 elements to shape \[4\] \(4 elements\)",
        lambda: tf.reshape(f(2, 3), [4]),
    ),
    Row(
        InvalidArgumentError,
        r"Input to reshape is a tensor with 6 values, but the requested shape has 4",
        lambda: fed(lambda x: tf.reshape(x, [4]), f(2, 3)),
    ),
    Row(InvalidArgumentError, r"requires? a multiple of 4", lambda: fed(lambda x: tf.reshape(x, [4, -1]), f(2, 3))),
    Row(ValueError, r"must be non-negative", lambda: tf.pad(f(2), [[-1, 0]])),
    Row(
        InvalidArgumentError,
        r"must be non-negative|Paddings must be",
        lambda: fed(lambda p: tf.pad(f(2), p), np.array([[-1, 0]], np.int32)),
    ),
    Row(ValueError, r"Shape must be rank 2 but is rank 1", lambda: tf.pad(f(2), [1, 2])),
    Row(ValueError, r"2 is out of range|index 2|out of range \[0", lambda: tf.transpose(f(2, 3), [0, 2])),
    Row(ValueError, r"is out of valid range", lambda: tf.reverse(f(2, 3), [2])),
    Row(ValueError, r"axis 0 specified more than once", lambda: tf.reverse(f(2, 3), [0, 0])),
    Row(
        InvalidArgumentError, r"is out of valid range|out of range", lambda: fed(lambda a: tf.reverse(f(2, 3), a), i(2))
    ),
    Row(
        InvalidArgumentError, r"axis 0 specified more than once", lambda: fed(lambda a: tf.reverse(f(2, 3), a), i(0, 0))
    ),
    Row(ValueError, r"Can not squeeze dim\[1\], expected a dimension of 1, got 3", lambda: tf.squeeze(f(1, 3), [1])),
    Row(
        InvalidArgumentError,
        r"Can not squeeze dim\[1\], expected a dimension of 1, got 3",
        lambda: fed(lambda x: tf.squeeze(x, [1]), f(1, 3)),
    ),
    Row(
        ValueError,
        r"(dim|axis) 3 (is )?not in the interval \[-2, 1\]|not in (the )?(range|interval)",
        lambda: tf.expand_dims(f(2), 3),
    ),
    Row(ValueError, r"seq_dim must be < input", lambda: tf.reverse_sequence(f(2, 3), [1, 1], seq_axis=3, batch_axis=0)),
    Row(
        ValueError, r"batch_dim must be < input", lambda: tf.reverse_sequence(f(2, 3), [1, 1], seq_axis=1, batch_axis=3)
    ),
    Row(ValueError, r"Invalid reduction dimension", lambda: tf.reduce_sum(f(2, 3), [2])),
    Row(ValueError, r"Invalid reduction dimension", lambda: tf.reduce_sum(f(2, 3), [-3])),
    Row(InvalidArgumentError, r"Invalid reduction dimension", lambda: fed(lambda x: tf.reduce_sum(x, [2]), f(2, 3))),
    Row(
        ValueError,
        r"Dimension \(2\) must be in the range \[-2, 2\)|Expected dimension in the range|must be in the range",
        lambda: tf.argmax(f(2, 3), 2),
    ),
    Row(
        InvalidArgumentError,
        r"Expected dimension in the range \[-2, 2\), but got 2",
        lambda: fed(lambda x: tf.argmax(x, 2), f(2, 3)),
    ),
    Row(
        InvalidArgumentError,
        r"Reduction axis 0 is empty in shape \[0\]",
        lambda: ran(tf.argmax(np.zeros([0], np.float32), 0)),
    ),
    Row(InvalidArgumentError, r"Expected scan axis in the range \[-2, 2\)", lambda: ran(tf.cumsum(f(2, 3), 2))),
    Row(InvalidArgumentError, r"Expected scan axis in the range \[-2, 2\)", lambda: ran(tf.cumprod(f(2, 3), -3))),
    Row(InvalidArgumentError, r"axis must be a scalar", lambda: fed(lambda a: tf.cumsum(f(2, 3), a), i(0))),
    Row(ValueError, r"must be at most rank 1", lambda: tf.reduce_sum(f(2, 3), [[0]])),
    Row(ValueError, r"Invalid reduction dimension 2", lambda: tf.reduce_join([["a"]], axis=2)),
    Row(ValueError, r"Invalid reduction dimension -3", lambda: tf.reduce_join([["a"]], axis=-3)),
    Row(InvalidArgumentError, r"segment ids are not increasing", lambda: ran(tf.segment_sum(f(3, 2), [0, 1, 0]))),
    Row(InvalidArgumentError, r"segment_ids should be the same size", lambda: fed(tf.segment_sum, f(2, 2), i(0, 1, 2))),
    Row(
        InvalidArgumentError,
        r"segment_ids\[1\] = 9 is out of range \[0, 2\)",
        lambda: ran(tf.unsorted_segment_sum(f(2, 2), [0, 9], 2)),
    ),
    Row(
        InvalidArgumentError,
        r"Segment id 9 out of range|segment ids must be >= 0",
        lambda: ran(tf.sparse_segment_sum(f(4, 2), [0, 1], [0, -1])),
    ),
    Row(
        ValueError,
        r"Cannot specify a negative value for num_segments",
        lambda: tf.sparse_segment_sum(f(4, 2), [0, 1], [0, 1], num_segments=-1),
    ),
    Row(
        InvalidArgumentError,
        r"segment ids must be < num_segments",
        lambda: ran(tf.sparse_segment_sum(f(4, 2), [0, 1], [0, 3], num_segments=2)),
    ),
    Row(
        InvalidArgumentError,
        r"indices\[1\] (==|=) 9 (out of range|is not in) ?\[0, 4\)",
        lambda: ran(tf.sparse_segment_sum(f(4, 2), [0, 9], [0, 0])),
    ),
    Row(InvalidArgumentError, r"Input is not invertible\.", lambda: ran(tf.matrix_inverse(np.zeros([2, 2])))),
    Row(
        InvalidArgumentError,
        r"Input matrix is not invertible\.",
        lambda: ran(tf.matrix_solve(np.zeros([2, 2]), np.ones([2, 1]))),
    ),
    Row(ValueError, r"Shape must be at least rank 2 but is rank 1", lambda: tf.qr(f(3))),
    Row(ValueError, r"Shape must be at least rank 2 but is rank 1", lambda: tf.self_adjoint_eig(f(3))),
    Row(ValueError, r"Shape must be at least rank 2 but is rank 1", lambda: tf.cholesky(f(3))),
    Row(ValueError, r"Shape must be at least rank 2 but is rank 1", lambda: tf.matrix_inverse(f(3))),
    Row(ValueError, r"Shape must be at least rank 2 but is rank 1", lambda: tf.matrix_determinant(f(3))),
    Row(ValueError, r"Dimensions must be equal, but are 2 and 3", lambda: tf.self_adjoint_eig(f(2, 3))),
    Row(ValueError, r"Dimensions must be equal, but are 2 and 3", lambda: tf.cholesky(f(2, 3))),
    Row(ValueError, r"Dimensions must be equal, but are 2 and 3", lambda: tf.matrix_inverse(f(2, 3))),
    Row(ValueError, r"must be at least rank 2", lambda: tf.matrix_diag_part(f(3))),
    Row(ValueError, r"must be at least rank 1", lambda: tf.matrix_diag(f())),
    Row(ValueError, r"must be at least rank 2", lambda: tf.matrix_set_diag(f(3), f(3))),
    Row(InvalidArgumentError, r"input must be at least 2-dim", lambda: fed(tf.matrix_diag_part, f(3))),
    Row(InvalidArgumentError, r"input must be at least 2-dim", lambda: fed(tf.matrix_set_diag, f(3), f(3))),
    Row(ValueError, r"Dimensions must be equal|must be equal", lambda: tf.matrix_solve(f(2, 2), f(3, 1))),
    Row(
        ValueError,
        r"filter must not be larger than the input|Negative dimension size",
        lambda: tf.nn.conv2d(f(1, 2, 2, 1), f(3, 3, 1, 1), [1, 1, 1, 1], "VALID"),
    ),
    Row(
        ValueError,
        r"Negative dimension size caused by subtracting",
        lambda: tf.nn.max_pool(f(1, 2, 2, 1), [1, 3, 3, 1], [1, 1, 1, 1], "VALID"),
    ),
    Row(
        ValueError,
        r"Shape must be rank 4 but is rank 2",
        lambda: tf.nn.conv2d(f(2, 2), f(1, 1, 1, 1), [1, 1, 1, 1], "VALID"),
    ),
    Row(
        ValueError,
        r"Shape must be rank 4 but is rank 2",
        lambda: tf.nn.max_pool(f(2, 2), [1, 1, 1, 1], [1, 1, 1, 1], "VALID"),
    ),
    Row(
        ValueError,
        r"must have the same shape",
        lambda: tf.nn.sigmoid_cross_entropy_with_logits(labels=f(2, 1), logits=f(2, 3)),
    ),
    Row(
        ValueError, r"must have the same shape", lambda: tf.nn.weighted_cross_entropy_with_logits(f(2, 1), f(2, 3), 2.0)
    ),
    Row(
        ValueError,
        r"Shapes? .*must be equal|Dimension 0 in both shapes must be equal|incompatible|Dimensions must be equal",
        lambda: tf.nn.softmax_cross_entropy_with_logits(labels=f(2, 3), logits=f(3, 3)),
    ),
    Row(
        InvalidArgumentError,
        r"Received a label value of 9 which is outside the valid range",
        lambda: ran(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[9], logits=f(1, 3))),
    ),
    Row(ValueError, r"input must have last dimension >= k = 4 but is 3", lambda: tf.nn.top_k(f(3), 4)),
    Row(ValueError, r"must be equal|Dimension", lambda: tf.nn.bias_add(f(2, 3), f(2))),
    Row(
        InvalidArgumentError,
        r"sparse_values has incorrect shape \[2,1\], should be \[\] or \[2\]",
        lambda: ran(tf.sparse_to_dense([0, 1], [5], [[1], [2]], 0)),
    ),
    Row(
        InvalidArgumentError,
        r"default_value should be a scalar",
        lambda: ran(tf.sparse_to_dense([1, 3], [5], [1, 2], [0])),
    ),
    Row(InvalidArgumentError, r"out of bounds", lambda: ran(tf.sparse_to_dense([1, 7], [5], [1, 2], 0))),
    Row(InvalidArgumentError, r"out of order", lambda: ran(tf.sparse_to_dense([3, 1], [5], [1, 2], 0))),
    Row(InvalidArgumentError, r"is repeated", lambda: ran(tf.sparse_to_dense([1, 1], [5], [1, 2], 0))),
    Row(InvalidArgumentError, r"precision not supported", lambda: ran(tf.as_string(tf.constant([1]), precision=0))),
    Row(
        InvalidArgumentError,
        r"scientific and shortest",
        lambda: ran(tf.as_string(tf.constant([1.0]), scientific=True, shortest=True)),
    ),
    Row(InvalidArgumentError, r"1 modulo 4", lambda: ran(tf.decode_base64("abcde"))),
    Row(
        InvalidArgumentError,
        r"Input to DecodeRaw has length 3 that is not a multiple of 2, the size of int16",
        lambda: ran(tf.decode_raw(["123", "456"], tf.int16)),
    ),
    Row(
        InvalidArgumentError,
        r"StringToNumberOp could not correctly convert string: x",
        lambda: ran(tf.string_to_number("x")),
    ),
    Row(InvalidArgumentError, r"Invalid pattern", lambda: ran(tf.regex_replace("a", "(", "b"))),
    Row(InvalidArgumentError, r"pos 10 out of range for string", lambda: ran(tf.substr("abc", 10, 1))),
    Row(
        ValueError,
        r"Cannot bitcast due to shape|Cannot bitcast from",
        lambda: tf.bitcast(tf.constant([[1]], tf.int8), tf.int32),
    ),
    Row(
        ValueError,
        r"must be a dense|setting an array element with a sequence|non-rectangular|dense",
        lambda: tf.constant([[1, 2], [3]], tf.int32),
    ),
    Row(
        ValueError,
        r"Too many elements provided. (Needed at most|Takes) (5)?|Too many elements",
        lambda: tf.constant([1] * 7, shape=[5]),
    ),
    Row(TypeError, r"to be iterable", lambda: tf.debugging.assert_proper_iterable(1)),
    Row(TypeError, r"proper", lambda: tf.debugging.assert_proper_iterable("a")),
    Row(TypeError, r"proper", lambda: tf.debugging.assert_proper_iterable(np.array([1]))),
    Row(ValueError, r"[Rr]ank must be a scalar", lambda: tf.assert_rank(f(2), np.array([], np.int32))),
    Row(ValueError, r"must have rank 1", lambda: tf.assert_rank(f(), 1, message="fail")),
    Row(ValueError, r"must have rank at least 1", lambda: tf.assert_rank_at_least(f(), 1)),
    Row(ValueError, r"must have rank in \(1, 2\)|must have rank.*in.*1.*2", lambda: tf.assert_rank_in(f(), (1, 2))),
    Row(TypeError, r"Expected.*integer", lambda: tf.assert_integer(f(2))),
    Row(TypeError, r"must be of type", lambda: tf.assert_type(f(2), tf.int32)),
    Row(ValueError, r"Expected scalar", lambda: tf.assert_scalar(tf.constant([1]))),
    Row(ValueError, r"not defined on an unknown TensorShape", lambda: tf.TensorShape(None).as_list()),
    Row(ValueError, r"must have rank 3", lambda: tf.TensorShape([2, 3]).with_rank(3)),
    Row(ValueError, r"must have rank at least 3", lambda: tf.TensorShape([2, 3]).with_rank_at_least(3)),
    Row(ValueError, r"must have rank at most 1", lambda: tf.TensorShape([2, 3]).with_rank_at_most(1)),
    Row(ValueError, r"must have the same rank", lambda: tf.TensorShape([2, 3]).assert_same_rank([1])),
    Row(
        ValueError,
        r"Shape \((\?|None), 3\) is not fully defined",
        lambda: tf.TensorShape([None, 3]).assert_is_fully_defined(),
    ),
    Row(
        InvalidArgumentError,
        r"Shape mismatch in tuple component 1\. Expected \[2,3,3\], got \[2,3,4\]",
        lambda: (lambda q: fed(lambda a, b: q.enqueue_many([a, b]), i(1, 2), np.ones([2, 3, 4], np.int32)))(
            tf.FIFOQueue(10, (tf.int32, tf.int32), ((), (3, 3)))
        ),
    ),
    Row(
        InvalidArgumentError,
        r"Expected \[3,3\], got \[3,4\]",
        lambda: (lambda q: fed(lambda a, b: q.enqueue([a, b]), np.int32(1), np.ones([3, 4], np.int32)))(
            tf.FIFOQueue(10, (tf.int32, tf.int32), ((), (3, 3)))
        ),
    ),
    Row(
        InvalidArgumentError,
        r"specified shapes",
        lambda: ran(tf.FIFOQueue(10, (tf.int32, tf.int32)).dequeue_many(1)[0]),
    ),
    Row(
        InvalidArgumentError,
        r"must feed a value for placeholder tensor 'p' with dtype float and shape \[10,10\]",
        lambda: ran(tf.identity(tf.placeholder(tf.float32, [10, 10], name="p"))),
    ),
    Row(
        InvalidArgumentError,
        r"must feed a value for placeholder tensor 'p' with dtype float\b",
        lambda: ran(tf.identity(tf.placeholder(tf.float32, name="p"))),
    ),
    Row(
        InvalidArgumentError,
        r"must feed a value for placeholder tensor 'p' with dtype int64\b",
        lambda: ran(tf.identity(tf.placeholder(tf.int64, name="p"))),
    ),
    Row(
        InvalidArgumentError,
        r"Tried to write to index 3 but array is not resizeable and size is: 3",
        lambda: ran(tf.TensorArray(tf.float32, 3).write(3, 1.0).flow),
    ),
    Row(
        InvalidArgumentError,
        r"Tried to read from index 3 but array size is: 3|out of range|Tried to read",
        lambda: ran(tf.TensorArray(tf.float32, 3).write(0, 1.0).read(3)),
    ),
    Row(
        InvalidArgumentError,
        r"indices\[0(,0)?\] = \[-1\] does not index into (shape )?\[6\]|Invalid indices: \[0,0\] = \[-1\]|does not index",
        lambda: ran(tf.scatter_nd([[-1]], [1.0], [6])),
    ),
    Row(
        ValueError,
        r"The outer \d+ dimensions of indices.shape=|Dimensions? .*must (match|be equal)|must be equal",
        lambda: tf.scatter_nd([[0], [1]], f(3), [6]),
    ),
    Row(
        InvalidArgumentError,
        r"Integers to negative integer powers are not allowed",
        lambda: ran(tf.pow(tf.constant([2, 2], tf.int32), tf.constant([-1, 1], tf.int32))),
    ),
    Row(InvalidArgumentError, r"Integer division by zero", lambda: ran(tf.floordiv(i(1), i(0)))),
    Row(InvalidArgumentError, r"Integer division by zero", lambda: ran(tf.mod(i(1), i(0)))),
    Row(InvalidArgumentError, r"Tensor had NaN values", lambda: ran(tf.check_numerics(f(1) * np.nan, "msg"))),
    Row(
        InvalidArgumentError,
        r"Tensor had Inf and NaN values|Inf and NaN",
        lambda: ran(tf.check_numerics(np.array([np.inf, np.nan], np.float32), "msg")),
    ),
    Row(ValueError, r"Requires start <= limit when delta > 0: 5/3|Requires", lambda: tf.range(5, 3)),
    Row(ValueError, r"Shape must be rank 0 but is rank 1", lambda: tf.range([0], 3)),
    Row(ValueError, r"must be non-negative|Fill dimensions must be >= 0|has negative dim", lambda: tf.fill([-1], 1.0)),
    Row(
        InvalidArgumentError,
        r"num_classes should be positive",
        lambda: fed(lambda x: tf.multinomial(x, 2), np.zeros([2, 0], np.float32)),
    ),
    Row(
        ValueError,
        r"Rank of `condition`|must be rank 1|must be compatible|Shapes must be|must be equal|Dimension",
        lambda: tf.where([True, False], f(3, 2), f(3, 2)),
    ),
    Row(
        ValueError,
        r"'images' (must have|contains)|must be (at least )?.*dim",
        lambda: tf.image.resize_images(f(2, 2), [1, 1]),
    ),
    Row(InvalidArgumentError, r"is out of range", lambda: fed(lambda x: tf.manip.roll(x, 1, 5), f(2, 2))),
    Row(
        InvalidArgumentError,
        r"shift and axis must have the same size",
        lambda: fed(lambda s: tf.manip.roll(f(2, 2), s, [0]), i(1, 2)),
    ),
    Row(
        InvalidArgumentError,
        r"axis must be a scalar or a 1-D vector",
        lambda: fed(lambda a: tf.manip.roll(f(2, 2), 1, a), np.array([[0]], np.int32)),
    ),
    *(
        Row(InvalidArgumentError, f"Condition x {sign} 0 did not hold", lambda check=check: check([-1, 0, 1]))
        for check, sign in (
            (tf.assert_positive, ">"),
            (tf.assert_negative, "<"),
            (tf.assert_non_negative, ">="),
            (tf.assert_non_positive, "<="),
        )
    ),
    Row(ValueError, "same size in the 0th", lambda: tf.FIFOQueue(9, [tf.float32] * 2).enqueue_many([f(2), f(3)])),
]


@pytest.mark.parametrize("name", BROADCAST)
def test_shapes_that_do_not_broadcast(name: str) -> None:
    with tf.Graph().as_default():
        function = getattr(tf, name)
        with pytest.raises(ValueError, match="Dimensions must be equal, but are 3 and 2"):
            function(f(3), f(2))
        with pytest.raises(InvalidArgumentError, match=r"Incompatible shapes: \[3\] vs. \[2\]"):
            fed(function, f(3), f(2))


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{n}-{row.words:.40}") for n, row in enumerate(ROWS)])
def test_the_words_of_a_mistake(row: Row) -> None:
    with tf.Graph().as_default(), pytest.raises(row.error, match=row.words):
        row.mistake()
