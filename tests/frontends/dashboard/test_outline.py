"""Scopes of graphs as boxes and edges."""

from __future__ import annotations

import pytest

import actorflow as af
from actorflow.frontends.dashboard.outline import MOST_BOXES, Outline


def outline(graph: af.Graph) -> Outline:
    return Outline(graph.nodes.values())


def test_f95_scopes_fold_and_open() -> None:
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [2], name="x")
        with af.name_scope("model"):
            with af.name_scope("layer"):
                y = af.tanh(af.add(x, 1.0, name="sum"), name="out")
            z = af.square(y, name="square")
        af.negative(z, name="loss")
    found = outline(graph).scope()
    assert {box["name"]: box["kind"] for box in found["boxes"]} == {"x": "node", "model": "scope", "loss": "node"}
    assert found["edges"] == [["x", "model", 1, 0], ["model", "loss", 1, 0]]
    inside = outline(graph).scope("model")
    assert [box["name"] for box in inside["boxes"]] == ["model/layer", "model/square"]
    assert inside["edges"] == [["model/layer", "model/square", 1, 0]]
    assert inside["inputs"] == {"x": 1} and inside["outputs"] == {"loss": 1}
    (layer,) = [box for box in inside["boxes"] if box["kind"] == "scope"]
    assert layer["nodes"] == 3 and "constants" not in layer, "a constant within a scope is one of its nodes"
    deepest = outline(graph).scope("model/layer")
    assert [box["op"] for box in deepest["boxes"]] == ["Add", "Tanh"]
    assert next(box for box in deepest["boxes"] if box["op"] == "Add")["constants"] == 1
    with pytest.raises(KeyError):
        outline(graph).scope("model/gone")


def test_f95_equal_blocks_in_a_row_are_one_stack() -> None:
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [2], name="x")
        for _ in range(60):
            with af.name_scope("stage"):
                x = af.tanh(af.square(x))
        af.negative(x, name="loss")
    found = outline(graph).scope()
    kinds = {box["kind"] for box in found["boxes"]}
    (stack,) = [box for box in found["boxes"] if box["kind"] == "stack"]
    assert kinds == {"node", "stack"} and len(stack["members"]) == 60 and stack["nodes"] == 120
    assert [edge[:2] for edge in found["edges"]] == [["x", "stage"], ["stage", "loss"]]
    assert outline(graph).scope("stage_7")["nodes"] == 2, "each of them opens"


def test_a_node_that_is_also_a_scope_is_shown_within_it() -> None:
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [2], name="a")
        with af.name_scope("a/"):
            af.square(x, name="b")
    found = outline(graph).scope("a")
    assert {box["label"] for box in found["boxes"]} == {"(a)", "b"}
    assert [edge[:2] for edge in found["edges"]] == [["a/(a)", "a/b"]]


def test_nodes_with_very_many_edges_stand_apart() -> None:
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [2], name="x")
        ends = []
        for number in range(20):
            ends.append(af.tanh(af.square(x, name=f"s{number}"), name=f"t{number}"))
        with af.control_dependencies(ends):
            af.no_op(name="all")
    found = outline(graph).scope()
    apart = {box["name"] for box in found["boxes"] if box.get("apart")}
    assert apart == {"x", "all"}
    assert len(found["edges"]) == 20


def test_f95_36000_nodes_give_few_boxes() -> None:
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [1], name="x")
        for part in range(30):
            with af.name_scope(f"part_{part}"):
                for _ in range(10):
                    with af.name_scope("block"):
                        for _ in range(120):
                            x = af.identity(x)
    made = outline(graph)
    assert len(made) == 36_001
    top = made.scope()
    assert len(top["boxes"]) <= 10 and sum(box["nodes"] for box in top["boxes"]) == 36_001
    assert len(made.scope("part_3/block")["boxes"]) <= MOST_BOXES
