"""The attributes of TensorFlow's ops that say the types or the number of inputs: here they follow from the inputs, and
`actorflow.base.registry.type_attrs` computes them."""

from __future__ import annotations

_OPS = {
    "N T": "AddN DynamicStitch Einsum SparseConcat",
    "N T Tidx": "ConcatV2",
    "Ncontext_sparse Ncontext_dense Nfeature_list_sparse Nfeature_list_dense Tcontext_dense": "ParseSingleSequenceExample",
    "Nsparse Ndense Tdense": "ParseExample",
    "OUT_TYPE": "DecodeCSV",
    "S R": "RandomPoissonV2",
    "S T": "RandomGamma",
    "SrcT": "Cast",
    "T": (
        "BroadcastGradientArgs StackPushV2 TensorArrayScatterV3 TensorArraySplitV3 TensorArrayWriteV3 CropAndResize "
        "CropAndResizeGradBoxes DenseToDenseSetOperation DenseToSparseSetOperation "
        "DrawBoundingBoxesV2 FractionalAvgPool FractionalAvgPoolGrad FractionalMaxPool FractionalMaxPoolGrad "
        "GetSessionHandle HSVToRGB RGBToHSV ResizeArea ResizeBicubic ResizeBicubicGrad ResizeBilinear ResizeBilinearGrad "
        "ResizeNearestNeighbor ResizeNearestNeighborGrad SampleDistortedBoundingBoxV2 SerializeManySparse SerializeSparse "
        "SetSize SparseToSparseSetOperation Abs Acos Acosh Add ApplyAdaMax ApplyAdadelta ApplyAdagrad ApplyAdagradDA ApplyAdam "
        "ApplyAddSign ApplyCenteredRMSProp ApplyFtrl ApplyFtrlV2 ApplyGradientDescent ApplyMomentum ApplyPowerSign "
        "ApplyProximalAdagrad ApplyProximalGradientDescent ApplyRMSProp AsString Asin Asinh Assert Assign AssignAdd "
        "AssignSub Atan Atan2 Atanh AvgPool AvgPool3D AvgPool3DGrad AvgPoolGrad BarrierInsertMany BatchMatMulV2 BesselI0e "
        "BesselI1e Betainc BiasAdd BiasAddGrad Bincount Bitcast BitwiseAnd BitwiseOr BitwiseXor BlockLSTM BroadcastArgs "
        "CTCBeamSearchDecoder CTCGreedyDecoder CTCLoss Ceil CheckNumerics Cholesky Conj Conv2D Conv2DBackpropFilter "
        "Conv2DBackpropInput Conv3D Conv3DBackpropFilterV2 Cos Cosh CountUpTo Cross DepthToSpace DepthwiseConv2dNative "
        "DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput Diag DiagPart Digamma Dilation2D "
        "Dilation2DBackpropFilter Dilation2DBackpropInput DivNoNan DynamicPartition EditDistance Elu EluGrad EncodePng "
        "EnsureShape Enter Equal Erf Erfc Erfinv Exit Exp Expm1 ExtractImagePatches Floor FloorDiv FloorMod Greater "
        "GreaterEqual GuaranteeConst HistogramFixedWidth HistogramSummary Identity IdentityN Igamma IgammaGradA Igammac "
        "ImageSummary InTopKV2 Invert InvertPermutation IsFinite IsInf IsNan L2Loss LRN LRNGrad LeakyRelu LeakyReluGrad "
        "LeftShift Less LessEqual Lgamma ListDiff Log Log1p LogMatrixDeterminant LogSoftmax LowerBound Lu MatMul "
        "MatrixDeterminant MatrixDiag MatrixDiagPart MatrixExponential MatrixInverse MatrixSetDiag MatrixSolve "
        "MatrixSolveLs MatrixSquareRoot MatrixTriangularSolve MaxPool MaxPool3D MaxPool3DGradGrad MaxPoolGrad "
        "MaxPoolGradGrad MaxPoolWithArgmax Maximum Minimum Mul MulNoNan Multinomial Ndtri Neg NextAfter NextIteration "
        "NotEqual OnesLike Pack Polygamma Pow Qr RandomGammaGrad RandomShuffle RandomStandardNormal RandomUniform Rank "
        "RealDiv Reciprocal Relu Relu6 Relu6Grad ReluGrad RightShift Rint Round Rsqrt ScalarSummary Select SelectV2 "
        "SelfAdjointEigV2 Selu SeluGrad SerializeTensor Shape Sigmoid SigmoidGrad Sign Sin Sinh Size Softmax "
        "SoftmaxCrossEntropyWithLogits Softplus Softsign SoftsignGrad SpaceToDepth SparseAddGrad SparseDenseCwiseDiv "
        "SparseDenseCwiseMul SparseFillEmptyRows SparseReduceMax SparseReduceMaxSparse SparseReduceSum "
        "SparseReduceSumSparse SparseReorder SparseSlice SparseSoftmax SparseSparseMaximum SparseSparseMinimum "
        "SparseSplit Split Sqrt Square SquaredDifference Squeeze StopGradient StringFormat Sub Substr Svd Switch Tan Tanh "
        "TanhGrad TensorSummary TensorSummaryV2 TruncateDiv TruncateMod TruncatedNormal Unique UniqueWithCounts Unpack "
        "UpperBound Where Xdivy Xlog1py Xlogy ZerosLike Zeta"
    ),
    "T Index": "ResourceStridedSliceAssign Slice StridedSlice StridedSliceAssign StridedSliceGrad",
    "T N": "Merge ShapeN",
    "T TI": "OneHot",
    "T TInput": "MaxPool3DGrad",
    "T Tblock_shape Tcrops": "BatchToSpaceND",
    "T Tblock_shape Tpaddings": "SpaceToBatchND",
    "T Tdim": "ExpandDims",
    "T Tidx": ("ArgMax ArgMin BroadcastTo Cumprod Cumsum CumulativeLogsumexp LinSpace Max Mean Min Prod Sum"),
    "T Tidx Tnumsegments Tsegmentids": (
        "SparseSegmentMeanWithNumSegments SparseSegmentSqrtNWithNumSegments SparseSegmentSumWithNumSegments"
    ),
    "T Tidx Tsegmentids": "SparseSegmentMean SparseSegmentSqrtN SparseSegmentSum",
    "T Tindex": "MatrixBandPart",
    "T Tindices": (
        "ResourceScatterNdAdd ResourceScatterNdSub ResourceScatterNdUpdate ScatterAdd ScatterDiv ScatterMax ScatterMin "
        "ScatterMul ScatterNd ScatterNdAdd ScatterNdSub ScatterNdUpdate ScatterSub ScatterUpdate SegmentMax SegmentMean "
        "SegmentMin SegmentProd SegmentSum SparseApplyAdadelta SparseApplyAdagrad SparseApplyAdagradDA "
        "SparseApplyCenteredRMSProp SparseApplyFtrl SparseApplyFtrlV2 SparseApplyMomentum SparseApplyProximalAdagrad "
        "SparseApplyProximalGradientDescent SparseApplyRMSProp SparseTensorDenseAdd SparseTensorDenseMatMul SparseToDense "
        "TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub TensorScatterUpdate"
    ),
    "T Tindices Tnumsegments": "UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum",
    "T Tk index_type": "TopKV2",
    "T Tlabels": "SparseSoftmaxCrossEntropyWithLogits",
    "T Tlen": "ReverseSequence SplitV",
    "T Tmultiples": "Tile",
    "T Tout": "Angle Complex ComplexAbs Imag Real",
    "T Tpaddings": "MirrorPad MirrorPadGrad Pad PadV2",
    "T Tperm": "Transpose",
    "T T_threshold": "NonMaxSuppressionV3",
    "T Treal": "SparseAdd",
    "T Tseed": "StatelessMultinomial StatelessRandomNormal StatelessRandomUniform StatelessTruncatedNormal",
    "T Tshape": "Conv3DBackpropInputV2 Reshape",
    "T Tshift Taxis": "Roll",
    "T U": "FusedBatchNormGradV3 FusedBatchNormV3 Print",
    "T dtype": "Dequantize",
    "T index_type": "Fill",
    "Targmax T": "MaxPoolGradWithArgmax",
    "Tcomplex": "FFT FFT2D FFT3D IFFT IFFT2D IFFT3D",
    "Tcomponents": "QueueEnqueueManyV2 QueueEnqueueV2",
    "Tidx": "All Any Range UnravelIndex",
    "Tidx T": "ReverseV2",
    "Tin": "LookupTableRemoveV2 PyFunc PyFuncStateless",
    "Tin Tout": "LookupTableFindV2 LookupTableImportV2 LookupTableInsertV2",
    "Tkey Tval": "InitializeTableV2",
    "Tindices Tnumsegments": "UnsortedSegmentJoin",
    "Tout T": "RandomUniformInt",
    "Tparams Tindices": "Gather GatherNd",
    "Tparams Tindices Taxis": "GatherV2",
    "N": "ConcatOffset MergeSummary StringJoin",
    "Treal Tcomplex": "IRFFT IRFFT2D IRFFT3D RFFT RFFT2D RFFT3D",
    "Tshape": "TensorListGetItem",
    "dtype": (
        "AccumulatorApplyGradient AssignAddVariableOp AssignSubVariableOp AssignVariableOp "
        "PlaceholderWithDefault ReadVariableOp SparseAccumulatorApplyGradient"
    ),
    "dtype T Tseed": "StatelessRandomUniformInt",
    "dtype Tindices": (
        "ResourceScatterAdd ResourceScatterDiv ResourceScatterMax ResourceScatterMin ResourceScatterMul "
        "ResourceScatterSub ResourceScatterUpdate"
    ),
    "dtypes": "SaveV2",
    "element_dtype": "TensorListPushBack TensorListSetItem",
    "element_dtype shape_type": "EmptyTensorList TensorListFromTensor TensorListReserve TensorListScatter TensorListSplit",
    "num_sparse Tdense": "ParseSingleExample",
}

TYPE_NAMES: dict[str, tuple[str, ...]] = {op: tuple(names.split()) for names, ops in _OPS.items() for op in ops.split()}
"""For each op the names of such attributes."""
