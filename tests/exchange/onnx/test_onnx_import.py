"""`af.onnx.load`: what a model becomes, and what is said of one that can't be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exchange.onnx.onnx_models import answers, graph, model, node

import actorflow as af
from actorflow.base.records.wire import write_field
from actorflow.errors import InvalidArgumentError, OpError, UnimplementedError
from actorflow.exchange.onnx.protos import FunctionProto

X = {"x": ("float32", (None, 3))}
W = {"w": np.arange(6, dtype=np.float32).reshape(3, 2), "b": np.ones(2, np.float32)}
DENSE = [node("MatMul", "x w", "m"), node("Add", "m b", "s"), node("Relu", "s", "y")]


async def test_a_model_gives_its_outputs_by_name() -> None:
    x = np.array([[1, 2, 3], [-1, -1, -1]], np.float32)
    found = await answers(model(DENSE, X, "y", W), {"x": x})
    np.testing.assert_array_equal(found["y"], np.maximum(x @ W["w"] + 1, 0))


async def test_weights_can_be_trained() -> None:
    with af.Graph().as_default() as made:
        loaded = af.onnx.load(model(DENSE, X, "y", W), trainable=True)
        loss = af.reduce_mean(af.square(loaded.outputs["y"] - 2.0))
        train = af.train.GradientDescentOptimizer(0.01).minimize(loss)
        init = af.global_variables_initializer()
    assert set(loaded.weights) == {"w", "b"}
    x = np.ones((4, 3), np.float32)
    async with af.Session(graph=made) as session:
        await session.run(init)
        first = await session.run(loss, {loaded.inputs["x"]: x})
        for _ in range(100):
            await session.run(train, {loaded.inputs["x"]: x})
        assert await session.run(loss, {loaded.inputs["x"]: x}) < first / 100


def test_arithmetic_of_shapes_leaves_no_nodes_where_shapes_are_known() -> None:
    nodes = [
        node("Shape", "x", "sizes"),
        node("Gather", "sizes zero", "batch", axis=0),
        node("Unsqueeze", "batch zeros", "first"),
        node("Concat", "first rest", "target", axis=0),
        node("Reshape", "x target", "y"),
    ]
    weights = {"zero": np.int64(0), "zeros": np.array([0]), "rest": np.array([-1])}
    proto = model(nodes, {"x": ("float32", (None, 2, 3))}, "y", weights)
    with af.Graph().as_default() as made:
        loaded = af.onnx.load(proto, shapes={"x": (4, 2, 3)})
        assert loaded.outputs["y"].static_shape == (4, 6)
    assert {n.op for n in made.nodes.values()} == {"Placeholder", "Const", "Reshape"}


async def test_branches_and_loops() -> None:
    body = graph(
        [node("Add", "total x", "next"), node("Identity", "going", "on"), node("Identity", "next", "row")],
        {"at": ("int64", ()), "going": ("bool", ()), "total": ("float32", (3,))},
        "on next row",
    )
    twice = graph([node("Add", "last last", "double")], {}, "double")
    once = graph([node("Identity", "last", "same")], {}, "same")
    nodes = [
        node("Loop", "count - start", "last rows", body=body),
        node("If", "flag", "y", then_branch=twice, else_branch=once),
    ]
    inputs = {"x": ("float32", (3,)), "count": ("int64", ()), "flag": ("bool", ())}
    proto = model(nodes, inputs, "y rows", {"start": np.zeros(3, np.float32)})
    x = np.array([1, 2, 3], np.float32)
    for flag, factor in ((True, 2), (False, 1)):
        found = await answers(proto, {"x": x, "count": 4, "flag": flag})
        np.testing.assert_array_equal(found["y"], x * 4 * factor)
        np.testing.assert_array_equal(found["rows"], np.outer(np.arange(1, 5), x))
    assert (await answers(proto, {"x": x, "count": 0, "flag": False}))["rows"].shape == (0, 3)


async def test_functions_of_a_model_are_called() -> None:
    square = FunctionProto(name="Square", domain="own")
    square.input.append("v")
    square.output.append("r")
    square.opset_import.add(domain="", version=21)
    square.node.append(node("Mul", "v v", "r"))
    proto = model(
        [node("Square", "x", "s", domain="own"), node("Square", "s", "y", domain="own")], X, "y", functions=[square]
    )
    found = await answers(proto, {"x": np.full((1, 3), 2, np.float32)})
    np.testing.assert_array_equal(found["y"], np.full((1, 3), 16, np.float32))


def test_all_missing_ops_are_named_at_once() -> None:
    proto = model([node("Wonder", "x", "a", name="one"), node("Marvel", "a", "y", domain="own", name="two")], X, "y")
    with af.Graph().as_default(), pytest.raises(UnimplementedError) as caught:
        af.onnx.load(proto)
    assert "ai.onnx.Wonder (opset 21), node 'one'" in str(caught.value)
    assert "own.Marvel (opset 1), node 'two'" in str(caught.value)


async def test_external_data_are_read_below_the_folder_and_nowhere_else(tmp_path: Path) -> None:
    inside = tmp_path / "model"
    inside.mkdir()
    (inside / "w.bin").write_bytes(W["w"].tobytes())
    (tmp_path / "secret.bin").write_bytes(W["w"].tobytes())

    def stored(location: str, length: int = 24) -> Path:
        proto = model(DENSE, X, "y", W)
        weight = proto.graph.initializer[0]
        weight.ClearField("raw_data")
        weight.data_location = 1
        weight.external_data.add(key="location", value=location)
        weight.external_data.add(key="length", value=str(length))
        path = inside / "model.onnx"
        path.write_bytes(proto.SerializeToString())
        return path

    found = await answers(stored("w.bin"), {"x": np.ones((1, 3), np.float32)})
    np.testing.assert_array_equal(found["y"], [[7, 10]])
    for location, length in (
        ("../secret.bin", 24),
        (str(tmp_path / "secret.bin"), 24),
        ("none.bin", 24),
        ("w.bin", 2**40),
    ):
        with af.Graph().as_default(), pytest.raises(InvalidArgumentError, match="'w'"):
            af.onnx.load(stored(location, length))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.dims.extend([-5]), "dims of the tensor 'w'"),
        (lambda t: t.dims.extend([2**40]), "raw_data of the tensor 'w'"),
        (lambda t: setattr(t, "data_type", 99), "data_type of the tensor 'w'"),
        (lambda t: setattr(t, "raw_data", b"abc"), "raw_data of the tensor 'w'"),
    ],
)
def test_an_error_names_the_field(change: Any, said: str) -> None:
    proto = model(DENSE, X, "y", W)
    change(proto.graph.initializer[0])
    with af.Graph().as_default(), pytest.raises(InvalidArgumentError, match=said):
        af.onnx.load(proto)


def test_messages_within_messages_have_a_limit() -> None:
    graph_ = b""
    for _ in range(1000):  # a graph in an attribute of a node of a graph
        graph_ = write_field(1, write_field(5, write_field(6, graph_)))
    with af.Graph().as_default(), pytest.raises(InvalidArgumentError, match="64 deep"):
        af.onnx.load(write_field(7, graph_))


def test_changed_bytes_give_an_error_or_a_model(seed: int) -> None:
    """Nothing else: no other class of error, and no allocation by the sizes that a file claims."""
    rng = np.random.default_rng(seed)
    data = model(DENSE, X, "y", W).SerializeToString()
    for _ in range(60):
        changed = bytearray(data)
        for at in rng.integers(0, len(data), rng.integers(1, 4)):
            changed[at] = rng.integers(0, 256)
        try:
            with af.Graph().as_default():
                af.onnx.load(bytes(changed[: rng.integers(1, len(data) + 1)] if rng.random() < 0.3 else changed))
        except (OpError, TypeError, ValueError):
            pass


async def test_transposes_between_layouts_are_moved_together() -> None:
    """Convolutions and pools run with channels last; a chain of them has one transpose at its begin and one at its end."""
    draw = np.random.default_rng(0).standard_normal
    weights = {
        "w": draw((4, 3, 3, 3)),
        "b": draw(4),
        "d": draw((4, 1, 3, 3)),
        "s": draw((4, 1, 1)),
        "six": np.float32(6),
    }
    nodes = [
        node("Conv", "x w b", "c", pads=[1, 1, 1, 1]),
        node("Mul", "c s", "m"),
        node("Clip", "m zero six", "r"),
        node("Conv", "r d", "e", pads=[1, 1, 1, 1], group=4),
        node("Add", "e r", "a"),
        node("Concat", "a r", "j", axis=1),
        node("MaxPool", "j", "y", kernel_shape=[2, 2], strides=[2, 2]),
    ]
    arrays = {name: np.asarray(value, np.float32) for name, value in weights.items()} | {"zero": np.float32(0)}
    proto = model(nodes, {"x": ("float32", (1, 3, 8, 8))}, "y", arrays)
    with af.Graph().as_default() as made:
        loaded = af.onnx.load(proto)
    between = [
        n
        for n in made.nodes.values()
        if n.op == "Transpose" and made.get_operation_by_name(n.name).outputs[0].consumers()
    ]
    assert len(between) == 1
    assert loaded.outputs["y"].op.type == "Transpose"
    x = draw((1, 3, 8, 8)).astype(np.float32)

    def convolved(x: Any, w: Any) -> Any:
        padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        return np.einsum("nchwij,ocij->nohw", windows, w)

    inner = np.clip((convolved(x, arrays["w"]) + arrays["b"][:, None, None]) * arrays["s"], 0, 6)
    both = np.concatenate(
        [convolved(inner, arrays["d"] * np.eye(4, dtype=np.float32)[:, :, None, None]) + inner, inner], 1
    )
    wanted = both.reshape(1, 8, 4, 2, 4, 2).max((3, 5))
    np.testing.assert_allclose((await answers(proto, {"x": x}))["y"], wanted, rtol=1e-4, atol=1e-5)


async def test_resizes_and_reductions_take_channels_where_they_lie() -> None:
    nodes = [
        node("Conv", "x w", "c"),
        node(
            "Resize",
            "c - scales",
            "r",
            mode="nearest",
            nearest_mode="floor",
            coordinate_transformation_mode="asymmetric",
        ),
        node("ReduceMean", "r space", "m"),
        node("Mul", "r m", "p"),
        node("ReduceSum", "p space", "y", keepdims=0),
    ]
    rng = np.random.default_rng(1)
    w = rng.normal(size=(4, 3, 1, 1)).astype(np.float32)
    arrays = {"w": w, "scales": np.float32([1, 1, 2, 3]), "space": np.int64([2, -1])}
    proto = model(nodes, {"x": ("float32", (2, 3, 4, 5))}, "y", arrays)
    with af.Graph().as_default() as made:
        af.onnx.load(proto)
    moved = [
        n
        for n in made.nodes.values()
        if n.op == "Transpose" and made.get_operation_by_name(n.name).outputs[0].consumers()
    ]
    assert len(moved) == 1, "there is one before the convolution"
    x = rng.normal(size=(2, 3, 4, 5)).astype(np.float32)
    wide = np.einsum("nchw,oc->nohw", x, w[:, :, 0, 0]).repeat(2, 2).repeat(3, 3)
    wanted = (wide * wide.mean((2, 3), keepdims=True)).sum((2, 3))
    np.testing.assert_allclose((await answers(proto, {"x": x}))["y"], wanted, rtol=1e-4, atol=1e-4)


async def test_transposes_of_transposes_are_one_or_none() -> None:
    """Sequences that a model turns after a convolution lie as the convolution leaves them."""
    draw = np.random.default_rng(0).standard_normal
    w = draw((4, 3, 3)).astype(np.float32)
    nodes = [
        node("Conv", "x w", "c", pads=[1, 1]),
        node("Transpose", "c", "t", perm=[0, 2, 1]),
        node("Add", "t one", "y"),
        node("Transpose", "y", "turned", perm=[2, 0, 1]),
        node("Transpose", "turned", "z", perm=[1, 0, 2]),
    ]
    proto = model(nodes, {"x": ("float32", (2, 3, 8))}, "y z", {"w": w, "one": np.ones(4, np.float32)})
    with af.Graph().as_default():
        loaded = af.onnx.load(proto)
    assert loaded.outputs["y"].op.type == "Add"
    assert loaded.outputs["y"].op.inputs[0].op.type != "Transpose"
    assert loaded.outputs["z"].op.inputs[0] is loaded.outputs["y"]
    x = draw((2, 3, 8)).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, [(0, 0), (0, 0), (1, 1)]), 3, axis=2)
    wanted = np.einsum("ncti,oci->nto", windows, w) + 1
    found = await answers(proto, {"x": x})
    np.testing.assert_allclose(found["y"], wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found["z"], found["y"].transpose(0, 2, 1))
