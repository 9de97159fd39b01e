"""Linear operators against the whole matrices: each class and method, with and without static shapes, in batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf

linalg = tf.linalg
Make = Callable[[Callable[[Any], Any]], Any]


@dataclass(frozen=True, slots=True)
class Row:
    """How an operator is made of arrays (`fed` makes tensors of them), and its matrix."""

    make: Callable[[np.random.Generator, Any, Callable[[Any], Any]], tuple[Any, np.ndarray[Any, Any]]]
    square: bool = True


def draw(rng: np.random.Generator, dtype: Any, *shape: int) -> np.ndarray[Any, Any]:
    value = rng.uniform(0.5, 1.5, shape)
    if np.dtype(dtype).kind == "c":
        value = value + 1j * rng.uniform(-0.5, 0.5, shape)
    return value.astype(dtype)


def regular(rng: np.random.Generator, dtype: Any, *shape: int) -> np.ndarray[Any, Any]:
    return draw(rng, dtype, *shape) + 3 * np.eye(shape[-1], dtype=dtype)


def adjoint(matrix: Any) -> Any:
    return np.conj(np.swapaxes(matrix, -1, -2))


def _diag(rng: Any, dtype: Any, fed: Any) -> Any:
    diag = draw(rng, dtype, 2, 3)
    return linalg.LinearOperatorDiag(fed(diag)), diag[..., None] * np.eye(3, dtype=dtype)


def _full(rng: Any, dtype: Any, fed: Any) -> Any:
    matrix = regular(rng, dtype, 2, 3, 3)
    return linalg.LinearOperatorFullMatrix(fed(matrix), is_non_singular=True), matrix


def _wide(rng: Any, dtype: Any, fed: Any) -> Any:
    matrix = draw(rng, dtype, 2, 3)
    return linalg.LinearOperatorFullMatrix(fed(matrix)), matrix


def _definite(rng: Any, dtype: Any, fed: Any) -> Any:
    root = regular(rng, dtype, 3, 3)
    matrix = root @ adjoint(root)
    return linalg.LinearOperatorFullMatrix(fed(matrix), is_self_adjoint=True, is_positive_definite=True), matrix


def _triangle(rng: Any, dtype: Any, fed: Any) -> Any:
    matrix = regular(rng, dtype, 2, 3, 3)
    return linalg.LinearOperatorLowerTriangular(fed(matrix)), np.tril(matrix)


def _identity(rng: Any, dtype: Any, fed: Any) -> Any:
    return linalg.LinearOperatorIdentity(3, [2], dtype), np.tile(np.eye(3, dtype=dtype), [2, 1, 1])


def _scaled(rng: Any, dtype: Any, fed: Any) -> Any:
    factor = draw(rng, dtype, 2)
    return linalg.LinearOperatorScaledIdentity(3, fed(factor)), factor[:, None, None] * np.eye(3, dtype=dtype)


def _reflection(rng: Any, dtype: Any, fed: Any) -> Any:
    axis = draw(rng, dtype, 2, 3)
    unit = axis / np.linalg.norm(axis, axis=-1, keepdims=True)
    return linalg.LinearOperatorHouseholder(fed(axis)), np.eye(3, dtype=dtype) - 2 * unit[..., None] * np.conj(
        unit[:, None]
    )


def _toeplitz(rng: Any, dtype: Any, fed: Any) -> Any:
    col, row = draw(rng, dtype, 3) + [4, 0, 0], draw(rng, dtype, 3)
    row[0] = col[0]
    matrix = np.array([[col[i - j] if i >= j else row[j - i] for j in range(3)] for i in range(3)], dtype)
    return linalg.LinearOperatorToeplitz(fed(col.astype(dtype)), fed(row)), matrix


def _circulant(*block: int) -> Callable[..., Any]:
    def make(rng: Any, dtype: Any, fed: Any) -> Any:
        kernel = draw(rng, dtype, *block) + 3 * np.eye(1, int(np.prod(block))).reshape(block)
        size = int(np.prod(block))
        places = np.array(np.unravel_index(np.arange(size), block)).T
        turned = (places[:, None] - places[None]) % np.array(block)
        matrix = kernel[tuple(np.moveaxis(turned, -1, 0))].astype(dtype)
        spectrum = np.fft.fftn(kernel).astype("complex64" if dtype in ("float32", "complex64") else "complex128")
        made = {
            1: linalg.LinearOperatorCirculant,
            2: linalg.LinearOperatorCirculant2D,
            3: linalg.LinearOperatorCirculant3D,
        }
        return made[len(block)](fed(spectrum), dtype), matrix

    return make


def _composition(rng: Any, dtype: Any, fed: Any) -> Any:
    left, first = _triangle(rng, dtype, fed)
    right, second = _diag(rng, dtype, fed)
    return linalg.LinearOperatorComposition([left, right]), first @ second


def _narrow_composition(rng: Any, dtype: Any, fed: Any) -> Any:
    first, second = draw(rng, dtype, 2, 3), draw(rng, dtype, 3, 2)
    factors = [linalg.LinearOperatorFullMatrix(first), linalg.LinearOperatorFullMatrix(fed(second))]
    return linalg.LinearOperatorComposition(factors), first @ second


def _blocks(rng: Any, dtype: Any, fed: Any) -> Any:
    first, second = regular(rng, dtype, 2, 2, 2), draw(rng, dtype, 3)
    matrix = np.zeros([2, 5, 5], dtype)
    matrix[:, :2, :2], matrix[:, 2:, 2:] = first, np.diag(second)
    return linalg.LinearOperatorBlockDiag(
        [linalg.LinearOperatorFullMatrix(fed(first)), linalg.LinearOperatorDiag(second)]
    ), matrix


def _kronecker(rng: Any, dtype: Any, fed: Any) -> Any:
    parts = regular(rng, dtype, 2, 2), draw(rng, dtype, 3), regular(rng, dtype, 2, 2)
    factors = [
        linalg.LinearOperatorFullMatrix(fed(parts[0])),
        linalg.LinearOperatorDiag(fed(parts[1])),
        linalg.LinearOperatorLowerTriangular(fed(parts[2])),
    ]
    return linalg.LinearOperatorKronecker(factors), np.kron(np.kron(parts[0], np.diag(parts[1])), np.tril(parts[2]))


def _wide_kronecker(rng: Any, dtype: Any, fed: Any) -> Any:
    first, second = draw(rng, dtype, 2, 3), draw(rng, dtype, 3, 1)
    factors = [linalg.LinearOperatorFullMatrix(fed(first)), linalg.LinearOperatorFullMatrix(second)]
    return linalg.LinearOperatorKronecker(factors), np.kron(first, second)


def _update(with_v: bool, with_diag: bool) -> Callable[..., Any]:
    def make(rng: Any, dtype: Any, fed: Any) -> Any:
        base, u, v, diag = draw(rng, dtype, 3) + 3, draw(rng, dtype, 3, 2), draw(rng, dtype, 3, 2), draw(rng, dtype, 2)
        right = v if with_v else u
        middle = np.diag(diag) if with_diag else np.eye(2, dtype=dtype)
        operator = linalg.LinearOperatorLowRankUpdate(
            linalg.LinearOperatorDiag(fed(base.astype(dtype)), is_non_singular=True),
            fed(u),
            fed(diag) if with_diag else None,
            fed(v) if with_v else None,
        )
        return operator, (np.diag(base) + u @ middle @ adjoint(right)).astype(dtype)

    return make


def _derived(kind: str) -> Callable[..., Any]:
    def make(rng: Any, dtype: Any, fed: Any) -> Any:
        operator, matrix = _triangle(rng, dtype, fed)
        if kind == "adjoint":
            return linalg.LinearOperatorAdjoint(operator), adjoint(matrix)
        return linalg.LinearOperatorInversion(operator), np.linalg.inv(matrix)

    return make


def _zeros(rng: Any, dtype: Any, fed: Any) -> Any:
    operator = linalg.LinearOperatorZeros(2, 3, [2], dtype, is_square=False, is_self_adjoint=False)
    return operator, np.zeros([2, 2, 3], dtype)


ROWS = {
    "Diag": Row(_diag),
    "FullMatrix": Row(_full),
    "FullMatrix, wide": Row(_wide, square=False),
    "FullMatrix, positive definite": Row(_definite),
    "LowerTriangular": Row(_triangle),
    "Identity": Row(_identity),
    "ScaledIdentity": Row(_scaled),
    "Zeros": Row(_zeros, square=False),
    "Householder": Row(_reflection),
    "Toeplitz": Row(_toeplitz),
    "Circulant": Row(_circulant(4)),
    "Circulant2D": Row(_circulant(2, 3)),
    "Circulant3D": Row(_circulant(2, 1, 3)),
    "Composition": Row(_composition),
    "Composition of matrices that are not square": Row(_narrow_composition),
    "BlockDiag": Row(_blocks),
    "Kronecker": Row(_kronecker),
    "Kronecker, wide": Row(_wide_kronecker, square=False),
    "LowRankUpdate": Row(_update(True, True)),
    "LowRankUpdate of one matrix": Row(_update(False, False)),
    "LowRankUpdate with a diagonal": Row(_update(False, True)),
    "Adjoint": Row(_derived("adjoint")),
    "Inversion": Row(_derived("inverse")),
}
CASES = [(name, dtype, True) for name in ROWS for dtype in ("float32", "float64", "complex64", "complex128")]
CASES += [(name, "float64", False) for name in ROWS]


def expected(matrix: Any, right: Any, left: Any, square: bool) -> dict[str, Any]:
    """The values of the methods, by the whole matrix. `right` has as many rows as it has columns, `left` as it has rows."""
    values = {
        "to_dense": matrix,
        "matmul": matrix @ right,
        "matmul adjoint": adjoint(matrix) @ left,
        "matmul adjoint_arg": matrix @ right,
        "matmul in a batch": matrix @ right,
        "matvec": (matrix @ right)[..., 0],
        "diag_part": np.diagonal(matrix, axis1=-2, axis2=-1),
        "trace": np.trace(matrix, axis1=-2, axis2=-1),
        "add_to_tensor": matrix + np.ones_like(matrix),
        "H": adjoint(matrix),
        "product": matrix @ adjoint(matrix),
        "shape": np.array(matrix.shape),
    }
    if square:
        determinant = np.linalg.det(matrix)
        values |= {
            "determinant": determinant,
            "log_abs_determinant": np.log(np.abs(determinant)),
            "solve": np.linalg.solve(matrix, left),
            "solve adjoint": np.linalg.solve(adjoint(matrix), left),
            "solve adjoint_arg": np.linalg.solve(matrix, left),
            "solvevec": np.linalg.solve(matrix, left)[..., 0],
            "inverse": np.linalg.inv(matrix),
            "solve of an operator": np.linalg.solve(matrix, matrix @ matrix),
        }
    return values


def computed(operator: Any, right: Any, left: Any, batched: Any, ones: Any, square: bool) -> dict[str, Any]:
    values = {
        "to_dense": operator.to_dense(),
        "matmul": operator.matmul(right),
        "matmul adjoint": operator.matmul(left, adjoint=True),
        "matmul adjoint_arg": operator.matmul(adjoint(right), adjoint_arg=True),
        "matmul in a batch": operator.matmul(batched)[0],
        "matvec": operator.matvec(right[..., 0]),
        "diag_part": operator.diag_part(),
        "trace": operator.trace(),
        "add_to_tensor": operator.add_to_tensor(ones),
        "H": operator.H.to_dense(),
        "product": operator.matmul(operator, adjoint_arg=True).to_dense(),
        "shape": operator.shape_tensor(),
    }
    if square:
        values |= {
            "determinant": operator.determinant(),
            "log_abs_determinant": operator.log_abs_determinant(),
            "solve": operator.solve(left),
            "solve adjoint": operator.solve(left, adjoint=True),
            "solve adjoint_arg": operator.solve(adjoint(left), adjoint_arg=True),
            "solvevec": operator.solvevec(left[..., 0]),
            "inverse": operator.inverse().to_dense(),
            "solve of an operator": operator.solve(operator.matmul(operator)).to_dense(),
        }
    return values


@pytest.mark.parametrize(("name", "dtype", "static"), CASES)
def test_methods_give_what_the_matrix_gives(graph: af.Graph, name: str, dtype: str, static: bool, seed: int) -> None:
    rng, row = np.random.default_rng(seed), ROWS[name]
    feeds: dict[Any, Any] = {}

    def fed(value: Any) -> Any:
        if static:
            return tf.constant(value)
        feeds[x := tf.placeholder(value.dtype)] = value
        x.set_shape([None] * value.ndim)
        return x

    operator, matrix = row.make(rng, dtype, fed)
    right, left = draw(rng, dtype, *matrix.shape[:-2], matrix.shape[-1], 2), draw(rng, dtype, *matrix.shape[:-1], 2)
    batched = np.broadcast_to(right, (3, *([2] * (matrix.ndim == 3)), *right.shape[-2:]))
    made = computed(operator, right, left, tf.constant(batched), np.ones_like(matrix), row.square)
    with tf.Session(graph=graph) as session:
        values = session.run(made, feeds)
    rtol = 2e-3 if dtype in ("float32", "complex64") else 1e-8
    for method, wanted in expected(matrix, right, left, row.square).items():
        np.testing.assert_allclose(values[method], wanted, rtol=rtol, atol=rtol, err_msg=f"{method} (seed {seed})")
    if static:
        assert operator.shape.as_list() == list(matrix.shape)
        assert [operator.domain_dimension, operator.range_dimension] == [matrix.shape[-1], matrix.shape[-2]]
    assert operator.dtype == tf.as_dtype(dtype)


ROOTS = {
    "Diag": lambda: linalg.LinearOperatorDiag([4.0, 9.0], is_positive_definite=True),
    "Identity": lambda: linalg.LinearOperatorIdentity(2),
    "ScaledIdentity": lambda: linalg.LinearOperatorScaledIdentity(2, 4.0, is_positive_definite=True),
    "FullMatrix": lambda: linalg.LinearOperatorFullMatrix([[4.0, 1.0], [1.0, 3.0]], None, True, True),
    "BlockDiag": lambda: linalg.LinearOperatorBlockDiag(
        [linalg.LinearOperatorDiag([4.0], is_positive_definite=True)] * 2
    ),
    "Kronecker": lambda: linalg.LinearOperatorKronecker(
        [linalg.LinearOperatorDiag([4.0, 1.0], is_positive_definite=True)] * 2
    ),
}


@pytest.mark.parametrize("name", ROOTS)
def test_roots(graph: af.Graph, name: str) -> None:
    operator = ROOTS[name]()
    root = operator.cholesky()
    with tf.Session(graph=graph) as session:
        matrix, factor = session.run([operator.to_dense(), root.to_dense()])
    np.testing.assert_allclose(factor, np.linalg.cholesky(matrix), rtol=1e-5)


BROKEN: dict[str, Callable[[], Any]] = {
    "singular diagonal": lambda: linalg.LinearOperatorDiag([1.0, 0.0]).assert_non_singular(),
    "singular triangle": lambda: linalg.LinearOperatorLowerTriangular([[1.0, 0.0], [1.0, 0.0]]).assert_non_singular(),
    "singular matrix": lambda: linalg.LinearOperatorFullMatrix([[1.0, 1.0], [1.0, 1.0]]).assert_non_singular(),
    "singular multiple": lambda: linalg.LinearOperatorScaledIdentity(2, 0.0).assert_non_singular(),
    "singular spectrum": lambda: linalg.LinearOperatorCirculant([1.0, 0.0]).assert_non_singular(),
    "singular block": lambda: linalg.LinearOperatorBlockDiag([linalg.LinearOperatorDiag([0.0])]).assert_non_singular(),
    "indefinite diagonal": lambda: linalg.LinearOperatorDiag([1.0, -1.0]).assert_positive_definite(),
    "indefinite matrix": lambda: linalg.LinearOperatorFullMatrix(
        [[1.0, 2.0], [2.0, 1.0]], is_self_adjoint=True
    ).assert_positive_definite(),
    "turned matrix": lambda: linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 1.0]]).assert_self_adjoint(),
    "complex diagonal": lambda: linalg.LinearOperatorDiag([1j]).assert_self_adjoint(),
    "spectrum": lambda: linalg.LinearOperatorCirculant([1.0, 2.0, 3.0]).assert_hermitian_spectrum(),
}


@pytest.mark.parametrize("name", BROKEN)
def test_assertions_fail(graph: af.Graph, name: str) -> None:
    with tf.Session(graph=graph) as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(BROKEN[name]())


def _flat() -> Any:
    return linalg.LinearOperatorFullMatrix([[1.0, 2.0]])


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "inverse of what is not square": (
        lambda: _flat().inverse(),
        ValueError,
        "non square",
    ),
    "determinant of it": (
        lambda: _flat().determinant(),
        NotImplementedError,
        "not be square",
    ),
    "solution with it": (
        lambda: _flat().solve([[1.0]]),
        NotImplementedError,
        "not be square",
    ),
    "solution with zeros": (
        lambda: linalg.LinearOperatorZeros(2).solve([[1.0], [1.0]]),
        NotImplementedError,
        "singular",
    ),
    "a size": (lambda: linalg.LinearOperatorDiag([1.0, 2.0]).matmul([[1.0]]), ValueError, "Dimensions 2 and 1"),
    "a vector": (lambda: linalg.LinearOperatorDiag([1.0, 2.0]).matmul([1.0, 2.0]), ValueError, "is a matrix"),
    "a type": (
        lambda: linalg.LinearOperatorDiag([1.0]).matmul(tf.constant([[1.0]], "float64")),
        TypeError,
        "dtype float32",
    ),
    "positive, but singular": (
        lambda: linalg.LinearOperatorDiag([1.0], False, None, True),
        ValueError,
        "always non-singular",
    ),
    "regular, but not square": (
        lambda: linalg.LinearOperatorFullMatrix([[1.0]], True, None, None, False),
        ValueError,
        "square",
    ),
    "real, but not self-adjoint": (lambda: linalg.LinearOperatorDiag([1.0], None, False), ValueError, "self adjoint"),
    "no operators": (lambda: linalg.LinearOperatorComposition([]), ValueError, "non-empty"),
    "operators that do not fit": (
        lambda: linalg.LinearOperatorComposition([linalg.LinearOperatorIdentity(2), linalg.LinearOperatorIdentity(3)]),
        ValueError,
        "Dimensions 2 and 3",
    ),
    "a root without hints": (
        lambda: linalg.LinearOperatorFullMatrix([[1.0]]).cholesky(),
        ValueError,
        "positive definite",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(graph: af.Graph, name: str) -> None:
    make, kind, text = REFUSED[name]
    with pytest.raises(kind, match=text):
        make()


def test_a_class_of_ones_own_has_all_methods(graph: af.Graph) -> None:
    class Shift(linalg.LinearOperator):
        """Turns the rows round by one."""

        def __init__(self) -> None:
            super().__init__(tf.float32, is_non_singular=True)

        def _shape(self) -> Any:
            return (3, 3)

        def _shape_tensor(self) -> Any:
            return tf.constant([3, 3])

        def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
            return tf.roll(tf.linalg.adjoint(x) if adjoint_arg else x, -1 if adjoint else 1, -2)

    shift = Shift()
    with tf.Session(graph=graph) as session:
        assert session.run(shift.to_dense()).tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
        assert session.run(shift.solvevec([1.0, 2.0, 3.0])).tolist() == [2, 3, 1]
        assert session.run([shift.determinant(), shift.trace(), shift.H.matvec([1.0, 2.0, 3.0])[0]]) == [1, 0, 2]
