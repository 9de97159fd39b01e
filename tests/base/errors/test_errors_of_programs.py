"""Errors that programs raise themselves, in TensorFlow's form (node_def, op, message) and in ours."""

from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace
from typing import Any

import pytest

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow import errors
from actorflow.engine.runtime.diagnostics.faults import located

CLASSES = [
    kind
    for name, kind in sorted(vars(errors).items())
    if isinstance(kind, type) and issubclass(kind, errors.OpError) and not name.startswith("_")
]
TENSORFLOWS = [kind for kind in CLASSES if kind.__module__ == "actorflow.errors" and kind is not errors.Overloaded]


@pytest.mark.parametrize("kind", TENSORFLOWS, ids=lambda kind: kind.__name__)
def test_each_class_is_made_as_in_tensorflow(kind: Any) -> None:
    for error in (
        kind(None, None, "the end"),
        kind(node_def=None, op=None, message="the end"),
        kind(None, op=None, message="the end"),
        kind(None, None, message="the end"),
        kind(None, None, b"the end"),
    ):
        assert (error.message, str(error), error.node_def, error.op) == ("the end", "the end", None, None)
        assert error.error_code == kind.code


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_each_class_is_made_of_a_message(kind: Any) -> None:
    for error in (kind("the end", node="n", op="Add"), kind(message="the end", node="n", op="Add")):
        assert (error.message, error.node, error.op) == ("the end", "n", "Add")
        assert str(error).splitlines() == ["the end", "  node n (Add)"]
        assert (error.node_def.name, error.node_def.op) == ("n", "Add")


@pytest.mark.parametrize("kind", TENSORFLOWS, ids=lambda kind: kind.__name__)
def test_an_operation_may_be_given(kind: Any, graph: af.Graph) -> None:
    op = af.constant(1.0, name="c").op
    error = kind(op.node_def, op, "the end")
    assert error.op is op and error.node_def == op.node_def and error.node == "c"
    assert "the end" in str(error) and "node c (Const)" in str(error) and "test_errors_of_programs" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.message, again.node) == (kind, "the end", "c")


@pytest.mark.parametrize("kind", [errors.OpError, errors.UnknownError])
def test_a_number_may_be_given(kind: Any) -> None:
    assert kind(None, None, "the end", tf.errors.ABORTED).error_code == 10
    assert kind(None, None, "the end", error_code=10).error_code == 10


@pytest.mark.parametrize("kind", TENSORFLOWS, ids=lambda kind: kind.__name__)
def test_what_a_program_catches_is_what_it_raised(kind: Any) -> None:
    class Mine(kind):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(None, None, "mine")

    with pytest.raises(kind, match="mine"):
        raise Mine
    assert str(copy.copy(kind(None, None, "the end"))) == "the end"


@pytest.mark.parametrize(
    ("args", "facts"),
    [
        ((), {}),
        ((None, None), {}),
        ((None, None, "a", 1, 2), {}),
        (("a",), {"nodes": "n"}),
        ((None, None, 3), {}),
        ((None, None, "a"), {"message": "b"}),
    ],
)
def test_what_is_neither_form_is_refused(args: Any, facts: Any) -> None:
    with pytest.raises(TypeError, match="error"):
        errors.OpError(*args, **facts)


def test_an_error_of_a_python_function_keeps_its_class(graph: af.Graph) -> None:
    def end() -> Any:
        raise tf.errors.OutOfRangeError(None, None, "no more rows")

    with tf.Session() as session, pytest.raises(tf.errors.OutOfRangeError, match="no more rows"):
        session.run(tf.py_func(end, [], tf.float32))


@pytest.mark.parametrize(
    ("op", "words"),
    [
        ("_Send", "it carries a result of sum"),
        ("_Recv", "it carries a result of sum"),
        ("Mul", "it computes the gradient of sum"),
    ],
)
def test_an_error_says_what_a_node_does_for_the_node_that_it_comes_from(op: str, words: str) -> None:
    node = SimpleNamespace(name="sum/1", op=op, inputs=(), where=None, origin="sum")
    plan_node: Any = SimpleNamespace(region=None, node=node)
    device: Any = SimpleNamespace(name="/job:localhost/replica:0/task:0/device:CPU:0")
    assert words in str(located(af.errors.UnavailableError("The connection broke."), plan_node, device))
