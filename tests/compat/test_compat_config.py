"""`ConfigProto`, `RunOptions` and `Dimension` of `actorflow.compat.v1`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorflow
import actorflow.compat.v1 as tf
from actorflow.compat.v1 import dimensions
from actorflow.compat.v1 import options as configs


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as made:
        yield made


@pytest.fixture(autouse=True)
def unwarned(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process in which nothing was warned of yet."""
    monkeypatch.setattr(configs, "_warned", set())


# ---- sessions


def test_device_count_makes_devices() -> None:
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as sess:
        assert len(sess.list_devices()) == 3
    with tf.InteractiveSession(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        assert len(sess.list_devices()) == 2


def test_arguments_of_the_session_go_before_the_config() -> None:
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3}), devices={"CPU": 1}) as sess:
        assert len(sess.list_devices()) == 1


def test_a_config_is_filled_in_place() -> None:
    config = tf.ConfigProto()
    config.device_count["CPU"] = 2
    config.operation_timeout_in_ms = 60_000
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    with tf.Session(config=config) as sess:
        assert len(sess.list_devices()) == 2
        assert sess.run(tf.constant(1) + 1) == 2
    with pytest.raises(AttributeError):
        config.device_cuont = {}  # type: ignore[attr-defined]
    assert tf.ConfigProto().device_count == {}


def test_level_0_runs_the_graph_as_it_is() -> None:
    options = tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0))
    assert configs.session_options(tf.ConfigProto(graph_options=options)) == (
        {"options": actorflow.PlanOptions(optimize=False)},
        None,
    )
    assert configs.session_options(tf.ConfigProto()) == ({}, None)
    options.optimizer_options.opt_level = 7
    with pytest.raises(ValueError, match="L0 or L1"):
        tf.Session(config=tf.ConfigProto(graph_options=options))


def test_soft_placement_lets_constraints_go_that_nothing_meets() -> None:
    with tf.Graph().as_default() as graph, tf.device("/gpu:7"):
        x = tf.constant(1.0) + tf.placeholder_with_default(1.0, [])
    with tf.Session(graph=graph, config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        assert sess.run(x) == 2.0
    with tf.Session(graph=graph) as sess, pytest.raises(tf.errors.InvalidArgumentError):
        sess.run(x)


def test_what_has_no_meaning_is_warned_of_once() -> None:
    config = tf.ConfigProto(
        log_device_placement=True,
        intra_op_parallelism_threads=4,
        gpu_options=tf.GPUOptions(allow_growth=True),
    )
    with pytest.warns(UserWarning) as caught:
        tf.Session(config=config).close()
    texts = sorted(str(w.message) for w in caught)
    assert texts == [
        "ConfigProto(gpu_options.allow_growth=True) has no meaning in actorflow and is ignored.",
        "ConfigProto(intra_op_parallelism_threads=4) has no meaning in actorflow and is ignored.",
        "ConfigProto(log_device_placement=True) has no meaning in actorflow and is ignored.",
    ]
    assert {w.filename for w in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tf.Session(config=config).close()


def test_a_run_has_the_time_of_its_options() -> None:
    waiting = tf.placeholder(tf.float32, [])
    with tf.Session() as sess:
        handle = tf.RunOptions(timeout_in_ms=60_000)
        assert sess.run(waiting + 1.0, {waiting: 1.0}, options=handle) == 2.0
    assert configs.run_timeout(tf.RunOptions(timeout_in_ms=250), 3.0) == 0.25
    assert configs.run_timeout(tf.RunOptions(), 3.0) == 3.0
    assert configs.run_timeout(None, None) is None
    with pytest.raises(ValueError, match="milliseconds"):
        configs.run_timeout(tf.RunOptions(timeout_in_ms=-1), None)
    with pytest.warns(UserWarning, match=re.escape("RunOptions(inter_op_thread_pool=3) has no meaning")):
        configs.run_timeout(tf.RunOptions(inter_op_thread_pool=3), None)


def test_the_time_of_the_config_bounds_runs_and_callables() -> None:
    big = tf.placeholder(tf.float32, [None, None])
    product = big
    for _ in range(200):
        product = tf.matmul(product, big)
    values = np.eye(400, dtype=np.float32)
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=1)) as sess:
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(product, {big: values})
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.make_callable(product, [big])(values)
        assert sess.run(big, {big: values}, options=tf.RunOptions(timeout_in_ms=60_000)).shape == (400, 400)


