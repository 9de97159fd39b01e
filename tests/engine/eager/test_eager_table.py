"""Every row of the table of ops runs eagerly too, and gives the bits that a graph gives."""

from __future__ import annotations

from typing import Any

import anyio
import numpy as np
import pytest
from graph.ops.checks import _given
from graph.ops.harness import Built
from graph.ops.table import Case, Reject, all_cases

from actorflow import errors
from actorflow.engine.eager import launches
from actorflow.engine.eager.scope import eager
from actorflow.graph.convert import convert_to_tensor
from actorflow.graph.ops.array.constant import constant

CASES: list[Case] = all_cases()
NEEDS_A_GRAPH = {
    "PlaceholderWithDefault": "it is fed",
    "PyFunc": "it awaits a function",
    "CTCLoss-slopes": "it calls gradients",
    "ctc-dense-slopes": "it calls gradients",
    "CheckNumerics-4": "it looks through a graph",
}

PREPARED = ("Int8MatMul-limit", "Int8Conv2D-limit")
"""Beginnings of rows that a session computes in one call of oneDNN, from floats to floats, since their weights are constants: a
last bit differs. Eager weights may be other ones in each call."""


def bits(value: Any) -> Any:
    """The bits that two equal values share: type, shape and bytes."""
    array = np.asarray(value, dtype=object) if isinstance(value, bytes) else np.asarray(value)
    content = array.tolist() if array.dtype.hasobject else array.tobytes()
    return str(array.dtype), array.shape, content


def at_once(case: Case, arrays: list[Any]) -> list[Any]:
    with eager():
        made = case.build(*[constant(array) for array in arrays])
        made = made if isinstance(made, (list, tuple)) else [made]
        return [convert_to_tensor(tensor).numpy() for tensor in made]


@pytest.mark.parametrize("case", [pytest.param(c, id=c.id) for c in CASES if c.id not in NEEDS_A_GRAPH])
def test_eager_gives_the_bits_of_a_graph_f119(case: Case, seed: int) -> None:
    """By the interpreter, which runs the same kernels one by one; and where that chooses another one, by a session."""
    for dtype in case.types():
        for number, (what, arrays, drawn) in enumerate(case.examples(dtype, seed)):
            built = Built(case.build, arrays, "shape", [not d for d in drawn])
            by_session = number == 0 and dtype is case.types()[0] and not case.id.startswith(PREPARED)
            expected = [bits(value) for value in built.run("session" if by_session else "interpreter")]
            actual = [bits(value) for value in at_once(case, arrays)]
            if actual != expected and not by_session:
                expected = [bits(value) for value in built.run("session")]
            assert actual == expected, f"{what} (ACTORFLOW_TEST_SEED={seed})"


@pytest.mark.parametrize("case", [pytest.param(c, id=c.id) for c in CASES if c.id not in NEEDS_A_GRAPH])
def test_ops_on_a_thread_give_the_same_bits_f119(case: Case, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every op on the thread of `async with eager(threads=1)`, though it be short."""
    monkeypatch.setattr(launches, "INLINE_LIMIT_NS", -1.0)
    _, arrays, _ = next(iter(case.examples(case.types()[0], seed)))

    async def main() -> list[Any]:
        async with eager(threads=1):
            made = case.build(*[constant(array) for array in arrays])
            tensors: list[Any] = [convert_to_tensor(t) for t in (made if isinstance(made, (list, tuple)) else [made])]
            return [bits((await tensor).numpy()) for tensor in tensors]

    assert anyio.run(main) == [bits(value) for value in at_once(case, arrays)]


@pytest.mark.parametrize("case", [pytest.param(c, id=c.id) for c in CASES if c.id in NEEDS_A_GRAPH])
def test_eager_refuses_what_needs_a_graph_f119(case: Case, seed: int) -> None:
    _, arrays, _ = next(case.examples(case.types()[0], seed))
    with pytest.raises(RuntimeError, match=r"not (compatible with|supported when) eager"):
        at_once(case, arrays)


def _refused() -> list[Any]:
    found = [(c, r, f"{c.id}-{i}") for c in CASES for i, r in enumerate(c.rejects)]
    return [pytest.param(c, r, id=name) for c, r, name in found if name not in NEEDS_A_GRAPH]


@pytest.mark.parametrize(("case", "reject"), _refused())
def test_eager_refuses_what_a_graph_refuses_f119(case: Case, reject: Reject) -> None:
    """With the class that the graph raises. An error that a graph raises in a run is raised at the call here, so that a
    ValueError may stand for an InvalidArgumentError, which is one; and a placeholder is refused as such."""
    kinds = {ValueError if issubclass(kind, errors.InvalidArgumentError) else kind for kind in reject.errors}
    with eager(), pytest.raises((*kinds, RuntimeError)) as caught:
        (reject.build or case.build)(*[constant(array) for array in _given(case, reject)])
    assert not isinstance(caught.value, RuntimeError) or "eager execution" in str(caught.value)
