"""The values of a layer as arrays, and which of its losses and updates come of which inputs, as in TensorFlow 1.15."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf

LAYERS: dict[str, tuple[Any, list[int | None], list[tuple[int, ...]]]] = {
    "Dense": (lambda: af.layers.Dense(2), [1, 3], [(3, 2), (2,)]),
    "Conv2D": (lambda: af.layers.Conv2D(4, 3), [1, 5, 5, 2], [(3, 3, 2, 4), (4,)]),
    "Conv2DTranspose": (lambda: af.layers.Conv2DTranspose(4, 3), [1, 5, 5, 2], [(3, 3, 4, 2), (4,)]),
    "SeparableConv2D": (lambda: af.layers.SeparableConv2D(4, 3), [1, 5, 5, 2], [(3, 3, 2, 1), (1, 1, 2, 4), (4,)]),
    "BatchNormalization": (lambda: af.layers.BatchNormalization(), [2, 3], [(3,)] * 4),
    "Flatten": (lambda: af.layers.Flatten(), [1, 3], []),
}


@pytest.mark.parametrize("name", LAYERS)
def test_weights_are_read_and_written_as_arrays(name: str) -> None:
    make, shape, shapes = LAYERS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        layer = make()
        layer(tf.ones(shape))
        session.run(tf.global_variables_initializer())
        nodes = len(session.graph)
        assert [value.shape for value in layer.get_weights()] == shapes
        values = [np.full(size, number, np.float32) for number, size in enumerate(shapes)]
        layer.set_weights(values)
        for value, expected in zip(layer.get_weights(), values, strict=True):
            np.testing.assert_array_equal(value, expected)
        assert len(session.graph) == nodes, "nothing is added to the graph"


def test_values_that_do_not_fit_change_nothing() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        layer = af.layers.Dense(2)
        layer(tf.ones([1, 3]))
        session.run(tf.global_variables_initializer())
        before = layer.get_weights()
        for values, words in (
            ([np.ones([3, 2])], "2 weights of the layer, but there are 1"),
            ([np.ones([3, 2]), np.ones([3])], r"dense/bias:0 has the shape \(2,\), not \(3,\)"),
        ):
            with pytest.raises(ValueError, match=words):
                layer.set_weights(values)
        for value, expected in zip(layer.get_weights(), before, strict=True):
            np.testing.assert_array_equal(value, expected)


def test_losses_belong_to_inputs_or_to_none() -> None:
    with af.Graph().as_default():
        layer = af.layers.Dense(2, kernel_regularizer=af.reduce_sum, activity_regularizer=af.reduce_sum)
        x, other = af.ones([1, 3]), af.zeros([1, 3])
        layer(x), layer(other), layer(af.square(x))
        assert len(layer.losses) == 4
        of_none, of_x, of_other = (layer.get_losses_for(inputs) for inputs in (None, x, other))
        assert [len(losses) for losses in (of_none, of_x, of_other)] == [1, 2, 1]
        assert not {*of_none} & {*of_x} and not {*of_x} & {*of_other}


@pytest.mark.parametrize("inputs", ["none", "given"])
def test_an_added_loss_is_of_the_inputs_that_it_is_added_for(inputs: str) -> None:
    class Adding(af.layers.Layer):
        def call(self, x: Any) -> Any:
            self.add_loss(af.reduce_sum(x), inputs=None if inputs == "none" else x)
            return x

    with af.Graph().as_default():
        layer, x = Adding(), af.ones([2])
        layer(x)
        expected = ([1, 0], [0, 1])[inputs == "given"]
        assert [len(layer.get_losses_for(each)) for each in (None, x)] == expected


def test_updates_belong_to_inputs_or_to_none() -> None:
    class Counting(af.layers.Layer):
        def build(self, input_shape: Any) -> None:
            self.calls = self.add_weight("calls", [], initializer="zeros", trainable=False)

        def call(self, x: Any) -> Any:
            self.add_update([self.calls.assign_add(1.0), self.calls.assign(af.reduce_sum(x))])
            return x

    with af.Graph().as_default():
        layer, x = Counting(), af.ones([2])
        layer(x)
        assert [len(layer.get_updates_for(each)) for each in (None, x, af.ones([2]))] == [1, 1, 0]
        normal, y = af.layers.BatchNormalization(), af.ones([1, 3])
        normal(y, training=True)
        assert [len(normal.get_updates_for(each)) for each in (None, y)] == [0, 2]
