"""`output_number`: the number of an output that the body of a function names, as TensorFlow's ops name theirs."""

from __future__ import annotations

from actorflow.base.registry.opdef import registered
from actorflow.errors import UnimplementedError
from actorflow.graph.graphdef.protos import NodeDef

_NAMED = {
    "AllCandidateSampler": "sampled_candidates true_expected_count sampled_expected_count",
    "FixedUnigramCandidateSampler": "sampled_candidates true_expected_count sampled_expected_count",
    "LearnedUnigramCandidateSampler": "sampled_candidates true_expected_count sampled_expected_count",
    "LogUniformCandidateSampler": "sampled_candidates true_expected_count sampled_expected_count",
    "UniformCandidateSampler": "sampled_candidates true_expected_count sampled_expected_count",
    "BarrierTakeMany": "indices keys values*component_types",
    "BlockLSTM": "i cs f o ci co h",
    "BroadcastGradientArgs": "r0 r1",
    "CTCBeamSearchDecoder": (
        "decoded_indices*top_paths decoded_values*top_paths decoded_shape*top_paths log_probability"
    ),
    "CTCGreedyDecoder": "decoded_indices decoded_values decoded_shape log_probability",
    "CTCLoss": "loss gradient",
    "ComputeAccidentalHits": "indices ids weights",
    "DenseToDenseSetOperation DenseToSparseSetOperation SparseToSparseSetOperation": (
        "result_indices result_values result_shape"
    ),
    "DeserializeManySparse": "sparse_indices sparse_values sparse_shape",
    "FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannelGradient": (
        "backprops_wrt_input backprop_wrt_min backprop_wrt_max"
    ),
    "FractionalAvgPool FractionalMaxPool": "output row_pooling_sequence col_pooling_sequence",
    "FusedBatchNorm FusedBatchNormV2": "y batch_mean batch_variance reserve_space_1 reserve_space_2",
    "FusedBatchNormGrad FusedBatchNormGradV2": "x_backprop scale_backprop offset_backprop reserve_space_3 reserve_space_4",
    "FusedBatchNormGradV3": "x_backprop scale_backprop offset_backprop reserve_space_4 reserve_space_5",
    "FusedBatchNormV3": "y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3",
    "ListDiff": "out idx",
    "LogMatrixDeterminant": "sign log_abs_determinant",
    "LookupTableExport LookupTableExportV2 ReaderReadUpTo ReaderReadUpToV2": "keys values",
    "Lu": "lu p",
    "MaxPoolWithArgmax": "output argmax",
    "NonMaxSuppressionV4": "selected_indices valid_outputs",
    "NonMaxSuppressionV5": "selected_indices selected_scores valid_outputs",
    "Merge RefMerge": "output value_index",
    "ParseExample": "sparse_indices*Nsparse sparse_values*sparse_types sparse_shapes*Nsparse dense_values*Tdense",
    "ParseExampleV2": (
        "sparse_indices*num_sparse sparse_values*sparse_types sparse_shapes*num_sparse dense_values*Tdense "
        "ragged_values*ragged_value_types ragged_row_splits*ragged_split_types"
    ),
    "ParseSequenceExampleV2": (
        "context_sparse_indices*Ncontext_sparse context_sparse_values*context_sparse_types "
        "context_sparse_shapes*Ncontext_sparse context_dense_values*Tcontext_dense "
        "context_ragged_values*context_ragged_value_types context_ragged_row_splits*context_ragged_split_types "
        "feature_list_sparse_indices*Nfeature_list_sparse feature_list_sparse_values*feature_list_sparse_types "
        "feature_list_sparse_shapes*Nfeature_list_sparse feature_list_dense_values*feature_list_dense_types"
    ),
    "ParseSingleExample": (
        "sparse_indices*num_sparse sparse_values*sparse_types sparse_shapes*num_sparse dense_values*Tdense"
    ),
    "ParseSingleSequenceExample": (
        "context_sparse_indices*Ncontext_sparse context_sparse_values*context_sparse_types "
        "context_sparse_shapes*Ncontext_sparse context_dense_values*Tcontext_dense "
        "feature_list_sparse_indices*Nfeature_list_sparse "
        "feature_list_sparse_values*feature_list_sparse_types feature_list_sparse_shapes*Nfeature_list_sparse "
        "feature_list_dense_values*feature_list_dense_types"
    ),
    "Qr": "q r",
    "QuantizeV2": "output output_min output_max",
    "ReaderRead ReaderReadV2": "key value",
    "RefSwitch Switch": "output_false output_true",
    "SampleDistortedBoundingBoxV2": "begin size bboxes",
    "SelfAdjointEigV2": "e v",
    "SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits": "loss backprop",
    "SparseAccumulatorTakeGradient StringSplit StringSplitV2": "indices values shape",
    "SparseAdd": "sum_indices sum_values sum_shape",
    "SparseAddGrad": "a_val_grad b_val_grad",
    "SparseSegmentMeanGradV2 SparseSegmentSqrtNGradV2 SparseSegmentSumGradV2": "output sorted_unique_indices",
    "SparseConcat SparseReduceMaxSparse SparseReduceSumSparse SparseSlice": "output_indices output_values output_shape",
    "SparseFillEmptyRows": "output_indices output_values empty_row_indicator reverse_index_map",
    "SparseReorder SparseSparseMaximum SparseSparseMinimum": "output_indices output_values",
    "SparseReshape": "output_indices output_shape",
    "SparseSplit": "output_indices*num_split output_values*num_split output_shape*num_split",
    "Svd": "s u v",
    "StatelessRandomGetKeyCounter": "key counter",
    "StatelessRandomGetKeyCounterAlg": "key counter alg",
    "TensorArrayConcatV2 TensorArrayConcatV3": "value lengths",
    "TensorArrayGradV3 TensorArrayGradWithShape": "grad_handle flow_out",
    "TensorArrayV3": "handle flow",
    "TensorListConcat TensorListConcatV2": "tensor lengths",
    "TensorListPopBack": "output_handle tensor",
    "TopK TopKV2": "values indices",
    "Unique UniqueV2": "y idx",
    "UniqueWithCounts UniqueWithCountsV2": "y idx count",
}
"""The outputs of ops that have several, in their order; `name*attr` is a list that is as long as the attribute says or is."""

OUTPUTS = {op: outputs.split() for ops, outputs in _NAMED.items() for op in ops.split()}
"""For each op its outputs, split. The bodies of functions name outputs, and graphs number them."""


def output_number(node: NodeDef, output: str) -> int:
    """The number of the first tensor of an output.

    Args:
        node: the node, whose attributes say how long its lists are.
        output: the name of the output.

    Raises:
        UnimplementedError: the op has several outputs, and none of a known order has this name.
    """
    names = OUTPUTS.get(node.op)
    if names is None:
        definition = registered().get(node.op)
        if definition is None or definition.output_count in (None, 1):
            return 0  # the only output, or the only list
    number = 0
    for row in names or ():
        name, _, attr = row.partition("*")
        if name == output:
            return number
        number += _length(node, attr) if attr else 1
    raise UnimplementedError(
        f"The function's node {node.name!r} is of the op {node.op}, which has several outputs; which of them is {output!r} is "
        "not known."
    )


def _length(node: NodeDef, attr: str) -> int:
    if attr not in node.attr:
        return 0
    return int(node.attr[attr].i) or len(node.attr[attr].list.type)
