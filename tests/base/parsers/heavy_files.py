"""Small files that ask a loader for much: `python heavy_files.py` loads each in a process of bounded memory, and measures it."""

from __future__ import annotations

import gzip
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import numpy as np

import actorflow as af
from actorflow.base.records import tfrecord
from actorflow.base.records.wire import VARINT, write_field, write_varint
from actorflow.errors import OpError
from actorflow.exchange.onnx.protos import GraphProto, ModelProto
from actorflow.exchange.onnx.tensors import tensor_proto
from actorflow.graph.graphdef.protos import GraphDef

ONE = np.ones(1, np.float32)
VIRTUAL = 4 << 30


def sizes(*numbers: int) -> Any:
    return np.array(numbers, np.int64)


def add(
    graph: Any, op: str, inputs: Sequence[str], outputs: Sequence[str], domain: str = "", **attributes: Any
) -> None:
    """Adds a node of ONNX; attributes are whole numbers or graphs."""
    node = graph.node.add(op_type=op, domain=domain)
    node.input.extend(inputs)
    node.output.extend(outputs)
    for name, value in attributes.items():
        attribute = node.attribute.add(name=name)
        if isinstance(value, int):
            attribute.type, attribute.i = 2, value
        else:
            attribute.type = 5
            attribute.g.CopyFrom(value)


def model(nodes: Sequence[tuple[Any, ...]], arrays: dict[str, Any], outputs: Sequence[str]) -> Any:
    """A model of ONNX without inputs."""
    message = ModelProto(ir_version=8)
    message.opset_import.add(version=17)
    message.graph.name = "g"
    for op, inputs, results, attributes in nodes:
        add(message.graph, op, inputs, results, **attributes)
    for name, value in arrays.items():
        message.graph.initializer.append(tensor_proto(value, name))
    for name in outputs:
        message.graph.output.add(name=name).type.tensor_type.elem_type = 1
    return message


def several(op: str, inputs: Sequence[str], arrays: dict[str, Any], count: int = 60) -> Any:
    """A model of many equal nodes."""
    names = [f"y{number}" for number in range(count)]
    return model([(op, inputs, [name], {}) for name in names], arrays, names)


def chain(op: str, width: int, count: int, array: Any, first: Sequence[tuple[Any, ...]] = (), **attributes: Any) -> Any:
    """A model in which each node takes the one before as all of its inputs."""
    nodes = [*first, *((op, [f"a{n}"] * width, [f"a{n + 1}"], attributes) for n in range(count))]
    return model(nodes, array, [f"a{count}"])


def branches(depth: int) -> bytes:
    """A model of an If in an If in an If."""
    inner = b""
    for _ in range(depth):
        body = write_field(1, b"then_branch") + write_varint(20 << 3 | VARINT) + write_varint(5) + write_field(6, inner)
        node = write_field(1, b"c") + write_field(2, b"y") + write_field(4, b"If") + write_field(5, body)
        inner = write_field(1, node) + write_field(12, write_field(1, b"y"))
    return b"\x08\x08" + write_field(7, inner) + write_field(8, b"\x10\x11")


def functions(depth: int, calls: int) -> Any:
    """A model of functions that call each other many times."""
    message = model([(f"f{depth - 1}", ["x"], ["y"], {"domain": "f"})], {"x": ONE}, ["y"])
    message.opset_import.add(domain="f", version=1)
    for level in range(depth):
        function = message.functions.add(name=f"f{level}", domain="f")
        function.input.append("x")
        function.output.append(f"t{calls - 1}")
        function.opset_import.add(version=17)
        function.opset_import.add(domain="f", version=1)
        for number in range(calls):
            op, domain = (f"f{level - 1}", "f") if level else ("Neg", "")
            add(function, op, [f"t{number - 1}" if number else "x"], [f"t{number}"], domain)
    return message


def loop() -> Any:
    """A model of a loop with known inputs that runs a million million times."""
    body = GraphProto(name="b")
    for name, kind in (("i", 7), ("c", 9), ("v", 1)):
        body.input.add(name=name).type.tensor_type.elem_type = kind
    add(body, "Identity", ["c"], ["again"])
    add(body, "Add", ["v", "v"], ["sum"])
    for name in ("again", "sum"):
        body.output.add(name=name).type.tensor_type.elem_type = 1
    arrays = {"m": np.int64(2**40), "c": np.bool_(True), "v": np.float32(1)}
    return model([("Loop", ["m", "c", "v"], ["y"], {"body": body})], arrays, ["y"])


def known_branch() -> Any:
    """A model whose known branch adds up a large array, which gives one number."""
    body = GraphProto(name="b")
    add(body, "Expand", ["one", "s"], ["large"])
    add(body, "ReduceSum", ["large"], ["y"], keepdims=0)
    body.output.add(name="y").type.tensor_type.elem_type = 1
    arrays = {"c": np.bool_(True), "one": ONE, "s": sizes(2**33)}
    return model([("If", ["c"], ["y"], {"then_branch": body, "else_branch": body})], arrays, ["y"])


def splats(count: int, *shape: int, values: int = 1) -> Any:
    """A GraphDef of constants that few values fill."""
    message = GraphDef()
    for number in range(count):
        node = message.node.add(name=f"c{number}", op="Const")
        node.attr["dtype"].type = 1
        tensor = node.attr["value"].tensor
        tensor.dtype = 1
        for size in shape:
            tensor.tensor_shape.dim.add(size=size)
        tensor.float_val.extend([1.0] * values)
    return message


def fills() -> Any:
    """A GraphDef that fills a large tensor and adds to it."""
    with af.Graph().as_default() as graph:
        value = af.fill([2**17, 2**17], 1.0)
        for _ in range(20):
            value = value + 1.0
    return graph.as_graph_def()


