"""Each op that actorflow writes is one of TensorFlow's, with its inputs and attributes (`graphs/tensorflow_ops.jsonl`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from graph.graphs.op_samples import ORDERS, sample

import actorflow.compat.v1 as tf
from actorflow.base.registry import opdef, plugins
from actorflow.graph.graphdef.export import records
from actorflow.graph.graphdef.protos import NodeDef
from actorflow.graph.graphdef.saving import OWN as SAVING

FACTS: dict[str, list[Any]] = {
    line[0]: line[1:]
    for line in map(json.loads, (Path(__file__).parent / "graphs" / "tensorflow_ops.jsonl").read_text().splitlines())
}
plugins.import_ops()
OPS = {
    name: known
    for name, known in opdef.registered().items()
    if known.module.startswith("actorflow.") and not name.startswith("_")
}
OWN = {
    "AdoptCopies": "gives variables the values that tasks of a cluster keep",
    "GiveCopies": "gives the values that a task of a cluster keeps",
    "KeepCopies": "keeps values of variables of other tasks",
    "TakeCopies": "reads variables and the state of nodes for other tasks",
    "AccumulatorClose": "ends an accumulator of a cluster's chief",
    "AccumulatorLaterStep": "is asked by workers of a cluster",
    "AccumulatorNumDropped": "is asked by workers of a cluster",
    "BlockLSTMGateGrad": "is the second derivative of a whole LSTM",
    "Call": "is replaced by the function's nodes in a whole graph",
    "ConsumeMutexLock": "takes a lock of another kind",
    "CrossHashed": "hashes as actorflow's columns do",
    "DecodeNpy": "reads numpy's files",
    "EagerPyFunc": "gives the record of a call beside its results",
    "EagerPyFuncGrad": "takes the record of a call",
    "ExtractImagePatchesGrad": "is a product of sparse matrices in TensorFlow",
    "FilePool": "shares files among readers of a cluster",
    "FilePoolBegin": "shares files among readers of a cluster",
    "FilePoolRenew": "shares files among readers of a cluster",
    "FilePoolTake": "shares files among readers of a cluster",
    "PagedAttention": "reads keys and values from blocks of a pool",
    "SampleTokens": "draws tokens by the seeds of requests",
    "Int8Conv2D": "has scales for each channel",
    "Int8MatMul": "has scales for each channel",
    "ResizeAreaGrad": "has no counterpart",
    "TensorListInsertItem": "is for sequences of ONNX",
    "TensorListRemoveItem": "is for sequences of ONNX",
}
"""Ops that TensorFlow has not, or has for something else, and what each of them does."""
FLOAT32 = {"BlockLSTM", "FusedBatchNormV3", "FusedBatchNormGradV3", "LRN", "LRNGrad", "MaxPool3D", "MaxPool3DGrad"}
"""Ops that take float64 here alone."""
QUANTIZED = {"Dequantize", "QuantizeV2"}
"""Ops whose numbers are of integer types here, and of types of their own in TensorFlow."""
FIELDS = {
    "shape": "shape",
    "type": "type",
    "int": "i",
    "float": "f",
    "bool": "b",
    "string": "s",
    "tensor": "tensor",
    "func": "func",
}


STRING, RESOURCE, VARIANT = 7, 20, 21
HANDLES = {STRING, RESOURCE, VARIANT}
"""The types that handles of queues, accumulators and arrays have here and there."""


def _type(message: NodeDef, name: str) -> int:
    """The type that an attribute says, or says where it is left out."""
    return message.attr[name].type if name in message.attr else int(FACTS[message.op][2][name][1])


def problems(message: NodeDef, types: dict[str, int]) -> list[str]:
    """The faults for which TensorFlow would refuse a node.

    Args:
        message: the node.
        types: the types of tensors by their names; those of the node's outputs are added.
    """
    if message.op not in FACTS:
        return [f"{message.op} is no op"]
    ins, outs, attrs = FACTS[message.op]
    wrong = [f"{name} is no attribute" for name in message.attr if not name.startswith("_") and name not in attrs]
    for name, (kind, required, allowed) in attrs.items():
        if name not in message.attr:
            wrong += [f"{name} is not given"] if required is True else []
            continue
        value = message.attr[name]
        field = "list" if kind.startswith("list(") else FIELDS[kind]
        if value.WhichOneof("value") != field:
            wrong.append(f"{name} is {value.WhichOneof('value')}, not {kind}")
        elif kind == "type" and allowed and value.type not in allowed:
            wrong.append(f"{name} may not be the type {value.type}")
        elif kind == "string" and allowed and value.s.decode() not in allowed:
            wrong.append(f"{name} may not be {value.s}")

    def flat(several: list[Any]) -> list[int]:
        found: list[int] = []
        for kind, number in several:
            if number == "*":
                found += list(message.attr[kind].list.type)
                continue
            dtype = kind if isinstance(kind, int) else _type(message, kind)
            found += [dtype] * (message.attr[number].i if number else 1)
        return found

    data = [text for text in message.input if not text.startswith("^")]
    expected = flat(ins)
    if len(expected) != len(data):
        wrong.append(f"has {len(data)} inputs, not {len(expected)}")
    for number, (text, dtype) in enumerate(zip(data, expected)):
        if types.get(text, dtype) != dtype and not {types[text], dtype} <= HANDLES:
            wrong.append(f"input {number} is of type {types[text]}, not {dtype}")
    results = flat(outs)
    if "_output_shapes" in message.attr and len(message.attr["_output_shapes"].list.shape) != len(results):
        wrong.append(f"has {len(results)} outputs, but shapes of {len(message.attr['_output_shapes'].list.shape)}")
    for port, dtype in enumerate(results):
        types[f"{message.name}:{port}" if port else message.name] = dtype
    return wrong


def cases() -> list[tuple[str, str]]:
    """Each op that TensorFlow has, with the orders of types that it takes there."""
    names = sorted(OPS.keys() - OWN.keys() - SAVING - QUANTIZED)
    return [(name, order) for name in names for order in ORDERS if name not in FLOAT32 or order == "narrow"]


@pytest.mark.parametrize(("name", "order"), cases())
def test_a_node_is_as_tensorflow_declares_its_op(name: str, order: str) -> None:
    nodes, node = sample(OPS[name], order)
    outputs = {name: other.dtypes[0] for name, other in nodes.items() if other is not node}
    types = {name: RESOURCE if dtype.is_ref else dtype.code for name, dtype in outputs.items()}
    wrong = [
        f"{message.op}: {text}"
        for message in records(nodes, node, add_shapes=True)
        for text in problems(message, types)
    ]
    assert not wrong, wrong


def test_ops_of_actorflow_alone_are_told_from_tensorflows() -> None:
    """Each entry of the tables above is needed: none of them is an op that is written as TensorFlow's."""
    for name in OWN:
        types: dict[str, int] = {}
        assert any(problems(message, types) for message in records(*sample(OPS[name], "narrow"))), name


