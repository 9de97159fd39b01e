"""The habits of programs for TensorFlow 1: names, feeds and fetches, attributes, and the types that values take."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow import errors


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


# ---- names

OPERATORS = {
    "add": lambda x: x + 1,
    "sub": lambda x: 1 - x,
    "mul": lambda x: 2 * x,
    "truediv": lambda x: x / 2,
    "floordiv": lambda x: x // 2,
    "mod": lambda x: x % 2,
    "pow": lambda x: x**2,
    "matmul": lambda x: x @ x,
    "and": lambda x: (x > 0) & (x < 1),
    "or": lambda x: (x > 0) | (x < 1),
    "xor": lambda x: (x > 0) ^ (x < 1),
    "Neg": lambda x: -x,
    "Abs": abs,
    "Less": lambda x: x < 1,
    "strided_slice": lambda x: x[0],
    "Add": lambda x: tf.add(x, 1),
    "Sub": lambda x: tf.subtract(x, 1),
    "Mul": lambda x: tf.multiply(x, 1),
    "MatMul": lambda x: tf.matmul(x, x),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_name_their_nodes_as_tensorflow_does(graph: af.Graph, name: str) -> None:
    x = tf.placeholder(tf.float32, [2, 2])
    assert OPERATORS[name](x).op.name == name
    assert OPERATORS[name](x).op.name == f"{name}_1"


def test_operators_of_variables_have_the_same_names(graph: af.Graph) -> None:
    v = tf.Variable(1.0)
    assert [(v + 1).name, (v + 1).name, (v * v).name] == ["add:0", "add_1:0", "mul:0"]


def test_a_constant_is_named_after_the_input_that_it_is(graph: af.Graph) -> None:
    x = tf.placeholder(tf.float32, [2])
    assert [t.name for t in (x + 1).op.inputs] == ["Placeholder:0", "add/y:0"]
    assert [t.name for t in tf.reshape(x, [1, 2], name="r").op.inputs] == ["Placeholder:0", "r/shape:0"]
    assert [t.name for t in tf.concat([[1], [2]], 0).op.inputs] == [
        "concat/values_0:0",
        "concat/values_1:0",
        "concat/axis:0",
    ]
    assert tf.constant(1).name == "Const:0"  # the constants of other nodes don't count


def test_slots_and_averages_of_computed_variables_have_tensorflows_names(graph: af.Graph) -> None:
    average = tf.train.ExponentialMovingAverage(0.9)
    average.apply([loss := tf.Variable(1.0) * 2.0])
    assert average.average(loss).op.name == "mul/ExponentialMovingAverage"


# ---- feeds and fetches


def test_a_nested_state_is_fed_by_one_key(graph: af.Graph) -> None:
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(3), tf.nn.rnn_cell.LSTMCell(2)])
    initial = cell.zero_state(1, tf.float32)
    x = tf.placeholder(tf.float32, [1, 4, 2])
    _, final = tf.nn.dynamic_rnn(cell, x, initial_state=initial)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        inputs = np.ones((1, 4, 2), np.float32)
        state = session.run(initial)
        for _ in range(2):
            state = session.run(final, {x: inputs, initial: state})
        again = session.make_callable(final, [x, initial])(inputs, session.run(final, {x: inputs}))
    np.testing.assert_array_equal(state[0].c, again[0].c)
    assert type(state[1]).__name__ == "LSTMStateTuple"


def test_a_key_of_several_tensors_takes_a_value_of_as_many_parts(graph: af.Graph) -> None:
    x, y = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int32)
    assert run([x, y], {(x, (y,)): ([1, 2], (3,))})[1] == 3
    with pytest.raises(errors.InvalidArgumentError, match="has to have 2 parts"):
        run(x, {(x, y): ([1, 2],)})
    with pytest.raises(errors.InvalidArgumentError, match="fed twice"):
        run(x, {(x, y): ([1, 2], 3), x: [1, 2]})


def test_the_name_of_a_variable_fetches_and_feeds_its_value(graph: af.Graph) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    assert run("v:0").tolist() == run(b"v:0").tolist() == run(v.name).tolist() == [1.0, 2.0]
    assert run([graph.get_tensor_by_name("v:0"), "v"])[1] is None  # without an output it names the operation
    assert run(v + 1.0, {"v:0": [3.0, 4.0]}).tolist() == [4.0, 5.0]


def test_the_reference_of_a_variable_is_read_where_a_value_is_wanted(graph: af.Graph) -> None:
    tf.Variable([1.0, 2.0], name="v")
    assert run(graph.get_tensor_by_name("v:0") * 2).tolist() == [2.0, 4.0]


def test_fetching_a_queue_gives_its_container_and_name(graph: af.Graph) -> None:
    with graph.container("shelf"):
        queue = tf.FIFOQueue(1, tf.float32, shared_name="jobs")
    assert run(queue.queue_ref).tolist() == [b"shelf", b"jobs"]


def test_none_is_no_fetch_wherever_it_is(graph: af.Graph) -> None:
    for fetches in (None, [None], {"a": None}, (tf.constant(1), None)):
        with pytest.raises(TypeError, match="None"):
            run(fetches)


# ---- attributes


def test_types_of_inputs_are_attributes(graph: af.Graph) -> None:
    x, indices = tf.placeholder(tf.float16, [3, 3]), tf.constant([0], tf.int64)
    wanted = [
        (x + 1, "T", tf.float16),
        (tf.gather(x, indices), "Tparams", tf.float16),
        (tf.gather(x, indices), "Tindices", tf.int64),
        (tf.reduce_sum(x, 0), "Tidx", tf.int32),
        (tf.reshape(x, [9]), "Tshape", tf.int32),
        (tf.transpose(x), "Tperm", tf.int32),
        (tf.tile(x, indices[:1] + [1, 2]), "Tmultiples", tf.int64),
        (tf.cast(x, tf.int32), "SrcT", tf.float16),
        (tf.split(x, 3)[0], "T", tf.float16),
        (tf.concat([x, x], 0), "N", 2),
        (tf.unsorted_segment_sum(x, [0, 0, 0], 1), "Tnumsegments", tf.int32),
        (tf.random_uniform([2]), "T", tf.int32),
        (tf.random_uniform([2]), "dtype", tf.float32),
        (tf.random_uniform(tf.constant([2], tf.int64), 0, 9, tf.int32), "T", tf.int64),
        (tf.linspace(0.0, 1.0, 3), "Tidx", tf.int32),
        (tf.substr(["abc"], indices, indices), "T", tf.int64),
        (tf.Variable(1.0).value(), "dtype", tf.float32),
        (tf.nn.top_k(x)[0], "T", tf.float16),
        (tf.py_func(lambda a, b: a, [x, indices], tf.float16), "Tin", (tf.float16, tf.int64)),
        (tf.spectral.rfft(tf.zeros([4])), "Tcomplex", tf.complex64),
    ]
    for tensor, name, value in wanted:
        assert tensor.op.get_attr(name) == value, (tensor.op.type, name)
    with pytest.raises(ValueError, match="no attribute 'Tother'"):
        (x + 1).op.get_attr("Tother")


def test_create_op_checks_the_types_of_inputs(graph: af.Graph) -> None:
    one, real = tf.constant(1), tf.constant(1.0)
    with pytest.raises(TypeError, match="'y' has type float32, but the inputs before have int32"):
        graph.create_op("Add", [one, real])
    with pytest.raises(TypeError, match="takes: string"):
        graph.create_op("StringToNumber", [one], {"out_type": tf.float32})
    with pytest.raises(TypeError, match="takes 2 inputs, but 1 were given"):
        graph.create_op("Add", [one])
    with pytest.raises(TypeError, match="float32_ref"):
        graph.create_op("Neg", [tf.Variable(1.0).handle])


# ---- the types that values take


def test_a_value_without_elements_takes_the_type_that_is_wanted(graph: af.Graph) -> None:
    assert tf.constant([], tf.string).dtype == tf.string
    assert tf.string_to_number([]).op.inputs[0].dtype == tf.string
    assert tf.string_join([[], np.array([])]).dtype == tf.string
    assert tf.concat([[], ["a"]], 0).dtype == tf.string
    assert tf.concat([tf.constant(["a"]), []], 0).dtype == tf.string
    assert tf.add([], [1]).dtype == tf.int32
    assert tf.add([], np.zeros([0], np.int64)).dtype == tf.int64
    assert tf.gather([1.0, 2.0], []).op.inputs[1].dtype == tf.int32
    assert tf.gather([1.0, 2.0], np.array([])).op.inputs[1].dtype == tf.int32
    assert tf.constant([]).dtype == tf.float32 and tf.constant(np.array([])).dtype == tf.float64


def test_arrays_of_another_width_become_what_an_input_takes(graph: af.Graph) -> None:
    parts = tf.dynamic_partition([1.0, 2.0], np.array([1, 0]), 2)  # int64, but partitions are int32
    assert parts[0].op.inputs[1].dtype == tf.int32
    assert tf.reshape([1.0, 2.0], np.array([2, 1], np.uint8)).shape.as_list() == [2, 1]
    assert tf.segment_sum([1.0], np.array([0], np.int8)).op.inputs[1].dtype == tf.int32
    assert tf.nn.top_k([1.0, 2.0], np.int64(1))[0].shape.as_list() == [1]
    blocks = tf.space_to_batch_nd(np.ones([1, 2, 2, 1]), np.array([2, 2]), np.zeros([2, 2], np.int64))
    assert blocks.shape.as_list() == [4, 1, 1, 1]
    with pytest.raises(TypeError, match="has type int64, but it takes: int32"):
        tf.dynamic_partition([1.0], np.array([2**40]), 2)
    with pytest.raises(TypeError, match="has type float64"):
        tf.segment_sum([1.0], np.array([0.0]))


def test_the_numpy_type_of_a_dtype_is_a_class() -> None:
    assert tf.float16.as_numpy_dtype is np.float16 and tf.float16.as_numpy_dtype(3).dtype == np.float16
    assert tf.string.as_numpy_dtype is np.object_ and tf.bool.as_numpy_dtype is np.bool_
    assert tf.float32.ref.as_numpy_dtype is np.float32
    assert tf.float32.numpy_dtype == np.dtype("float32")


# ---- gradients


@pytest.mark.parametrize("weights", [3.0, [1.0, 2.0, 3.0], [[1.0], [2.0]], np.ones((1, 3))])
def test_weights_of_ys_broadcast(graph: af.Graph, weights: Any) -> None:
    for shape in ([2, 3], [None, 3]):
        x = tf.placeholder(tf.float32, shape)
        (gradient,) = tf.gradients(x * 2.0, x, grad_ys=[weights])
        wanted = np.broadcast_to(2 * np.asarray(weights, np.float32), (2, 3))
        np.testing.assert_array_equal(run(gradient, {x: np.ones((2, 3))}), wanted)


@pytest.mark.parametrize("axis", [0, 1, -1, [1], [0, 2], [2, 0, 1], []])
@pytest.mark.parametrize("known_rank", [True, False])
@pytest.mark.parametrize("reduction", ["sum", "mean", "prod", "max", "min", "logsumexp"])
def test_gradients_of_reductions_over_axes_that_only_the_run_knows(
    graph: af.Graph, reduction: str, known_rank: bool, axis: Any
) -> None:
    reduce = getattr(tf, f"reduce_{reduction}")
    x = tf.placeholder(tf.float64, [2, 3, 2] if known_rank else None)
    axes = tf.placeholder(tf.int32)
    value = np.arange(12.0).reshape(2, 3, 2) - 4  # with a zero
    (dynamic,) = tf.gradients(reduce(x, axes), x)
    known = tf.placeholder(tf.float64, [2, 3, 2])
    (static,) = tf.gradients(reduce(known, axis), known)
    found, wanted = run([dynamic, static], {x: value, known: value, axes: axis})
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


# ---- words of errors that programs look for


def raised(error: type[Exception], fetches: Any, feeds: Any = None, initialize: bool = True) -> str:
    with tf.Session() as session:
        if initialize:
            session.run(tf.global_variables_initializer())
        with pytest.raises(error) as caught:
            session.run(fetches, feeds)
    return str(caught.value)


def test_errors_of_runs_have_tensorflows_words(graph: af.Graph) -> None:
    x, text = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.string)
    v = tf.Variable(1.0, name="v")
    invalid = errors.InvalidArgumentError
    for fetch in (v, v + 1.0, v.assign_add(1.0), tf.scatter_add(tf.Variable([1.0], name="v"), [0], [1.0])):
        assert "Attempting to use uninitialized value v" in raised(errors.FailedPreconditionError, fetch, None, False)
    assert "You must feed a value for placeholder" in raised(invalid, x)
    wrong = raised(errors.FeedError, x, {x: [1.0, 2.0]})
    assert f"Cannot feed value of shape (2,) for Tensor {x.name}, which has shape (?, 2)" in wrong
    assert "Reached limit of 0" in raised(errors.OutOfRangeError, tf.Variable(0).count_up_to(0))
    for value, words in (
        ([[np.nan, 1.0]], "m : Tensor had NaN values"),
        ([[np.inf, 1.0]], "m : Tensor had Inf values"),
        ([[np.inf, np.nan]], "m : Tensor had Inf and NaN values"),
    ):
        assert words in raised(invalid, tf.check_numerics(x, "m"), {x: value})
    assert "is not a valid int32: " in raised(invalid, tf.decode_csv(text, [[1]]), {text: ["a"]})
    assert "could not correctly convert string: a" in raised(invalid, tf.string_to_number(text), {text: "a"})
    assert "Input to reshape is a tensor with 2 values, but the requested shape has 3" in raised(
        invalid, tf.reshape(x, [3]), {x: [[1.0, 2.0]]}
    )
    assert "requires a multiple of 3" in raised(invalid, tf.reshape(x, [-1, 3]), {x: [[1.0, 2.0]]})
    assert "assertion failed" in raised(invalid, tf.Assert(tf.equal(text, "b"), [text]), {text: "a"})
    ids = tf.placeholder(tf.int32, [2])
    assert "segment ids are not increasing" in raised(invalid, tf.segment_sum([1.0, 2.0], ids), {ids: [1, 0]})
    assert "segment_ids[1] = 5 is out of range [0, 2)" in raised(
        invalid, tf.unsorted_segment_sum([1.0, 2.0], ids, 2), {ids: [1, 5]}
    )
    assert "pos 5 out of range for string" in raised(invalid, tf.substr(text, 5, 1), {text: "a"})
    assert "length 3 that is not a multiple of 4" in raised(invalid, tf.decode_raw(text, tf.int32), {text: "abc"})
    one = tf.placeholder(tf.int32)
    for options, words in (
        ({"scientific": True, "shortest": True}, "Cannot select both scientific and shortest notation"),
        ({"precision": 2}, "not supported for datatype int32"),
        ({"fill": "ab"}, "Fill string must be one or fewer characters"),
    ):
        assert words in raised(invalid, tf.as_string(one, **options), {one: 1})
    with pytest.raises(TypeError, match="Cast int32 to string is not supported"):
        tf.cast(tf.constant(1), tf.string)


def test_fetched_arrays_may_be_written_and_nothing_else_sees_it(graph: af.Graph) -> None:
    v = tf.Variable([1.0, 2.0])
    fed = np.array([5.0, 6.0], np.float32)
    x = tf.placeholder(tf.float32, [2])
    with tf.Session() as session:
        session.run(v.initializer)
        values = [*session.run([v, tf.constant([1.0, 2.0]), {"sum": v + 1.0}["sum"]]), session.make_callable(v)()]
        handle = session.partial_run_setup([v], [])
        values += [*session.partial_run(handle, [v]), session.run(x, {x: fed})]
        for value in values:
            value[:] = -1.0
        assert session.run(v).tolist() == [1.0, 2.0]
    assert fed.tolist() == [5.0, 6.0]
    with af.blocking.Session(graph=graph) as plain, pytest.raises(ValueError, match="read-only"):
        plain.run(tf.constant([1.0, 2.0]))[:] = 0.0


def test_sizes_and_labels_of_either_width(graph: af.Graph) -> None:
    for kind in (tf.int32, tf.int64):
        assert run(tf.nn.top_k([1.0, 3.0, 2.0], tf.constant(2, kind)))[0].tolist() == [3.0, 2.0]
        labels = tf.constant([1], kind)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=[[1.0, 1.0]])
        np.testing.assert_allclose(run(loss), [np.log(2)], rtol=1e-6)
    listed = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1], logits=[[1.0, 1.0]])
    np.testing.assert_allclose(run(listed), [np.log(2)], rtol=1e-6)


# ---- methods of variables and graphs


def test_variables_take_the_arguments_and_have_the_methods_of_version_1_15(graph: af.Graph) -> None:
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], use_resource=True, shape=[2, 2])
    assert run(v.sparse_read([1])).tolist() == [[3.0, 4.0]]
    assert run(v.gather_nd([[0, 1], [1, 0]])).tolist() == [2.0, 3.0]
    with pytest.raises(ValueError, match="expected_shape is"):
        tf.Variable([1.0], shape=[2])
    loose = tf.Variable([1.0], validate_shape=False)
    loose.set_shape([None])
    assert loose.shape.ndims == loose.value().shape.ndims == 1


def test_collections_of_a_graph(graph: af.Graph) -> None:
    graph.add_to_collections(["a", "b", "a"], 1)
    graph.add_to_collections("c", 2)
    assert [graph.get_collection(name) for name in "abc"] == [[1], [1], [2]]
    graph.clear_collection("b")
    assert graph.get_all_collection_keys() == ["a", "c"]


@pytest.mark.parametrize("name", ["GradientDescent", "Momentum", "Adam", "Adagrad", "Adadelta", "RMSProp", "Ftrl"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_optimizers_change_variables_of_16_bits(graph: af.Graph, name: str, dtype: str) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    arguments = [0.5, 0.9] if name == "Momentum" else [0.5]
    v = tf.Variable(tf.cast([1.0, 2.0], dtype))
    optimizer = getattr(tf.train, f"{name}Optimizer")(*arguments)
    step = optimizer.minimize(v * v + tf.gather(v, [0]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        after = session.run(tf.cast(v, tf.float32))
    assert v.dtype.name == dtype and np.isfinite(after).all()
    slots = {s for s in optimizer.get_slot_names()}
    assert all(optimizer.get_slot(v, slot).dtype.base_dtype == v.dtype for slot in slots)


async def test_a_dequeue_that_a_closing_session_ends_says_that_it_was_cancelled(graph: af.Graph) -> None:
    taken = tf.FIFOQueue(1, tf.float32, name="q").dequeue()
    async with anyio.create_task_group() as group:
        session = af.Session(graph=graph)

        async def take() -> None:
            with pytest.raises(errors.CancelledError, match="operation was cancelled"):
                await session.run(taken)

        group.start_soon(take)
        while "q_Dequeue" not in session.pending():
            await anyio.lowlevel.checkpoint()
        await session.close()


def test_lists_are_lists() -> None:
    with tf.Graph().as_default():
        x = tf.constant([1.0])
        with tf.control_dependencies([x]):
            y = tf.constant(2.0)
    assert x.op.control_inputs == [] and y.op.control_inputs == [x.op]
    assert x.shape.dims == [1] and y.shape.dims == []


@pytest.mark.parametrize(
    "name", ["random_normal", "truncated_normal", "uniform_unit_scaling", "variance_scaling", "orthogonal"]
)
def test_initializers_that_draw_fractions_refuse_other_types(name: str) -> None:
    for dtype in (tf.string, tf.int32, tf.bool):
        with pytest.raises(ValueError, match="Expected floating point type"):
            getattr(tf, f"{name}_initializer")(dtype=dtype)


def test_shuffling_queues_of_one_name_have_the_seeds_of_the_graph() -> None:
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        first, second = (
            tf.RandomShuffleQueue(10, 0, tf.int32, shapes=tf.TensorShape([2]), shared_name="q") for _ in range(2)
        )
        put, size = first.enqueue([[1, 2]]), second.size()
        with tf.Session() as session:
            session.run(put)
            assert session.run(size) == 1


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        (1, "integral real complex"),
        (np.int8(1), "integral real complex"),
        (1.5, "real complex"),
        (np.float16(1), "real complex"),
        (1j, "complex"),
        ("a", "bytes_or_text"),
        (b"a", "bytes_or_text"),
    ],
)
def test_types_of_values(value: Any, kinds: str) -> None:
    for kind in ("integral", "real", "complex", "bytes_or_text"):
        assert isinstance(value, getattr(tf.compat, f"{kind}_types")) == (kind in kinds.split())


@pytest.mark.parametrize("sizes", [None, [], [2, 3], [None, 3]])
def test_a_shape_becomes_a_message_and_comes_back(sizes: list[int | None] | None) -> None:
    message = tf.TensorShape(sizes).as_proto()
    assert message.unknown_rank == (sizes is None)
    assert [dim.size for dim in message.dim] == [-1 if size is None else size for size in sizes or ()]
    assert repr(tf.TensorShape(message)) == repr(tf.TensorShape(sizes))