# ---- sizes


def test_sizes_are_dimensions() -> None:
    x = tf.placeholder(tf.float32, [None, 3, 4])
    assert x.get_shape().as_list() == [None, 3, 4]
    assert (x.shape.ndims, x.shape[1].value, x.shape[0].value) == (3, 3, None)
    assert [size.value for size in x.shape] == [None, 3, 4] == [size.value for size in x.shape.dims]
    assert x.shape[1:].as_list() == [3, 4]
    assert x.shape == [None, 3, 4]
    assert isinstance(x.shape[0], tf.Dimension) and isinstance(x.shape[1], tf.Dimension)
    assert tf.placeholder(tf.float32).shape.dims is None
    assert tf.placeholder(tf.float32).shape[2].value is None


def test_arithmetic_of_sizes() -> None:
    x = tf.placeholder(tf.float32, [None, 3, 4])
    assert (x.shape[1] * x.shape[2]).value == 12
    assert (2 * x.shape[1] + 1).value == 7
    assert (x.shape[2] // 3).value == 1 and (10 - x.shape[2]).value == 6 and (x.shape[2] % 3).value == 1
    assert (x.shape[0] * 2).value is None and (2 + x.shape[0]).value is None and (x.shape[1] * None).value is None
    assert x.shape[1] / 2 == 1.5 and x.shape[1] * 0.5 == 1.5
    assert int(x.shape[1]) == 3 and x.shape[1] == 3 and x.shape[1] < 4 and hash(x.shape[1]) == hash(3)
    assert (str(x.shape[0]), str(x.shape[1]), repr(x.shape[1])) == ("?", "3", "Dimension(3)")


def test_an_unknown_size_compares_to_nothing() -> None:
    unknown: Any = tf.Dimension(None)
    assert (unknown == 3) is None and (unknown < 3) is None and (unknown == unknown) is None
    assert not unknown
    assert unknown.is_compatible_with(3) and not tf.Dimension(2).is_compatible_with(3)
    assert unknown.merge_with(3).value == 3 and tf.Dimension(3).merge_with(None).value == 3
    with pytest.raises(ValueError, match="not compatible"):
        tf.Dimension(2).merge_with(3)
    with pytest.raises(TypeError, match="not known"):
        int(unknown)
    with pytest.raises(ValueError, match="0 or more"):
        tf.Dimension(-1)


def test_sizes_make_shapes_and_tensors() -> None:
    x = tf.placeholder(tf.float32, [None, 3, 4])
    assert tf.placeholder(tf.float32, [x.shape[0], x.shape[1]]).shape.as_list() == [None, 3]
    assert tf.zeros([x.shape[1], 2]).shape.as_list() == [3, 2]
    flat = tf.reshape(x, [-1, x.shape[1] * x.shape[2]])
    assert flat.get_shape().as_list() == [None, 12]
    assert tf.TensorShape([tf.Dimension(2), None]).as_list() == [2, None]
    assert tf.dimension_value(x.shape[1]) == 3 and tf.dimension_value(None) is None
    assert tf.dimension_at_index(x.shape, 2).value == 4
    assert tf.dimension_at_index(tf.TensorShape(None), 2).value is None


def test_sizes_are_plain_for_modules_that_do_not_import_the_compatible_names() -> None:
    names: dict[str, Any] = {"__name__": "elsewhere", "x": actorflow.placeholder(actorflow.float32, [None, 3])}
    exec("import actorflow as af\nsizes = list(x.shape), list(af.TensorShape([None, 3])), x.shape.dims", names)
    assert names["sizes"] == ([None, 3], [None, 3], [None, 3]) and type(names["sizes"][0][1]) is int
    exec("import actorflow.compat.v1 as tf\nsizes = list(x.shape) + list((x * 2).get_shape())", names)
    assert [size.value for size in names["sizes"]] == [None, 3, None, 3]


def test_the_switches_hold_for_the_whole_process() -> None:
    x = actorflow.placeholder(actorflow.float32, [None, 3])
    plain: dict[str, Any] = {"__name__": "elsewhere", "x": x}
    try:
        tf.enable_v2_tensorshape()
        assert x.shape[0] is None and type(x.shape[1]) is int and list(x.shape) == [None, 3] == list(x.shape.dims)
        tf.disable_v2_tensorshape()
        exec("size = x.shape[1].value", plain)
    finally:
        dimensions.by_caller()
    assert plain["size"] == 3
    assert x.shape[0] is not None


@pytest.mark.parametrize(
    ("other", "equal"),
    [
        (2.0, [False, True]),
        (np.array([1.0, 3.0]), [True, False]),
        ([1.0, 2.0], [True, True]),
        ([1.0, 2.0, 3.0], False),
        ("text", False),
        (None, False),
        (object(), False),
    ],
)
@pytest.mark.parametrize("make", [actorflow.constant, actorflow.Variable])
def test_tensors_compare_values_where_a_program_switches_it(make: Any, other: Any, equal: Any) -> None:
    with actorflow.eager():
        x = make([1.0, 2.0])
        assert (x == other) is False and (x != other) is True and x == x
        tf.enable_tensor_equality()
        try:
            same, apart = x == other, x != other
            assert {x: 1}[x] == 1 and hash(x) == object.__hash__(x)
        finally:
            tf.disable_tensor_equality()
        assert np.array_equal(np.asarray(same), equal) and np.array_equal(np.asarray(apart), np.logical_not(equal))
        assert (x == other) is False


def test_tensors_of_a_graph_compare_values_where_a_program_switches_it() -> None:
    x = actorflow.placeholder(actorflow.float32, [2])
    tf.enable_tensor_equality()
    try:
        assert (x == 1.0).op.type == "Equal" and (x != x).op.type == "NotEqual"
    finally:
        tf.disable_tensor_equality()


def test_shapes_equal_lists_tuples_and_sizes() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    assert x.shape == [None, 3] == x.get_shape() and x.shape == (None, 3) and x.shape != [2, 3]
    assert tf.TensorShape([2, 3]) == [tf.Dimension(2), 3] and tf.TensorShape([4]) == 4 and tf.TensorShape([4]) != 5
    assert tf.TensorShape(None) != [1] and tf.TensorShape([1]) != ["a"] and tf.TensorShape([1]) != "a"
    assert tf.TensorShape([2, 3]).as_list() == [2, 3] and tf.TensorShape([]) == ()


def test_shapes_are_joined_with_plus_as_tuples_are() -> None:
    x = actorflow.placeholder(actorflow.float32, [None, 3])
    assert x.shape + (5,) == [None, 3, 5] == x.shape[:1] + [3, 5] and (5,) + x.shape == [5, None, 3]
    assert x.shape + tf.TensorShape([2]) == [None, 3, 2] and (tf.TensorShape(None) + [2]).ndims is None


def test_checks_of_ranks() -> None:
    shape = tf.TensorShape([None, 3])
    assert shape.with_rank_at_least(2) is shape and shape.with_rank_at_most(2) is shape
    shape.assert_same_rank([1, 2])
    for check in (
        lambda: shape.with_rank_at_least(3),
        lambda: shape.with_rank_at_most(1),
        lambda: shape.assert_same_rank([1]),
        lambda: shape.assert_is_fully_defined(),
    ):
        with pytest.raises(ValueError, match="Shape"):
            check()
    tf.TensorShape([1]).assert_is_fully_defined()
