"""All tests of the table's rows, and that each op has one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from graph.ops import checks, derivatives
from graph.ops.elsewhere import COVERED_ELSEWHERE
from graph.ops.table import Case, Reject, all_cases

from actorflow.base.registry import opdef, plugins

plugins.import_ops()
# The gradients of these are solved for, and a singular matrix is refused, as TensorFlow does.
NEEDS_AN_INVERSE = {
    "Cholesky",
    "MatrixInverse",
    "MatrixSolve",
    "MatrixTriangularSolve",
    "MatrixSquareRoot",
    "Qr",
    "Svd",
} | {
    "LogMatrixDeterminant",
    "Lu",
    "MatrixSolveLs",
    "MatrixDeterminant",
    "SelfAdjointEigV2",
}
HERE = Path(__file__).parent
CASES: list[Case] = all_cases()


def cases(keep: Callable[[Case], Any] = lambda case: True) -> Any:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES if keep(case)])


@cases()
def test_values(case: Case, seed: int) -> None:
    for dtype in case.types():
        checks.check_values(case, dtype, seed)


@cases()
def test_kernels(case: Case, seed: int) -> None:
    for dtype in case.types():
        checks.check_kernels(case, dtype, seed)


@cases()
def test_literals(case: Case) -> None:
    checks.check_literals(case)


@cases(lambda case: case.slopes)
def test_slopes(case: Case) -> None:
    checks.check_slopes(case)


@cases(lambda case: case.gradient is not None and {"float64", "complex128"} & set(case.dtypes.split()))
def test_gradients(case: Case, seed: int) -> None:
    for dtype in case.types():
        if dtype.name in ("float64", "complex128"):
            derivatives.check_gradients(case, dtype, seed)


@cases(
    lambda case: (
        case.gradient
        and case.ops
        and {"float64", "complex128"} & set(case.dtypes.split())
        and case.ops.split()[0] not in NEEDS_AN_INVERSE
        and derivatives.is_one_op(case)
    )
)
def test_zeros_where_no_gradient_arrives(case: Case, seed: int) -> None:
    for dtype in case.types():
        if dtype.name in ("float64", "complex128"):
            derivatives.check_zeros_where_no_gradient_arrives(case, dtype, seed)


@cases()
def test_round_trip(case: Case) -> None:
    checks.check_round_trip(case)


@pytest.mark.parametrize(
    ("case", "reject"),
    [pytest.param(c, r, id=f"{c.id}-{i}") for c in CASES for i, r in enumerate(c.rejects)],
)
def test_rejects(case: Case, reject: Reject) -> None:
    checks.check_reject(case, reject)


def test_ids_are_unique() -> None:
    ids = [case.id for case in CASES]
    assert sorted(set(ids)) == sorted(ids), [i for i in ids if ids.count(i) > 1]


def test_every_op_has_a_row() -> None:
    plugins.load_kernels()
    covered = {op for case in CASES for op in case.ops.split()} | COVERED_ELSEWHERE.keys()
    ours = {d.type for d in opdef.registered().values() if "/tests/" not in d.where}
    assert not ours - covered, f"ops without a row: {sorted(ours - covered)}"
    assert not covered - ours, f"rows of ops that are not registered: {sorted(covered - ours)}"


@pytest.mark.parametrize("place", sorted(set(COVERED_ELSEWHERE.values())))
def test_the_named_tests_exist(place: str) -> None:
    file, _, name = place.partition("::")
    path = HERE.parents[1] / file
    assert path.is_file() and f"def {name}(" in path.read_text(encoding="utf-8"), f"there is no test {place}"
