"""The check of gradients by random projection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from graph.ops.harness import Built, run
from graph.ops.table import Case

from actorflow.base.dtypes import DType
from actorflow.graph.autodiff.gradients import gradients
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.graph import Graph
from actorflow.graph.ops.array.constant import ones_like, placeholder, zeros_like
from actorflow.graph.tensor import Tensor

STEP = 1e-5  # of central differences at float64; their error is about STEP**2, and 1e-11 / STEP by rounding


def check_gradients(case: Case, dtype: DType, seed: int) -> None:
    """First and second derivatives against central differences along a random direction.

    The scalar Re<w, op(x)> has the gradient g(x, w); its derivative along a direction u is Re<g, u>. The same for the
    scalar Re<v, g(x, w)>, whose gradients also with respect to w are taken.
    """
    for what, arrays, drawn in case.examples(dtype, seed):
        rng = np.random.default_rng([seed, len(what)])
        message = f"{what} (ACTORFLOW_TEST_SEED={seed})"
        built = Built(case.build, arrays, "shape", [not d for d in drawn])
        chosen = [i for i, d in enumerate(drawn) if d and built.inputs[i].dtype is dtype]
        xs = [built.inputs[i] for i in chosen]
        with built.graph.as_default():
            ys = [y for y in built.outputs if y.dtype.is_floating or y.dtype.is_complex]
            if case.gradient == 0:
                found = gradients(ys, xs, [ones_like(y) for y in ys]) if ys else []
                assert all(g is None for g in found), f"{message}: a gradient where there is none"
                continue
            feeds = dict(built.feeds)
            ws = _random_placeholders(ys, rng, feeds, run(built.graph, ys, feeds, "interpreter"))
            first = _dense(gradients(ys, xs, ws))
            _check_direction(f"{message}: first derivative", built.graph, ys, ws, xs, first, feeds, rng)
            gs = [g for g in first if g is not None]
            if case.gradient == 2 and gs:
                vs = _random_placeholders(gs, rng, feeds, run(built.graph, gs, feeds, "interpreter"))
                second = _dense(gradients(gs, xs + ws, vs))
                _check_direction(f"{message}: second derivative", built.graph, gs, vs, xs + ws, second, feeds, rng)


def _dense(found: Sequence[Any]) -> list[Tensor | None]:
    """The gradient of a gather comes as slices; what they stand for is compared."""
    return [None if g is None else convert_to_tensor(g) for g in found]


def _random_placeholders(
    like: Sequence[Tensor], rng: np.random.Generator, feeds: dict[Tensor, Any], values: Sequence[Any]
) -> list[Tensor]:
    made = []
    for tensor, value in zip(like, values, strict=True):
        made.append(placeholder(tensor.dtype, np.shape(value)))
        feeds[made[-1]] = _direction(value, rng)
    return made


def _direction(value: Any, rng: np.random.Generator) -> Any:
    direction = rng.standard_normal(np.shape(value))
    if np.asarray(value).dtype.kind == "c":
        direction = direction + 1j * rng.standard_normal(np.shape(value))
    return np.asarray(direction, np.asarray(value).dtype)


def _check_direction(
    message: str,
    graph: Graph,
    ys: Sequence[Tensor],
    ws: Sequence[Tensor],
    xs: Sequence[Tensor],
    found: Sequence[Tensor | None],
    feeds: Mapping[Tensor, Any],
    rng: np.random.Generator,
) -> None:
    directions = [_direction(feeds[x], rng) for x in xs]

    def projected(sign: int) -> float:
        moved = {**feeds, **{x: feeds[x] + sign * STEP * u for x, u in zip(xs, directions, strict=True)}}
        # The weights may be moved too (they are inputs of a gradient); the projection keeps those given.
        return sum(_inner(feeds[w], y) for w, y in zip(ws, run(graph, ys, moved, "interpreter"), strict=True))

    numeric = (projected(1) - projected(-1)) / (2 * STEP)
    present = [(g, x, u) for g, x, u in zip(found, xs, directions, strict=True) if g is not None]
    values = run(graph, [g for g, _, _ in present], feeds)
    for (gradient, x, _), value in zip(present, values, strict=True):
        assert np.shape(value) == np.shape(feeds[x]), (
            f"{message}: {np.shape(value)} for an input of {np.shape(feeds[x])}"
        )
        assert gradient.dtype is x.dtype, f"{message}: a gradient of type {gradient.dtype} for {x.dtype}"
    analytic = sum(_inner(value, u) for value, (_, _, u) in zip(values, present, strict=True))
    np.testing.assert_allclose(analytic, numeric, rtol=1e-5, atol=1e-5, err_msg=message)


def _inner(left: Any, right: Any) -> float:
    return float(np.real(np.vdot(left, right)))


def check_zeros_where_no_gradient_arrives(case: Case, dtype: DType, seed: int) -> None:
    """The gradient is 0 where that of the output is, at 0, 1 and -1 too, where slopes are infinite or no numbers."""
    for what, arrays, drawn in case.examples(dtype, seed):
        for value in (0.0, 1.0, -1.0):
            entries = [np.full_like(a, value) if d and _is_of(a, dtype) else a for a, d in zip(arrays, drawn)]
            built = Built(case.build, entries, "shape", [not d for d in drawn])
            xs = [x for x, d in zip(built.inputs, drawn) if d and x.dtype is dtype]
            with built.graph.as_default():
                ys = [y for y in built.outputs if y.dtype.is_floating or y.dtype.is_complex]
                found = [g for g in _dense(gradients(ys, xs, [zeros_like(y) for y in ys])) if g is not None]
            for slope in run(built.graph, found, built.feeds, "interpreter"):
                message = f"{what} of {value}: a gradient where none arrives (ACTORFLOW_TEST_SEED={seed})"
                np.testing.assert_array_equal(slope, np.zeros_like(slope), err_msg=message)


def is_one_op(case: Case) -> bool:
    """Whether a row builds one node, and not a function of several."""
    _, arrays, drawn = next(case.examples(case.types()[-1], 0), ("", [], []))
    nodes = Built(case.build, arrays, "shape", [not d for d in drawn]).graph.nodes.values()
    return sum(node.op not in ("Const", "Placeholder") for node in nodes) == 1


def _is_of(array: Any, dtype: DType) -> bool:
    return np.asarray(array).dtype == dtype.numpy_dtype
