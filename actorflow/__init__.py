"""actorflow: dataflow graphs inside async Python programs.

    import actorflow as af

    graph = af.Graph()
    with graph.as_default():
        a, b = af.placeholder(af.float32), af.placeholder(af.float32)
        total = a + b

    async with af.Session(graph=graph) as session:
        print(await session.run(total, {a: 3, b: 4.5}))      # 7.5

Names are TensorFlow 1's wherever the concept is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorflow.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    bool,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from actorflow.graph.convert import convert_to_tensor, register_tensor_conversion_function
from actorflow.graph.graph import (
    Graph,
    GraphGrowthWarning,
    colocate_with,
    container,
    control_dependencies,
    device,
    get_default_graph,
    lossy_sends,
    name_scope,
    reset_default_graph,
)
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.lazy import lazily
from actorflow.ops import operators  # noqa: F401  (the operators of tensors)
from actorflow.ops.api import __all__ as _op_names
from actorflow.registry.kernel import kernel
from actorflow.registry.op import op
from actorflow.shapes import TensorShape
from actorflow.variables.api import __all__ as _variable_names

if TYPE_CHECKING:
    from actorflow import blocking as blocking
    from actorflow import errors as errors
    from actorflow import io as io
    from actorflow import linalg as linalg
    from actorflow import losses as losses
    from actorflow import math as math
    from actorflow import nn as nn
    from actorflow import signal as signal
    from actorflow import sparse as sparse
    from actorflow import strings as strings
    from actorflow import train as train
    from actorflow.autodiff.custom import custom_gradient
    from actorflow.autodiff.gradients import AggregationMethod, gradients
    from actorflow.autodiff.hessians import hessians
    from actorflow.autodiff.indexed_slices import IndexedSlices, IndexedSlicesValue
    from actorflow.autodiff.override import NotDifferentiable, RegisterGradient
    from actorflow.autodiff.recompute import recompute
    from actorflow.cluster.local import LocalCluster
    from actorflow.cluster.server import Server
    from actorflow.cluster.spec import ClusterSpec
    from actorflow.control_flow.cond import case, cond, switch_case
    from actorflow.control_flow.function import Defun
    from actorflow.control_flow.functional import foldl, foldr, map_fn, scan
    from actorflow.control_flow.tensor_array import TensorArray
    from actorflow.control_flow.while_loop import while_loop
    from actorflow.graph.sparse_tensor import SparseTensor, SparseTensorValue
    from actorflow.ops.api import *  # noqa: F403
    from actorflow.queues import (
        Barrier,
        FIFOQueue,
        PaddingFIFOQueue,
        PriorityQueue,
        QueueBase,
        RandomShuffleQueue,
    )
    from actorflow.runtime.polling import new_event_loop
    from actorflow.runtime.trace import Trace
    from actorflow.session.engine import SessionStatistics
    from actorflow.session.session import Session
    from actorflow.supervisor.supervisor import Supervisor
    from actorflow.variables.api import *  # noqa: F403

__getattr__, __dir__ = lazily(__name__, __file__)

__version__ = "0.1.0"

__all__ = [
    "AggregationMethod",
    "Barrier",
    "ClusterSpec",
    "DType",
    "Defun",
    "FIFOQueue",
    "Graph",
    "GraphGrowthWarning",
    "IndexedSlices",
    "IndexedSlicesValue",
    "LocalCluster",
    "NotDifferentiable",
    "Operation",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RandomShuffleQueue",
    "RegisterGradient",
    "Server",
    "Session",
    "SessionStatistics",
    "SparseTensor",
    "SparseTensorValue",
    "Supervisor",
    "Tensor",
    "TensorArray",
    "TensorLike",
    "TensorShape",
    "Trace",
    "as_dtype",
    "bfloat16",
    "blocking",
    "bool",
    "case",
    "colocate_with",
    "complex64",
    "complex128",
    "cond",
    "container",
    "control_dependencies",
    "convert_to_tensor",
    "custom_gradient",
    "device",
    "errors",
    "float16",
    "float32",
    "float64",
    "foldl",
    "foldr",
    "get_default_graph",
    "gradients",
    "hessians",
    "int8",
    "int16",
    "int32",
    "int64",
    "io",
    "kernel",
    "linalg",
    "losses",
    "lossy_sends",
    "map_fn",
    "math",
    "name_scope",
    "new_event_loop",
    "nn",
    "op",
    "recompute",
    "register_tensor_conversion_function",
    "reset_default_graph",
    "scan",
    "signal",
    "sparse",
    "string",
    "strings",
    "switch_case",
    "train",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "while_loop",
    *_op_names,
    *_variable_names,
]
