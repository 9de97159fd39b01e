"""`tensorflow.compat.v2`, and the inner modules that libraries for both versions import: arguments, values, refusals."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compat.second_programs import of_networks, of_other_namespaces

import actorflow.compat.v1 as tf
from actorflow.compat.door import finder, linear, open_door, refused, second, standins
from actorflow.compat.v1 import behavior

V2 = second.Second()
ROWS = np.float32([[1, 5], [3, 2]])


@pytest.fixture(autouse=True)
def door(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An open door, which is shut again behind each test."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "meta_path", [each for each in sys.meta_path if not isinstance(each, finder.Finder)])
    monkeypatch.setattr(behavior, "_assumed", False)
    open_door()
    yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == "tensorflow":
            del sys.modules[name]


def run(build: Callable[[], Any], feeds: Any = None) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build(), feeds)


# ---- arguments


@pytest.mark.parametrize("path", sorted(second.ARGUMENTS))
def test_a_function_has_the_arguments_of_version_2(path: str) -> None:
    function: Any = V2
    for name in path.split("."):
        function = getattr(function, name)
    names = [word.partition("=")[0] for word in second.ARGUMENTS[path]]
    assert list(inspect.signature(function).parameters) == names
    assert standins.full_arguments(function).args == names
    with pytest.raises(TypeError, match="version 2"):
        function(*range(len(names) + 1))
    with pytest.raises(TypeError, match="no argument 'keep_dims'"):
        function(keep_dims=True)


@pytest.mark.parametrize(
    ("build", "value"),
    [
        (lambda: V2.shape(ROWS, tf.int64), [2, 2]),
        (lambda: V2.size(ROWS, tf.int64), 4),
        (lambda: V2.gather(ROWS, [1, 0], None, 1), [[5, 1], [2, 3]]),
        (lambda: V2.gather_nd(ROWS, [[1], [0]], 1), [5, 3]),
        (lambda: V2.transpose(np.complex64([[1j]]), None, True), [[-1j]]),
        (lambda: V2.where([True, False], 1.0, [[2.0, 3.0]]), [[1, 3]]),
        (lambda: V2.where([False, True]), [[1]]),
        (lambda: V2.zeros_like(input=ROWS), [[0, 0], [0, 0]]),
        (lambda: V2.pad(ROWS, [[0, 0], [1, 0]], "CONSTANT", 7.0), [[7, 1, 5], [7, 3, 2]]),
        (lambda: V2.boolean_mask(ROWS, [True, False], 1), [[1], [3]]),
        (lambda: V2.argmax(ROWS, 1, tf.int32), [1, 0]),
        (lambda: V2.convert_to_tensor([1, 2], None, tf.float64), [1.0, 2.0]),
        (lambda: V2.cond(tf.constant(True), lambda: [1], lambda: [2], "name"), [1]),
        (lambda: V2.while_loop(lambda i: i < 9, lambda i: [i + 1], [0], None, 10, True, False, 3), [3]),
        (lambda: V2.math.reduce_sum(ROWS, 1, True), [[6], [5]]),
        (lambda: V2.math.in_top_k([1, 1], ROWS, 1), [True, False]),
        (lambda: V2.math.confusion_matrix([1], [1], 2, [5], tf.int64), [[0, 0], [0, 5]]),
        (lambda: V2.nn.moments(ROWS, [0], None, True)[0], [[2, 3.5]]),
        (lambda: V2.nn.dropout(ROWS, 0.0), ROWS),
        (lambda: tf.shape(V2.random.poisson([3, 2], 4.0)), [3, 2]),
        (lambda: V2.linalg.inv([[2.0]]), [[0.5]]),
    ],
)
def test_values_of_functions_with_the_arguments_of_version_2(build: Callable[[], Any], value: Any) -> None:
    assert np.array_equal(run(build), value)


ANSWERS = json.loads(Path(__file__).with_name("second_tf115.json").read_text())
"""TensorFlow 1.15's: the arguments of all functions of version 2 that version 1 has otherwise, and values of programs."""


@pytest.mark.parametrize("path", sorted(ANSWERS["arguments"]))
def test_a_function_has_tensorflows_arguments_or_is_refused(path: str) -> None:
    function: Any = V2
    for name in path.split("."):
        function = getattr(function, name, None)
    if function is not None and not isinstance(function, refused.RefusedModule):
        names = ANSWERS["arguments"][path]
        assert list(inspect.signature(function).parameters)[: len(names)] == names


@pytest.mark.parametrize("index", range(len(ANSWERS["values"])))
def test_values_are_those_of_tensorflows_version_2(index: int) -> None:
    value = np.asarray(run([*of_networks(V2), *of_other_namespaces(V2)][index]))
    answer = ANSWERS["values"][index]
    if value.dtype.kind in "OS":
        assert np.array_equal(value, np.char.encode(np.asarray(answer), "utf-8").astype(object))
    else:
        assert value.shape == np.shape(answer)
        assert np.allclose(value, answer, 1e-4, 1e-5)


