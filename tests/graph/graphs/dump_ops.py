"""Writes `graphs/tensorflow_ops.jsonl`: what TensorFlow's registry says of the ops that actorflow writes and reads.

PYTHONPATH=. python tests/graph/graphs/dump_ops.py names | python-of-tensorflow tests/graph/graphs/dump_ops.py

A line is an op: its name, its inputs, its outputs, and its attributes. An input is (type, number): the type is a number of
`DataType` or the attribute that says it, and the number is the attribute that says how many tensors there are. An attribute is
(kind, whether it must be given or else its type where it is
one, the values that it may have).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

OUT = Path(__file__).with_name("tensorflow_ops.jsonl")


def names() -> list[str]:
    """TensorFlow's names that nodes of actorflow have, or may have when they are read."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from graph.graphs.op_samples import sample

    from actorflow.base.registry import opdef, plugins
    from actorflow.graph.graphdef.export import records
    from actorflow.graph.graphdef.ops import READ

    plugins.import_ops()
    declared = {name: known for name, known in opdef.registered().items() if not name.startswith("_")}
    made = {message.op for known in declared.values() for message in records(*sample(known, "narrow"))}
    return sorted(made | READ.keys() | declared.keys())


def write(wanted: set[str]) -> None:
    """Writes the lines of these ops, where TensorFlow has them."""
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    every = op_def_pb2.OpList()
    every.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))

    def argument(a: Any) -> list[Any]:
        return [a.type_list_attr or a.type_attr or a.type, a.number_attr or ("*" if a.type_list_attr else "")]

    def attribute(a: Any) -> list[Any]:
        allowed = a.allowed_values.list
        required = not a.HasField("default_value")
        return [a.type, required or a.default_value.type, list(allowed.type) or [s.decode() for s in allowed.s]]

    with OUT.open("w") as file:
        for op in sorted(every.op, key=lambda op: op.name):
            if op.name in wanted:
                ins, outs = [argument(a) for a in op.input_arg], [argument(a) for a in op.output_arg]
                line = [op.name, ins, outs, {a.name: attribute(a) for a in op.attr}]
                file.write(json.dumps(line, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["names"]:
        print("\n".join(names()))
    else:
        write(set(sys.stdin.read().split()))
