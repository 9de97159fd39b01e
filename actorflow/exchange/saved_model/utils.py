"""`tf.saved_model.utils`: tensors as messages that name them, and back."""

from __future__ import annotations

from typing import Any

from actorflow.base.dtypes import as_dtype
from actorflow.base.shapes import as_shape
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.graph import Graph
from actorflow.graph.graphdef.attributes import shape_proto
from actorflow.graph.graphdef.protos import TensorInfo
from actorflow.graph.sparse_tensor import SparseTensor
from actorflow.public import public

public("af.saved_model:utils")


@public("af.saved_model")
def build_tensor_info(tensor: Any) -> TensorInfo:
    """A tensor's name, type and shape as a message (`tf.saved_model.build_tensor_info`).

    Example:
        >>> info = af.saved_model.build_tensor_info(af.placeholder(af.float32, [None, 3], name="x"))
        >>> info.name, [dim.size for dim in info.tensor_shape.dim]
        ('x:0', [-1, 3])

    Args:
        tensor: a tensor, a variable or a SparseTensor.

    Raises:
        TypeError: it is none of these.
    """
    info = TensorInfo()
    if isinstance(tensor, SparseTensor):
        names = info.coo_sparse
        names.values_tensor_name = tensor.values.name
        names.indices_tensor_name = tensor.indices.name
        names.dense_shape_tensor_name = tensor.dense_shape.name
        dtype, shape = tensor.values.dtype, as_shape(tensor.get_shape())
    else:
        source = tensor.value() if hasattr(tensor, "value") and callable(tensor.value) else tensor
        if not hasattr(source, "static_shape"):
            raise TypeError(f"A signature names tensors, but {tensor!r:.80} is a {type(tensor).__name__}.")
        info.name, dtype, shape = source.name, source.dtype, source.static_shape
    info.dtype = as_dtype(dtype).base_dtype.code
    info.tensor_shape.CopyFrom(shape_proto(shape))
    return info


@public("af.saved_model")
def get_tensor_from_tensor_info(
    tensor_info: TensorInfo, graph: Graph | None = None, import_scope: str | None = None
) -> Any:
    """The tensor, or SparseTensor, that a message names.

    Example:
        >>> x = af.placeholder(af.float32, name="x")
        >>> af.saved_model.get_tensor_from_tensor_info(af.saved_model.build_tensor_info(x)) is x
        True

    Args:
        tensor_info: the message.
        graph: the graph with the tensor; the default graph unless given.
        import_scope: the scope that the graph was imported under.

    Raises:
        KeyError: the graph has no tensor of that name.
        ValueError: the message names nothing, or a composite tensor.
    """
    graph = graph or get_default_graph()
    kind = tensor_info.WhichOneof("encoding")

    def tensor(name: str) -> Any:
        return graph.get_tensor_by_name(f"{import_scope}/{name}" if import_scope else name)

    if kind == "name":
        return tensor(tensor_info.name)
    if kind == "coo_sparse":
        names = tensor_info.coo_sparse
        return SparseTensor(
            tensor(names.indices_tensor_name), tensor(names.values_tensor_name), tensor(names.dense_shape_tensor_name)
        )
    raise ValueError(f"Invalid TensorInfo.encoding: {kind}. A name or the names of a sparse tensor are known here.")


def build_tensor_info_from_op(op: Any) -> TensorInfo:
    """An operation's name as a message.

    Args:
        op: the operation.
    """
    return TensorInfo(name=op.name)
