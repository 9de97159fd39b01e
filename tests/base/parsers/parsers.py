"""All parsers of bytes and files, each with what it reads, how that is mutated, and the errors that it may raise.

Not in the table, as there is no such parser: checkpoints of TensorFlow's first format, WAV, `.npz`; traces are only written.
Bodies of HTTP have tests of their own (`tests/frontends/serving`), frames of transports too (`tests/transports`). Places of
iterators and readers lie in checkpoints, whose checksums are looked at.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
from base.parsers import mutations
from base.parsers.mutations import Mutate

import actorflow as af
from actorflow.errors import OpError, UnknownNameError
from actorflow.graph.graphdef.protos import GraphDef, MetaGraphDef
from actorflow.models.data.experimental.files import make_csv_dataset

TESTS = Path(__file__).parents[2]
Parse = Callable[[bytes, Path], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Parser:
    """A parser.

    samples: right inputs; they may be made in a folder, where other files that belong to them stay.
    mutate: changes them.
    parse: reads an input; it is given the samples' folder.
    errors: the errors that it may raise.
    plain, says: errors of Python that it may raise where they match this, as TensorFlow's parser does.
    """

    samples: Callable[[Path], Awaitable[list[bytes]]]
    mutate: Mutate
    parse: Parse
    errors: tuple[type[Exception], ...] = (OpError,)
    plain: tuple[type[Exception], ...] = ()
    says: str = ""


def _archived(archive: str, *ends: str) -> list[bytes]:
    with zipfile.ZipFile(TESTS / archive) as opened:
        names = [name for name in opened.namelist() if name.endswith(ends)]
        return [opened.read(name) for name in names]


def _unpacked(archive: str, folder: Path, begin: str = "") -> None:
    with zipfile.ZipFile(TESTS / archive) as opened:
        opened.extractall(folder, [name for name in opened.namelist() if name.startswith(begin)])


def _ending(folder: Path, end: str) -> Path:
    """The file of a folder whose name ends so."""
    return next(path for path in folder.iterdir() if path.name.endswith(end))


def _fixed(*samples: bytes) -> Callable[[Path], Awaitable[list[bytes]]]:
    async def make(folder: Path) -> list[bytes]:
        return list(samples)

    return make


def _called(function: Callable[[bytes], object]) -> Parse:
    async def parse(data: bytes, folder: Path) -> object:
        return function(data)

    return parse


def _of_file(name: str, function: Callable[[Path], object]) -> Parse:
    """A parser of a file of this name."""

    async def parse(data: bytes, folder: Path) -> object:
        path = folder / name
        path.write_bytes(data)
        reply = function(path)
        return await reply if isinstance(reply, Awaitable) else reply

    return parse


# ---- graphs


async def _graphs(folder: Path) -> list[bytes]:
    meta = [MetaGraphDef.FromString(data) for data in await _metas(folder)]
    return [message.graph_def.SerializeToString() for message in meta]


async def _metas(folder: Path) -> list[bytes]:
    return [
        (TESTS / "graph" / "graphs" / f"tensorflow_momentum_{kind}.meta").read_bytes()
        for kind in ("reference", "resource")
    ]


def _import(message: Any) -> object:
    with af.Graph().as_default():
        return af.import_graph_def(message, name="")


def _graph_def(data: bytes) -> object:
    return _import(GraphDef.FromString(data))


def _graph_text(data: bytes) -> object:
    from actorflow.base.records.messages.text import read_text

    return _import(read_text(data, GraphDef()))


async def _graph_texts(folder: Path) -> list[bytes]:
    return [str(GraphDef.FromString(data)).encode() for data in (await _graphs(folder))[:1]]


def _meta_graph(path: Path) -> object:
    with af.Graph().as_default():
        return af.train.import_meta_graph(str(path))


def _dashboard_graph(path: Path) -> object:
    from actorflow.frontends.dashboard.serving import read_graph

    return read_graph(str(path))


async def _own_graphs(folder: Path) -> list[bytes]:
    from actorflow.graph.codec import encode_nodes

    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [None, 3], name="x")
        af.cond(af.reduce_sum(x) > 0, lambda: x + [[1.0, 2.0, 3.0]], lambda: x * 2.0)
    return [encode_nodes(list(graph.nodes.values()))]


def _own_graph(data: bytes) -> object:
    from actorflow.graph.codec import decode_nodes

    return decode_nodes(data)


async def _saved(folder: Path) -> list[bytes]:
    _unpacked("exchange/saved_model/saved_models_tf215.zip", folder, "half_plus_two")
    return [(folder / "half_plus_two/saved_model.pb").read_bytes()]


async def _saved_model(folder: Path) -> object:
    with af.Graph().as_default() as graph:
        async with af.Session(graph=graph) as session:
            return await af.saved_model.load(session, ["serve"], str(folder))


async def _load_saved(data: bytes, folder: Path) -> object:
    (folder / "half_plus_two/saved_model.pb").write_bytes(data)
    return await _saved_model(folder / "half_plus_two")


async def _own_saved(folder: Path) -> list[bytes]:
    with af.Graph().as_default() as graph:
        x = af.placeholder(af.float32, [None], name="x")
        y = x * af.Variable(3.0, name="w")
        async with af.Session(graph=graph) as session:
            await session.run(af.global_variables_initializer())
            await af.saved_model.simple_save(session, folder / "own", {"x": x}, {"y": y}, format="standard")
    return [(folder / "own/saved_model.json").read_bytes()]


async def _load_own_saved(data: bytes, folder: Path) -> object:
    (folder / "own/saved_model.json").write_bytes(data)
    return await _saved_model(folder / "own")


# ---- checkpoints


async def _standard(folder: Path) -> None:
    with af.Graph().as_default() as graph:
        af.get_variable("a", initializer=np.arange(6, dtype=np.float32).reshape(2, 3))
        af.Variable(np.array([b"one", b"two"], object), name="s")
        async with af.Session(graph=graph) as session:
            await session.run(af.global_variables_initializer())
            await af.train.Saver().save(session, str(folder / "model"))


def _written(end: str) -> Callable[[Path], Awaitable[list[bytes]]]:
    async def make(folder: Path) -> list[bytes]:
        await _standard(folder)
        path = _ending(folder, end)
        return [path.read_bytes()]

    return make


def _read_all(prefix: Path) -> object:
    reader = af.train.load_checkpoint(str(prefix))
    return [reader.get_tensor(name) for name in reader.get_variable_to_shape_map()], list(reader.kept())


def _in_checkpoint(end: str, prefix: str = "model") -> Parse:
    async def parse(data: bytes, folder: Path) -> object:
        path = _ending(folder, end)
        path.write_bytes(data)
        return _read_all(folder / prefix)

    return parse


def _bundle(end: str) -> Callable[[Path], Awaitable[list[bytes]]]:
    async def make(folder: Path) -> list[bytes]:
        _unpacked("checkpoint/bundle_tf215.zip", folder)
        path = _ending(folder, end)
        return [path.read_bytes()]

    return make


async def _object_graphs(folder: Path) -> list[bytes]:
    from actorflow.models.train.saving.object_graph import TrackableObjectGraph

    message = TrackableObjectGraph()
    for number in range(3):
        node = message.nodes.add()
        node.children.add(node_id=(number + 1) % 3, local_name=f"child{number}")
        node.attributes.add(name="VARIABLE_VALUE", full_name="w", checkpoint_key=f"w/{number}")
        node.slot_variables.add(original_variable_node_id=0, slot_name="m", slot_variable_node_id=number)
    return [message.SerializeToString()]


def _object_graph(data: bytes) -> object:
    from actorflow.models.train.saving.object_graph import ObjectKeys

    keys = ObjectKeys(data)
    return keys.every(), keys.key("child0/child1"), keys.key("child0/child1/child2/child0")


async def _states(folder: Path) -> list[bytes]:
    await _standard(folder)
    return [(folder / "checkpoint").read_bytes(), b'model_checkpoint_path: "a"\nall_model_checkpoint_paths: "b"\n']


# ---- records


def _example() -> bytes:
    make = af.train.Feature
    features = {
        "f": make(float_list=af.train.FloatList(value=[1.0, 2.0])),
        "i": make(int64_list=af.train.Int64List(value=[1, 300])),
        "b": make(bytes_list=af.train.BytesList(value=[b"x", b"yz"])),
    }
    data: bytes = af.train.Example(features=af.train.Features(feature=features)).SerializeToString()
    return data


def _sequence() -> bytes:
    lists = {"f": af.train.FeatureList(feature=[af.train.Feature(int64_list=af.train.Int64List(value=[1, 2]))])}
    data: bytes = af.train.SequenceExample(feature_lists=af.train.FeatureLists(feature_list=lists)).SerializeToString()
    return data


FEATURES = {
    "f": af.FixedLenFeature([2], af.float32),
    "i": af.VarLenFeature(af.int64),
    "b": af.FixedLenFeature([2], af.string),
}


async def _parse_example(data: bytes, folder: Path) -> object:
    with af.Graph().as_default() as graph:
        parsed = af.parse_single_example(af.constant(data), FEATURES)
        async with af.Session(graph=graph) as session:
            return await session.run(parsed)


async def _parse_sequence(data: bytes, folder: Path) -> object:
    lists = {"f": af.VarLenFeature(af.int64)}
    with af.Graph().as_default() as graph:
        parsed = af.io.parse_single_sequence_example(af.constant(data), sequence_features=lists)
        async with af.Session(graph=graph) as session:
            return await session.run(parsed)


def _tensor_protos() -> list[bytes]:
    values = (np.arange(6, dtype=np.int32).reshape(2, 3), np.float32(1.5), np.array([b"a", b"bc"], object))
    return [af.make_tensor_proto(value).SerializeToString() for value in values]


def _tensor(data: bytes) -> object:
    from actorflow.base.records.proto_tensor import read_tensor

    return read_tensor(data)


def _records() -> bytes:
    from actorflow.base.records import tfrecord

    return tfrecord.join([_example()] * 3)


async def _elements(dataset: Any) -> list[Any]:
    return [element async for element in dataset.iterate()]


def _dataset(make: Callable[[str], Any]) -> Callable[[Path], object]:
    return lambda path: _elements(make(str(path)))


async def _caches(folder: Path) -> list[bytes]:
    path = folder / "made"
    await _elements(af.data.Dataset.range(4).cache(str(path)))
    return [path.read_bytes()]


async def _events(folder: Path) -> list[bytes]:
    with af.summary.Writer(folder / "run") as writer:
        writer.scalar("loss", 0.5, step=1)
        writer.histogram("spread", [1.0, 2.0, 4.0], step=2)
    (path,) = (folder / "run").iterdir()
    return [path.read_bytes()]


def _curves(path: Path) -> object:
    from actorflow.frontends.dashboard.curves import Curves

    return Curves(path.parent).read()


# ---- words and numbers


def _table(path: Path) -> object:
    async def read() -> object:
        with af.Graph().as_default() as graph:
            table = af.lookup.index_table_from_file(str(path), num_oov_buckets=1)
            ids = table.lookup(af.constant(["one"]))
            async with af.Session(graph=graph) as session:
                await session.run(af.tables_initializer())
                return await session.run(ids)

    return read()


def _op(make: Callable[[Any], Any]) -> Parse:
    """An op that takes a string."""

    async def parse(data: bytes, folder: Path) -> object:
        with af.Graph().as_default() as graph:
            result = make(af.constant(data))
            async with af.Session(graph=graph) as session:
                return await session.run(result)

    return parse


def _images(form: str) -> Callable[[Path], Awaitable[list[bytes]]]:
    async def make(folder: Path) -> list[bytes]:
        from PIL import Image

        samples = []
        for mode in ("RGB", "L") if form != "GIF" else ("P",):
            image = Image.fromarray(np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3)).convert(mode)
            out = io.BytesIO()
            image.save(out, form, **({"save_all": True, "append_images": [image.rotate(90)]} if form == "GIF" else {}))
            samples.append(out.getvalue())
        return samples

    return make


def _npy() -> list[bytes]:
    samples = []
    for array in (np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((0, 4), np.float32)):
        out = io.BytesIO()
        np.save(out, array)
        samples.append(out.getvalue())
    return samples


# ---- clusters


CLUSTER = json.dumps(
    {"cluster": {"ps": ["a:1"], "worker": ["b:1", "c:2"]}, "task": {"type": "ps", "index": 0}}
).encode()


def _cluster(path: Path) -> object:
    from actorflow.cluster.config.environment import read_file

    return read_file(path)


def _task_environment(data: bytes) -> object:
    from actorflow.cluster.config.environment import parse

    return parse(data.decode(errors="surrogateescape"), "TF_CONFIG")


async def _keys(folder: Path) -> list[bytes]:
    from actorflow.cluster.config.credentials import Credentials, write_keys

    write_keys(folder / "made", Credentials("a" * 40, "b" * 40))
    return [(folder / "made").read_bytes()]


def _read_keys(path: Path) -> object:
    from actorflow.cluster.config.credentials import read_keys

    path.chmod(0o600)
    return read_keys(path)


def _allowed(path: Path) -> object:
    from actorflow.cluster.config.credentials import read_allowed

    path.chmod(0o600)
    return read_allowed(path)


def _request(data: bytes) -> object:
    from actorflow.cluster.wire.decoding import decode
    from actorflow.transports.protocol.frames import unpack

    match unpack(data):
        case [method, values]:
            return decode(method, values)
    return None


def _requests() -> list[bytes]:
    from actorflow.cluster.wire.decoding import REQUESTS, _fields_of

    samples = []
    for method in REQUESTS:
        values = [field.allowed[0]() for field in _fields_of(method)]
        samples.append(msgpack.packb([method, values]))
    return samples


async def _costs(folder: Path) -> list[bytes]:
    from actorflow.engine.placement.learned_costs import CostModel

    CostModel().save(folder / "made")
    point = {"points": [["cpu", "MatMul", [[1e-3, 10.0, 1.0]]]], "seen": {"x": [1.0, 2.0]}}
    text = (folder / "made").read_bytes()
    return [text, json.dumps({**json.loads(text), **point}).encode()]


def _learned(path: Path) -> object:
    from actorflow.engine.placement.learned_costs import CostModel

    return CostModel.load(path)


# ---- ONNX


async def _onnx_models(folder: Path) -> list[bytes]:
    models = _archived("exchange/onnx/cases.zip", "/model")
    return [model for model in models if len(model) < 3000][:80:2]


def _load_onnx(data: bytes) -> object:
    with af.Graph().as_default():
        return af.onnx.load(data)


async def _external(folder: Path) -> list[bytes]:
    from actorflow.exchange.onnx.protos import ModelProto

    (folder / "weights").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    model = ModelProto(ir_version=8)
    model.opset_import.add(version=17)
    graph = model.graph
    graph.name = "g"
    graph.input.add(name="x").type.tensor_type.elem_type = 1
    graph.output.add(name="y").type.tensor_type.elem_type = 1
    node = graph.node.add(op_type="Add")
    node.input.extend(["x", "w"])
    node.output.extend(["y"])
    tensor = graph.initializer.add(name="w", data_type=1, data_location=1)
    tensor.dims.extend([4])
    for key, value in (("location", "weights"), ("offset", "0"), ("length", "16")):
        tensor.external_data.add(key=key, value=value)
    return [model.SerializeToString()]


def _load_onnx_file(path: Path) -> object:
    with af.Graph().as_default():
        return af.onnx.load(path)


TEXT = b'a,1,"x, ""y"""\r\nb,-2,\r\n'
GRAPH: Any = {"plain": (TypeError, ValueError, RuntimeError, UnknownNameError), "says": "(?i)node|graph"}


