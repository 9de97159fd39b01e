"""Second derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import actorflow as af


def test_of_a_vector() -> None:
    """TensorFlow's answer."""
    with af.Graph().as_default() as graph:
        x = af.constant([1.0, 2.0])
        (hessian,) = af.hessians(af.reduce_sum(x**3) * x[0], x)
        with af.blocking.Session(graph=graph) as session:
            np.testing.assert_allclose(session.run(hessian), [[12.0, 12.0], [12.0, 12.0]])
    assert hessian.shape == [2, 2]


def test_of_a_quadratic_form(seed: int) -> None:
    """That of xᵀ·A·x is A + Aᵀ, and there is one for each x."""
    matrix = np.random.default_rng(seed).standard_normal((3, 3))
    with af.Graph().as_default() as graph:
        x, y = af.placeholder(af.float64, [3]), af.placeholder(af.float64, [])
        form = af.reduce_sum(x * af.linalg.matvec(matrix, x)) * y**2
        of_x, of_y = af.hessians(form, [x, y])
        with af.blocking.Session(graph=graph) as session:
            point = np.array([1.0, -2.0, 0.5])
            found, second = session.run([of_x, of_y], {x: point, y: 2.0})
    np.testing.assert_allclose(found, 4 * (matrix + matrix.T))
    np.testing.assert_allclose(second, 2 * point @ matrix @ point)


def test_of_a_matrix_has_its_shape_twice() -> None:
    """TensorFlow's answer: 6x for each element with itself."""
    value = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    with af.Graph().as_default() as graph:
        x = af.constant(value)
        (hessian,) = af.hessians(af.reduce_sum(x**3), x)
        with af.blocking.Session(graph=graph) as session:
            expected = np.diag(6 * value.reshape(-1)).reshape(2, 2, 2, 2)
            np.testing.assert_allclose(session.run(hessian), expected, rtol=1e-6)


def test_of_a_linear_function_it_is_zero() -> None:
    with af.Graph().as_default() as graph:
        x = af.constant([1.0, 2.0])
        (hessian,) = af.hessians(af.reduce_sum(3 * x), x)
        with af.blocking.Session(graph=graph) as session:
            np.testing.assert_array_equal(session.run(hessian), np.zeros((2, 2)))


def test_of_a_variable() -> None:
    with af.Graph().as_default() as graph:
        variable = af.Variable([1.0, 3.0])
        (hessian,) = af.hessians(af.reduce_prod(variable) ** 2, variable)
        with af.blocking.Session(graph=graph) as session:
            session.run(af.global_variables_initializer())
            np.testing.assert_allclose(session.run(hessian), [[18.0, 12.0], [12.0, 2.0]])


def test_what_has_none() -> None:
    with af.Graph().as_default():
        x = af.placeholder(af.float32, [None])
        with pytest.raises(ValueError, match="needs the shape"):
            af.hessians(af.reduce_sum(x * x), x)
        with pytest.raises(ValueError, match="No y depends"):
            af.hessians(af.constant(1.0), af.constant([1.0]))
