"""Gradients of factorizations that there are not, and what says so; and the short names of functions of mathematics."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import actorflow as af


@pytest.mark.parametrize(
    ("build", "shape", "message"),
    [
        (lambda x: af.qr(x, full_matrices=True)[1], [3, 2], "more rows than columns"),
        (lambda x: af.qr(x)[1], [None, 2], "static sizes"),
        (lambda x: af.svd(x, full_matrices=True)[1], [4, 2], "differ by more than 1"),
        (lambda x: af.svd(x)[1], None, "static sizes"),
        (lambda x: af.matrix_solve_ls(x, x), [None, 2], "static sizes"),
        (lambda x: af.linalg.sqrtm(x), [None, None], "static sizes"),
    ],
)
def test_what_is_not_known(build: Callable[[Any], Any], shape: Any, message: str) -> None:
    with af.Graph().as_default():
        x = af.placeholder(af.float64, shape)
        with pytest.raises(NotImplementedError, match=message):
            af.gradients(build(x), x)


def test_least_squares_of_any_rank() -> None:
    with af.Graph().as_default():
        x = af.placeholder(af.float64, [3, 2])
        with pytest.raises(ValueError, match="fast=True"):
            af.gradients(af.matrix_solve_ls(x, x, fast=False), x)


def test_igamma_has_one_derivative_by_its_order() -> None:
    with af.Graph().as_default():
        a, x = af.placeholder(af.float64, []), af.placeholder(af.float64, [])
        by_a, by_x = af.gradients(af.igamma(a, x), [a, x])
        assert af.gradients(by_x, x)[0] is not None
        with pytest.raises(LookupError, match="no derivative of its own"):
            af.gradients(by_a, x)


def test_singular_values_need_no_sizes(seed: int) -> None:
    """That of the values alone is known for any matrix: d(Σ s)/dx = u · vᴴ."""
    value = np.random.default_rng(seed).standard_normal((3, 2))
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float64, [None, None])
        (found,) = af.gradients(af.svd(x, compute_uv=False), x)
        with af.blocking.Session(graph=graph) as session:
            u, _, vh = np.linalg.svd(value, full_matrices=False)
            np.testing.assert_allclose(session.run(found, {x: value}), u @ vh)


@pytest.mark.parametrize("module", [af.linalg, af.math, af.signal])
def test_short_names(module: ModuleType) -> None:
    """All that a module lists is there, and what `af` has under the same name is the same, but for `diag` and its kin."""
    other = {"diag", "diag_part", "transpose"}
    for name in module.__all__:
        function = getattr(module, name)
        assert callable(function), name
        if hasattr(af, name) and not (module is af.linalg and name in other):
            assert getattr(af, name) is function, name
