"""`type_attr`: the attributes of TensorFlow's op definitions that say an element type or a number of inputs.

Nodes don't store them: they follow from the inputs and outputs. TensorFlow names them op by op. Most follow from the name of
an attribute and the inputs that the op has; the table has the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import DType
from actorflow.base.registry.opdef import OpDef

# The inputs that an attribute may be the type of: the first of them that the op has.
_INPUTS: dict[str, tuple[str, ...]] = {
    "dtype": ("updates", "value", "input", "gradient", "gradient_values", "ref", "minval"),
    "element_dtype": ("tensor", "item", "input_handle"),
    "Index": ("begin", "shape"),
    "OUT_TYPE": ("record_defaults",),
    "R": ("rate",),
    "S": ("shape",),
    "SrcT": ("x",),
    "Taxis": ("axis",),
    "Tblock_shape": ("block_shape",),
    "Tcomplex": ("input",),
    "Tcomponents": ("components",),
    "Tcontext_dense": ("context_dense_defaults",),
    "Tcrops": ("crops",),
    "Tdense": ("dense_defaults",),
    "Tdim": ("axis",),
    "TI": ("indices",),
    "Tidx": ("axis", "dimension", "indices", "start", "num", "shape"),
    "Tin": ("input", "keys"),
    "Tindex": ("num_lower",),
    "Tindices": ("a_indices", "sparse_indices", "indices", "segment_ids"),
    "Tk": ("k",),
    "Tkey": ("keys",),
    "Tlabels": ("labels",),
    "Tlen": ("sizes", "seq_lengths"),
    "Tmultiples": ("multiples",),
    "Tnumsegments": ("num_segments",),
    "Tpaddings": ("paddings",),
    "Tout": ("default_value", "values"),
    "Tparams": ("params",),
    "Tperm": ("perm",),
    "Treal": ("thresh", "input"),
    "Tseed": ("seed",),
    "Tsegmentids": ("segment_ids",),
    "Tshape": ("shape", "input_sizes"),
    "Tshift": ("shift",),
    "Tval": ("values",),
    "U": ("scale", "reserve_space_1", "data"),
}
# The attributes that are another's type than their name says, or that of an output (a number).
_OF_OP: dict[tuple[str, str], str | int] = {
    ("Angle", "Tout"): 0,
    ("BarrierInsertMany", "T"): "values",
    ("Complex", "Tout"): 0,
    ("ComplexAbs", "Tout"): 0,
    ("Dequantize", "dtype"): 0,
    ("Fill", "index_type"): "dims",
    ("IRFFT", "Treal"): 0,
    ("IRFFT2D", "Treal"): 0,
    ("IRFFT3D", "Treal"): 0,
    ("Imag", "Tout"): 0,
    ("InTopKV2", "T"): "targets",
    ("LinSpace", "Tidx"): "num",
    ("MaxPool3DGrad", "TInput"): "orig_input",
    ("MaxPoolGradWithArgmax", "Targmax"): "argmax",
    ("NonMaxSuppressionV3", "T_threshold"): "iou_threshold",
    ("RFFT", "Tcomplex"): 0,
    ("RFFT2D", "Tcomplex"): 0,
    ("RFFT3D", "Tcomplex"): 0,
    ("RandomUniformInt", "T"): "shape",
    ("RandomUniformInt", "Tout"): 0,
    ("ReadVariableOp", "dtype"): 0,
    ("Real", "Tout"): 0,
    ("SaveV2", "dtypes"): "tensors",
    ("SparseConcat", "T"): 1,
    ("StatelessRandomUniformInt", "T"): "shape",
    ("Substr", "T"): "pos",
    ("TopKV2", "index_type"): 1,
    ("_Recv", "tensor_type"): 0,
}
# The inputs that `T` is the type of in an op whose inputs share none.
_T = ("shape", "data", "inputs", "input")


def type_attr(op: OpDef, name: str, inputs: Sequence[DType], outputs: Sequence[DType]) -> Any:
    """The value of the attribute `name` of a node with inputs and outputs of these types; None without such an attribute. The
    value is a type, a tuple of types for a list of inputs of several types, or for `N` the number of tensors in a list."""
    if name == "N":
        lists = [spec for spec in op.inputs if spec.kind == "list"]
        return len(inputs) - len(op.inputs) + 1 if len(lists) == 1 else None
    source = _OF_OP.get((op.type, name))
    if source is None:
        own = {spec.name for spec in op.inputs}
        sources = _INPUTS.get(name, ())
        if name == "T":
            sources = (*(spec.name for spec in op.inputs if spec.group == "T"), *_T)
        source = next((carrier for carrier in sources if carrier in own), 0 if name == "T" and outputs else None)
    if isinstance(source, int):
        return outputs[source].base_dtype
    return None if source is None else _type_of(op, source, inputs)


def _type_of(op: OpDef, name: str, inputs: Sequence[DType]) -> Any:
    """The type of an input; all types of an input that is a list of several types."""
    at = 0
    for spec in op.inputs:
        if spec.name == name:
            break
        at += len(inputs) - len(op.inputs) + 1 if spec.kind == "list" else 1
    if spec.kind == "list" and not spec.group:
        return tuple(dtype.base_dtype for dtype in inputs[at : at + len(inputs) - len(op.inputs) + 1])
    return inputs[at].base_dtype if at < len(inputs) else None