def test_each_program_has_an_answer() -> None:
    assert len([*of_networks(V2), *of_other_namespaces(V2)]) == len(ANSWERS["values"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: V2.image.resize([[[1.0]]], [2, 2], "lanczos3"), "no method 'lanczos3'"),
        (lambda: V2.image.resize([[[1.0]]], [2, 2], antialias=True), "antialias=True"),
        (lambda: V2.image.extract_glimpse([[[[1.0]]]], [1, 1], [[0.0, 0.0]], noise="zero"), "no other noise"),
        (lambda: V2.io.decode_raw("a", tf.uint8, fixed_length=2), "no other fixed_length"),
        (lambda: V2.nn.fractional_max_pool(np.ones((1, 4, 4, 1)), [1, 2, 2, 1], seed=3), "no other seed"),
        (lambda: V2.sparse.reduce_sum(None, 0, output_is_sparse=True), "no other output_is_sparse"),
    ],
)
def test_a_value_that_version_1_has_not_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(NotImplementedError, match=message):
        call()


def test_a_name_of_version_1_is_the_same_thing() -> None:
    import tensorflow.compat.v2 as tf2  # type: ignore[import-not-found]

    assert tf2.matmul is tf.matmul and tf2.Variable is tf.Variable and tf2.float32 is tf.float32
    with pytest.raises(AttributeError, match="no_such"):
        _ = tf2.no_such
    with pytest.raises(ImportError, match="not a module"):
        import tensorflow.compat.v2.matmul  # type: ignore[import-not-found]  # noqa: F401


# ---- refusals


@pytest.mark.parametrize("path", sorted(second.CHANGED))
def test_a_name_that_means_something_else_is_refused_when_it_is_used(path: str) -> None:
    thing: Any = V2
    for name in path.split("."):
        thing = getattr(thing, name)
    with pytest.raises(NotImplementedError, match=second.CHANGED[path].partition(":")[0]):
        thing(1)


def test_a_class_derived_of_a_refused_name_is_refused_when_its_object_is_made() -> None:
    base: Any = refused.RefusedModule("tensorflow.keras", "it is elsewhere.").layers.Layer

    class Layer(base):  # type: ignore[misc]
        def call(self) -> None: ...

    with pytest.raises(NotImplementedError, match=r"tensorflow\.keras\.layers\.Layer is not offered .* elsewhere"):
        Layer(3)


# ---- inner modules


def test_objects_of_a_registered_class_are_fetched_and_fed() -> None:
    from tensorflow.python.client import session as session_lib  # type: ignore[import-not-found]

    class Halves:
        def __init__(self, first: Any, second: Any) -> None:
            self.parts = [first, second]

    register = session_lib.register_session_run_conversion_functions
    register(Halves, lambda halves: (halves.parts, tuple), lambda halves, value: list(zip(halves.parts, value)))
    with pytest.raises(ValueError, match="already been registered"):
        register(Halves, lambda halves: (halves.parts, tuple))
    with tf.Graph().as_default(), tf.Session() as session:
        halves = Halves(tf.constant(1), tf.constant(2))
        assert session.run({"halves": halves}) == {"halves": (1, 2)}
        assert session.run(halves.parts[0] + halves.parts[1], {halves: (5, 6)}) == 11


def test_a_module_is_loaded_when_its_first_name_is_asked_for() -> None:
    names: dict[str, Any] = {}
    names["text"] = standins.LazyLoader("text", names, "string")
    assert names["text"].digits == "0123456789" and names["text"] is sys.modules["string"]


def test_things_of_several_tensors_are_composite() -> None:
    with tf.Graph().as_default():
        sparse = tf.SparseTensor([[0]], [1], [2])
        assert isinstance(sparse, standins.CompositeTensor)
        assert not isinstance(sparse.values, standins.CompositeTensor)


LEFT = np.float32([[[2, 0], [1, 4]]])
RIGHT = np.float32([[[2], [4]], [[4], [8]]])


@pytest.mark.parametrize(
    ("build", "value"),
    [
        (lambda: linear.matrix_solve_with_broadcast(LEFT, RIGHT), np.linalg.solve(LEFT, RIGHT)),
        (lambda: linear.matrix_triangular_solve_with_broadcast(LEFT, RIGHT), np.linalg.solve(LEFT, RIGHT)),
        (
            lambda: linear.cholesky_solve_with_broadcast(LEFT, RIGHT),
            np.linalg.solve(LEFT @ LEFT.transpose(0, 2, 1), RIGHT),
        ),
        (lambda: tf.shape(linear.broadcast_matrix_batch_dims([LEFT, RIGHT])[0]), [2, 2, 2]),
        (lambda: linear.shape_tensor([]), np.zeros(0)),
        (lambda: linear.assert_no_entries_with_modulus_zero(np.complex64([1j])), None),
        (lambda: linear.assert_zero_imag_part(np.complex64([1])), None),
        (lambda: linear.convert_nonref_to_tensor([1, 2], dtype_hint=tf.float32), [1, 2]),
    ],
)
def test_values_of_functions_of_linear_operators(build: Callable[[], Any], value: Any) -> None:
    given = run(build)
    assert given is value or np.allclose(given, value)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: linear.assert_no_entries_with_modulus_zero([1.0, 0.0]), tf.errors.InvalidArgumentError, "assert"),
        (lambda: linear.assert_zero_imag_part(np.complex64([1j])), tf.errors.InvalidArgumentError, "assert"),
        (lambda: linear.assert_is_batch_matrix(tf.constant([1])), ValueError, "two dimensions"),
        (lambda: linear.assert_not_ref_type(tf.Variable(1), "x"), TypeError, "cannot be reference type"),
        (lambda: linear.convert_nonref_to_tensor(tf.Variable(1), tf.float32), TypeError, '"float32" but is "int32"'),
    ],
)
def test_refusals_of_functions_of_linear_operators(
    build: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        run(build)
