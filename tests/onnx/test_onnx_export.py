"""`af.onnx.save`: what a graph becomes. An export that is loaded again gives the graph's values."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_exports import ROWS, built_row, exported, flows, refused
from ops.harness import Built, compare, run
from ops.table import Case

import actorflow as af
from actorflow.errors import InvalidArgumentError, UnimplementedError
from actorflow.onnx.protos import ModelProto


def again(proto: Any, built: Built) -> list[Any]:
    """The outputs of the model, loaded again, for the row's feeds."""
    with af.Graph().as_default() as graph:
        shapes = {f"in{at}": np.shape(value) for at, value in enumerate(built.feeds.values())}
        model = af.onnx.load(proto, shapes=shapes)
    feeds = {model.inputs[f"in{at}"]: value for at, value in enumerate(built.feeds.values())}
    return run(graph, list(model.outputs.values()), feeds)


@pytest.mark.parametrize("case", ROWS, ids=lambda case: case.id)
def test_an_export_that_is_loaded_gives_the_values_of_the_op(case: Case, seed: int) -> None:
    built = built_row(case, seed)
    if refused(case):
        with pytest.raises(UnimplementedError):
            exported(built)
        return
    proto = ModelProto.FromString(exported(built).SerializeToString())
    for found, wanted, tensor in zip(again(proto, built), built.run(), built.outputs):
        compare(case.id, np.asarray(found), wanted, tensor.dtype, max(case.loose, 5.0))


async def test_a_trained_network_is_saved_with_the_values_of_its_variables(tmp_path: Path) -> None:
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [None, 8, 8, 3], name="x")
        training = af.placeholder_with_default(True, [], name="training")
        inner = af.layers.conv2d(x, 4, 3, padding="same", activation=af.nn.relu)
        inner = af.layers.dropout(af.layers.batch_normalization(inner, training=training), training=training)
        y = af.nn.softmax(af.layers.dense(af.layers.flatten(af.layers.max_pooling2d(inner, 2, 2)), 5))
        init = af.global_variables_initializer()
    images = np.random.default_rng(0).standard_normal((3, 8, 8, 3)).astype(np.float32)
    async with af.Session(graph=graph) as session:
        await session.run(init)
        wanted = await session.run(y, {x: images, training: False})
        await af.onnx.save(tmp_path / "m.onnx", session, {"shares": y}, {"images": x}, {training: False})
    with af.Graph().as_default() as graph:
        model = af.onnx.load(tmp_path / "m.onnx")
    assert list(model.inputs) == ["images"]
    assert model.inputs["images"].static_shape == (None, 8, 8, 3)
    async with af.Session(graph=graph) as session:
        found = await session.run(model.outputs, {model.inputs["images"]: images})
    np.testing.assert_allclose(found["shares"], wanted, rtol=1e-5)


@pytest.mark.parametrize("values", [[0.5, 0.25], [2.0, 3.0], [-1.0, -2.0]], ids=str)
def test_loops_and_branches_are_saved_as_such(values: list[float]) -> None:
    built = Built(flows, [np.array(values, np.float32)], "shape", [False])
    proto = exported(built)
    ops = {node.op_type for node in proto.graph.node}
    assert {"Loop", "If"} <= ops
    for found, wanted in zip(again(proto, built), built.run()):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_all_nodes_without_a_form_are_named() -> None:
    built = Built(lambda x: af.svd(x, compute_uv=False) + af.reduce_sum(af.digamma(x)), [np.eye(3)], "shape", [False])
    with pytest.raises(UnimplementedError, match=r"(?s)Svd.*Digamma"):
        exported(built)


async def test_writes_are_refused_by_name(tmp_path: Path) -> None:
    with af.Graph().as_default() as graph:
        count = af.Variable(0.0, name="count")
        later = af.identity(af.assign_add(count, 1.0), name="later")
    async with af.Session(graph=graph) as session:
        with pytest.raises(InvalidArgumentError, match="AssignAdd"):
            await af.onnx.save(tmp_path / "m.onnx", session, [later])
        with pytest.raises(ValueError, match="opset is 18 to 23"):
            await af.onnx.save(tmp_path / "m.onnx", session, [later], opset=5)
    assert not os.listdir(tmp_path)
