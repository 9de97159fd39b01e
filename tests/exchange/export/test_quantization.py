"""Weights of int8: accuracy and size of a network for digits, ranges by calibration, what is left and why, and each way out."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.errors import InvalidArgumentError
from actorflow.exchange.export.quantization.calibration import CalibrationHistogram
from actorflow.exchange.export.quantization.quantize import QuantizedGraph
from actorflow.graph.graphdef.protos import GraphDef


@functools.cache
def digits() -> tuple[Any, Any]:
    """Digits in an order of no meaning."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(pixels))
    return (pixels[order] / 16).astype(np.float32), labels[order]


@functools.cache
def trained() -> bytes:
    """A convolutional network for digits, trained for some steps and frozen."""
    images, labels = digits()
    with af.Graph().as_default() as graph:
        af.set_random_seed(0)
        x, digit = af.placeholder(af.float32, [None, 64], name="images"), af.placeholder(af.int64, [None])
        inner = af.layers.conv2d(af.reshape(x, [-1, 8, 8, 1]), 32, 3, padding="same", activation=af.nn.relu)
        inner = af.layers.max_pooling2d(inner, 2, 2)
        inner = af.layers.conv2d(inner, 32, 3, padding="same", activation=af.nn.relu6)
        inner = af.layers.dense(af.layers.flatten(inner), 48, activation=af.nn.tanh)
        logits = af.layers.dense(inner, 10)
        scores = af.nn.softmax(logits, name="scores")
        train = af.train.AdamOptimizer(0.003).minimize(af.losses.sparse_softmax_cross_entropy(digit, logits))
        init = af.global_variables_initializer()
    with af.blocking.Session(graph=graph) as session:
        session.run(init)
        rng = np.random.default_rng(0)
        for _ in range(150):
            rows = rng.integers(0, 1400, 64)
            session.run(train, {x: images[rows], digit: labels[rows]})
        frozen: bytes = af.export.freeze(session, [scores], [x]).SerializeToString()
        return frozen


def batches(begin: int, end: int) -> list[Any]:
    images, labels = digits()
    return [(images[at : at + 100], labels[at : at + 100]) for at in range(begin, end, 100)]


async def quantized(method: str) -> QuantizedGraph:
    """The network in int8, compared on digits that it was not trained with."""
    data = None if method == "dynamic" else batches(0, 400)
    options: dict[str, Any] = {} if method == "dynamic" else {"method": method}
    frozen = GraphDef.FromString(trained())
    return await af.export.quantize(frozen, ["scores"], data, evaluation=batches(1400, 1797), **options)


@pytest.mark.parametrize("method", ["dynamic", "minmax", "percentile", "entropy"])
async def test_a_network_for_digits_loses_one_percent_at_most_and_seven_tenths_of_its_size(method: str) -> None:
    graph_def, report = await quantized(method)
    assert report.accuracy_before is not None and report.accuracy_after is not None
    assert report.accuracy_before > 0.9
    assert report.accuracy_before - report.accuracy_after <= 0.01
    assert report.bytes_after == len(graph_def.SerializeToString()) <= 0.3 * report.bytes_before
    assert [node.op for node in report.quantized] == ["Conv2D", "Conv2D", "MatMul", "MatMul"]
    assert [node.signed for node in report.quantized] == [method == "dynamic", False, False, True]
    assert all((node.limit > 0) == (method != "dynamic") for node in report.quantized)
    assert report.rows == 397 and report.outputs["scores:0"].relative < 0.05


async def test_the_report_is_a_table() -> None:
    text = str((await quantized("minmax")).report)
    for part in (
        "4 nodes have weights of int8 (minmax)",
        "accuracy  9",
        "of 397 rows",
        "(MatMul), 480 weights, input ±",
    ):
        assert part in text, text


async def asked(graph_def: GraphDef, images: Any) -> Any:
    with af.Graph().as_default() as graph:
        af.import_graph_def(graph_def, name="")
    async with af.Session(graph=graph) as session:
        return await session.run("scores:0", {"images:0": images})


