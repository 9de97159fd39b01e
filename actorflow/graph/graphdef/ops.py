"""Which op of actorflow stands for which of TensorFlow's. Most have one name, and the same inputs and attributes.

Variables are written as TensorFlow's resource variables (`VarHandleOp`, `AssignVariableOp`), whose reads are snapshots as here;
those and reference variables (`VariableV2`, `Assign`) are read.
"""

from __future__ import annotations

from typing import Any

_SCATTER = ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update")
_OPTIMIZERS = (
    *("AdaMax", "Adadelta", "Adagrad", "AdagradDA", "Adam", "AddSign", "CenteredRMSProp", "Ftrl", "FtrlV2"),
    *("GradientDescent", "Momentum", "PowerSign", "ProximalAdagrad", "ProximalGradientDescent", "RMSProp"),
)

WRITTEN: dict[str, str] = {
    "VariableV2": "VarHandleOp",
    "IsVariableInitialized": "VarIsInitializedOp",
    "CountUpTo": "ResourceCountUpTo",
    **{f"Apply{kind}": f"ResourceApply{kind}" for kind in _OPTIMIZERS},
    **{f"SparseApply{kind}": f"ResourceSparseApply{kind}" for kind in _OPTIMIZERS if kind != "Adam"},
}
"""Ops that are written as another op of TensorFlow's."""

UPDATES: dict[str, str] = {
    "Assign": "AssignVariableOp",
    "AssignAdd": "AssignAddVariableOp",
    "AssignSub": "AssignSubVariableOp",
    "StridedSliceAssign": "ResourceStridedSliceAssign",
    **{f"Scatter{kind}": f"ResourceScatter{kind}" for kind in _SCATTER},
    **{f"ScatterNd{kind}": f"ResourceScatterNd{kind}" for kind in ("Add", "Sub", "Update")},
}
"""Updates that give the value after themselves: they are written as the update without an output, and a read behind it."""

READ: dict[str, str] = {
    "Variable": "VariableV2",
    "VarHandleOp": "VariableV2",
    "VarIsInitializedOp": "IsVariableInitialized",
    "ResourceCountUpTo": "CountUpTo",
    "ResourceGather": "Gather",
    "ResourceGatherNd": "GatherNd",
    "VariableShape": "Shape",
    "PlaceholderV2": "Placeholder",
    "AddV2": "Add",
    "BatchMatMul": "BatchMatMulV2",
    "BatchMatMulV3": "BatchMatMulV2",
    "FusedBatchNorm": "FusedBatchNormV3",
    "FusedBatchNormV2": "FusedBatchNormV3",
    "Mod": "TruncateMod",
    "CheckNumericsV2": "CheckNumerics",
    "HashTable": "HashTableV2",
    "InitializeTable": "InitializeTableV2",
    "InitializeTableFromTextFile": "InitializeTableFromTextFileV2",
    "LookupTableExport": "LookupTableExportV2",
    "LookupTableFind": "LookupTableFindV2",
    "LookupTableImport": "LookupTableImportV2",
    "LookupTableInsert": "LookupTableInsertV2",
    "LookupTableSize": "LookupTableSizeV2",
    "MutableHashTable": "MutableHashTableV2",
    "ParallelDynamicStitch": "DynamicStitch",
    **{
        f"TensorArray{what}V2": f"TensorArray{what}V3"
        for what in ("", "Close", "Concat", "Gather", "Grad", "Read", "Scatter", "Size", "Split", "Write")
    },
    **{
        f"Batch{kind}": kind
        for kind in (
            *("Cholesky", "FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D", "SelfAdjointEigV2", "Svd"),
            *(f"Matrix{what}" for what in ("BandPart", "Determinant", "Diag", "DiagPart", "Inverse", "SetDiag")),
            *("MatrixSolve", "MatrixSolveLs", "MatrixTriangularSolve"),
        )
    },
    **{f"Ref{kind}": kind for kind in ("Identity", "Switch", "Merge", "Enter", "Exit", "NextIteration")},
    **{f"ResourceApply{kind}": f"Apply{kind}" for kind in _OPTIMIZERS},
    **{f"ResourceSparseApply{kind}": f"SparseApply{kind}" for kind in _OPTIMIZERS},
    **{f"{kind}Queue": f"{kind}QueueV2" for kind in ("FIFO", "RandomShuffle", "PaddingFIFO", "Priority")},
    **{
        f"Queue{what}": f"Queue{what}V2"
        for what in ("Enqueue", "EnqueueMany", "Dequeue", "DequeueMany", "DequeueUpTo", "Close", "Size")
    },
    **{
        f"{kind}Reader": f"{kind}ReaderV2"
        for kind in ("TextLine", "WholeFile", "TFRecord", "Identity", "FixedLengthRecord")
    },
    **{f"Reader{what}": f"Reader{what}V2" for what in ("Read", "ReadUpTo", "NumRecordsProduced", "Reset")},
}
"""TensorFlow's ops that are read as another op, if actorflow has no op of their name."""

RENAMED_ATTRS = {"Squeeze": {"axis": "squeeze_dims"}, "TensorListSetItem": {"grows": "resize_if_index_out_of_bounds"}}
"""For each op, attributes of actorflow's by TensorFlow's name."""

