"""TensorFlow 1's functions take attributes and the name by position, after the inputs; so do ops and functions here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import actorflow as af
from actorflow.graph.ops.array.index import strided_slice_op
from actorflow.graph.ops.array.partition import dynamic_partition_op


@pytest.fixture(autouse=True)
def graph() -> Iterator[af.Graph]:
    with af.Graph().as_default() as made:
        yield made


# As a caller without type hints: a checker of types takes attributes by keyword only.
tf: Any = af


def test_the_name_comes_after_the_inputs() -> None:
    assert tf.add(1.0, 2.0, "sum").op.name == "sum"
    assert tf.nn.relu([1.0], "r").op.name == "r"
    assert tf.no_op("nothing").name == "nothing"
    assert tf.add(1.0, 2.0, None).op.name == "Add"


def test_attributes_come_in_their_order_before_the_name() -> None:
    parts: Any = dynamic_partition_op
    first, _ = parts([1.0, 2.0], [0, 1], 2, "halves")
    assert first.op.name == "halves" and first.op.get_attr("num_partitions") == 2
    inverse = tf.matrix_inverse([[1.0]], True, "back").op
    assert (inverse.get_attr("adjoint"), inverse.name) == (True, "back")
    part: Any = strided_slice_op
    assert part([1.0, 2.0], [0], [1], [1], 0, 1).op.get_attr("end_mask") == 1
    assert part([1.0, 2.0], [0], [1], [1], 0, shrink_axis_mask=1).op.get_attr("shrink_axis_mask") == 1


def test_functions_over_ops_take_theirs_too() -> None:
    assert tf.argmax([[1.0, 2.0]], 1, "best").op.name == "best"
    assert tf.one_hot([1], 3, 5.0, -5.0, -1, af.float32, "codes").op.name == "codes"
    assert tf.matmul([[1.0]], [[2.0]], True, False).op.get_attr("transpose_a") is True
    assert tf.concat([[1.0], [2.0]], 0, "joined").op.name == "joined"


def test_what_fits_no_place_is_refused() -> None:
    for arguments in ((1.0, 2.0, 3.0), (1.0, 2.0, "sum", "more"), (1.0, 2.0, af.constant(3.0))):
        with pytest.raises(TypeError, match=f"takes 2 inputs, but {len(arguments)} were given"):
            tf.add(*arguments)
    with pytest.raises(TypeError, match="takes 2 inputs, but 3 were given"):
        tf.add(1.0, 2.0, "sum", name="total")
    with pytest.raises(TypeError, match="'adjoint' is a bool"):
        tf.matrix_inverse([[1.0]], "back")
    with pytest.raises(TypeError, match="takes 1 inputs, but 2 were given"):
        tf.matrix_inverse([[1.0]], True, adjoint=False)
