"""Which of the kernels for every device a GPU takes, and what it has to know of their inputs.

A kernel is in `TAKEN` if it computes with `xp` alone, by functions that CuPy has, and never looks at a value that the GPU is
to compute. All others of this package, which call numpy or decide by values, are the CPU's; soft placement puts their nodes
there.
"""

from __future__ import annotations

from actorflow.dtypes import STRING, bfloat16
from actorflow.registry import kernel, residence


def names(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


GPU = "GPU"

ANYWHERE = names(
    """
    Identity IdentityN StopGradient CustomGradient GuaranteeConst PlaceholderWithDefault EnsureShape NoOp
    ControlTrigger Shape Size Rank Switch Merge Enter Exit NextIteration LoopCond VariableV2 IsVariableInitialized
    ReadVariableOp Const Placeholder _Done
    """
)
"""What hands on or counts its inputs, wherever they are."""

ELEMENTWISE = names(
    """
    Neg Abs Sign Square Sqrt Rsqrt Reciprocal Exp Expm1 Log Log1p Sigmoid SigmoidGrad Sin Cos Tan Asin Acos Atan Sinh
    Cosh Tanh TanhGrad Asinh Acosh Atanh Floor Ceil Rint IsNan IsInf IsFinite Add AddN Sub Mul RealDiv DivNoNan
    Maximum Minimum SquaredDifference Atan2 Less LessEqual Greater GreaterEqual Equal NotEqual LogicalAnd LogicalOr
    LogicalXor LogicalNot BitwiseAnd BitwiseOr BitwiseXor Invert Select SelectV2 Cast Relu ReluGrad Relu6 Relu6Grad
    Elu EluGrad LeakyRelu LeakyReluGrad Selu SeluGrad Softplus Softsign SoftsignGrad
    """
)

PRODUCTS = names(
    """
    MatMul BatchMatMulV2 Einsum _FusedMatMul _AddMatMul L2Loss BiasAdd BiasAddGrad
    """
)

CONVOLUTIONS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("Conv2D", "Conv3D", "DepthwiseConv2dNative"), ()),
    **dict.fromkeys(("Conv2DBackpropInput", "Conv3DBackpropInputV2", "DepthwiseConv2dNativeBackpropInput"), (0,)),
    **dict.fromkeys(("Conv2DBackpropFilter", "Conv3DBackpropFilterV2", "DepthwiseConv2dNativeBackpropFilter"), (1,)),
}
"""With the position of the shape that a gradient gets."""

POOLS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("MaxPool", "MaxPool3D", "MaxPoolGrad", "MaxPool3DGrad", "AvgPool", "AvgPool3D"), ()),
    **dict.fromkeys(("MaxPoolGradGrad", "MaxPool3DGradGrad"), ()),
    **dict.fromkeys(("AvgPoolGrad", "AvgPool3DGrad"), (0,)),
}

NORMS = ["FusedBatchNormV3", "FusedBatchNormGradV3"]

SOFTMAX = ["Softmax", "LogSoftmax", "SoftmaxCrossEntropyWithLogits"]

STATE = names(
    """
    Assign AssignVariableOp AssignAdd AssignAddVariableOp AssignSub AssignSubVariableOp AssignMul AssignMulVariableOp
    _SgdMatMul
    """
)

SHAPED: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(
        names(
            """
    Sum Mean Prod Max Min Any All ArgMax ArgMin Cumsum Cumprod
    """
        ),
        (1,),
    ),
    **dict.fromkeys(
        names(
            """
    Reshape ExpandDims Transpose BroadcastTo ReverseV2 SumTo Tile Pad PadV2
    """
        ),
        (1,),
    ),
    "Unreduce": (1, 2),
    "Squeeze": (),
    "ConcatV2": (-1,),
    "Pack": (),
    "Unpack": (),
    "Split": (1,),
    "SplitV": (1, 2),
    "Slice": (1, 2),
    "StridedSlice": (1, 2, 3),
    "StridedSliceGrad": (0, 1, 2, 3),
    "Fill": (0, 1),
    "Range": (0, 1, 2),
    "ZerosLike": (),
    "OnesLike": (),
    "BroadcastArgs": (0, 1),
}
"""Ops with the positions of inputs that are looked at before anything is launched: shapes, axes, widths."""

FOLLOWING = ELEMENTWISE + names(
    """
    Pack Unpack ConcatV2 Split SplitV Slice StridedSlice Reshape ExpandDims Squeeze Transpose ReverseV2 Sum Prod Max
    Min Mean Any All FloorDiv FloorMod TruncateDiv TruncateMod Pow Gather GatherV2 BroadcastArgs SumTo ZerosLike
    OnesLike
    """
)
"""What the host computes of small tensors in its memory: sizes, steps, rates."""

SWAPPING = ["_SwapOut", "_SwapIn"]

APART = names(
    """
    MatMul BatchMatMulV2 Einsum _FusedMatMul _AddMatMul _SgdMatMul L2Loss
    """
)
"""What calls cuBLAS, which CuPy doesn't capture, or cuDNN."""

RECORDED = names(
    """
    Identity IdentityN StopGradient CustomGradient GuaranteeConst EnsureShape NoOp Shape Size Rank VariableV2 ReadVariableOp
    BiasAdd BiasAddGrad Softmax LogSoftmax SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits
    Assign AssignVariableOp AssignAdd AssignAddVariableOp AssignSub AssignSubVariableOp AssignMul AssignMulVariableOp
    Sum Mean Prod Max Min Any All SumTo Unreduce Reshape ExpandDims Squeeze Transpose BroadcastTo
    ReverseV2 Slice StridedSlice Split SplitV Unpack ZerosLike OnesLike Fill FloorDiv FloorMod Pow
    """
)
"""With the elementwise ones, what launches the same in each run and makes no array of the host's values, as joining does."""

TAKEN = frozenset(
    (
        *(*ANYWHERE, *ELEMENTWISE, *PRODUCTS, *SOFTMAX, *STATE, *SHAPED, *SWAPPING),
        *(*CONVOLUTIONS, *POOLS, *NORMS),
    )
)

kernel.limit(GPU, "actorflow.kernels", TAKEN, without=(*STRING, bfloat16))
kernel.limit(GPU, "actorflow.checkpoint", ())
residence.anywhere(GPU, *ANYWHERE, "_Send", "_Recv")
residence.host_memory(GPU, {**SHAPED, **CONVOLUTIONS, **POOLS})
residence.follow(GPU, *FOLLOWING)
residence.record(GPU, *RECORDED, *ELEMENTWISE)
residence.apart(GPU, *APART, *CONVOLUTIONS)
