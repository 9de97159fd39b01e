"""Values, shapes and types that programs of TensorFlow take from kernels and names, as TensorFlow's own tests have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorflow.compat.v1 as tf


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def sparse(indices: Any, values: Any, shape: Any) -> Any:
    return tf.SparseTensor(indices, values, shape)


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


# ---- sparse features of examples


def example(**lists: Any) -> bytes:
    message = tf.train.Example()
    for key, values in lists.items():
        feature = message.features.feature[key]
        kind = {int: feature.int64_list, float: feature.float_list, bytes: feature.bytes_list}[type(values[0])]
        kind.value.extend(values)
    return message.SerializeToString()


EXAMPLES = [example(at=[5, 0], w=[3.0, 4.0]), example(at=[1], w=[2.0]), example()]


def test_a_sparse_feature_of_a_batch() -> None:
    parsed = tf.parse_example(EXAMPLES, {"x": tf.SparseFeature("at", "w", tf.float32, 6)})
    assert list(parsed) == ["x"]
    indices, values, shape = run(parsed["x"])
    assert indices.tolist() == [[0, 0], [0, 5], [1, 1]]
    assert values.tolist() == [4.0, 3.0, 2.0]
    assert shape.tolist() == [3, 6]


def test_a_sparse_feature_keeps_the_order_that_is_said_to_be_sorted() -> None:
    parsed = tf.parse_example(EXAMPLES, {"x": tf.io.SparseFeature("at", "w", tf.float32, 6, already_sorted=True)})
    assert run(parsed["x"]).values.tolist() == [3.0, 4.0, 2.0]


def test_a_sparse_feature_beside_its_parts_and_others_of_them() -> None:
    features = {
        "x": tf.SparseFeature("at", "w", tf.float32, 6),
        "y": tf.SparseFeature("at", "w", tf.float32, 7),
        "at": tf.VarLenFeature(tf.int64),
    }
    parsed = run(tf.parse_example(EXAMPLES, features))
    assert (parsed["x"].dense_shape.tolist(), parsed["y"].dense_shape.tolist()) == ([3, 6], [3, 7])
    assert parsed["at"].values.tolist() == [5, 0, 1]


def test_a_sparse_feature_of_two_dimensions_in_one_example() -> None:
    message = example(row=[1, 0], column=[0, 2], w=[b"a", b"b"])
    feature = tf.SparseFeature(["row", "column"], "w", tf.string, [2, 3])
    indices, values, shape = run(tf.parse_single_example(message, {"x": feature})["x"])
    assert (indices.tolist(), values.tolist(), shape.tolist()) == ([[0, 2], [1, 0]], [b"b", b"a"], [2, 3])


def test_a_part_of_a_sparse_feature_is_described_once() -> None:
    features = {"x": tf.SparseFeature("at", "w", tf.float32, 6), "at": tf.FixedLenFeature([1], tf.int64)}
    with pytest.raises(ValueError, match="'at' of the SparseFeature 'x'"):
        tf.parse_example(EXAMPLES, features)


# ---- sparse tensors


def test_the_shape_of_a_sparse_tensor() -> None:
    x = sparse([[0, 1]], [2.0], [3, 4])
    assert run([tf.shape(x), tf.size(x), tf.rank(x)])[0].tolist() == [3, 4]
    assert run([tf.size(x), tf.rank(x)]) == [12, 2]
    assert tf.shape(x, out_type=tf.int64).dtype is tf.int64
    place = tf.sparse_placeholder(tf.float32)
    assert run(tf.shape(place), {place: tf.SparseTensorValue([[0]], [1.0], [9])}).tolist() == [9]


def test_a_sparse_tensor_without_dimensions_becomes_dense() -> None:
    x = sparse([[0, 0], [1, 1]], [2, 3], [2, 2])
    assert run(tf.sparse_tensor_to_dense(tf.sparse_reduce_sum_sparse(x))) == 5
    assert run(tf.sparse_to_dense(np.zeros((0, 0), np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32), 7)) == 7


@pytest.mark.parametrize("shape", [(), [2, None], None])
def test_an_accumulator_of_rows_takes_more_dimensions_than_it_names(shape: Any) -> None:
    queue = tf.SparseConditionalAccumulator(tf.float32, shape=shape)
    rows = np.ones((1, 2, 2, 2), np.float32)
    apply = queue.apply_grad([1], rows, [2, 2, 2, 2])
    with tf.Session() as session:
        session.run(apply)
        assert session.run(queue.take_indexed_slices_grad(1)).values.tolist() == rows.tolist()


# ---- along a dimension that the run knows


@pytest.mark.parametrize("function", [tf.nn.softmax, tf.nn.log_softmax])
@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_softmax_along_an_axis_of_the_run(function: Any, axis: int) -> None:
    x, place = tf.constant([[1.0, 2.0, 50.0], [3.0, 0.0, 1.0]]), tf.placeholder(tf.int32, [])
    results = [function(x, axis=place), function(x, axis=axis), function(x, axis=tf.constant(axis))]
    slopes = [tf.gradients(result * [[1.0, 2.0, 3.0]], x)[0] for result in results]
    values = run([results, slopes], {place: axis})
    for same in values:
        np.testing.assert_allclose(same[0], same[1], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(same[2], same[1], rtol=1e-5, atol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(results[0], {place: 7})


# ---- values that are taken


def test_text_beside_bytes() -> None:
    assert run(tf.constant(["a", b"\xf0"])).tolist() == [b"a", b"\xf0"]
    assert run(tf.string_split(["hey", b"\xf0"], "")).values.tolist() == [b"h", b"e", b"y", b"\xf0"]


class Delegate:
    """An object that answers for tensors, and one operator of its own."""

    def __radd__(self, other: Any) -> str:
        return "mine"


def test_an_operator_is_left_to_an_object_that_has_its_own() -> None:
    assert tf.constant([1.0]) + Delegate() == "mine"
    assert tf.Variable([1.0]) + Delegate() == "mine"
    with pytest.raises(TypeError, match="can't become a tensor"):
        tf.constant([1.0]) - Delegate()
    with pytest.raises(TypeError, match="int32"):
        tf.constant([1.0]) + tf.constant([1])


def test_devices_without_a_slash() -> None:
    with tf.device("/job:a"), tf.device("cpu:0"):
        assert tf.constant(1).device == "/job:a/device:CPU:0"
    outside = tf.device("GPU:1")
    with tf.device("/job:b"), outside:
        assert tf.constant(1).device == "/job:b/device:GPU:1"
    with pytest.raises(ValueError, match="has to start with '/'"):
        tf.device("elsewhere:0").__enter__()


def test_many_zeros_of_bfloat16() -> None:
    a, b = tf.cast([[1.0, 2.0]], tf.bfloat16), tf.constant([[3.0], [4.0]])
    product = tf.matmul(a, b, a_is_sparse=True)
    assert product.dtype is tf.float32 and run(product).tolist() == [[11.0]]


# ---- names and shapes


def test_images_of_an_unknown_shape_have_four_dimensions() -> None:
    place = tf.placeholder(tf.float32)
    for function in (tf.space_to_batch, tf.batch_to_space):
        assert function(place, tf.placeholder(tf.int32), 4).shape.ndims == 4


def test_the_variables_of_a_template_that_are_not_trained() -> None:
    def make() -> None:
        tf.get_variable("a", [])
        tf.get_variable("b", [], trainable=False)

    template = tf.make_template("t", make)
    template()
    assert [v.name for v in template.non_trainable_variables] == ["t/b:0"]


class _Devices(tf.test.TestCase):
    def runTest(self) -> None:
        self.assertDeviceEqual("/cpu:0", "/device:CPU:0")
        self.assertDeviceEqual(None, "")
        with self.assertRaises(AssertionError):
            self.assertDeviceEqual("/cpu:0", "/cpu:1")


def test_devices_are_compared_however_they_are_written() -> None:
    result = _Devices().run()
    assert result is not None and result.wasSuccessful()


def test_files_of_words_as_tables(tmp_path: Any) -> None:
    path = tmp_path / "words"
    path.write_text("a\nb\n")
    numbers = tf.contrib.lookup.HashTable(tf.contrib.lookup.TextFileIdTableInitializer(str(path)), -1)
    words = tf.contrib.lookup.HashTable(tf.contrib.lookup.TextFileStringTableInitializer(str(path)), "?")
    looked = numbers.lookup(tf.constant(["b", "c"])), words.lookup(tf.constant([0, 5], tf.int64))
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        first, second = session.run(looked)
    assert (first.tolist(), second.tolist()) == ([1, -1], [b"a", b"?"])


def test_a_custom_getter_names_what_it_makes_beside_variables_at_the_root() -> None:
    def getter(make: Any, name: str, **rest: Any) -> Any:
        parts = make(f"{name}/0", **rest), make(f"{name}/1", **rest)
        with tf.name_scope("sum_of_parts"):
            return parts[0] + parts[1]

    with tf.variable_scope("scope", custom_getter=getter):
        total = tf.get_variable("v", [2])
        inside = tf.identity(total, name="inside")
    assert [v.name for v in tf.global_variables()] == ["scope/v/0:0", "scope/v/1:0"]
    assert (total.name, inside.name) == ("sum_of_parts/add:0", "scope/inside:0")


def test_initial_values_and_checks_from_inside_of_loops_and_branches() -> None:
    def body(i: Any) -> Any:
        with pytest.raises(ValueError, match="inside a control-flow construct"):
            tf.Variable(tf.zeros([1]) + tf.cast(i, tf.float32))
        return i + 1

    tf.add_check_numerics_ops()
    tf.while_loop(lambda i: i < 3, body, [0])
    with pytest.raises(ValueError, match=r"not compatible with TensorFlow control flow operations"):
        tf.add_check_numerics_ops()


# ---- types, names of types, and types of numpy


@pytest.mark.parametrize(
    "dtype", [tf.bool, tf.uint8, tf.int32, tf.int64, tf.float16, tf.float64, tf.complex64, tf.string]
)
def test_a_type_equals_what_names_it(dtype: Any) -> None:
    assert dtype == dtype.name and dtype == dtype.numpy_dtype
    assert dtype == dtype.as_numpy_dtype or dtype is tf.string
    assert all((dtype == other) is (dtype is other) for other in (tf.float32, tf.int64, tf.string))
    assert dtype != "float32" and dtype != np.float32 and dtype != "no type" and dtype is not None
    assert dtype != None and dtype != [dtype] and dtype != dtype.ref  # noqa: E711
    assert len({dtype, tf.as_dtype(dtype.name)}) == 1


# ---- what waits, and is no tensor


@pytest.mark.parametrize("kind", ["tensor", "slices", "sparse"])
def test_tensors_slices_and_sparse_tensors_wait_in_a_tuple(kind: str) -> None:
    count = tf.Variable(0)
    value: Any = tf.constant([[1.0, 2.0]])
    if kind == "slices":
        value = tf.IndexedSlices(value, tf.constant([1]))
    if kind == "sparse":
        value = sparse([[0, 1]], [5.0], [1, 2])
    alone, none = tf.tuple([value, None], control_inputs=[count.assign_add(1)])
    assert type(alone) is type(value) and none is None
    values = alone if kind == "tensor" else alone.values
    given, expected = run([values, value if kind == "tensor" else value.values])
    assert np.array_equal(given, expected)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(values)
        assert session.run(count) == 1


# ---- images


IMAGE = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)


@pytest.mark.parametrize("k", range(-1, 6))
@pytest.mark.parametrize("batch", [False, True])
def test_an_image_is_turned_by_a_number_that_the_run_knows(k: int, batch: bool) -> None:
    image = np.stack([IMAGE, IMAGE + 1]) if batch else IMAGE
    times = tf.placeholder(tf.int64, [])
    turned = run(tf.image.rot90(image, times), {times: k})
    assert np.array_equal(turned, np.rot90(image, k, (1, 2) if batch else (0, 1)))


@pytest.mark.parametrize("shape", [(3,), (2, 2), (2, 2, 3), (1, 1, 2, 2, 3)])
def test_brightness_and_gamma_are_those_of_any_shape(shape: tuple[int, ...]) -> None:
    image = np.full(shape, 0.5, np.float32)
    assert np.allclose(run(tf.image.adjust_gamma(image, 2.0)), np.full(shape, 0.25))
    assert np.allclose(run(tf.image.adjust_brightness(image, 0.25)), np.full(shape, 0.75))


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda image: tf.image.pad_to_bounding_box(image, 1, 0, 4, 4), np.pad(IMAGE, [(1, 1), (0, 0), (0, 0)])),
        (lambda image: tf.image.crop_to_bounding_box(image, 0, 1, 2, 2), IMAGE[:, 1:3]),
        (lambda image: tf.image.resize_image_with_crop_or_pad(image, 2, 2), IMAGE[:, 1:3]),
    ],
)
def test_an_image_of_unknown_rank_is_one_image(build: Any, expected: Any) -> None:
    image = tf.placeholder(tf.uint8)
    framed = build(image)
    assert framed.shape.as_list() == [*expected.shape[:2], None]
    assert np.array_equal(run(framed, {image: IMAGE}), expected)


# ---- queues, layers, words


def test_a_shared_queue_is_found_without_its_seeds_and_not_with_others() -> None:
    def shuffled(seed: int | None) -> Any:
        return tf.RandomShuffleQueue(1, 0, tf.float32, [()], shared_name="shuffled", seed=seed)

    first = shuffled(3)
    with tf.Session() as session:
        session.run(first.enqueue(1.0))
        assert session.run(shuffled(None).size()) == 1
        with pytest.raises(tf.errors.InvalidArgumentError, match="random seeds"):
            session.run(shuffled(4).size())


@pytest.mark.parametrize("renamed", [False, True])
def test_a_variable_that_a_layer_uses_again_adds_no_second_loss(renamed: bool) -> None:
    def getter(get: Any, name: str, *arguments: Any, **named: Any) -> Any:
        return get(name.replace("kernel", "weights") if renamed else name, *arguments, **named)

    for reuse in (False, True):
        with tf.variable_scope("fc", custom_getter=getter, reuse=reuse):
            tf.layers.dense(tf.ones([1, 2]), 3, kernel_regularizer=tf.nn.l2_loss, name="dense")
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1
    assert len(tf.global_variables()) == 2


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: tf.matrix_transpose([1.0]), "should be a "),
        (lambda: tf.boolean_mask([1, 2], tf.placeholder(tf.bool)), "dimensions must be specified"),
        (lambda: tf.boolean_mask([1, 2], [True] * 3), "incompatible"),
        (lambda: tf.boolean_mask([1, 2], [[True]]), "incompatible"),
        (lambda: tf.ones([2])[..., ...], "Multiple ellipses"),
        (lambda: run(tf.betainc([1.0], [1.0, 2.0], 0.5)), "Shapes of .* are inconsistent"),
    ],
)
def test_errors_have_the_words_of_tensorflow(build: Any, words: str) -> None:
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=words):
        build()
