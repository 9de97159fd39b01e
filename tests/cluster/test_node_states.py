"""The state that nodes keep between runs ends with the connection that brought them, and a run that needs it says
so."""

from __future__ import annotations

import pytest

import actorflow as af
from actorflow.cluster.master.node_states import NodeStates, behind, keeps_state
from actorflow.errors import AbortedError
from actorflow.graph.node import Node

PLACE = "/job:worker/task:1"


def nodes(graph: af.Graph, *wanted: str) -> list[Node]:
    return behind(graph.nodes, wanted)


def test_f68_random_numbers_are_kept_and_sums_are_not(graph: af.Graph) -> None:
    drawn = af.random_uniform([2], seed=1)
    total = af.reduce_sum(drawn)
    assert any(map(keeps_state, nodes(graph, total.op.name)))
    assert not any(map(keeps_state, nodes(graph, af.constant(1.0).op.name)))


def test_f68_a_run_that_needs_what_is_lost_fails_once(graph: af.Graph) -> None:
    drawn = nodes(graph, af.random_uniform([2], seed=1).op.name)
    states, first, second = NodeStates(lambda place: True), object(), object()
    for _ in range(2):
        states.met(PLACE, first)
        states.check(PLACE, drawn)
    states.met(PLACE, second)
    states.check(PLACE, nodes(graph, af.constant(1.0).op.name))  # needs none of it
    with pytest.raises(AbortedError, match="counters of random numbers") as caught:
        states.check(PLACE, drawn)
    assert "test_node_states.py" in str(caught.value)
    states.check(PLACE, drawn)


def test_f68_what_a_restore_brings_back_is_not_lost_and_a_save_does_not_keep_the_gap(graph: af.Graph) -> None:
    with af.device("/job:ps/task:0"):
        af.Variable(1.0, name="v")
    drawn = nodes(graph, af.random_uniform([2], seed=1).op.name)
    af.train.Saver()
    save, restore = nodes(graph, "save/take_all"), nodes(graph, "save/restore_all")
    states = NodeStates(lambda place: True)
    states.met(PLACE, object())
    states.check(PLACE, drawn)
    states.met(PLACE, object())
    with pytest.raises(AbortedError):
        states.check(PLACE, save)
    states.met(PLACE, object())
    states.check(PLACE, restore)
    states.check(PLACE, drawn)


def test_f68_where_nothing_was_kept_nothing_is_lost(graph: af.Graph) -> None:
    drawn = nodes(graph, af.random_uniform([2], seed=1).op.name)
    states = NodeStates(lambda place: True)
    states.met(PLACE, object())
    states.check(PLACE, nodes(graph, af.constant(1.0).op.name))
    states.met(PLACE, object())
    states.check(PLACE, drawn)


@pytest.mark.parametrize("keeps", [True, False])
def test_f68_what_a_restore_brought_is_lost_with_its_connection(graph: af.Graph, keeps: bool) -> None:
    with af.device("/job:ps/task:0"):
        af.Variable(1.0, name="v")
    drawn = nodes(graph, af.random_uniform([2], seed=1).op.name)
    af.train.Saver()
    states = NodeStates(lambda place: keeps)
    states.met(PLACE, object())
    states.check(PLACE, nodes(graph, "save/restore_all"))
    states.met(PLACE, object())
    if not keeps:  # another connection costs nothing where nothing is kept
        states.check(PLACE, nodes(graph, "save/take_all"))
        return
    with pytest.raises(AbortedError):
        states.check(PLACE, drawn)