HIDDEN_ATTRS: dict[str, frozenset[str]] = {
    "Enter": frozenset({"invariant", "shape"}),
    "AccumulatorTakeGradient": frozenset({"shape"}),
    "SparseAccumulatorTakeGradient": frozenset({"shape"}),
    "BarrierTakeMany": frozenset({"shapes"}),
    "QueueDequeueManyV2": frozenset({"shapes"}),
    "QueueDequeueUpToV2": frozenset({"shapes"}),
    "QueueDequeueV2": frozenset({"shapes"}),
    "TensorListSetItem": frozenset({"once"}),
    "TensorListGetItem": frozenset({"element_shape"}),
    "TensorListPopBack": frozenset({"element_shape"}),
    "TensorListStack": frozenset({"element_shape"}),
    "TensorListGather": frozenset({"element_shape"}),
}
"""Attributes that TensorFlow's op lacks and does without: they are written with a `_` before their name, which it skips."""

IGNORED: dict[str, Any] = {
    "use_locking": None,
    "use_cudnn_on_gpu": None,
    "validate_indices": None,
    "sparse_gradient": None,
    "grad_a": None,
    "grad_b": None,
    "grad_x": None,
    "grad_y": None,
    "optimize_size": None,
    "validate_shape": None,
    "debug_name": None,
    "allowed_devices": None,
    "num_elements": None,
    "Truncate": False,
    "blank_index": -1,
    "explicit_paddings": (),
    "exponential_avg_factor": 1.0,
    "multiply_linear_by_lr": False,
    "incompatible_shape_error": None,  # TensorFlow 2's `==` gives False for shapes that don't fit; here that is an error
    "expand_animations": True,
    "timeout_ms": -1,
    "bad_indices_policy": "",
    "batch_dims": 0,
    "resize_if_index_out_of_bounds": False,
    "wait_for_incomplete": False,
    "chroma_downsampling": True,
    "density_unit": "in",
    "x_density": 300,
    "y_density": 300,
    "xmp_metadata": "",
    "seed": 0,
    "seed2": 0,
    "Nparams": None,
}
"""Attributes that actorflow's ops lack: the only value that is taken, or None for any."""

SHAPE_INPUTS: dict[str, int] = {
    "EmptyTensorList": 0,
    "TensorListFromTensor": 1,
    "TensorListGather": 2,
    "TensorListGetItem": 2,
    "TensorListPopBack": 1,
    "TensorListReserve": 0,
    "TensorListSplit": 1,
    "TensorListStack": 1,
}
"""The attributes of TensorFlow's ops that take the shape of a list's elements as an input, and actorflow's as an
attribute or not at all."""

ELEMENT_TYPES = ("TensorListReserve", "EmptyTensorList")
"""Ops that need the type of a list's elements there and not here: it is that of what reads or writes the list."""

INPUT_ORDER: dict[str, tuple[int, ...]] = {
    "ApplyMomentum": (0, 1, 2, 4, 3),
    "SparseApplyMomentum": (0, 1, 2, 4, 5, 3),
    "Split": (1, 0),
    "TensorListScatter": (0, 2, 1),
}
"""For ops whose inputs have another order: the number of actorflow's input for each of TensorFlow's."""

ONE_TYPE: dict[str, tuple[int, ...]] = {
    "InTopKV2": (1, 2),
    "MatrixBandPart": (1, 2),
    "ResourceStridedSliceAssign": (1, 2, 3),
    "ScatterNd": (0, 2),
    "Slice": (1, 2),
    "SparseToDense": (0, 1),
    "StridedSlice": (1, 2, 3),
    "StridedSliceGrad": (0, 1, 2, 3),
    "Substr": (1, 2),
}
"""Inputs that have one integer type in TensorFlow, the wider type, and may have two types here."""

NARROW: dict[str, int] = {
    "AvgPool3DGrad": 0,
    "AvgPoolGrad": 0,
    "Conv2DBackpropFilter": 1,
    "Conv2DBackpropInput": 0,
    "Conv3DBackpropFilterV2": 1,
    "DepthwiseConv2dNativeBackpropFilter": 1,
    "DepthwiseConv2dNativeBackpropInput": 0,
    "Split": 1,
    "SplitV": 2,
}
"""An input that is int32 in TensorFlow, and may be int64 here."""

WIDE: dict[str, int] = {"ReaderReadUpToV2": 2}
"""An input that is int64 in TensorFlow, and may be int32 here."""

MORE_OUTPUTS = frozenset({"TensorListConcat"})
"""Ops that have more outputs in TensorFlow than here."""

PASS_ON = frozenset({"Identity", "Switch", "Merge", "Enter", "Exit", "NextIteration"})
"""Ops that pass a variable's reference on."""

OWN_PREFIX = "Actorflow"
OWN_ATTRS: dict[str, frozenset[str]] = {
    "LogSoftmax": frozenset({"axis"}),
    "Softmax": frozenset({"axis"}),
    "AccumulatorApplyGradient": frozenset({"worker", "most"}),
    "SparseAccumulatorApplyGradient": frozenset({"worker", "most"}),
    "MutableHashTableV2": frozenset({"value_shape", "checkpoint"}),
    "TensorListSetItem": frozenset({"adds"}),
}
"""Attributes that TensorFlow's op lacks: if an attribute is not the default, the op is written with `OWN_PREFIX` before
its name, so that TensorFlow refuses it."""
