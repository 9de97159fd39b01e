"""Passes that make one op of a chain, and move reshapes behind elementwise ops: from a graph's canonical text to another, and in
runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.base.registry import plugins
from actorflow.blocking import Session
from actorflow.engine.passes.fusion.chains import fuse_chains
from actorflow.engine.passes.fusion.fuse import fuse
from actorflow.engine.passes.fusion.reshapes import sink_reshapes
from actorflow.graph.analysis.duplicates import merge_duplicates
from actorflow.graph.analysis.prune import prune
from actorflow.graph.analysis.subgraph import Subgraph

ROWS, WIDTH = 3, 8


@pytest.fixture
def graph() -> Iterator[af.Graph]:
    plugins.load_kernels()
    made = af.Graph()
    with made.as_default():
        yield made


def changed(
    passes: Sequence[Callable[[Subgraph], Subgraph]], fetches: Sequence[af.Tensor], feeds: Sequence[af.Tensor]
) -> str:
    """The canonical text of what a run needs after some passes; constants left out."""
    part = prune(
        Subgraph(
            fetches[0].graph.nodes,
            {t.tensor_id: (t.dtype, t.static_shape) for t in feeds},
            tuple(f.tensor_id for f in fetches),
        )
    )
    for one in passes:
        part = one(part)
    assert set(part.nodes) >= {e.node for node in part.nodes.values() for e in node.inputs if e not in part.feeds}
    return "\n".join(str(node) for node in part.nodes.values() if node.op != "Const")


def rows_and_vectors() -> tuple[af.Tensor, af.Tensor, af.Tensor]:
    x = af.placeholder(af.float32, [None, WIDTH], name="x")
    return (
        x,
        af.constant(np.linspace(1, 2, WIDTH), af.float32, name="s"),
        af.constant(np.ones(WIDTH), af.float32, name="o"),
    )


def _roots(value: Any) -> list[Any]:
    return [1.0 / af.sqrt(value), af.rsqrt(value), af.reciprocal(af.sqrt(value))]


def layer_norms(x: Any, s: Any, o: Any) -> list[Any]:
    found = []
    for number in range(3):
        centred = x - af.reduce_mean(x, -1, keepdims=True)
        square = centred * centred if number else af.square(centred)
        root = _roots(af.reduce_mean(square, [-1], keepdims=True) + 1e-3)[number]
        found.append(centred * root * s + o if number else o + s * (root * centred))
    mean, variance = af.nn.moments(x, [-1], keepdims=True)
    found += [(x - mean) * root * s + o for root in _roots(variance + 1e-3)]
    found.append(s * ((x - mean) / af.sqrt(1e-3 + variance)) + o)
    return [*found, af.nn.batch_normalization(x, mean, variance, o, s, 1e-3)]


def rms_norms(x: Any, s: Any, o: Any) -> list[Any]:
    means = [af.reduce_mean(square, -1, keepdims=True) + 1e-6 for square in (x * x, af.square(x), af.square(x), x * x)]
    return [*(s * (x * _roots(mean)[number]) for number, mean in enumerate(means[:3])), x / af.sqrt(means[3]) * s]


def gelus(x: Any, s: Any, o: Any) -> list[Any]:
    wide, narrow = np.float32(np.sqrt(2)), np.float32(np.sqrt(0.5))
    return [
        x * (af.erf(x / wide) + 1.0) * 0.5,
        0.5 * x * (1.0 + af.erf(x * narrow)),
        x * (0.5 * (1.0 + af.erf(x / wide))),
    ]


def near_gelus(x: Any, s: Any, o: Any) -> list[Any]:
    share = np.float32(np.sqrt(2 / np.pi))
    return [
        0.5 * x * (1.0 + af.tanh(share * (x + 0.044715 * (x * x * x)))),
        0.5 * x * (1.0 + af.tanh(share * (x + 0.044715 * x * x * x))),
        x * (0.5 * (1.0 + af.tanh(share * (x + 0.044715 * af.pow(x, 3.0))))),
    ]


def swishes(x: Any, s: Any, o: Any) -> list[Any]:
    return [x * af.sigmoid(x), af.sigmoid(x) * x]


@pytest.mark.parametrize(
    ("op", "forms"),
    [
        ("_LayerNorm", layer_norms),
        ("_RmsNorm", rms_norms),
        ("_Gelu", gelus),
        ("_GeluTanh", near_gelus),
        ("_Swish", swishes),
    ],
)
def test_all_forms_of_a_function_become_one_op(graph: af.Graph, op: str, forms: Any, seed: int) -> None:
    x, s, o = rows_and_vectors()
    made = [af.identity(y, name=f"y{number}") for number, y in enumerate(forms(x, s, o))]
    for y in made:
        lines = changed([fuse_chains], [y], [x]).splitlines()
        assert len(lines) == 2 and f"= {op}(x" in lines[0], lines
    given = np.random.default_rng(seed).normal(size=(ROWS, WIDTH)).astype(np.float32)
    with Session(graph=graph) as session:
        fused_ = session.run(made, {x: given})
    with Session(graph=graph, options=af.PlanOptions(optimize=False)) as session:
        plain = session.run(made, {x: given})
    for one, other in zip(fused_, plain):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("number", range(8))
def test_a_layer_norm_and_its_gradient_become_one_op_for_each_result(graph: af.Graph, number: int, seed: int) -> None:
    x, s, o = rows_and_vectors()
    dy = af.placeholder(af.float32, [None, WIDTH], name="dy")
    y = af.identity(layer_norms(x, s, o)[number], name="y")
    made = [y, *af.gradients(y, [x, s, o], dy)]
    lines = changed([merge_duplicates, fuse_chains], made, [x, dy]).splitlines()
    found = [line.partition(" = ")[2] for line in lines]
    assert "_LayerNormGrad(dy, x, s)" in found and "_LayerNormScaleGrad(dy, x)" in found, lines
    assert [line.partition("(")[0] for line in found if "Grad(" not in line] == ["_LayerNorm", "Identity", "Sum"], lines
    rng = np.random.default_rng(seed)
    feeds = {one: rng.normal(size=(ROWS, WIDTH)).astype(np.float32) for one in (x, dy)}
    with Session(graph=graph) as session:
        fused_ = session.run(made, feeds)
    with Session(graph=graph, options=af.PlanOptions(optimize=False)) as session:
        plain = session.run(made, feeds)
    for one, other in zip(fused_, plain):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_a_layer_norm_whose_mean_is_seen_keeps_its_nodes(graph: af.Graph, seed: int) -> None:
    x, s, o = rows_and_vectors()
    mean, variance = af.nn.moments(x, [-1], keepdims=True)
    y = (x - mean) * af.rsqrt(variance + 1e-3) * s + o
    dx = af.gradients(y, x)[0]
    given = np.random.default_rng(seed).normal(size=(ROWS, WIDTH)).astype(np.float32)
    text = changed([merge_duplicates, fuse_chains], [dx, y, mean], [x])
    assert "_LayerNorm" not in text
    with Session(graph=graph) as session:
        np.testing.assert_allclose(session.run([dx, y, mean], {x: given})[2], given.mean(-1, keepdims=True), rtol=1e-4)


@pytest.mark.parametrize("number", range(3))
def test_the_gradient_of_a_softmax_becomes_one_op_with_its_scale(graph: af.Graph, number: int, seed: int) -> None:
    x, dy = (af.placeholder(af.float32, [None, WIDTH], name=name) for name in ("x", "dy"))
    scaled = (x, x * 0.5, x / 2.0)[number]
    y = af.nn.softmax(scaled, name="y")
    made = [y, af.gradients(y, x, dy)[0]]
    lines = changed([merge_duplicates, fuse_chains], made, [x, dy]).splitlines()
    assert sum("= _SoftmaxGrad(dy, y)" in line for line in lines) == 1 and len(lines) == 2 + (number > 0), lines
    rng = np.random.default_rng(seed)
    feeds = {one: rng.normal(size=(ROWS, WIDTH)).astype(np.float32) for one in (x, dy)}
    with Session(graph=graph) as session:
        fused_ = session.run(made, feeds)
    with Session(graph=graph, options=af.PlanOptions(optimize=False)) as session:
        plain = session.run(made, feeds)
    for one, other in zip(fused_, plain):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def attentions(q: Any, k: Any, v: Any, bias: Any) -> list[Any]:
    plain, turned = af.matmul(q, k, transpose_b=True), af.matmul(q, af.transpose(k, [0, 1, 3, 2]))
    root, share = np.float32(8**0.5), np.float32(8**-0.25)
    scaled = [
        turned * (1 / root) + bias,
        bias + plain / root,
        af.matmul(q * share, af.transpose(k * share, [0, 1, 3, 2])),
        af.matmul(q / root, k, transpose_b=True) + bias,
        plain,
        bias + (plain * 0.5 + bias[:, :, :1]),
    ]
    return [af.matmul(af.nn.softmax(scores), v) for scores in scaled]


def test_all_forms_of_attention_become_one_op(graph: af.Graph, seed: int) -> None:
    """Queries, keys and values are views of what one product gives, and the heads are put side by side again."""
    given = np.random.default_rng(seed).normal(size=(2, 5, 3, 4, 8)).astype(np.float32)
    x = af.placeholder(af.float32, given.shape, name="x")
    parts = [af.transpose(part, [0, 2, 1, 3]) for part in af.unstack(x, axis=2)]
    bias = af.constant(np.where(np.tri(5), 0, -1e9)[None, None], af.float32)
    made = [af.reshape(af.transpose(y, [0, 2, 1, 3]), [2, 5, 32]) for y in attentions(*parts, bias)]
    for number, y in enumerate(made):
        text = changed([fuse_chains], [y], [x])
        assert "= _Attention(" in text and " = BatchMatMul" not in text and " = Softmax" not in text, (number, text)
    with Session(graph=graph) as session:
        fused_ = session.run(made, {x: given})
    with Session(graph=graph, options=af.PlanOptions(optimize=False)) as session:
        plain = session.run(made, {x: given})
    for one, other in zip(fused_, plain):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("turned", [True, False])
def test_heads_that_share_a_key_read_it_where_it_is(graph: af.Graph, turned: bool, seed: int) -> None:
    given = np.random.default_rng(seed).normal(size=(2, 2, 5, 5)).astype(np.float32)
    x = af.placeholder(af.float32, given.shape, name="x")
    times = af.reshape(af.broadcast_to(af.expand_dims(x, 2), [2, 2, 3, 5, 5]), [2, 6, 5, 5])
    query = af.concat([x, 2 * x, 3 * x], 1, name="query")
    key = {"b": af.transpose(times, [0, 1, 3, 2])} if turned else {"b": times, "transpose_b": True}
    y = af.matmul(af.nn.softmax(af.matmul(query, **key)), times, name="y")
    assert changed([fuse_chains], [y], [x]).splitlines()[-1] == "y = _Attention(query, x, x)"
    with Session(graph=graph) as session:
        found = session.run(y, {x: given})
    with Session(graph=graph, options=af.PlanOptions(optimize=False)) as session:
        np.testing.assert_allclose(found, session.run(y, {x: given}), rtol=1e-4, atol=1e-5)


def test_heads_that_share_a_key_and_others_a_value_are_left_alone(graph: af.Graph, seed: int) -> None:
    given = np.random.default_rng(seed).normal(size=(2, 4, 5, 5)).astype(np.float32)
    x = af.placeholder(af.float32, given.shape, name="x")
    keys = af.reshape(af.broadcast_to(af.expand_dims(x, 2), [2, 4, 2, 5, 5]), [2, 8, 5, 5])
    values = af.reshape(af.broadcast_to(af.expand_dims(x[:, :2], 2), [2, 2, 4, 5, 5]), [2, 8, 5, 5])
    y = af.matmul(af.nn.softmax(af.matmul(af.concat([x, 2 * x], 1), keys, transpose_b=True)), values)
    with Session(graph=graph) as session:
        found = session.run(y, {x: given})
    with Session(graph=graph, options=af.PlanOptions(optimize=False)) as session:
        np.testing.assert_allclose(found, session.run(y, {x: given}), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("divisor", [0.0, 1e-40])
def test_scores_that_are_divided_by_nothing_are_left_alone(graph: af.Graph, divisor: float) -> None:
    x = af.placeholder(af.float32, [2, 3, 4], name="x")
    y = af.matmul(af.nn.softmax(af.matmul(x, x, transpose_b=True) / divisor), x)
    assert "_Attention" not in changed([fuse_chains], [y], [x])
    with Session(graph=graph) as session, np.errstate(all="ignore"):
        assert np.isnan(session.run(y, {x: np.ones((2, 3, 4), np.float32)})).all()  # inf - inf


def rotated(x: Any, cosines: Any, sines: Any, half: int = WIDTH // 2) -> Any:
    return x * cosines + af.concat([-x[..., half:], x[..., :half]], -1) * sines


def test_rotations_become_one_op(graph: af.Graph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    given = rng.normal(size=(2, 5, 3, WIDTH)).astype(np.float32)
    flat = af.placeholder(af.float32, given.shape, name="flat")
    x = af.transpose(flat, [0, 2, 1, 3], name="x")
    c, s = (af.constant(rng.normal(size=(1, 1, 5, WIDTH)).astype(np.float32), name=name) for name in "cs")
    y = rotated(x, c, s)
    assert " = _Rotary(x, c, s)" in changed([fuse_chains], [y], [flat])
    with Session(graph=graph) as session:
        found = session.run(y, {flat: given})
    with Session(graph=graph, options=af.PlanOptions(optimize=False)) as session:
        np.testing.assert_array_equal(found, session.run(y, {flat: given}))
    for other in (
        rotated(x, c, s, 3),
        x * c + af.concat([-x[..., :4], x[..., 4:]], -1) * s,
        x * c + af.concat([x[..., :4], -x[..., 4:]], -1) * s,
        x * c + af.concat([-x[..., 7:3:-1], x[..., :4]], -1) * s,
        rotated(x[:1], c, af.concat([s, s], 0)),
    ):
        assert "_Rotary" not in changed([fuse_chains], [other], [flat])


def test_what_is_no_attention_stays(graph: af.Graph) -> None:
    q = af.placeholder(af.float32, [2, 5, 5], name="q")
    scores = af.matmul(q, q, transpose_b=True)
    shares = af.nn.softmax(scores)
    for fetches in (
        [af.matmul(af.nn.softmax(scores, axis=1), q)],
        [af.matmul(shares, q, transpose_a=True)],
        [af.matmul(shares, q), shares],
        [af.matmul(q, shares)],
    ):
        assert "_Attention" not in changed([fuse_chains], fetches, [q])


def test_what_others_see_keeps_a_chain_apart(graph: af.Graph) -> None:
    x, _, _ = rows_and_vectors()
    share = af.sigmoid(x, name="share")
    y = af.multiply(x, share, name="y")
    assert changed([fuse_chains], [y, share], [x]) == "share = Sigmoid(x)\ny = Mul(x, share)"
    assert changed([fuse_chains], [y], [x, share]) == "y = Mul(x, share)"
    assert changed([fuse_chains], [y], [x]) == "y = _Swish(x)"
    assert "_Swish" not in changed([fuse_chains], [af.multiply(y, share)], [x])


def test_means_over_other_dimensions_are_no_rows(graph: af.Graph) -> None:
    x, s, _ = rows_and_vectors()
    for axis, keep in ((0, True), ([0, 1], True)):
        y = x * af.rsqrt(af.reduce_mean(af.square(x), axis, keepdims=keep) + 1e-6) * s
        assert "_RmsNorm" not in changed([fuse_chains], [y], [x])


def test_other_numbers_are_another_function(graph: af.Graph) -> None:
    x, _, _ = rows_and_vectors()
    y = x * (af.erf(x / np.float32(1.4)) + 1.0) * 0.5
    assert "_Gelu" not in changed([fuse_chains], [y], [x])
    doubles = af.placeholder(af.float64, [4], name="doubles")
    assert "_Swish" not in changed([fuse_chains], [doubles * af.sigmoid(doubles)], [doubles])


# ---- reshapes


def layer(x: Any, name: str, residual: Any = None, activation: Any = None) -> af.Tensor:
    """A dense layer over sequences [2, 3, 8]."""
    w, b = (
        af.constant(np.eye(WIDTH), af.float32, name=f"{name}/w"),
        af.constant(np.ones(WIDTH), af.float32, name=f"{name}/b"),
    )
    flat = af.reshape(x, [6, WIDTH], name=f"{name}/flat")
    y = af.reshape(af.matmul(flat, w, name=f"{name}/xw"), [2, 3, WIDTH], name=f"{name}/back") + b
    y = y if residual is None else y + residual
    return y if activation is None else activation(y)


def test_layers_over_sequences_are_products_of_matrices_alone(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [2, 3, WIDTH], name="x")
    y = af.identity(layer(layer(x, "one", activation=af.nn.relu), "two"), name="y")
    text = changed([sink_reshapes, fuse], [y], [x])
    assert text.count("= Reshape(") == 2 and text.count("= _FusedMatMul(") == 2 and " = Relu(" not in text


def test_what_is_added_goes_before_the_reshape_too(graph: af.Graph, seed: int) -> None:
    x = af.placeholder(af.float32, [2, 3, WIDTH], name="x")
    first = layer(x, "one", residual=x)
    y = af.identity(layer(first, "two", residual=first, activation=af.tanh), name="y")
    text = changed([sink_reshapes, fuse], [y], [x])
    assert text.count("= Reshape(") == 3, text  # x in two places, and the result
    assert text.count("= _AddFusedMatMul(") == 2
    given = np.random.default_rng(seed).normal(size=(2, 3, WIDTH)).astype(np.float32)
    with Session(graph=graph) as session:
        np.testing.assert_allclose(session.run(y, {x: given}), np.tanh(2 * (2 * given + 1) + 1), rtol=1e-5, atol=1e-6)


def test_a_reshape_that_changes_rows_or_is_seen_stays_where_it_is(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [6, WIDTH], name="x")
    wide = af.reshape(x, [3, 2 * WIDTH], name="wide")
    assert changed([sink_reshapes], [af.add(wide, np.ones(2 * WIDTH, np.float32), name="y")], [x]).startswith("wide = ")
    seen = af.reshape(x, [2, 3, WIDTH], name="seen")
    y = af.nn.relu(seen, name="z")
    assert changed([sink_reshapes], [y, seen], [x]) == "seen = Reshape(x, seen/shape)\nz = Relu(seen)"
    open_ = af.placeholder(af.float32, [None, WIDTH], name="open")
    assert changed([sink_reshapes], [af.nn.relu(af.reshape(open_, [-1, 2, WIDTH]), name="w")], [open_]).endswith(
        "w = Relu(Reshape)"
    )


@pytest.mark.parametrize("first", [True, False])
def test_a_node_of_the_user_may_have_the_name_of_the_sizes_of_a_reshape(graph: af.Graph, first: bool) -> None:
    x, p = af.placeholder(af.float32, [4, 12]), af.placeholder(af.int64, [3])
    own = af.add(p, p, name="a/sizes") if first else None
    y = af.exp(af.expand_dims(x, 1, name="a"))
    own = af.add(p, p, name="a/sizes") if own is None else own
    with Session(graph=graph) as session:
        found, sizes = session.run([y, own - 1], {x: np.zeros((4, 12)), p: [1, 2, 6]})
    assert found.shape == (4, 1, 12) and sizes.tolist() == [1, 3, 11]


def test_convolutions_of_sequences_take_what_follows_them_in(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [2, 6, WIDTH], name="x")

    def layer(x: Any, name: str) -> af.Tensor:
        filters = af.constant(np.ones((1, 3, WIDTH, WIDTH)), af.float32, name=f"{name}/filters")
        made = af.nn.conv2d(af.expand_dims(x, 1), filters, strides=1, padding="SAME", name=f"{name}/conv")
        return af.nn.relu(af.squeeze(made, [1]) + af.constant(np.ones(WIDTH), af.float32, name=f"{name}/bias"))

    y = af.identity(layer(layer(x, "one"), "two"), name="y")
    text = changed([sink_reshapes, fuse], [y], [x])
    assert text.count("= Reshape(") == 2 and text.count("= _FusedConv2D(") == 2, text  # x, and the result
    assert "Relu(" not in text and "= Squeeze(" not in text and "= ExpandDims(" not in text
    open_ = af.placeholder(af.float32, [None, 6, WIDTH], name="open")
    assert changed([sink_reshapes], [af.expand_dims(open_, 1, name="kept")], [open_]).startswith("kept = ExpandDims(")
