"""`recompute`: the gradients of a plain function, bit for bit, in less memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import blocking

LAYERS, ROWS, UNITS = 36, 64, 64


def _chain(x: Any, layers: int, block: int | None) -> Any:
    """tanh(h + c) `layers` times, in recomputed blocks of `block` of them."""

    def some(h: Any, first: int, count: int) -> Any:
        for i in range(first, first + count):
            h = af.tanh(h + 0.01 * i)
        return h

    if block is None:
        return some(x, 0, layers)
    for first in range(0, layers, block):
        x = af.recompute(lambda h, first=first: some(h, first, block))(x)
    return x


@pytest.mark.parametrize("coalesce", [True, False])
def test_f73_a_chain_takes_the_memory_of_its_blocks_and_one_more_forward_pass(seed: int, coalesce: bool) -> None:
    """36 layers in six blocks: 12 layers are in memory at a time, and a few more, instead of 36."""
    value = np.random.default_rng(seed).normal(size=(ROWS, UNITS)).astype(np.float32)
    found: dict[int | None, Any] = {}
    for block in (None, 6):
        with af.Graph().as_default() as graph:
            x = af.placeholder(af.float32, [ROWS, UNITS])
            y = _chain(x, LAYERS, block)
            (slope,) = af.gradients(y, [x])
            with blocking.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
                session.run([y, slope], {x: value})
                trace = af.Trace()
                values = session.run([y, slope], {x: value}, trace=trace)
                (device,) = session.statistics().devices.values()
            tanhs = sum(event.op == "Tanh" for event in trace.events)
            found[block] = values, device.memory.peak_bytes / value.nbytes, tanhs
    (plain, plain_peak, plain_tanhs), (again, peak, tanhs) = found[None], found[6]
    for one, other in zip(plain, again, strict=True):
        assert one.tobytes() == other.tobytes()
    if not coalesce:
        assert plain_tanhs == LAYERS < tanhs <= 2 * LAYERS
        assert plain_peak >= LAYERS
        assert peak <= 2 * 6 + 2


def _plain(f: Callable[..., Any]) -> Callable[..., Any]:
    return f


@pytest.mark.parametrize("how", [_plain, af.recompute], ids=["plain", "recomputed"])
def test_f73_variables_captured_tensors_random_numbers_and_several_results(graph: af.Graph, how: Any) -> None:
    """The dropout's mask is kept and not drawn again; otherwise the gradient would not be that of what was computed."""
    x = af.constant(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))
    w = af.Variable(np.linspace(0, 1, 8, dtype=np.float32).reshape(4, 2))
    outer = af.constant([2.0, 3.0]) * 1.5
    masks: list[Any] = []

    def block(h: Any) -> list[Any]:
        mask = af.cast(af.random_uniform([3, 4], seed=7) > 0.5, af.float32)
        masks.append(mask)
        wide = af.matmul(h * mask, w)
        return [af.tanh(wide) * outer, af.reduce_sum(wide)]

    first, second = how(block)(x)
    slopes = af.gradients([first, second], [x, w, outer])
    with blocking.Session(graph=graph) as session:
        session.run(af.global_variables_initializer())
        mask, value, (of_x, of_w, of_outer) = session.run([masks[0], first, slopes])
    h = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4) * mask
    weights = np.linspace(0, 1, 8, dtype=np.float32).reshape(4, 2)
    wide = h @ weights
    back = (1 - np.tanh(wide) ** 2) * [3.0, 4.5] + 1
    np.testing.assert_allclose(value, np.tanh(wide) * [3.0, 4.5], rtol=1e-5)
    np.testing.assert_allclose(of_x, back @ weights.T * mask, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(of_w, h.T @ back, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(of_outer, np.tanh(wide).sum(0), rtol=1e-4, atol=1e-6)


def test_f73_nested_and_second_derivatives(graph: af.Graph) -> None:
    x = af.placeholder(af.float64, [])
    inner = af.recompute(lambda h: af.exp(af.sin(h)))
    outer = af.recompute(lambda h: inner(h * h) * h)
    (slope,) = af.gradients(outer(x), [x])
    (curve,) = af.gradients(slope, [x])
    plain = af.exp(af.sin(x * x)) * x
    (plain_slope,) = af.gradients(plain, [x])
    (plain_curve,) = af.gradients(plain_slope, [x])
    with blocking.Session(graph=graph) as session:
        found = session.run([slope, curve, plain_slope, plain_curve], {x: 0.7})
    np.testing.assert_allclose(found[:2], found[2:], rtol=1e-12)


def test_f73_what_is_not_differentiated_is_not_run_again(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [])
    y = af.recompute(lambda h: af.exp(h) + 1.0)(x)
    with blocking.Session(graph=graph, options=af.PlanOptions(coalesce=False)) as session:
        trace = af.Trace()
        assert session.run(y, {x: 0.0}, trace=trace) == 2.0
    assert sum(event.op == "Exp" for event in trace.events) == 1


def test_f73_a_branch_inside_is_refused_with_the_line(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [])
    with pytest.raises(ValueError, match="can't hold a cond or a loop") as caught:
        af.recompute(lambda h: af.cond(h > 0, lambda: h, lambda: -h))(x)
    assert "test_recompute.py" in str(caught.value)
