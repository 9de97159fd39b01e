"""TensorFlow's messages for graphs: `GraphDef`, `NodeDef`, `AttrValue`, `MetaGraphDef`, `SavedModel`, `SaverDef` and what they
contain.

Field numbers are those of `tensorflow/core/framework/*.proto` and `tensorflow/core/protobuf/*.proto`.
"""

from __future__ import annotations

from typing import ClassVar

from actorflow.base import dtypes
from actorflow.base.records.example import BytesList, FloatList, Int64List
from actorflow.base.records.messages.message import Message
from actorflow.base.records.messages.values import Field
from actorflow.public import public

_BASE = {1: "DT_FLOAT", 2: "DT_DOUBLE", 3: "DT_INT32", 4: "DT_UINT8", 5: "DT_INT16", 6: "DT_INT8", 7: "DT_STRING"} | {
    8: "DT_COMPLEX64", 9: "DT_INT64", 10: "DT_BOOL", 11: "DT_QINT8", 12: "DT_QUINT8", 13: "DT_QINT32", 14: "DT_BFLOAT16",
    15: "DT_QINT16", 16: "DT_QUINT16", 17: "DT_UINT16", 18: "DT_COMPLEX128", 19: "DT_HALF", 20: "DT_RESOURCE",
    21: "DT_VARIANT", 22: "DT_UINT32", 23: "DT_UINT64",
}  # fmt: skip
DATA_TYPES = ((0, "DT_INVALID"), *_BASE.items(), *((code + 100, f"{name}_REF") for code, name in _BASE.items()))
BY_CODE = {dtype.code: dtype for dtype in (*dtypes.ALL, *dtypes.NARROW, dtypes.resource, dtypes.variant)}


def _type(number: int, oneof: str = "", repeated: bool = False) -> Field:
    return Field(number, "enum", repeated=repeated, oneof=oneof, names=DATA_TYPES)


class Dim(Message):
    """A size of a shape, -1 if the size is not known."""

    FIELDS: ClassVar[dict[str, Field]] = {"size": Field(1, "int"), "name": Field(2, "string")}


@public("tf")
class TensorShapeProto(Message):
    """`tf.TensorShapeProto`: the sizes of a shape, or `unknown_rank`.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> shape = tf.TensorShapeProto(dim=[tf.TensorShapeProto.Dim(size=2), tf.TensorShapeProto.Dim(size=3)])
        >>> [dim.size for dim in tf.TensorShapeProto.FromString(shape.SerializeToString()).dim]
        [2, 3]
    """

    Dim = Dim
    FIELDS: ClassVar[dict[str, Field]] = {"dim": Field(2, Dim, repeated=True), "unknown_rank": Field(3, "bool")}


@public("tf")
class TensorProto(Message):
    """`tf.TensorProto`: an array, its content in one piece or value by value. `tf.make_ndarray` gives the array.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> message = af.make_tensor_proto([1.0, 2.0]).SerializeToString()
        >>> af.make_ndarray(tf.TensorProto.FromString(message))
        [1. 2.]
    """

    FIELDS: ClassVar[dict[str, Field]] = {
        "dtype": _type(1),
        "tensor_shape": Field(2, TensorShapeProto),
        "version_number": Field(3, "int"),
        "tensor_content": Field(4, "bytes"),
        "float_val": Field(5, "float", repeated=True),
        "double_val": Field(6, "double", repeated=True),
        "int_val": Field(7, "int", repeated=True),
        "string_val": Field(8, "bytes", repeated=True),
        "scomplex_val": Field(9, "float", repeated=True),
        "int64_val": Field(10, "int", repeated=True),
        "bool_val": Field(11, "bool", repeated=True),
        "dcomplex_val": Field(12, "double", repeated=True),
        "half_val": Field(13, "int", repeated=True),
        "uint32_val": Field(16, "int", repeated=True),
        "uint64_val": Field(17, "uint", repeated=True),
    }


@public("tf")
class NameAttrList(Message):
    """`tf.NameAttrList`: a function by its name; its attributes are kept as they came.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.NameAttrList(name="body").name
        'body'
    """

    FIELDS: ClassVar[dict[str, Field]] = {"name": Field(1, "string")}


