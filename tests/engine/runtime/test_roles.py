"""Roles of ops: the runtime and the passes know a node by what its op declares, whatever the op is called."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

import actorflow as af
from actorflow.base.registry import roles
from actorflow.base.registry.opdef import ROLES, registered
from actorflow.graph.node import Node
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.graph.tensor import Tensor, TensorLike


@af.op(
    "TestFork",
    role=roles.SWITCH,
    shape=lambda c: [c.shapes[0], c.shapes[0]],
    types={"which": af.bool},
    result=(lambda c: c.dtypes[0], lambda c: c.dtypes[0]),
    view=True,
    gradient=None,
    emits_dead=True,
    work=0,
)
def fork(data: TensorLike, which: TensorLike, *, name: str | None = None) -> list[Tensor]:  # type: ignore[empty-body]
    """A Switch under another name."""


@af.op(
    "TestJoin",
    role=roles.MERGE,
    shape=lambda c: [c.shapes[0], ()],
    result=(lambda c: c.dtypes[0], lambda c: af.int32),
    view=True,
    gradient=None,
    fires_dead=True,
    emits_dead=True,
    work=0,
)
def join(inputs: Sequence[TensorLike], *, name: str | None = None) -> list[Tensor]:  # type: ignore[empty-body]
    """A Merge under another name."""


@af.op("TestSame", role=roles.IDENTITY, shape=unchanged, view=True, gradient=None, work=0)
def same(x: TensorLike, *, name: str | None = None) -> Tensor:  # type: ignore[empty-body]
    """An Identity under another name."""


@af.kernel("TestFork")
@af.kernel("TestJoin")
def _moved(xp: Any, *inputs: Any) -> Any:
    raise AssertionError("the runtime moves tokens, and runs no kernel for that")


@af.kernel("TestSame")
def _same(xp: Any, x: Any) -> Any:
    return x


@pytest.fixture(autouse=True)
def graph() -> Iterator[af.Graph]:
    with af.Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize("coalesce", [True, False])
async def test_branches_of_other_ops_with_these_roles_run(graph: af.Graph, coalesce: bool) -> None:
    x, which = af.placeholder(af.float32, []), af.placeholder(af.bool, [])
    no, yes = fork(x, which)
    result, index = join([-same(no), yes * 100.0])
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        assert await session.run([result, index], {x: 2.0, which: True}) == [200.0, 1]
        assert await session.run([result, index], {x: 2.0, which: False}) == [-2.0, 0]


@pytest.mark.parametrize("coalesce", [True, False])
async def test_identities_of_any_name_are_passed_on_in_loops(graph: af.Graph, coalesce: bool) -> None:
    i, s = af.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, af.stop_gradient(same(s)) + 2.0), [0, 1.0])
    async with af.Session(graph=graph, options=af.PlanOptions(coalesce=coalesce)) as session:
        assert await session.run([i, s]) == [5, 11.0]


def test_a_node_has_the_role_of_its_op() -> None:
    x = af.constant(1.0)
    for tensor, role in ((x, roles.CONSTANT), (same(x), roles.IDENTITY), (x + 1.0, None)):
        assert tensor.graph.nodes[tensor.op.name].role is role
    assert Node("x", "NoSuchOp").role is None


@pytest.mark.parametrize("name", [name for name in dir(roles) if name.isupper()])
def test_each_role_is_declared_by_an_op_and_stays_itself(name: str) -> None:
    role = getattr(roles, name)
    assert role in [definition.role for definition in registered().values()] and repr(role) == f"roles.{name}"
    assert copy.deepcopy(role) is role and pickle.loads(pickle.dumps(role)) is role
    assert all(ROLES[op] is definition.role for op, definition in registered().items())
