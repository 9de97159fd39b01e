"""Templates: functions whose calls share their variables; and TensorFlow's deprecated ways to scopes and slices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[af.Graph]:
    made = af.Graph()
    with made.as_default():
        yield made


def scaled(x: Any, by: float = 2.0) -> Any:
    return x * af.get_variable("w", [], initializer=af.constant_initializer(by))


def names(variables: Any) -> list[str]:
    return [variable.name for variable in variables]


def evaluated(fetch: Any) -> Any:
    with af.blocking.Session() as session:
        session.run(af.global_variables_initializer())
        return session.run(fetch)


# ---- make_template


def test_calls_of_a_template_share_its_variables() -> None:
    layer = af.make_template("layer", scaled)
    assert layer.variable_scope is None and layer.variables == []
    results = [layer(1.0), layer(x=3.0)]
    assert names(af.global_variables()) == ["layer/w:0"]
    assert layer.variables == layer.trainable_variables == af.global_variables() and layer.local_variables == []
    assert layer.variable_scope_name == "layer/"
    assert evaluated(results) == [2.0, 6.0]


def test_templates_of_one_name_have_variables_of_their_own() -> None:
    one, two = af.make_template("layer", scaled, by=3.0), af.make_template("layer", scaled)
    results = [one(1.0), two(1.0), one(2.0)]
    assert names(one.variables) == ["layer/w:0"] and names(two.variables) == ["layer_1/w:0"]
    assert evaluated(results) == [3.0, 2.0, 6.0], "each keeps its keyword arguments"


def test_a_template_is_named_where_it_is_first_called_unless_at_once() -> None:
    with af.variable_scope("made"):
        late, early = af.make_template("late", scaled), af.make_template("early", scaled, create_scope_now_=True)
    assert early.variable_scope_name == "made/early/"
    with af.variable_scope("called"):
        late(1.0)
        early(1.0)
    early(1.0)
    assert names(af.global_variables()) == ["called/late/w:0", "made/early/w:0"]


def test_templates_inside_templates_and_unique_names() -> None:
    inner = af.make_template("inner", scaled)
    outer = af.make_template("outer", lambda x: inner(x) + scaled(x), unique_name_="only")
    outer(1.0)
    outer(2.0)
    assert sorted(names(af.global_variables())) == ["only/inner/w:0", "only/w:0"]
    with pytest.raises(ValueError, match="Variable only/w already exists"):
        af.make_template("other", scaled, unique_name_="only")(1.0)


def test_the_custom_getter_serves_each_call() -> None:
    asked: list[str] = []

    def getter(inner: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        asked.append(name)
        return inner(name, *args, **kwargs)

    layer = af.make_template("layer", scaled, custom_getter_=getter)
    layer(1.0)
    layer(1.0)
    assert asked == ["layer/w", "layer/w"]


def test_a_later_call_makes_no_trainable_variable() -> None:
    layer = af.make_template("layer", lambda x: x * af.Variable(1.0, name="fresh"))
    layer(1.0)
    with pytest.raises(ValueError, match=r"(?s)after the first time: layer_1/fresh:0.*get_variable") as raised:
        layer(1.0)
    assert "the template layer was made at" in str(raised.value) and __file__ in str(raised.value)


def test_an_error_inside_says_where_the_template_was_made() -> None:
    layer = af.make_template("layer", lambda: af.get_variable("w"))
    with pytest.raises(ValueError, match="did not get an initializer") as raised:
        layer()
    assert f"template layer, made at {__file__}:" in raised.value.__notes__[-1]
    with pytest.raises(ValueError, match="cannot be None"):
        af.make_template(None, scaled)  # type: ignore[arg-type]


# ---- deprecated names


def test_variable_op_scope_takes_its_tensors_first() -> None:
    x = af.constant(1.0)
    for reuse in (None, True):
        with tf.variable_op_scope([x], "scope", "default", reuse=reuse) as scope:
            assert scope.name == "scope"
            scaled(x)
    with tf.variable_op_scope([x], None, "default") as scope:
        assert scope.name == "default"
    assert names(af.global_variables()) == ["scope/w:0"]


def test_partitioned_variables_are_made_and_shared() -> None:
    rows = np.arange(10, dtype=np.float32).reshape(5, 2)
    slices = tf.create_partitioned_variables([5, 2], [2, 1], af.constant(rows), name="table")
    assert names(slices) == ["table/part_0:0", "table/part_1:0"] and slices == af.trainable_variables()
    again = tf.create_partitioned_variables([5, 2], [2, 1], af.constant(rows), name="table", reuse=True)
    assert again == slices
    unnamed = tf.create_partitioned_variables([2, 4], [1, 4], af.ones_initializer(), af.int32, trainable=False)
    assert unnamed[3].name == "PartitionedVariable/part_3:0" and unnamed[3].dtype is af.int32
    assert slices == af.trainable_variables()
    parts = evaluated([*slices, unnamed[3]])
    assert [part.tolist() for part in parts] == [rows[:3].tolist(), rows[3:].tolist(), [[1], [1]]]


@pytest.mark.parametrize(
    ("shape", "slicing", "message"),
    [([4], [2, 1], "must have the length"), ([], [], "rank at least 1"), ([4, 4], [2, 2], "along one dimension")],
)
def test_partitioned_variables_refuse_a_wrong_cut(shape: list[int], slicing: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.create_partitioned_variables(shape, slicing, af.zeros_initializer())


def test_a_partitioned_variables_initial_value_fits() -> None:
    with pytest.raises(ValueError, match=r"(s|S)hape"):
        tf.create_partitioned_variables([4], [2], af.constant([1.0, 2.0]))
    assert {part.dtype.base_dtype for part in tf.create_partitioned_variables([4], [2], af.constant([1, 2, 3, 4]))} == {
        af.int32
    }
