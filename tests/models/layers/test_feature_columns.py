"""Feature columns: training, parsing, and mistakes that show in the run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import actorflow as af

fc = af.feature_column


async def test_a_wide_and_deep_model_learns(graph: af.Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, city = rng.uniform(-1, 1, [64, 1]).astype(np.float32), rng.integers(0, 3, [64, 1])
    target = 2 * size + np.array([1.0, -1.0, 0.5], np.float32)[city]
    features = {"size": size, "city": np.array([[b"a"], [b"b"], [b"c"]], object)[city[:, 0]]}
    words = fc.categorical_column_with_vocabulary_list("city", ["a", "b", "c"])
    columns = [fc.numeric_column("size"), fc.embedding_column(words, 2, initializer=af.ones_initializer())]
    deep = af.layers.dense(fc.input_layer(features, columns), 1)
    predicted = deep + fc.linear_model(features, [words, fc.bucketized_column(fc.numeric_column("size"), [0.0])])
    loss = af.losses.mean_squared_error(target, predicted)
    train = af.train.AdamOptimizer(0.1).minimize(loss)
    async with af.Session() as session:
        await session.run([af.global_variables_initializer(), af.tables_initializer()])
        first = await session.run(loss)
        for _ in range(80):
            await session.run(train)
        assert await session.run(loss) < 0.1 * first


async def test_columns_say_how_examples_are_parsed(graph: af.Graph) -> None:
    columns = [fc.numeric_column("x", shape=2, default_value=1.5), fc.categorical_column_with_identity("i", 3)]
    columns.append(fc.indicator_column(columns[1]))
    spec = fc.make_parse_example_spec(columns)
    empty = af.constant([b""], af.string)
    inputs = fc.input_layer(af.parse_example(empty, spec), [columns[0], columns[2]])
    async with af.Session() as session:
        assert (await session.run(inputs)).tolist() == [[0, 0, 0, 1.5, 1.5]]


async def test_a_category_outside_is_an_error_of_the_run(graph: af.Graph) -> None:
    column = fc.indicator_column(fc.categorical_column_with_identity("i", 3))
    layer = fc.input_layer({"i": af.placeholder_with_default([[3]], [1, 1])}, [column])
    async with af.Session() as session:
        with pytest.raises(af.errors.InvalidArgumentError, match="Bucket index for i must be less than 3"):
            await session.run(layer)


async def test_an_embedding_begins_with_a_checkpoint(graph: af.Graph, tmp_path: Path) -> None:
    before = af.Graph()
    with before.as_default():
        af.Variable(np.arange(6, dtype=np.float32).reshape(3, 2), name="table")
        saver, init = af.train.Saver(), af.global_variables_initializer()
    async with af.Session(graph=before) as session:
        await session.run(init)
        path = await saver.save(session, str(tmp_path / "model"))
    ids = fc.categorical_column_with_identity("i", 3)
    column = fc.embedding_column(ids, 2, ckpt_to_load_from=str(path), tensor_name_in_ckpt="table")
    layer = fc.input_layer({"i": [[2], [0]]}, [column])
    async with af.Session() as session:
        await session.run(af.global_variables_initializer())
        assert (await session.run(layer)).tolist() == [[4, 5], [0, 1]]


def test_batches_of_different_sizes(graph: af.Graph) -> None:
    with pytest.raises(ValueError, match=r"Batch size of columns \(a, b\): \(1, 2\)"):
        fc.input_layer({"a": [[1.0]], "b": [[1.0], [2.0]]}, [fc.numeric_column("a"), fc.numeric_column("b")])


def test_a_table_is_shared(graph: af.Graph) -> None:
    pair = [fc.categorical_column_with_identity(key, 3) for key in "ab"]
    fc.input_layer({"a": [[0]], "b": [[1]]}, fc.shared_embedding_columns(pair, 2))
    names = [v.op.name for v in af.global_variables()]
    assert names == ["input_layer/a_b_shared_embedding/embedding_weights"]
    other = [fc.categorical_column_with_identity(key, 4) for key in "ab"]
    with pytest.raises(ValueError, match="unexpected shape"):
        fc.input_layer({"a": [[0]], "b": [[1]]}, fc.shared_embedding_columns(other, 2))


async def test_sequences_share_a_table_and_are_no_inputs_of_a_deep_network(graph: af.Graph) -> None:
    make = af.feature_column.sequence_categorical_column_with_identity
    seen, bought = make("seen", 4), make("bought", 4)
    shared = af.feature_column.shared_embedding_columns([seen, bought], 3)
    features = {"seen": [[1, 2], [3, -1]], "bought": [[1, 2], [3, -1]]}
    layer, lengths = af.feature_column.sequence_input_layer(features, shared)
    assert [v.shape.as_list() for v in af.trainable_variables()] == [[4, 3]] and layer.static_shape == (2, 2, 6)
    context = af.feature_column.concatenate_context_input(af.constant([[7.0], [8.0]]), layer)
    async with af.Session(graph=graph) as session:
        await session.run(af.global_variables_initializer())
        found, steps, wider = await session.run([layer, lengths, context])
    np.testing.assert_array_equal(found[..., :3], found[..., 3:])
    assert (steps.tolist(), found[1, 1].tolist(), wider[:, :, 6].tolist()) == ([2, 1], [0.0] * 6, [[7, 7], [8, 8]])
    with pytest.raises(ValueError, match="use sequence_input_layer instead of input_layer"):
        af.feature_column.input_layer(features, shared)
    with pytest.raises(ValueError, match="sequence_input must have rank 3"):
        af.feature_column.concatenate_context_input(af.zeros([2, 1]), af.zeros([2, 2]))
    heat = af.feature_column.sequence_numeric_column("seen")
    with pytest.raises(TypeError, match="sequence_column: seen takes a SparseTensor"):
        af.feature_column.sequence_input_layer(features, [heat])
