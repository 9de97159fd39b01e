"""`inlined`: nodes of functions stand in the place of calls, wait for what the calls wait for, and take the outputs they name."""

from __future__ import annotations

import pytest

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow.base.registry import opdef, plugins
from actorflow.errors import UnimplementedError
from actorflow.graph.graphdef.protos import FunctionDef, GraphDef, NodeDef
from actorflow.graph.graphdef.rewrites.functions import inlined
from actorflow.graph.graphdef.rewrites.outputs import OUTPUTS


def function(name: str, arguments: list[str], nodes: list[NodeDef], result: str) -> FunctionDef:
    made = FunctionDef(node_def=nodes)
    made.signature.name = name
    for argument in arguments:
        made.signature.input_arg.add().name = argument
    made.signature.output_arg.add().name = "result"
    made.ret["result"] = result
    return made


def call(name: str, callee: str, *inputs: str) -> NodeDef:
    node = NodeDef(name=name, op="StatefulPartitionedCall", input=list(inputs))
    node.attr["f"].func.name = callee
    return node


def inputs(nodes: list[NodeDef], functions: list[FunctionDef]) -> dict[str, list[str]]:
    graph = GraphDef(node=nodes)
    graph.library.function.extend(functions)
    return {node.name: list(node.input) for node in inlined(graph).node}


READ = NodeDef(name="Read", op="ReadVariableOp", input=["h"])


def test_a_node_that_takes_arguments_alone_waits_for_what_the_call_waits_for() -> None:
    twice = NodeDef(name="Twice", op="Add", input=["Read:value:0", "h"])
    body = function("f", ["h"], [READ, twice], "Twice:z:0")
    found = inputs([call("call", "f", "v", "^add")], [body])
    assert found == {
        "call/Read": ["v", "^add"],
        "call/Twice": ["call/Read", "v"],
        "call": ["call/Twice", "^add"],
    }


def test_a_call_within_a_call_hands_on_the_wait_whatever_its_inputs_are() -> None:
    inner = function("g", ["a", "h"], [READ], "Read:value:0")
    negated = NodeDef(name="Neg", op="Neg", input=["x"])
    outer = function("f", ["x", "h"], [negated, call("g", "g", "Neg:y:0", "h")], "g:output:0")
    found = inputs([call("call", "f", "p", "v", "^add")], [inner, outer])
    assert found["call/g/Read"] == ["v", "^add"]


@pytest.mark.parametrize(
    ("op", "output", "port"),
    [
        ("SelfAdjointEigV2", "v", 1),
        ("StringSplitV2", "values", 1),
        ("SparseFillEmptyRows", "reverse_index_map", 3),
        ("Lu", "p", 1),
        ("LogMatrixDeterminant", "log_abs_determinant", 1),
        ("SparseReshape", "output_shape", 1),
        ("SampleDistortedBoundingBoxV2", "bboxes", 2),
        ("CTCGreedyDecoder", "log_probability", 3),
        ("ParseExampleV2", "dense_values", 7),
        ("Neg", "y", 0),
    ],
)
def test_an_output_that_a_body_names_has_its_number(op: str, output: str, port: int) -> None:
    number = 0
    node = NodeDef(name="n", op=op, input=["x"])
    if op == "ParseExampleV2":
        number = 1
        node.attr["num_sparse"].i = 2
        node.attr["sparse_types"].list.type.extend([1, 9])
        node.attr["Tdense"].list.type.extend([1, 1])
    found = inputs([call("call", "f", "p")], [function("f", ["x"], [node], f"n:{output}:{number}")])
    assert found["call"] == ["call/n" + (f":{port}" if port else "")]


def test_an_output_that_is_not_known_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opdef, "_OPS", dict(opdef.registered()))

    @tf.op("InlinedPair", shape=lambda c: [c.shapes[0]] * 2, result=(af.float32, af.float32), gradient=None)
    def pair(x: af.Tensor, *, name: str | None = None) -> af.Tensor:
        """Two."""
        raise NotImplementedError

    for op in ("InlinedPair", "Svd"):
        body = function("f", ["x"], [NodeDef(name="n", op=op, input=["x"])], "n:second:0")
        with pytest.raises(
            UnimplementedError, match=f"is of the op {op}, which has several outputs; .* 'second' is not"
        ):
            inputs([call("call", "f", "p")], [body])


def test_every_op_with_several_outputs_has_their_names() -> None:
    plugins.import_ops()
    counts = {
        name: definition.output_count
        for name, definition in opdef.registered().items()
        if definition.module.startswith("actorflow.")
        and (definition.output_count or 0) > 1
        and not name.startswith("_")
    }
    del counts["CrossHashed"]  # which TensorFlow does not have
    assert len(counts) > 20
    assert {name: len(OUTPUTS.get(name, [])) for name in counts} == counts
