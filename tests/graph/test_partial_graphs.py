"""The part of a `GraphDef` that can be read: what depends on an unknown op is refused when it is asked for, loops among it."""

from __future__ import annotations

import pytest

import actorflow as af
from actorflow.errors import UnknownNameError
from actorflow.graph.graphdef.partial import import_part


def test_a_loop_whose_body_can_not_be_read_is_refused_with_the_reason(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, (), name="x")
    result = af.while_loop(lambda i: i < 10.0, lambda i: af.multiply(i, 2.0, name="body"), [x])
    af.identity(result, name="out")
    af.negative(x, name="beside")
    message = graph.as_graph_def()
    for node in message.node:
        if node.op == "Mul":
            node.op = "Unheard"
    with af.Graph().as_default():
        part = import_part(message)
    part.require(["beside:0", "x"])
    for name in ("out:0", "while/Exit", "while/body"):
        with pytest.raises(UnknownNameError, match="'Unheard'"):
            part.require([name])