def saved(tf: Any, x: Any) -> None:
    tf.train.Saver([tf.Variable(x)])


def called(tf: Any, x: Any) -> None:
    scaled = tf.function(lambda y: tf.exp(y) * tf.Variable(2.0))
    tf.gradients(scaled(x) + scaled(scaled(x)), x)


def with_a_rule(tf: Any, x: Any) -> None:
    tf.custom_gradient(lambda y: (y * 2.0, lambda dy: dy))(x)


def chosen(tf: Any, x: Any) -> None:
    queues = [tf.FIFOQueue(3, [tf.float32], [[]]) for _ in range(3)]
    tf.QueueBase.from_list(tf.constant(1), queues).enqueue(x[0])


def rows(tf: Any, x: Any) -> None:
    table = tf.Variable(tf.ones([5, 2]))
    loss = tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 3, 3]))
    tf.train.AdamOptimizer().minimize(loss)


def arrays(tf: Any, x: Any) -> None:
    array = tf.TensorArray(tf.float32, 3).unstack(x)
    made = tf.TensorArray(tf.float32, 3).scatter([0, 2], x[:2]).write(1, array.read(1))
    pieces = tf.TensorArray(tf.float32, 2, infer_shape=False).split(x, [1, 2]).concat()
    tf.gradients([made.stack(), made.gather([0, 0]), pieces, array.concat()], x)


def mapped(tf: Any, x: Any) -> None:
    tf.gradients(tf.map_fn(lambda y: tf.scan(lambda a, b: a * b, x * y), x), x)


PROGRAMS = {f.__name__: f for f in (saved, called, with_a_rule, chosen, rows, arrays, mapped)}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_written_with_tensorflows_ops(name: str) -> None:
    with tf.Graph().as_default() as graph:
        PROGRAMS[name](tf, tf.placeholder(tf.float32, [3]))
    for add_shapes in (False, True):
        types: dict[str, int] = {}
        wrong = [
            f"{message.name} ({message.op}): {text}"
            for message in graph.as_graph_def(add_shapes=add_shapes).node
            for text in problems(message, types)
        ]
        assert not wrong, wrong
