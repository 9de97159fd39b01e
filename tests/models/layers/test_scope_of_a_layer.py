"""Arguments that libraries of TensorFlow 1 give to layers: `_scope` and `_reuse`; and notes on tensors, and getters."""

from __future__ import annotations

from typing import Any

import pytest

import actorflow.compat.v1 as tf

LAYERS: list[tuple[str, dict[str, Any], list[int]]] = [
    ("Dense", {"units": 2}, [2, 3]),
    ("Conv1D", {"filters": 2, "kernel_size": 2}, [1, 4, 3]),
    ("Conv2D", {"filters": 2, "kernel_size": 2}, [1, 4, 4, 3]),
    ("Conv3D", {"filters": 2, "kernel_size": 2}, [1, 4, 4, 4, 3]),
    ("Conv2DTranspose", {"filters": 2, "kernel_size": 2}, [1, 4, 4, 3]),
    ("Conv3DTranspose", {"filters": 2, "kernel_size": 2}, [1, 4, 4, 4, 3]),
    ("SeparableConv1D", {"filters": 2, "kernel_size": 2}, [1, 4, 3]),
    ("SeparableConv2D", {"filters": 2, "kernel_size": 2}, [1, 4, 4, 3]),
    ("BatchNormalization", {}, [2, 3]),
]
OTHERS: list[tuple[str, dict[str, Any], list[int]]] = [
    ("MaxPooling2D", {"pool_size": 2, "strides": 2}, [1, 4, 4, 3]),
    ("AveragePooling3D", {"pool_size": 2, "strides": 2}, [1, 4, 4, 4, 3]),
    ("Dropout", {}, [2, 3]),
    ("Flatten", {}, [2, 3]),
]


@pytest.mark.parametrize(("kind", "arguments", "shape"), LAYERS, ids=[row[0] for row in LAYERS])
def test_a_layer_makes_and_reuses_its_variables_in_the_scope_that_is_given(
    kind: str, arguments: Any, shape: Any
) -> None:
    with tf.Graph().as_default():
        with tf.variable_scope("outer/own") as scope:
            layer = getattr(tf.layers, kind)(**arguments, name=scope.name, _scope=scope, _reuse=False)
            layer.apply(tf.ones(shape))
        with tf.variable_scope("outer/own", reuse=True) as scope:
            again = getattr(tf.layers, kind)(**arguments, name=scope.name, _scope=scope, _reuse=True)
            again.apply(tf.ones(shape))
        assert layer.variables and all(v.name.startswith("outer/own/") for v in layer.variables)
        assert [v.name for v in again.variables] == [v.name for v in layer.variables]
        assert len(tf.global_variables()) == len(layer.variables)


@pytest.mark.parametrize(("kind", "arguments", "shape"), OTHERS, ids=[row[0] for row in OTHERS])
def test_a_layer_without_variables_names_its_nodes_in_the_scope_that_is_given(
    kind: str, arguments: Any, shape: Any
) -> None:
    with tf.Graph().as_default(), tf.variable_scope("own") as scope:
        output = getattr(tf.layers, kind)(**arguments, _scope=scope, trainable=False).apply(tf.ones(shape))
        assert output.op.name.startswith("own/")


def test_a_layer_of_a_program_passes_reuse_to_its_base() -> None:
    class Scale(tf.layers.Layer):  # type: ignore[misc]
        def __init__(self, reuse: bool | None = None) -> None:
            super().__init__(name="scale", _reuse=reuse)

        def build(self, input_shape: Any) -> None:
            self.factor = self.add_variable("factor", [])
            super().build(input_shape)

        def call(self, inputs: Any) -> Any:
            return inputs * self.factor

    with tf.Graph().as_default():
        Scale()(tf.ones([2]))
        Scale(reuse=True)(tf.ones([2]))
        assert [v.op.name for v in tf.global_variables()] == ["scale/factor"]


def test_a_custom_getter_may_pass_all_arguments_of_tensorflow() -> None:
    def getter(inner: Any, *args: Any, **named: Any) -> Any:
        return inner(*args, **{**named, "use_resource": True, "synchronization": None, "aggregation": None})

    with tf.Graph().as_default(), tf.variable_scope("", custom_getter=getter):
        assert tf.get_variable("v", [2]).shape.as_list() == [2]


def test_programs_note_things_on_tensors_and_operations() -> None:
    with tf.Graph().as_default():
        x = tf.ones([2])
        x.aliases = ["first"]
        x.op.remark = "mine"
        assert (x.aliases, x.op.remark) == (["first"], "mine")


def test_the_gradient_function_may_take_variables_among_named_arguments() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        factor = tf.get_variable("factor", [], initializer=tf.constant_initializer(3.0))

        @tf.custom_gradient
        def scaled(x: Any) -> Any:
            def slope(dy: Any, **named: Any) -> Any:
                return dy * 5.0, [dy * 7.0 for _ in named["variables"]]

            return x * factor, slope

        x = tf.constant(2.0)
        slopes = tf.gradients(scaled(x), [x, factor])
        sess.run(tf.global_variables_initializer())
        assert sess.run(slopes) == [5.0, 7.0]


@pytest.mark.parametrize("convert", [tf.constant, tf.convert_to_tensor], ids=["constant", "convert"])
def test_none_is_no_value(convert: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="None values not supported"):
        convert(None)