@pytest.mark.parametrize("method", ["dynamic", "minmax"])
async def test_what_a_row_becomes_does_not_depend_on_the_rows_beside_it(method: str) -> None:
    graph_def, _ = await quantized(method)
    images = digits()[0][:8].copy()
    images[1:] *= np.float32(100)
    alone, together = await asked(graph_def, images[:1]), await asked(graph_def, images)
    np.testing.assert_allclose(together[:1], alone, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("method", ["dynamic", "minmax"])
async def test_a_model_in_int8_leaves_by_each_door(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph_def, _ = await quantized(method)
    images = digits()[0][1400:1420]
    wanted = await asked(graph_def, images)
    with af.Graph().as_default() as graph:
        af.import_graph_def(graph_def, name="")
    x, scores = graph.get_tensor_by_name("images:0"), graph.get_tensor_by_name("scores:0")
    async with af.Session(graph=graph) as session:
        await af.saved_model.simple_save(session, tmp_path / "saved", {"images": x}, {"scores": scores})
        await af.onnx.save(tmp_path / "model.onnx", session, {"scores": scores}, {"images": x})
        await af.export.standalone(tmp_path / "in_int8.py", session, {"scores": scores}, {"images": x})
    (tmp_path / "model.pb").write_bytes(graph_def.SerializeToString())
    for name in ("saved", "model.pb", "model.onnx"):
        async with af.serving.Model(tmp_path / name) as model:
            np.testing.assert_allclose(await model.predict(images), wanted, rtol=1e-3, atol=2e-3, err_msg=name)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        alone = importlib.import_module("in_int8").predict(images)["scores"]
    finally:
        sys.modules.pop("in_int8", None)
    np.testing.assert_allclose(alone, wanted, rtol=1e-4, atol=1e-6)
    assert (tmp_path / "model.onnx").stat().st_size <= 0.3 * len(trained())


@pytest.mark.extras("onnx", "onnxruntime")
@pytest.mark.allow_leaks("fds")  # onnxruntime's own notes
@pytest.mark.parametrize("method", ["dynamic", "minmax"])
async def test_onnxruntime_has_the_answers_of_a_model_in_int8(method: str, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed (make test-extras)")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (make test-extras)")
    graph_def, _ = await quantized(method)
    with af.Graph().as_default() as graph:
        af.import_graph_def(graph_def, name="")
    async with af.Session(graph=graph) as session:
        await af.onnx.save(tmp_path / "m.onnx", session, {"scores": "scores:0"}, {"images": "images:0"})
    data = (tmp_path / "m.onnx").read_bytes()
    onnx.checker.check_model(data, full_check=True)
    images = digits()[0][1400:]
    (found,) = runtime.InferenceSession(data).run(None, {"images": images})
    wanted = await asked(graph_def, images)  # a value between two steps may be rounded to either
    assert np.abs(found - wanted).max() < 0.05 and (found.argmax(1) == wanted.argmax(1)).mean() > 0.99


def small(weights: Any = None, **options: Any) -> GraphDef:
    """A graph of one input, with products of each kind."""
    rng = np.random.default_rng(0)
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [None, 8], name="x")
        w = rng.normal(size=(8, 8)).astype(np.float32)
        plain = af.matmul(x, w, name="plain") + np.float32(range(8))
        af.nn.relu(plain, name="positive")
        af.matmul(x, plain, transpose_a=True, name="computed")
        af.matmul(x, w, transpose_b=True, name="turned")
        af.matmul(w, x, transpose_b=True, name="first")
        af.matmul(af.reshape(x, [-1, 2, 4]), rng.normal(size=(1, 4, 4)).astype(np.float32), name="several")
        images = af.reshape(x, [-1, 2, 2, 2])
        af.nn.depthwise_conv2d(images, np.ones((1, 1, 2, 1), np.float32), [1, 1, 1, 1], "SAME", name="apart")
        af.nn.conv2d(images, np.ones((1, 1, 2, 3), np.float32), 1, "SAME", data_format="NCHW", name="ahead")
    return graph.as_graph_def()


ENDS = ["positive", "computed", "turned", "first", "several", "apart", "ahead"]


async def test_nodes_that_are_left_are_told_with_the_reason() -> None:
    given = small()
    graph_def, report = await af.export.quantize(given, ENDS, keep=["turned"])
    assert given == small()
    assert [(node.name, node.op) for node in report.quantized] == [("add", "MatMul")]  # more than one takes the sum
    reasons = {
        "computed": "its weights are computed in the run",
        "turned": "it is to stay (keep='turned')",
        "first": "its weights are computed in the run",
        "several": "BatchMatMulV2 has no form in int8 here",
        "apart": "DepthwiseConv2dNative has no form in int8 here",
        "ahead": "its layout is NCHW",
    }
    assert report.left == reasons
    assert report.outputs == {} and report.accuracy_after is None
    assert "computed: its weights are computed in the run" in str(report)
    assert {node.name: node.op for node in graph_def.node}["add"] == "Int8MatMul"


async def test_small_nodes_stay_in_float_where_that_is_asked_for() -> None:
    frozen = GraphDef.FromString(trained())
    _, report = await af.export.quantize(frozen, ["scores"], evaluation=batches(1400, 1797), smallest=1024)
    assert [node.weights for node in report.quantized] == [9216, 24576]
    reasons = [f"its {count} weights are fewer than 1,024, so it is quicker in float32" for count in (288, 480)]
    assert list(report.left.values()) == reasons
    assert all(f": {reason}" in str(report) for reason in reasons)
    assert report.bytes_after <= 0.31 * report.bytes_before


async def test_a_transposed_matrix_of_weights_is_turned_and_a_bias_and_an_activation_are_taken_in(seed: int) -> None:
    rng = np.random.default_rng(seed)
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [None, 16], name="x")
        y = af.matmul(x, rng.normal(size=(5, 16)).astype(np.float32), transpose_b=True)
        y = af.nn.relu6(rng.normal(size=5).astype(np.float32) + y, name="y")
        af.identity(y, name="z")
    value = rng.normal(size=(30, 16)).astype(np.float32)
    graph_def, report = await af.export.quantize(graph.as_graph_def(), ["y", "z:0"], [{"x": value}], method="entropy")
    assert [node.name for node in report.quantized] == ["y"]
    assert {node.op for node in graph_def.node} == {"Placeholder", "Const", "Int8MatMul", "Identity"}
    assert report.outputs.keys() == {"y:0", "z:0"} and report.outputs["y:0"].relative < 0.05


