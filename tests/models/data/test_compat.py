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


def test_functions_of_experimental() -> None:
    experimental = tf.data.experimental
    with af.eager():
        numbers = tf.data.Dataset.range(6)

        def of(*transformations: object) -> list[object]:
            dataset = numbers
            for transformation in transformations:
                dataset = dataset.apply(transformation)
            return [x.numpy().tolist() for x in dataset]

        assert of(experimental.map_and_batch(lambda x: x * 2, 4)) == [[0, 2, 4, 6], [8, 10]]
        assert of(experimental.map_and_batch(lambda x: x * 2, 4, 2, True)) == [[0, 2, 4, 6]]
        assert sorted(of(experimental.shuffle_and_repeat(3, 2))) == sorted([*range(6)] * 2)
        interleaved = of(experimental.parallel_interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(2), 2))
        assert interleaved == [0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 4, 5]
        assert of(experimental.map_and_batch(lambda x: x, 4), experimental.unbatch()) == [*range(6)]
        assert of(experimental.take_while(lambda x: x < 4), experimental.prefetch_to_device("/cpu:0")) == [0, 1, 2, 3]
        assert [int(i) for i, _ in numbers.apply(experimental.enumerate_dataset(3))] == [*range(3, 9)]
        assert [int(x) for x in experimental.Counter(2, 3).take(3)] == [2, 5, 8]
        assert int(experimental.get_single_element(numbers.take(1))) == 0
        divided = numbers.map(lambda x: 12 // (x % 3)).apply(experimental.ignore_errors())
        assert [int(x) for x in divided] == [12, 6, 12, 6]
        assert [x.numpy().tolist() for x in divided.batch(3)] == [[12, 6, 12], [6]]
