"""`.meta` files: a graph with its collections and its saver, as TensorFlow's `MetaGraphDef`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorflow.base.paths import path_text
from actorflow.base.records.messages.message import Message
from actorflow.base.records.messages.text import read_text
from actorflow.base.records.wire import BrokenMessageError
from actorflow.base.reports.logs import get_logger
from actorflow.engine.formats import installed
from actorflow.errors import UnknownNameError
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.graphdef.importing import import_graph_def
from actorflow.graph.graphdef.protos import CollectionDef, GraphDef, MetaGraphDef, SaverDef, VariableDef
from actorflow.graph.graphdef.saving import add_saving, without_scope
from actorflow.graph.tensor import Operation, Tensor
from actorflow.graph.variables.collections import GraphKeys
from actorflow.graph.variables.partitioned import PartitionedVariable
from actorflow.graph.variables.variable import Variable
from actorflow.models.train.saving.saved_variables import named_variables
from actorflow.models.train.saving.saver import Saver
from actorflow.public import public

_CONTEXTS = frozenset({"while_context", "cond_context", "savers"})
_VARIABLES = frozenset(
    {
        GraphKeys.GLOBAL_VARIABLES,
        GraphKeys.TRAINABLE_VARIABLES,
        GraphKeys.LOCAL_VARIABLES,
        GraphKeys.MODEL_VARIABLES,
        GraphKeys.MOVING_AVERAGE_VARIABLES,
        "metric_variables",
        "global_step",
    }
)


@public("af.train")
def export_meta_graph(
    filename: str | os.PathLike[str] | None = None,
    meta_info_def: Any = None,
    graph_def: GraphDef | None = None,
    saver_def: SaverDef | None = None,
    collection_list: Sequence[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
) -> MetaGraphDef:
    """A graph with its collections as a message, and a saver of its variables (`tf.train.export_meta_graph`).

    TensorFlow imports it: the saver is written as its `SaveV2` and `RestoreV2`. A checkpoint that it is to restore is saved with
    `Saver(format="tensor_bundle")`.

    Example:
        >>> x = af.placeholder(af.float32, name="x")
        >>> made = af.train.export_meta_graph("model.meta")
        >>> [node.name for node in made.graph_def.node], af.train.read_meta_graph("model.meta") == made
        (['x'], True)

    Args:
        filename: the message is written to this file as well.
        meta_info_def: a `MetaGraphDef.MetaInfoDef` that is taken over.
        graph_def: the nodes; those of `graph` unless given.
        saver_def: names of the nodes that save; the message gets new names unless given.
        collection_list: the collections that are written; all unless given.
        as_text: the file is in the text format.
        graph: the default graph unless given.
        clear_devices: the devices that nodes ask for are left out.
        clear_extraneous_savers, strip_default_attrs: change nothing.
        export_scope: must be None.
        save_debug_info: must be False: no second file with the lines of programs is written.

    Raises:
        ValueError: `export_scope` or `save_debug_info` is given.
        TypeError: a node has an attribute that no message has.
    """
    if export_scope is not None:
        raise ValueError("export_scope is not supported; take a part of a GraphDef with graph_util.extract_sub_graph.")
    if save_debug_info:
        raise ValueError("save_debug_info is not supported: no file with the lines of the program is written.")
    graph = graph or get_default_graph()
    meta_graph = MetaGraphDef()
    if meta_info_def is not None:
        meta_graph.meta_info_def.CopyFrom(meta_info_def)
    meta_graph.meta_info_def.tensorflow_version = meta_graph.meta_info_def.tensorflow_version or "1.15.0"
    meta_graph.graph_def.CopyFrom(graph_def or graph.as_graph_def(add_shapes=True))
    if clear_devices:
        for node in meta_graph.graph_def.node:
            node.ClearField("device")
    # Savers have no nodes that TensorFlow knows; the message has one of its own.
    keys = [key for key in graph.get_all_collection_keys() if not key.startswith("_") and key != GraphKeys.SAVERS]
    for key in keys if collection_list is None else collection_list:
        _add_collection(meta_graph, key, graph.get_collection(key))
    variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
    if saver_def is not None:
        meta_graph.saver_def.CopyFrom(saver_def)
    if variables and not meta_graph.saver_def.restore_op_name:
        saved = named_variables(variables)
        several = [(s.key, s.variable.op.name, s.part, s.variable.dtype) for s in saved]
        add_saving(meta_graph.graph_def, several, meta_graph.saver_def)
        if saver_def is None:
            meta_graph.saver_def.max_to_keep, meta_graph.saver_def.keep_checkpoint_every_n_hours = 5, 10000.0
    if filename is not None:
        with open(filename, "wb") as file:
            file.write(str(meta_graph).encode() if as_text else meta_graph.SerializeToString())
    return meta_graph


@public("af.train")
def import_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> Saver | None:
    """Adds the graph and the collections of a `.meta` file to the default graph (`tf.train.import_meta_graph`).

    Files of TensorFlow's are read too, and so are its checkpoints. Gradients through an imported
    loop are not given.

    Example:
        >>> v = af.Variable(3.0, name="v")
        >>> await session.run(v.initializer)
        >>> prefix = await af.train.Saver().save(session, "model.ckpt")
        >>> async with af.Session(graph=af.Graph()) as other:
        ...     with other.graph.as_default():
        ...         saver = af.train.import_meta_graph("model.ckpt.meta")
        ...         await saver.restore(other, prefix)
        ...         print(await other.run("v:0"))
        3.0

    Args:
        meta_graph_or_file: a `MetaGraphDef`, or the path of a file with such a message.
        clear_devices: the devices that nodes ask for are left out.
        import_scope: what comes before the names of all nodes.
        kwargs: options of the `Saver` that is given back.

    Returns:
        A saver of the variables of the graph, or None for a graph without variables.

    Raises:
        OSError: the file can't be read.
        BrokenMessageError: it is no MetaGraphDef.
        ValueError, UnknownNameError: the graph can't be imported; see `import_graph_def`.
    """
    return add_meta_graph(read_meta_graph(meta_graph_or_file), clear_devices, import_scope, kwargs)


def add_meta_graph(
    message: MetaGraphDef,
    clear_devices: bool = False,
    import_scope: str | None = None,
    saver_kwargs: Mapping[str, Any] | None = None,
    add: Callable[[GraphDef, str], None] | None = None,
) -> Saver | None:
    """`import_meta_graph` of a message.

    Args:
        message: the graph with its collections.
        clear_devices: the devices that nodes ask for are left out.
        import_scope: what comes before the names of all nodes.
        saver_kwargs: options of the saver.
        add: adds some of the nodes, all of them unless given; collections lack what it leaves out.
    """
    graph_def = without_scope(message.graph_def, message.saver_def)
    if clear_devices:
        for node in graph_def.node:
            node.ClearField("device")
    graph = get_default_graph()
    prefix = ""
    if import_scope:
        with graph.name_scope(import_scope) as scope:
            prefix = scope
    if add is None:
        import_graph_def(graph_def, name=prefix)
    else:
        add(graph_def, prefix)
    variables: dict[str, Variable] = {}
    for key, collection in message.collection_def.items():
        if key not in _CONTEXTS:
            _restore_collection(graph, key, collection, prefix, variables, whole=add is None)
    mine = [v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES) if v.name.startswith(prefix)]
    if not mine:
        return None
    options: dict[str, Any] = {"format": installed.default()}
    if message.saver_def.restore_op_name:
        options["max_to_keep"] = message.saver_def.max_to_keep
        options["keep_checkpoint_every_n_hours"] = message.saver_def.keep_checkpoint_every_n_hours or 10000.0
    return Saver(saved_names(mine, prefix) if prefix else mine, **{**options, **(saver_kwargs or {})})


def saved_names(variables: Sequence[Variable], prefix: str) -> dict[str, Any]:
    """Variables that were imported under a prefix by the names that they have in a checkpoint; slices are put together."""
    named: dict[str, Any] = {}
    slices: dict[str, list[Variable]] = {}
    for variable in variables:
        if (info := variable._save_slice_info) is None:
            named[variable.name.removeprefix(prefix).removesuffix(":0")] = variable
        else:
            slices.setdefault(info.full_name, []).append(variable)
    for name, several in slices.items():
        shape = several[0]._save_slice_info.full_shape
        counts = [len({v._save_slice_info.var_offset[axis] for v in several}) for axis in range(len(shape))]
        named[name.removeprefix(prefix)] = PartitionedVariable(name, shape, several[0].dtype, several, counts)
    return named


@public("af.train")
def read_meta_graph(meta_graph_or_file: Any) -> MetaGraphDef:
    """The `MetaGraphDef` of a file, in the binary or the text format, or of a message.

    Example:
        >>> x = af.placeholder(af.float32, name="x")
        >>> written = af.train.export_meta_graph("model.meta")
        >>> [node.name for node in af.train.read_meta_graph("model.meta").graph_def.node]
        ['x']

    Raises:
        OSError: the file can't be read.
        BrokenMessageError: it holds no MetaGraphDef.
    """
    if isinstance(meta_graph_or_file, MetaGraphDef):
        return meta_graph_or_file
    if hasattr(meta_graph_or_file, "SerializeToString"):
        return MetaGraphDef.FromString(meta_graph_or_file.SerializeToString())
    with open(path_text(meta_graph_or_file, "meta_graph_or_file"), "rb") as file:
        data = file.read()
    try:
        return MetaGraphDef.FromString(data)
    except BrokenMessageError as error:
        try:
            meta_graph = MetaGraphDef()
            read_text(data, meta_graph)
            return meta_graph
        except (BrokenMessageError, UnicodeDecodeError):
            raise BrokenMessageError(f"{os.fspath(meta_graph_or_file)} is no MetaGraphDef: {error}") from None


def _add_collection(meta_graph: MetaGraphDef, key: str, values: Sequence[Any]) -> None:
    entry = CollectionDef()
    try:
        for value in values:
            _add_value(entry, key, value)
    except TypeError as error:
        get_logger("graphdef").warning(
            "a collection is left out of the MetaGraphDef", collection=key, reason=str(error)
        )
        return
    if values and entry.WhichOneof("kind") is not None:
        meta_graph.collection_def[key].CopyFrom(entry)


def _add_value(entry: CollectionDef, key: str, value: Any) -> None:
    in_own = key not in _VARIABLES and isinstance(value, Variable)  # in a program's own collection a variable is a node
    if isinstance(value, (Tensor, Operation)) or in_own:
        entry.node_list.value.append(value.name)
    elif isinstance(value, bool):
        raise TypeError("a bool is no value of a collection that is written")
    elif isinstance(value, int):
        entry.int64_list.value.append(value)
    elif isinstance(value, float):
        entry.float_list.value.append(value)
    elif isinstance(value, (str, bytes)):
        entry.bytes_list.value.append(value.encode() if isinstance(value, str) else value)
    elif isinstance(value, Message) or hasattr(value, "to_proto"):
        message = value if isinstance(value, Message) else value.to_proto()
        entry.bytes_list.value.append(message.SerializeToString())
    else:
        raise TypeError(f"a {type(value).__name__} has no message")


def _restore_collection(
    graph: Graph, key: str, collection: CollectionDef, prefix: str, variables: dict[str, Variable], whole: bool
) -> None:
    kind = collection.WhichOneof("kind")
    if kind is None or kind == "any_list":  # files of saved models: the loader reads them
        return
    for value in getattr(collection, kind).value:
        try:
            element = _element(graph, key, kind, value, prefix, variables)
        except UnknownNameError:
            if whole:
                raise
            continue  # its node was left out
        graph.add_to_collection(key, element)


def _element(graph: Graph, key: str, kind: str, value: Any, prefix: str, variables: dict[str, Variable]) -> Any:
    """An element of a collection. Raises UnknownNameError where the graph lacks its node."""
    if kind == "node_list":
        return graph.as_graph_element(prefix + value)
    if kind == "bytes_list" and key in _VARIABLES:
        message = VariableDef.FromString(value)
        if message.variable_name not in variables:
            variables[message.variable_name] = Variable.from_proto(message, prefix)
        return variables[message.variable_name]
    if kind == "bytes_list" and key == GraphKeys.QUEUE_RUNNERS:
        from actorflow.models.train.input.queue_runner import QueueRunner

        return QueueRunner.from_proto(value, prefix)
    return value