async def test_weights_that_come_into_a_loop_or_a_branch_are_told_as_such() -> None:
    with af.Graph().as_default() as graph:
        x, w = af.placeholder(af.float32, [None, 8], name="x"), af.constant(np.ones((8, 8), np.float32))
        looped = af.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, af.matmul(a, w)), [0, x])[1]
        af.identity(looped, name="loop")
        af.identity(af.cond(af.reduce_sum(x) > 0, lambda: af.matmul(x, w), lambda: x), name="branch")
    _, report = await af.export.quantize(graph.as_graph_def(), ["loop", "branch"])
    assert not report.quantized
    reasons = {
        f"its weights come into a loop or a branch ({op}), where they stay in float32" for op in ("Enter", "Switch")
    }
    assert set(report.left.values()) == reasons


async def test_weights_that_nodes_share_are_there_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    w, value = rng.normal(size=(16, 16)).astype(np.float32), rng.normal(size=(30, 16)).astype(np.float32)
    with af.Graph().as_default() as graph:
        x, shared = af.placeholder(af.float32, [None, 16], name="x"), af.constant(w)
        once = af.matmul(x, shared)
        turned = af.matmul(once, af.identity(shared), transpose_b=True)
        af.add(af.matmul(once, af.identity(shared)), turned, name="y")
    graph_def, report = await af.export.quantize(graph.as_graph_def(), ["y"], evaluation=[value])
    assert len(report.quantized) == 3 and report.outputs["y:0"].relative < 0.05
    arrays = [af.make_ndarray(node.attr["value"].tensor) for node in graph_def.node if node.op == "Const"]
    assert sum(array.dtype == np.int8 for array in arrays) == 2, "as they are, and transposed"