MODELS: dict[str, Callable[[], Any]] = {
    "Concat of Concat": lambda: chain("Concat", 8, 12, {"a0": np.ones(8, np.float32)}, axis=0),
    "ConstantOfShape": lambda: several("ConstantOfShape", ["s"], {"s": sizes(2**20, 2**20)}, 1),
    "ConstantOfShape beyond all memory": lambda: several("ConstantOfShape", ["s"], {"s": sizes(2**62, 4)}, 1),
    "many ConstantOfShape": lambda: several("ConstantOfShape", ["s"], {"s": sizes(2**26)}),
    "many Tile": lambda: several("Tile", ["a", "s"], {"a": np.ones(64, np.float32), "s": sizes(2**20)}),
    "Tile": lambda: several("Tile", ["a", "s"], {"a": ONE, "s": sizes(2**34)}, 1),
    "many Expand": lambda: several("Expand", ["a", "s"], {"a": ONE, "s": sizes(2**13, 2**13)}),
    "Range": lambda: several("Range", "abc", {"a": np.int64(0), "b": np.int64(2**40), "c": np.int64(1)}, 1),
    "many EyeLike": lambda: several("EyeLike", ["a"], {"a": np.ones((1, 1 << 16), np.float32)}),
    "many OneHot": lambda: several(
        "OneHot", "idv", {"i": sizes(*range(64)), "d": sizes(2**20), "v": np.ones(2, np.float32)}
    ),
    "many Pad": lambda: several("Pad", ["a", "p"], {"a": ONE, "p": sizes(0, 2**26)}),
    "many Resize": lambda: several(
        "Resize",
        ["a", "", "s"],
        {"a": np.ones((1, 1, 2, 2), np.float32), "s": np.array([1, 1, 1e4, 1e4], np.float32)},
        4,
    ),
    "products": lambda: chain(
        "MatMul", 2, 30, {"e": ONE, "s": sizes(3000, 3000)}, [("Expand", ["e", "s"], ["a0"], {})]
    ),
    "a long loop": loop,
    "a large body": known_branch,
    "functions": lambda: functions(10, 8),
    "a few deep functions": lambda: functions(30, 2),
    "deep branches": lambda: branches(3000),
}
GRAPHS: dict[str, Callable[[], Any]] = {
    "large constants": lambda: splats(50, 2**29),
    "constants of 64 MiB": lambda: splats(40, 2**24),
    "a constant beyond all memory": lambda: splats(1, 2**39, 2**39),
    "constants of two values": lambda: splats(50, 2**29, values=2),
    "constants of no value": lambda: splats(50, 2**29, values=0),
    "large fills": fills,
}


def packed(*records: bytes) -> bytes:
    """A gzipped TFRecord file."""
    return gzip.compress(tfrecord.join(records), 1)


def zeros(size: int) -> bytes:
    """Zeros of this number, gzipped."""
    return gzip.compress(bytes(size), 1)


def elements(kind: Any, *arguments: Any) -> Callable[[Path], Any]:
    """Counts the elements of a dataset of a file."""

    async def count(path: Path) -> int:
        return len([None async for _ in kind(str(path), *arguments).iterate()])

    return lambda path: anyio.run(count, path)


def read(path: Path) -> int:
    return sum(1 for _ in af.io.tf_record_iterator(path, "GZIP"))


FILES: dict[str, tuple[Callable[[], bytes], Callable[[Path], Any]]] = {
    "a packed record": (lambda: packed(bytes(512 << 20)), elements(af.data.TFRecordDataset, "GZIP")),
    "a packed record of the iterator": (lambda: packed(bytes(512 << 20)), read),
    "many packed records": (lambda: packed(*[bytes(1 << 20)] * 512), elements(af.data.TFRecordDataset, "GZIP")),
    "many packed records of the iterator": (lambda: packed(*[bytes(1 << 20)] * 512), read),
    "a packed line": (lambda: zeros(512 << 20), elements(af.data.TextLineDataset, "GZIP")),
    "packed lines": (
        lambda: gzip.compress((b"x" * 99 + b"\n") * (1 << 17), 1),
        elements(af.data.TextLineDataset, "GZIP"),
    ),
}


def load(name: str, folder: Path) -> Any:
    """Loads a file by its name."""
    if name in FILES:
        make, parse = FILES[name]
        path = folder / "packed"
        path.write_bytes(make())
        return lambda: parse(path)
    message = (MODELS | GRAPHS)[name]()
    data = message if isinstance(message, bytes) else message.SerializeToString()

    def parse_message() -> str:
        with af.Graph().as_default() as graph:
            af.onnx.load(data) if name in MODELS else af.import_graph_def(data, name="")
        return f"{len(graph.nodes)} nodes"

    return parse_message


def highest() -> int:
    """The most bytes that this process has held since the last call."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    Path("/proc/self/clear_refs").write_text("5")
    return int(line.split()[1]) << 10


def main(names: Sequence[str]) -> None:
    """Loads each file, and prints a line of JSON for it."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            parse = load(name, Path(folder))
            resource.setrlimit(resource.RLIMIT_AS, (VIRTUAL, VIRTUAL))
            highest()
            before, begun = highest(), time.process_time()
            try:
                outcome = str(parse())
            except (OpError, ValueError) as error:
                outcome = f"{type(error).__name__}: {str(error)[:200]}"
            seconds = time.process_time() - begun
            row = {"name": name, "seconds": seconds, "mib": highest() - before >> 20, "outcome": outcome}
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or [*MODELS, *GRAPHS, *FILES])
