"""Shapes that do not fit are told in the same words, whether the graph or only the run knows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import errors
from actorflow.base.shapes import in_brackets
from actorflow.engine.runtime.diagnostics.misfit import given, misfit, translated
from actorflow.graph.node import Node, TensorId

Build = Callable[[Any, Any], Any]

CASES: dict[str, tuple[Build, tuple[int, ...], tuple[int, ...]]] = {
    "matmul": (lambda a, b: af.matmul(a, b), (5, 3), (4, 2)),
    "matmul_transposed": (lambda a, b: af.matmul(a, b, transpose_b=True), (5, 3), (2, 4)),
    "add": (lambda a, b: a + b, (5, 3), (4,)),
    "maximum": (lambda a, b: af.maximum(a, b), (2, 3), (3, 2)),
    "where": (lambda a, b: af.where(a > 0.0, a, b), (2, 3), (3, 2)),
    "bias_add": (lambda a, b: af.nn.bias_add(a, b), (5, 3), (4,)),
    "concat": (lambda a, b: af.concat([a, b], 0), (5, 3), (2, 4)),
    "stack": (lambda a, b: af.stack([a, b]), (5, 3), (2, 3)),
    "conv2d": (lambda a, b: af.nn.conv2d(a, b, [1, 1, 1, 1], "SAME"), (2, 8, 8, 3), (3, 3, 1, 8)),
    "tensordot": (lambda a, b: af.tensordot(a, b, 1), (5, 3), (4, 2)),
    "addn": (lambda a, b: af.add_n([a, b]), (5, 3), (2, 4)),
}
SAID_BY_KERNELS = {
    "where": "x and y must have one shape, and the condition the same one, or none, or as many elements as there are rows.",
    "addn": "AddN adds tensors of one shape.",
}
"""Kernels that look at their inputs before they compute."""
JARGON = ("gufunc", "core dimension", "operand", "broadcast together", "failed:")


def first_line(error: BaseException) -> str:
    return str(error).splitlines()[0]


@pytest.mark.parametrize("coalesce", [True, False], ids=["coalesced", "node_by_node"])
@pytest.mark.parametrize("name", [*CASES])
async def test_a_run_says_what_the_building_of_the_graph_says(name: str, coalesce: bool) -> None:
    build, left, right = CASES[name]
    with af.Graph().as_default(), pytest.raises(ValueError) as built:
        build(af.placeholder(af.float32, left), af.placeholder(af.float32, right))
    with af.Graph().as_default() as graph:
        a, b = af.placeholder(af.float32), af.placeholder(af.float32)
        y = build(a, b) * 2.0
        async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
            with pytest.raises(errors.InvalidArgumentError) as run:
                await session.run(y, {a: np.ones(left), b: np.ones(right)})
    text = str(run.value)
    assert first_line(run.value) == SAID_BY_KERNELS.get(name, first_line(built.value))
    assert not [word for word in JARGON if word in text], text
    assert str(left) in text and str(right) in text, "it shows the shapes that there were"
    assert run.value.where is not None and run.value.where.file == __file__


async def test_a_reduction_over_an_axis_that_is_not_there() -> None:
    with af.Graph().as_default() as graph:
        x, axis = af.placeholder(af.float32), af.placeholder(af.int32)
        y = af.reduce_sum(x, axis)
        async with af.Session(graph=graph) as session:
            with pytest.raises(errors.InvalidArgumentError) as caught:
                await session.run(y, {x: np.ones((2, 3)), axis: 2})
    assert "2" in first_line(caught.value) and "failed:" not in first_line(caught.value)


async def test_a_hot_loop_that_was_compiled_says_the_same() -> None:
    """The code of a region is replaced while it runs often; what does not fit is told as before."""
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32)
        y = af.tanh(x * 2.0 + 1.0) + af.ones([4])
        async with af.Session(graph=graph) as session:
            for _ in range(50):
                await session.run(y, {x: np.ones((3, 4))})
            with pytest.raises(errors.InvalidArgumentError) as caught:
                await session.run(y, {x: np.ones((3, 5))})
    assert "(3, 5)" in str(caught.value) and "(4,)" in str(caught.value)
    assert not [word for word in JARGON if word in str(caught.value)], str(caught.value)


async def test_a_kernel_of_the_program_keeps_its_own_words() -> None:
    with af.Graph().as_default() as graph:
        y = af.py_func(lambda: np.ones(3) + np.ones(4), [], af.float64)
        async with af.Session(graph=graph) as session:
            with pytest.raises(errors.InvalidArgumentError, match="could not be broadcast together"):
                await session.run(y)


def test_what_the_rules_allow_is_no_misfit() -> None:
    node = Node("y", "Add", (TensorId("a", 0), TensorId("b", 0)))
    assert misfit(node, [given(np.ones((2, 3), np.float32)), given(np.float32(1.0))]) is None
    assert misfit(node, [given(np.ones(3, np.float32))]) is None, "an input is not known any more"
    assert misfit(node, [given(object()), given(np.float32(1.0))]) is None, "nothing is known of one"


def test_terms_of_numpys_are_left_out() -> None:
    jargon = (
        "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (n?,k),(k,m?)->(n?,m?)"
    )
    assert translated("MatMul", jargon) == "The shapes of the inputs of MatMul don't fit each other."
    assert translated("MatMul", "division by zero") is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The shapes are (2, 3) and (?, 4).", "The shapes are [2,3] and [?,4]."),
        ("A vector (3,), a scalar of shape ().", "A vector [3], a scalar of shape []."),
        ("f(1, 2), x[0](3, 4) and close()", "f(1, 2), x[0](3, 4) and close()"),
        ("not in [0, 3), (requested 2, current size 1)", "not in [0, 3), (requested 2, current size 1)"),
        ("(1.5, 2) and (a, b)", "(1.5, 2) and (a, b)"),
    ],
)
def test_shapes_in_a_text_are_in_brackets(text: str, shown: str) -> None:
    assert in_brackets(text) == shown