@pytest.mark.parametrize(("kept", "left"), [("y", {"Relu"}), ("sum", {"Relu", "BiasAdd"})])
async def test_a_bias_or_activation_that_is_to_stay_ends_the_chain(kept: str, left: set[str]) -> None:
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [None, 8], name="x")
        y = af.matmul(x, np.ones((8, 8), np.float32))
        af.nn.relu(af.nn.bias_add(y, np.ones(8, np.float32), name="sum"), name="y")
    graph_def, _ = await af.export.quantize(graph.as_graph_def(), ["y"], keep=[kept])
    assert {node.op for node in graph_def.node} == {"Placeholder", "Const", "Int8MatMul"} | left


async def test_data_may_be_a_dataset_or_come_from_a_coroutine(seed: int) -> None:
    value = np.random.default_rng(seed).normal(size=(6, 8)).astype(np.float32)

    async def feeds() -> AsyncIterator[Any]:
        for row in value:
            yield {"x": row[None]}

    listed = await af.export.quantize(small(), ["positive"], [value])
    streamed = await af.export.quantize(small(), ["positive"], feeds(), evaluation=[value])
    dataset = af.data.Dataset.from_tensor_slices({"x": value}).batch(2)
    from_dataset = await af.export.quantize(small(), ["positive"], dataset)
    assert listed.graph_def == streamed.graph_def == from_dataset.graph_def
    assert listed.report.rows == streamed.report.rows == from_dataset.report.rows == 6


async def test_what_can_not_be_is_refused() -> None:
    value = np.ones((1, 8), np.float32)
    with pytest.raises(ValueError, match="one of minmax, percentile, entropy, not 'mean'"):
        await af.export.quantize(small(), ["positive"], [value], method="mean")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="part in percent, not 0"):
        await af.export.quantize(small(), ["positive"], [value], percentile=0)
    with pytest.raises(ValueError, match="no node 'absent' to keep"):
        await af.export.quantize(small(), ["positive"], keep=["absent"])
    with pytest.raises(InvalidArgumentError, match="The calibration has no data"):
        await af.export.quantize(small(), ["positive"], [])
    with pytest.raises(InvalidArgumentError, match=r"Put a single batch into a list: \[batch\]"):
        await af.export.quantize(small(), ["positive"], value)
    with pytest.raises(InvalidArgumentError, match=r"the inputs \['x'\], but the feeds are \['y'\]"):
        await af.export.quantize(small(), ["positive"], [{"y": value}])
    _, report = await af.export.quantize(small(), ["positive"], [value * 0])
    assert report.left == {"plain": "the calibration saw no value of its input but 0"}


def test_a_histogram_grows_and_keeps_its_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole, parts = rng.normal(size=20_000).astype(np.float32), CalibrationHistogram()
    for part in np.split(whole * np.repeat(np.float32([0.1, 1.0]), 10_000), 20):
        parts.add(part)
    assert parts.count == 20_000 and parts.is_signed
    assert parts.limit("minmax") == pytest.approx(max(-parts.least, parts.most))
    expected = np.quantile(np.abs(whole * np.repeat([0.1, 1.0], 10_000)), 0.99)
    assert parts.limit("percentile", 99.0) == pytest.approx(expected, rel=0.02)


def test_entropy_cuts_values_that_are_rare_and_far(seed: int) -> None:
    rng = np.random.default_rng(seed)
    histogram = CalibrationHistogram()
    histogram.add(np.concatenate([rng.normal(size=100_000), [1000.0]]))
    assert histogram.limit("minmax") == 1000
    assert histogram.limit("entropy") < 200
    modes = CalibrationHistogram()
    for value, times in ((1.0, 1000), (8.0, 10)):
        modes.add(np.repeat(value, times))
    assert modes.limit("entropy") > 7.9, "both ranges lose nothing, but one would cut a value at 1"
    narrow = CalibrationHistogram()
    narrow.add(np.array([0.0, np.nan, np.inf, 2.0, 1.0]))
    assert narrow.count == 2 and not narrow.is_signed
    assert narrow.limit("entropy") > 1.9 and CalibrationHistogram().limit("entropy") == 0.0
