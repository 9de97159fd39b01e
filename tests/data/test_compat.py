"""TensorFlow 1.15's names of datasets."""

from __future__ import annotations

import pytest

import actorflow as af
import actorflow.compat.v1 as tf


def test_a_program_of_tensorflow_1() -> None:
    with tf.Graph().as_default():
        dataset = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0])
        dataset = dataset.map(lambda x: x * 2, num_parallel_calls=tf.data.experimental.AUTOTUNE).batch(2).prefetch(1)
        assert tf.data.get_output_types(dataset) is tf.float32
        assert tf.data.get_output_shapes(dataset).as_list() == [None]
        assert tf.data.get_output_classes(dataset) is tf.Tensor
        one_shot = tf.data.make_one_shot_iterator(dataset).get_next()
        iterator = tf.data.make_initializable_iterator(dataset)
        following = iterator.get_next()
        with tf.Session() as session:
            assert session.run(one_shot).tolist() == [2.0, 4.0]
            for _ in range(2):
                session.run(iterator.initializer)
                assert [session.run(following).tolist() for _ in range(2)] == [[2.0, 4.0], [6.0]]
                with pytest.raises(tf.errors.OutOfRangeError):
                    session.run(following)


def test_a_program_in_eager_mode() -> None:
    with af.eager():
        found = [float(tf.reduce_sum(x)) for x in tf.data.Dataset.from_tensor_slices([[1.0, 2.0], [3.0, 4.0]])]
    assert found == [3.0, 7.0]