class ListValue(Message):
    """A list of attribute values, all of one kind."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "s": Field(2, "bytes", repeated=True),
        "i": Field(3, "int", repeated=True),
        "f": Field(4, "float", repeated=True),
        "b": Field(5, "bool", repeated=True),
        "type": _type(6, repeated=True),
        "shape": Field(7, TensorShapeProto, repeated=True),
        "tensor": Field(8, TensorProto, repeated=True),
        "func": Field(9, NameAttrList, repeated=True),
    }


@public("tf")
class AttrValue(Message):
    """`tf.AttrValue`: the value of an attribute; `WhichOneof("value")` says of which kind.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.AttrValue(i=7).WhichOneof("value")
        'i'
    """

    ListValue = ListValue
    FIELDS: ClassVar[dict[str, Field]] = {
        "list": Field(1, ListValue, oneof="value"),
        "s": Field(2, "bytes", oneof="value"),
        "i": Field(3, "int", oneof="value"),
        "f": Field(4, "float", oneof="value"),
        "b": Field(5, "bool", oneof="value"),
        "type": _type(6, oneof="value"),
        "shape": Field(7, TensorShapeProto, oneof="value"),
        "tensor": Field(8, TensorProto, oneof="value"),
        "placeholder": Field(9, "string", oneof="value"),
        "func": Field(10, NameAttrList, oneof="value"),
    }


@public("tf")
class NodeDef(Message):
    """`tf.NodeDef`: a node, with `input` as `name`, `name:port` or `^control`.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> x = af.placeholder(af.float32, name="x")
        >>> x.op.node_def.op, tf.NodeDef(name="y", op="Square", input=["x"]).input[0]
        ('Placeholder', 'x')
    """

    FIELDS: ClassVar[dict[str, Field]] = {
        "name": Field(1, "string"),
        "op": Field(2, "string"),
        "input": Field(3, "string", repeated=True),
        "device": Field(4, "string"),
        "attr": Field(5, AttrValue, key="string"),
    }


class VersionDef(Message):
    """The version of what made a graph, and the oldest that can read it."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "producer": Field(1, "int"),
        "min_consumer": Field(2, "int"),
        "bad_consumers": Field(3, "int", repeated=True),
    }


class ArgDef(Message):
    """An argument or a result of a function."""

    FIELDS: ClassVar[dict[str, Field]] = {"name": Field(1, "string"), "type": Field(3, "enum", names=DATA_TYPES)}


class OpDef(Message):
    """The signature of a function."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "name": Field(1, "string"),
        "input_arg": Field(2, ArgDef, repeated=True),
        "output_arg": Field(3, ArgDef, repeated=True),
    }


class FunctionDef(Message):
    """A function of a graph's library."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "signature": Field(1, OpDef),
        "node_def": Field(3, NodeDef, repeated=True),
        "ret": Field(4, "string", key="string"),
        "attr": Field(5, AttrValue, key="string"),
        "control_ret": Field(6, "string", key="string"),
    }


class FunctionDefLibrary(Message):
    """The functions of a graph; their gradients are kept as they came."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "function": Field(1, FunctionDef, repeated=True),
        "gradient": Field(2, "bytes", repeated=True),
    }


@public("tf")
class GraphDef(Message):
    """`tf.GraphDef`: the nodes of a graph.

    graph_def = tf.GraphDef()
    graph_def.ParseFromString(open("model.pb", "rb").read())
    tf.import_graph_def(graph_def, name="")

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> x = af.placeholder(af.float32, name="x")
        >>> graph_def = tf.GraphDef.FromString(x.graph.as_graph_def().SerializeToString())
        >>> [(node.name, node.op) for node in graph_def.node]
        [('x', 'Placeholder')]
    """

    FIELDS: ClassVar[dict[str, Field]] = {
        "node": Field(1, NodeDef, repeated=True),
        "library": Field(2, FunctionDefLibrary),
        "version": Field(3, "int"),
        "versions": Field(4, VersionDef),
    }


@public("tf.train")
class SaverDef(Message):
    """`tf.train.SaverDef`: which tensors and operations of a graph save and restore, and how many checkpoints are kept.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.train.SaverDef(filename_tensor_name="save/Const:0", max_to_keep=3).max_to_keep
        3
    """

    LEGACY, V1, V2 = 0, 1, 2
    FIELDS: ClassVar[dict[str, Field]] = {
        "filename_tensor_name": Field(1, "string"),
        "save_tensor_name": Field(2, "string"),
        "restore_op_name": Field(3, "string"),
        "max_to_keep": Field(4, "int"),
        "sharded": Field(5, "bool"),
        "keep_checkpoint_every_n_hours": Field(6, "float"),
        "version": Field(7, "enum", names=((0, "LEGACY"), (1, "V1"), (2, "V2"))),
    }


class CheckpointStateProto(Message):
    """Which checkpoints of a folder are kept, and when each was saved."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "model_checkpoint_path": Field(1, "string"),
        "all_model_checkpoint_paths": Field(2, "string", repeated=True),
        "all_model_checkpoint_timestamps": Field(3, "double", repeated=True),
        "last_preserved_timestamp": Field(4, "double"),
    }


