"""`af.onnx.save`: what a graph becomes. An export that is loaded again gives the graph's values."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exchange.onnx.onnx_exports import ROWS, built_row, exported, flows, refused
from exchange.onnx.onnx_models import graph, model, node
from graph.ops.harness import Built, compare, run
from graph.ops.table import Case

import actorflow as af
from actorflow.errors import InvalidArgumentError, UnimplementedError
from actorflow.exchange.onnx.protos import ModelProto


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


def round_trip(proto: Any, feeds: dict[str, Any], path: Path) -> tuple[Any, Any]:
    """The outputs of a model, and those of what it is saved as after it was loaded."""
    answers = []
    for source in (proto, path):
        with af.Graph().as_default() as graph:
            loaded = af.onnx.load(source)
        with af.blocking.Session(graph=graph) as session:
            fed = {loaded.inputs[name]: value for name, value in feeds.items()}
            answers.append(session.run(dict(loaded.outputs), fed))
            if source is proto:
                af.onnx.save(path, session, dict(loaded.outputs), dict(loaded.inputs))
    return answers[0], answers[1]


DRAW = np.random.default_rng(0)


def reals(*shape: int) -> Any:
    return DRAW.normal(size=shape).astype(np.float32)


def _within_a_loop(nodes: list[Any], outputs: str) -> Any:
    state = {"at": ("int64", ()), "going": ("bool", ()), "total": ("float32", (2,))}
    return graph([*nodes, node("Identity", "going", "on")], state, outputs)


ROUND = {
    "LSTM": ([node("LSTM", "x w r b", "y h c", hidden_size=3)],
             {"w": reals(1, 12, 2), "r": reals(1, 12, 3), "b": reals(1, 24)}, (5, 2, 2)),
    "GRU, both ways": ([node("GRU", "x w r b", "y h", hidden_size=3, direction="bidirectional")],
                       {"w": reals(2, 9, 2), "r": reals(2, 9, 3), "b": reals(2, 18)}, (5, 2, 2)),
    "RNN": ([node("RNN", "x w r", "y h", hidden_size=3)], {"w": reals(1, 3, 2), "r": reals(1, 3, 3)}, (5, 2, 2)),
    "Scan": ([node("Scan", "zero x", "y rows", num_scan_inputs=1, body=graph(
        [node("Add", "s i", "t"), node("Mul", "t t", "row")], {"s": ("float32", (2,)), "i": ("float32", (2,))}, "t row"))],
        {"zero": np.zeros(2, np.float32)}, (4, 2)),
    "Loop with rows": ([node("Loop", "count - x", "y rows", body=_within_a_loop(
        [node("Add", "total x", "next"), node("Neg", "next", "row")], "on next row"))], {"count": np.int64(4)}, (2,)),
    "Loop that goes on no longer than its state says": ([node("Loop", "- flag x", "y", body=graph(
        [node("Add", "total x", "next"), node("ReduceMax", "next", "most", keepdims=0), node("Less", "most ten", "on")],
        {"at": ("int64", ()), "going": ("bool", ()), "total": ("float32", (2,))}, "on next"))],
        {"flag": np.asarray(True), "ten": np.float32(10)}, (2,)),
    "If within a loop": ([node("Loop", "count - x", "y", body=_within_a_loop(
        [node("ReduceSum", "total", "sum", keepdims=0), node("Less", "sum ten", "small"), node("If", "small", "next",
         then_branch=graph([node("Add", "total x", "more")], {}, "more"),
         else_branch=graph([node("Neg", "total", "less")], {}, "less"))], "on next"))],
        {"count": np.int64(6), "ten": np.float32(3)}, (2,)),
    "ConvTranspose": ([node("ConvTranspose", "x w b", "y", strides=[2, 1], pads=[1, 0, 0, 1], output_padding=[1, 0])],
                      {"w": reals(2, 3, 3, 3), "b": reals(3)}, (1, 2, 4, 5)),
    "ConvTranspose in groups": ([node("ConvTranspose", "x w", "y", group=2, dilations=[2, 1])], {"w": reals(2, 3, 3, 2)},
                                (1, 2, 4, 5)),
    "ConvTranspose of lines": ([node("ConvTranspose", "x w", "y", strides=[3])], {"w": reals(2, 3, 2)}, (1, 2, 4)),
    "ConvTranspose in space": ([node("ConvTranspose", "x w", "y", strides=[2, 1, 2])], {"w": reals(2, 1, 2, 2, 2)},
                               (1, 2, 3, 3, 2)),
    "ScatterElements": ([node("ScatterElements", "x i u", "y", axis=1, reduction="add")],
                        {"i": np.int64([[0, -1], [1, 1]]), "u": reals(2, 2)}, (2, 3)),
    "Expand": ([node("Shape", "x", "s"), node("Concat", "two s", "t", axis=0), node("Expand", "x t", "y")],
               {"two": np.int64([2])}, (1, 3)),
    "ZipMap": ([node("ZipMap", "x", "y", domain="ai.onnx.ml", classlabels_int64s=[7, 9])], {}, (3, 2)),
}  # fmt: skip
"""Nodes, weights, and the shape of the input of models that are loaded, saved, and loaded again."""


@pytest.mark.parametrize("open_sizes", [False, True])
@pytest.mark.parametrize("name", ROUND)
def test_a_model_that_is_loaded_and_saved_gives_the_same(name: str, open_sizes: bool, tmp_path: Path) -> None:
    nodes, weights, shape = ROUND[name]
    outputs = " ".join(dict.fromkeys(output for n in nodes[-1:] for output in n.output))
    sizes = tuple(None if open_sizes and at in (0, 2, 3) and len(shape) > 1 else size for at, size in enumerate(shape))
    proto = model(nodes, {"x": ("float32", sizes)}, outputs, weights)
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    first, second = round_trip(proto, {"x": np.abs(x) if "Loop" in name else x}, tmp_path / "m.onnx")
    for output, value in first.items():
        if isinstance(value, list):
            assert value == second[output]
        else:
            np.testing.assert_allclose(second[output], value, rtol=1e-5, atol=1e-6)


def test_a_list_that_a_loop_fills_backwards_is_refused() -> None:
    def build(x: Any) -> Any:
        array = af.TensorArray(af.float32, size=3, element_shape=[2])
        done = af.while_loop(
            lambda at, flow: at >= 0,
            lambda at, flow: (
                at - 1,
                af.TensorArray(af.float32, flow=flow).write(at, x * af.cast(at, af.float32)).flow,
            ),
            [2, array.flow],
        )
        return af.TensorArray(af.float32, flow=done[1], element_shape=[2]).stack()

    with pytest.raises(UnimplementedError, match="in another order"):
        exported(Built(build, [np.float32([1, 2])], "shape", [False]))
