"""The messages of ONNX files, as far as a program needs them (onnx.proto, version 1.23; proto2)."""

from __future__ import annotations

from typing import ClassVar

from actorflow.base.records.messages.message import Message
from actorflow.base.records.messages.values import Field


def _many(number: int, kind: object) -> Field:
    return Field(number, kind, repeated=True)


class StringStringEntryProto(Message):
    FIELDS: ClassVar = {"key": Field(1, "string"), "value": Field(2, "string")}


class TensorProto(Message):
    FIELDS: ClassVar = {
        "dims": _many(1, "int"),
        "data_type": Field(2, "int"),
        "float_data": _many(4, "float"),
        "int32_data": _many(5, "int"),
        "string_data": _many(6, "bytes"),
        "int64_data": _many(7, "int"),
        "name": Field(8, "string"),
        "raw_data": Field(9, "bytes"),
        "double_data": _many(10, "double"),
        "uint64_data": _many(11, "uint"),
        "doc_string": Field(12, "string"),
        "external_data": _many(13, StringStringEntryProto),
        "data_location": Field(14, "enum"),
    }


class SparseTensorProto(Message):
    FIELDS: ClassVar = {"values": Field(1, TensorProto), "indices": Field(2, TensorProto), "dims": _many(3, "int")}


class Dimension(Message):
    FIELDS: ClassVar = {
        "dim_value": Field(1, "int", oneof="value"),
        "dim_param": Field(2, "string", oneof="value"),
        "denotation": Field(3, "string"),
    }


class TensorShapeProto(Message):
    FIELDS: ClassVar = {"dim": _many(1, Dimension)}


class TensorTypeProto(Message):
    FIELDS: ClassVar = {"elem_type": Field(1, "int"), "shape": Field(2, TensorShapeProto)}


class SequenceTypeProto(Message):
    FIELDS: ClassVar[dict[str, Field]] = {}


class OptionalTypeProto(Message):
    FIELDS: ClassVar[dict[str, Field]] = {}


class MapTypeProto(Message):
    FIELDS: ClassVar[dict[str, Field]] = {}


class TypeProto(Message):
    FIELDS: ClassVar = {
        "tensor_type": Field(1, TensorTypeProto, oneof="value"),
        "sequence_type": Field(4, SequenceTypeProto, oneof="value"),
        "map_type": Field(5, MapTypeProto, oneof="value"),
        "sparse_tensor_type": Field(8, TensorTypeProto, oneof="value"),
        "optional_type": Field(9, OptionalTypeProto, oneof="value"),
        "denotation": Field(6, "string"),
    }


SequenceTypeProto.FIELDS["elem_type"] = Field(1, TypeProto)
OptionalTypeProto.FIELDS["elem_type"] = Field(1, TypeProto)
MapTypeProto.FIELDS |= {"key_type": Field(1, "int"), "value_type": Field(2, TypeProto)}


class ValueInfoProto(Message):
    FIELDS: ClassVar = {"name": Field(1, "string"), "type": Field(2, TypeProto), "doc_string": Field(3, "string")}


class AttributeProto(Message):
    """The value is in one of the fields of the group, and `type` says in which field."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "name": Field(1, "string"),
        "ref_attr_name": Field(21, "string"),
        "doc_string": Field(13, "string"),
        "type": Field(20, "enum"),
        "f": Field(2, "float", oneof="value"),
        "i": Field(3, "int", oneof="value"),
        "s": Field(4, "bytes", oneof="value"),
        "t": Field(5, TensorProto, oneof="value"),
        "sparse_tensor": Field(22, SparseTensorProto, oneof="value"),
        "tp": Field(14, TypeProto, oneof="value"),
        "floats": _many(7, "float"),
        "ints": _many(8, "int"),
        "strings": _many(9, "bytes"),
        "tensors": _many(10, TensorProto),
        "type_protos": _many(15, TypeProto),
    }


class NodeProto(Message):
    FIELDS: ClassVar = {
        "input": _many(1, "string"),
        "output": _many(2, "string"),
        "name": Field(3, "string"),
        "op_type": Field(4, "string"),
        "attribute": _many(5, AttributeProto),
        "doc_string": Field(6, "string"),
        "domain": Field(7, "string"),
        "overload": Field(8, "string"),
    }


class GraphProto(Message):
    FIELDS: ClassVar = {
        "node": _many(1, NodeProto),
        "name": Field(2, "string"),
        "initializer": _many(5, TensorProto),
        "doc_string": Field(10, "string"),
        "input": _many(11, ValueInfoProto),
        "output": _many(12, ValueInfoProto),
        "value_info": _many(13, ValueInfoProto),
        "sparse_initializer": _many(15, SparseTensorProto),
    }


AttributeProto.FIELDS |= {"g": Field(6, GraphProto, oneof="value"), "graphs": _many(11, GraphProto)}


class OperatorSetIdProto(Message):
    FIELDS: ClassVar = {"domain": Field(1, "string"), "version": Field(2, "int")}


class FunctionProto(Message):
    FIELDS: ClassVar = {
        "name": Field(1, "string"),
        "input": _many(4, "string"),
        "output": _many(5, "string"),
        "attribute": _many(6, "string"),
        "node": _many(7, NodeProto),
        "doc_string": Field(8, "string"),
        "opset_import": _many(9, OperatorSetIdProto),
        "domain": Field(10, "string"),
        "attribute_proto": _many(11, AttributeProto),
        "overload": Field(13, "string"),
    }


class ModelProto(Message):
    FIELDS: ClassVar = {
        "ir_version": Field(1, "int"),
        "producer_name": Field(2, "string"),
        "producer_version": Field(3, "string"),
        "domain": Field(4, "string"),
        "model_version": Field(5, "int"),
        "doc_string": Field(6, "string"),
        "graph": Field(7, GraphProto),
        "opset_import": _many(8, OperatorSetIdProto),
        "metadata_props": _many(14, StringStringEntryProto),
        "functions": _many(25, FunctionProto),
    }


class SequenceProto(Message):
    """A list of values, in the files of test data (onnx-data.proto)."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "name": Field(1, "string"),
        "elem_type": Field(2, "enum"),
        "tensor_values": _many(3, TensorProto),
    }


SequenceProto.FIELDS["sequence_values"] = _many(5, SequenceProto)


class OptionalProto(Message):
    """A value that may be missing, in the files of test data."""

    FIELDS: ClassVar = {
        "name": Field(1, "string"),
        "elem_type": Field(2, "enum"),
        "tensor_value": Field(3, TensorProto),
        "sequence_value": Field(5, SequenceProto),
    }