class SaveSliceInfoDef(Message):
    """Which part of what larger variable a variable is."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "full_name": Field(1, "string"),
        "full_shape": Field(2, "int", repeated=True),
        "var_offset": Field(3, "int", repeated=True),
        "var_shape": Field(4, "int", repeated=True),
    }


class VariableDef(Message):
    """The names of a variable's tensors and operations."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "variable_name": Field(1, "string"),
        "initializer_name": Field(2, "string"),
        "snapshot_name": Field(3, "string"),
        "save_slice_info_def": Field(4, SaveSliceInfoDef),
        "is_resource": Field(5, "bool"),
        "initial_value_name": Field(6, "string"),
        "trainable": Field(7, "bool"),
        "synchronization": Field(8, "enum"),
        "aggregation": Field(9, "enum"),
    }


class QueueRunnerDef(Message):
    """The names of a queue and of the operations that fill and close it."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "queue_name": Field(1, "string"),
        "enqueue_op_name": Field(2, "string", repeated=True),
        "close_op_name": Field(3, "string"),
        "cancel_op_name": Field(4, "string"),
        "queue_closed_exception_types": Field(5, "enum", repeated=True),
    }


class NodeList(Message):
    """Names of tensors and operations."""

    FIELDS: ClassVar[dict[str, Field]] = {"value": Field(1, "string", repeated=True)}


class AnyMessage(Message):
    """A message with the address of its type."""

    FIELDS: ClassVar[dict[str, Field]] = {"type_url": Field(1, "string"), "value": Field(2, "bytes")}


class AnyList(Message):
    """Messages of any types."""

    FIELDS: ClassVar[dict[str, Field]] = {"value": Field(1, AnyMessage, repeated=True)}


class CollectionDef(Message):
    """The values of a collection."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "node_list": Field(1, NodeList, oneof="kind"),
        "bytes_list": Field(2, BytesList, oneof="kind"),
        "int64_list": Field(3, Int64List, oneof="kind"),
        "float_list": Field(4, FloatList, oneof="kind"),
        "any_list": Field(5, AnyList, oneof="kind"),
    }


class MetaInfoDef(Message):
    """Which version of which program made a graph."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "meta_graph_version": Field(1, "string"),
        "tags": Field(4, "string", repeated=True),
        "tensorflow_version": Field(5, "string"),
        "tensorflow_git_version": Field(6, "string"),
        "stripped_default_attrs": Field(7, "bool"),
    }


class CooSparse(Message):
    """The names of the three tensors of a sparse tensor."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "values_tensor_name": Field(1, "string"),
        "indices_tensor_name": Field(2, "string"),
        "dense_shape_tensor_name": Field(3, "string"),
    }


@public("tf")
class TensorInfo(Message):
    """`tf.TensorInfo`: a tensor of a graph by its name, with its type and shape, as signatures name it.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> info = af.saved_model.build_tensor_info(af.placeholder(af.float32, [None, 3], name="x"))
        >>> info.name, [dim.size for dim in info.tensor_shape.dim], isinstance(info, tf.TensorInfo)
        ('x:0', [-1, 3], True)
    """

    CooSparse = CooSparse
    FIELDS: ClassVar[dict[str, Field]] = {
        "name": Field(1, "string", oneof="encoding"),
        "coo_sparse": Field(4, CooSparse, oneof="encoding"),
        "composite_tensor": Field(5, "bytes", oneof="encoding"),
        "dtype": _type(2),
        "tensor_shape": Field(3, TensorShapeProto),
    }


class SignatureDef(Message):
    """The inputs and outputs of one use of a graph, by the names that clients know them by."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "inputs": Field(1, TensorInfo, key="string"),
        "outputs": Field(2, TensorInfo, key="string"),
        "method_name": Field(3, "string"),
        "defaults": Field(4, TensorProto, key="string"),
    }


class AssetFileDef(Message):
    """A file that belongs to a graph, and the tensor that gets its path."""

    FIELDS: ClassVar[dict[str, Field]] = {"tensor_info": Field(1, TensorInfo), "filename": Field(2, "string")}


@public("tf")
class MetaGraphDef(Message):
    """`tf.MetaGraphDef`: a graph with its collections, its saver and its signatures, which is what a `.meta` file holds.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> x = af.placeholder(af.float32, name="x")
        >>> message = af.train.export_meta_graph().SerializeToString()
        >>> [node.name for node in tf.MetaGraphDef.FromString(message).graph_def.node]
        ['x']
    """

    MetaInfoDef = MetaInfoDef
    FIELDS: ClassVar[dict[str, Field]] = {
        "meta_info_def": Field(1, MetaInfoDef),
        "graph_def": Field(2, GraphDef),
        "saver_def": Field(3, SaverDef),
        "collection_def": Field(4, CollectionDef, key="string"),
        "signature_def": Field(5, SignatureDef, key="string"),
        "asset_file_def": Field(6, AssetFileDef, repeated=True),
    }


class SavedModel(Message):
    """The graphs of a SavedModel, a graph for each set of tags."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "saved_model_schema_version": Field(1, "int"),
        "meta_graphs": Field(2, MetaGraphDef, repeated=True),
    }