PARSERS: dict[str, Parser] = {
    "graph_def": Parser(_graphs, mutations.protobuf, _called(_graph_def), **GRAPH),
    "graph_def_text": Parser(_graph_texts, mutations.text, _called(_graph_text), **GRAPH),
    "graph_of_the_page": Parser(_graphs, mutations.protobuf, _of_file("graph.pb", _dashboard_graph), **GRAPH),
    "meta_graph": Parser(_metas, mutations.protobuf, _of_file("graph.meta", _meta_graph), **GRAPH),
    "own_graph": Parser(_own_graphs, mutations.packed, _called(_own_graph), (ValueError,)),
    "saved_model": Parser(_saved, mutations.protobuf, _load_saved, **GRAPH),
    "own_saved_model": Parser(_own_saved, mutations.json_text, _load_own_saved),
    "checkpoint_manifest": Parser(_written(".manifest"), mutations.manifest, _in_checkpoint(".manifest")),
    "checkpoint_shard": Parser(_written(".safetensors"), mutations.safetensors, _in_checkpoint(".safetensors")),
    "bundle_index": Parser(_bundle(".index"), mutations.table, _in_checkpoint(".index")),
    "bundle_data": Parser(_bundle("0-of-00003"), mutations.binary, _in_checkpoint("0-of-00003")),
    "object_graph": Parser(_object_graphs, mutations.protobuf, _called(_object_graph)),
    "checkpoint_state": Parser(
        _states, mutations.text, _of_file("checkpoint", lambda path: af.train.get_checkpoint_state(path.parent))
    ),
    "example": Parser(_fixed(_example()), mutations.protobuf, _parse_example),
    "example_message": Parser(_fixed(_example()), mutations.protobuf, _called(af.train.Example.FromString)),
    "example_json": Parser(
        _fixed(
            b'{"features": {"feature": {"a": {"int64List": {"value": ["1", 2]}}, "b": {"bytesList": {"value": ["eA=="]}}}}}'
        ),
        mutations.json_text,
        _op(af.decode_json_example),
    ),
    "sequence_example": Parser(_fixed(_sequence()), mutations.protobuf, _parse_sequence),
    "tensor_proto": Parser(_fixed(*_tensor_protos()), mutations.protobuf, _called(_tensor)),
    "tfrecord": Parser(
        _fixed(_records()),
        mutations.records(mutations.binary),
        _of_file("records", lambda path: list(af.io.tf_record_iterator(path))),
    ),
    "tfrecord_dataset": Parser(
        _fixed(_records()), mutations.records(mutations.binary), _of_file("records", _dataset(af.data.TFRecordDataset))
    ),
    "packed_tfrecord_dataset": Parser(
        _fixed(gzip.compress(_records())),
        mutations.binary,
        _of_file("records", _dataset(lambda path: af.data.TFRecordDataset(path, "GZIP"))),
    ),
    "cached_elements": Parser(
        _caches,
        mutations.records(mutations.packed),
        _of_file("cache", _dataset(lambda path: af.data.Dataset.range(4).cache(path))),
    ),
    "events": Parser(
        _events,
        mutations.records(mutations.protobuf),
        _of_file("events.out.tfevents.1", lambda path: list(af.summary.read_events(path))),
    ),
    "curves_of_the_page": Parser(
        _events, mutations.records(mutations.protobuf), _of_file("events.out.tfevents.1", _curves)
    ),
    "onnx": Parser(_onnx_models, mutations.protobuf, _called(_load_onnx)),
    "onnx_external": Parser(_external, mutations.protobuf, _of_file("model.onnx", _load_onnx_file)),
    "npy": Parser(_fixed(*_npy()), mutations.binary, _op(lambda data: af.io.decode_npy(data, af.float32))),
    "png": Parser(_images("PNG"), mutations.png, _op(af.image.decode_png)),
    "jpeg": Parser(_images("JPEG"), mutations.binary, _op(af.image.decode_jpeg)),
    "recovered_jpeg": Parser(
        _images("JPEG"), mutations.binary, _op(lambda data: af.image.decode_jpeg(data, try_recover_truncated=True))
    ),
    "gif": Parser(_images("GIF"), mutations.binary, _op(af.image.decode_gif)),
    "bmp": Parser(_images("BMP"), mutations.binary, _op(af.image.decode_bmp)),
    "gzip": Parser(
        _fixed(gzip.compress(b"abc" * 100)), mutations.binary, _op(lambda data: af.io.decode_compressed(data, "GZIP"))
    ),
    "zlib": Parser(
        _fixed(zlib.compress(b"abc" * 100)), mutations.binary, _op(lambda data: af.io.decode_compressed(data, "ZLIB"))
    ),
    "csv": Parser(
        _fixed(TEXT.splitlines()[0]), mutations.text, _op(lambda text: af.decode_csv(text, [["-"], [0], [b""]]))
    ),
    "csv_file": Parser(
        _fixed(b"name,n,t\n" + TEXT),
        mutations.text,
        _of_file("table.csv", _dataset(lambda path: make_csv_dataset(path, 2, num_epochs=1, shuffle=False))),
        (OpError, ValueError),
    ),
    "lines": Parser(_fixed(TEXT), mutations.text, _of_file("lines", _dataset(af.data.TextLineDataset))),
    "fixed_lengths": Parser(
        _fixed(bytes(24)),
        mutations.binary,
        _of_file("fixed", _dataset(lambda path: af.data.FixedLengthRecordDataset(path, 8))),
    ),
    "words": Parser(_fixed(b"one\ntwo\nthree\n"), mutations.text, _of_file("words.txt", _table)),
    "cluster_file": Parser(
        _fixed(CLUSTER), mutations.json_text, _of_file("cluster.json", _cluster), (OpError, ValueError)
    ),
    "task_environment": Parser(_fixed(CLUSTER), mutations.json_text, _called(_task_environment), (OpError, ValueError)),
    "keys": Parser(_keys, mutations.text, _of_file("keys", _read_keys)),
    "allowed_keys": Parser(_fixed(b"# a\n" + b"a" * 40 + b"\n"), mutations.text, _of_file("allowed", _allowed)),
    "requests": Parser(_fixed(*_requests()), mutations.packed, _called(_request)),
    "learned_costs": Parser(_costs, mutations.json_text, _of_file("costs.json", _learned)),
}
"""The parsers by name."""
