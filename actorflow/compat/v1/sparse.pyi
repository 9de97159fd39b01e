# `make names` writes this file from the marks in the sources.

from actorflow.graph.ops.sparse.cross import sparse_cross_hashed as cross_hashed
from actorflow.graph.ops.sparse.join import sparse_concat as concat
from actorflow.graph.ops.sparse.join import sparse_split as split
from actorflow.graph.ops.sparse.math import sparse_add as add
from actorflow.graph.ops.sparse.math import sparse_maximum as maximum
from actorflow.graph.ops.sparse.math import sparse_minimum as minimum
from actorflow.graph.ops.sparse.math import sparse_tensor_dense_matmul as matmul
from actorflow.graph.ops.sparse.math import sparse_tensor_dense_matmul as sparse_dense_matmul
from actorflow.graph.ops.sparse.reduce import sparse_reduce_max as reduce_max
from actorflow.graph.ops.sparse.reduce import sparse_reduce_max_sparse as reduce_max_sparse
from actorflow.graph.ops.sparse.reduce import sparse_reduce_sum as reduce_sum
from actorflow.graph.ops.sparse.reduce import sparse_reduce_sum_sparse as reduce_sum_sparse
from actorflow.graph.ops.sparse.reduce import sparse_softmax as softmax
from actorflow.graph.ops.sparse.segment import sparse_segment_mean as segment_mean
from actorflow.graph.ops.sparse.segment import sparse_segment_sqrt_n as segment_sqrt_n
from actorflow.graph.ops.sparse.segment import sparse_segment_sum as segment_sum
from actorflow.graph.ops.sparse.shape import sparse_expand_dims as expand_dims
from actorflow.graph.ops.sparse.shape import sparse_fill_empty_rows as fill_empty_rows
from actorflow.graph.ops.sparse.shape import sparse_reorder as reorder
from actorflow.graph.ops.sparse.shape import sparse_reset_shape as reset_shape
from actorflow.graph.ops.sparse.shape import sparse_reshape as reshape
from actorflow.graph.ops.sparse.shape import sparse_retain as retain
from actorflow.graph.ops.sparse.shape import sparse_slice as slice
from actorflow.graph.ops.sparse.shape import sparse_transpose as transpose
from actorflow.graph.ops.sparse.tensor import sparse_eye as eye
from actorflow.graph.ops.sparse.tensor import sparse_from_dense as from_dense
from actorflow.graph.ops.sparse.tensor import sparse_mask as mask
from actorflow.graph.ops.sparse.tensor import sparse_merge as merge
from actorflow.graph.ops.sparse.tensor import sparse_placeholder as placeholder
from actorflow.graph.ops.sparse.tensor import sparse_tensor_to_dense as to_dense
from actorflow.graph.ops.sparse.tensor import sparse_to_indicator as to_indicator
from actorflow.graph.ops.state.accumulators import SparseConditionalAccumulator as SparseConditionalAccumulator
from actorflow.graph.sparse_tensor import SparseTensor as SparseTensor
from actorflow.models.data.spec import SparseTensorSpec as SparseTensorSpec

__all__ = [
    "SparseConditionalAccumulator",
    "SparseTensor",
    "SparseTensorSpec",
    "add",
    "concat",
    "cross_hashed",
    "expand_dims",
    "eye",
    "fill_empty_rows",
    "from_dense",
    "mask",
    "matmul",
    "maximum",
    "merge",
    "minimum",
    "placeholder",
    "reduce_max",
    "reduce_max_sparse",
    "reduce_sum",
    "reduce_sum_sparse",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "segment_mean",
    "segment_sqrt_n",
    "segment_sum",
    "slice",
    "softmax",
    "sparse_dense_matmul",
    "split",
    "to_dense",
    "to_indicator",
    "transpose",
]
