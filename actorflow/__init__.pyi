# `make names` writes this file from the marks in the sources.

"""actorflow: dataflow graphs inside async Python programs.

    import actorflow as af

    graph = af.Graph()
    with graph.as_default():
        a, b = af.placeholder(af.float32), af.placeholder(af.float32)
        total = a + b

    async with af.Session(graph=graph) as session:
        print(await session.run(total, {a: 3, b: 4.5}))      # 7.5

Names are TensorFlow 1's wherever the concept is.

The folders are the floors of a tower. Each imports from its own floor and from the floors below it:

compat      TensorFlow 1's names and its old spellings
testing     simulated clusters, and contracts of what other packages bring
frontends   the command, the page of a training, web services
training    programs that train: supervisors, monitored sessions, estimators
exchange    models in and out: SavedModel, ONNX, frozen graphs
models      what models are made of: data, layers, optimizers, checkpoints, summaries
cluster     masters and workers, which run a graph together
engine      runs a graph in one process: devices, placement, passes, plans, actors, sessions
graph       the language: nodes, ops, variables, control flow, gradients
base        element types, shapes, registries, formats of records, the machine, reports
"""

from actorflow import blocking as blocking
from actorflow import errors as errors
from actorflow import image as image
from actorflow import io as io
from actorflow import linalg as linalg
from actorflow import math as math
from actorflow import nn as nn
from actorflow import sets as sets
from actorflow import signal as signal
from actorflow import sparse as sparse
from actorflow import strings as strings
from actorflow.base import nest as nest
from actorflow.base.dtypes import DType as DType
from actorflow.base.dtypes import as_dtype as as_dtype
from actorflow.base.dtypes import bfloat16 as bfloat16
from actorflow.base.dtypes import bool as bool
from actorflow.base.dtypes import complex128 as complex128
from actorflow.base.dtypes import complex64 as complex64
from actorflow.base.dtypes import float16 as float16
from actorflow.base.dtypes import float32 as float32
from actorflow.base.dtypes import float4_e2m1fn as float4_e2m1fn
from actorflow.base.dtypes import float64 as float64
from actorflow.base.dtypes import float6_e2m3fn as float6_e2m3fn
from actorflow.base.dtypes import float6_e3m2fn as float6_e3m2fn
from actorflow.base.dtypes import float8_e4m3fn as float8_e4m3fn
from actorflow.base.dtypes import float8_e4m3fnuz as float8_e4m3fnuz
from actorflow.base.dtypes import float8_e5m2 as float8_e5m2
from actorflow.base.dtypes import float8_e5m2fnuz as float8_e5m2fnuz
from actorflow.base.dtypes import float8_e8m0fnu as float8_e8m0fnu
from actorflow.base.dtypes import int16 as int16
from actorflow.base.dtypes import int2 as int2
from actorflow.base.dtypes import int32 as int32
from actorflow.base.dtypes import int4 as int4
from actorflow.base.dtypes import int64 as int64
from actorflow.base.dtypes import int8 as int8
from actorflow.base.dtypes import string as string
from actorflow.base.dtypes import uint16 as uint16
from actorflow.base.dtypes import uint2 as uint2
from actorflow.base.dtypes import uint32 as uint32
from actorflow.base.dtypes import uint4 as uint4
from actorflow.base.dtypes import uint64 as uint64
from actorflow.base.dtypes import uint8 as uint8
from actorflow.base.registry.kernel import kernel as kernel
from actorflow.base.shapes import TensorShape as TensorShape
from actorflow.cluster import launch as launch
from actorflow.cluster.config.spec import ClusterSpec as ClusterSpec
from actorflow.cluster.processes.local import LocalCluster as LocalCluster
from actorflow.cluster.server import Server as Server
from actorflow.engine.batching.rows import Batching as Batching
from actorflow.engine.eager.functions.function import Function as Function
from actorflow.engine.eager.functions.function import RetracingWarning as RetracingWarning
from actorflow.engine.eager.functions.function import function as function
from actorflow.engine.eager.functions.signature import TensorSpec as TensorSpec
from actorflow.engine.eager.py_function import py_function as py_function
from actorflow.engine.eager.scope import disable_eager_execution as disable_eager_execution
from actorflow.engine.eager.scope import eager as eager
from actorflow.engine.eager.scope import enable_eager_execution as enable_eager_execution
from actorflow.engine.eager.scope import executing_eagerly as executing_eagerly
from actorflow.engine.eager.scope import init_scope as init_scope
from actorflow.engine.eager.tapes.functional import gradients_function as gradients_function
from actorflow.engine.eager.tapes.functional import implicit_gradients as implicit_gradients
from actorflow.engine.eager.tapes.functional import implicit_value_and_gradients as implicit_value_and_gradients
from actorflow.engine.eager.tapes.functional import value_and_gradients_function as value_and_gradients_function
from actorflow.engine.eager.tapes.gradient_tape import GradientTape as GradientTape
from actorflow.engine.eager.tapes.gradient_tape import UnconnectedGradients as UnconnectedGradients
from actorflow.engine.passes.options import PlanOptions as PlanOptions
from actorflow.engine.placement.learned_costs import CostModel as CostModel
from actorflow.engine.placement.study.study import PlacementStudy as PlacementStudy
from actorflow.engine.runtime.diagnostics.recorder import Recording as Recording
from actorflow.engine.runtime.diagnostics.trace import Trace as Trace
from actorflow.engine.runtime.event_loops.polling import new_event_loop as new_event_loop
from actorflow.engine.runtime.visible_actors import TaskState as TaskState
from actorflow.engine.session.link_probe import measure_links as measure_links
from actorflow.engine.session.members import MembershipChange as MembershipChange
from actorflow.engine.session.planning.trial import PlacementTrial as PlacementTrial
from actorflow.engine.session.session import Session as Session
from actorflow.engine.session.settings import SessionLimits as SessionLimits
from actorflow.engine.session.settings import ValueOptions as ValueOptions
from actorflow.engine.session.statistics import SessionStatistics as SessionStatistics
from actorflow.exchange import export as export
from actorflow.exchange import onnx as onnx
from actorflow.exchange import saved_model as saved_model
from actorflow.exchange.onnx.inference.loading import load_model as load_model
from actorflow.frontends import dashboard as dashboard
from actorflow.frontends import ext as ext
from actorflow.frontends import generation as generation
from actorflow.frontends import serving as serving
from actorflow.graph import losses as losses
from actorflow.graph.autodiff.custom import custom_gradient as custom_gradient
from actorflow.graph.autodiff.gradients import AggregationMethod as AggregationMethod
from actorflow.graph.autodiff.gradients import gradients as gradients
from actorflow.graph.autodiff.hessians import hessians as hessians
from actorflow.graph.autodiff.override import NotDifferentiable as NotDifferentiable
from actorflow.graph.autodiff.override import RegisterGradient as RegisterGradient
from actorflow.graph.autodiff.recompute import recompute as recompute
from actorflow.graph.control_flow.cond import case as case
from actorflow.graph.control_flow.cond import cond as cond
from actorflow.graph.control_flow.cond import switch_case as switch_case
from actorflow.graph.control_flow.function import Defun as Defun
from actorflow.graph.control_flow.functional import foldl as foldl
from actorflow.graph.control_flow.functional import foldr as foldr
from actorflow.graph.control_flow.functional import map_fn as map_fn
from actorflow.graph.control_flow.functional import scan as scan
from actorflow.graph.control_flow.tensor_array import TensorArray as TensorArray
from actorflow.graph.control_flow.while_loop import while_loop as while_loop
from actorflow.graph.convert import convert_to_tensor as convert_to_tensor
from actorflow.graph.convert import register_tensor_conversion_function as register_tensor_conversion_function
from actorflow.graph.default_graph import colocate_with as colocate_with
from actorflow.graph.default_graph import container as container
from actorflow.graph.default_graph import control_dependencies as control_dependencies
from actorflow.graph.default_graph import device as device
from actorflow.graph.default_graph import get_default_graph as get_default_graph
from actorflow.graph.default_graph import lossy_sends as lossy_sends
from actorflow.graph.default_graph import name_scope as name_scope
from actorflow.graph.default_graph import reset_default_graph as reset_default_graph
from actorflow.graph.elements import GraphGrowthWarning as GraphGrowthWarning
from actorflow.graph.graph import Graph as Graph
from actorflow.graph.graphdef.attributes import make_ndarray as make_ndarray
from actorflow.graph.graphdef.attributes import make_tensor_proto as make_tensor_proto
from actorflow.graph.graphdef.importing import import_graph_def as import_graph_def
from actorflow.graph.ops.array.constant import constant as constant
from actorflow.graph.ops.array.constant import fill as fill
from actorflow.graph.ops.array.constant import ones as ones
from actorflow.graph.ops.array.constant import ones_like as ones_like
from actorflow.graph.ops.array.constant import placeholder as placeholder
from actorflow.graph.ops.array.constant import placeholder_with_default as placeholder_with_default
from actorflow.graph.ops.array.constant import zeros as zeros
from actorflow.graph.ops.array.constant import zeros_like as zeros_like
from actorflow.graph.ops.array.gather import batch_gather as batch_gather
from actorflow.graph.ops.array.gather import boolean_mask as boolean_mask
from actorflow.graph.ops.array.gather import gather as gather
from actorflow.graph.ops.array.gather import gather_nd as gather_nd
from actorflow.graph.ops.array.gather import unravel_index as unravel_index
from actorflow.graph.ops.array.index import newaxis as newaxis
from actorflow.graph.ops.array.index import slice_ as slice_
from actorflow.graph.ops.array.index import strided_slice as strided_slice
from actorflow.graph.ops.array.join import concat as concat
from actorflow.graph.ops.array.join import parallel_stack as parallel_stack
from actorflow.graph.ops.array.join import split as split
from actorflow.graph.ops.array.join import stack as stack
from actorflow.graph.ops.array.join import unstack as unstack
from actorflow.graph.ops.array.one_hot import meshgrid as meshgrid
from actorflow.graph.ops.array.one_hot import one_hot as one_hot
from actorflow.graph.ops.array.one_hot import sequence_mask as sequence_mask
from actorflow.graph.ops.array.pad_tile import pad as pad
from actorflow.graph.ops.array.pad_tile import repeat as repeat
from actorflow.graph.ops.array.pad_tile import tile as tile
from actorflow.graph.ops.array.partition import dynamic_partition as dynamic_partition
from actorflow.graph.ops.array.partition import dynamic_stitch as dynamic_stitch
from actorflow.graph.ops.array.partition import parallel_dynamic_stitch as parallel_dynamic_stitch
from actorflow.graph.ops.array.reverse import invert_permutation as invert_permutation
from actorflow.graph.ops.array.reverse import reverse_sequence as reverse_sequence
from actorflow.graph.ops.array.reverse import roll as roll
from actorflow.graph.ops.array.scatter import scatter_nd as scatter_nd
from actorflow.graph.ops.array.scatter import tensor_scatter_add as tensor_scatter_add
from actorflow.graph.ops.array.scatter import tensor_scatter_add as tensor_scatter_nd_add
from actorflow.graph.ops.array.scatter import tensor_scatter_nd_max as tensor_scatter_nd_max
from actorflow.graph.ops.array.scatter import tensor_scatter_nd_min as tensor_scatter_nd_min
from actorflow.graph.ops.array.scatter import tensor_scatter_sub as tensor_scatter_nd_sub
from actorflow.graph.ops.array.scatter import tensor_scatter_sub as tensor_scatter_sub
from actorflow.graph.ops.array.scatter import tensor_scatter_update as tensor_scatter_nd_update
from actorflow.graph.ops.array.scatter import tensor_scatter_update as tensor_scatter_update
from actorflow.graph.ops.array.shape import bitcast as bitcast
from actorflow.graph.ops.array.shape import broadcast_to as broadcast_to
from actorflow.graph.ops.array.shape import expand_dims as expand_dims
from actorflow.graph.ops.array.shape import rank as rank
from actorflow.graph.ops.array.shape import reshape as reshape
from actorflow.graph.ops.array.shape import reverse as reverse
from actorflow.graph.ops.array.shape import reverse as reverse_v2
from actorflow.graph.ops.array.shape import shape as shape
from actorflow.graph.ops.array.shape import shape_n as shape_n
from actorflow.graph.ops.array.shape import size as size
from actorflow.graph.ops.array.shape import squeeze as squeeze
from actorflow.graph.ops.array.shape import transpose as transpose
from actorflow.graph.ops.array.sort import argsort as argsort
from actorflow.graph.ops.array.sort import searchsorted as searchsorted
from actorflow.graph.ops.array.sort import sort as sort
from actorflow.graph.ops.array.space_batch import batch_to_space as batch_to_space
from actorflow.graph.ops.array.space_batch import batch_to_space_nd as batch_to_space_nd
from actorflow.graph.ops.array.space_batch import depth_to_space as depth_to_space
from actorflow.graph.ops.array.space_batch import required_space_to_batch_paddings as required_space_to_batch_paddings
from actorflow.graph.ops.array.space_batch import space_to_batch as space_to_batch
from actorflow.graph.ops.array.space_batch import space_to_batch_nd as space_to_batch_nd
from actorflow.graph.ops.array.space_batch import space_to_depth as space_to_depth
from actorflow.graph.ops.array.unique import setdiff1d as setdiff1d
from actorflow.graph.ops.array.unique import unique as unique
from actorflow.graph.ops.array.unique import unique_with_counts as unique_with_counts
from actorflow.graph.ops.declare import op as op
from actorflow.graph.ops.flow.asserts import assert_equal as assert_equal
from actorflow.graph.ops.flow.asserts import assert_greater as assert_greater
from actorflow.graph.ops.flow.asserts import assert_greater_equal as assert_greater_equal
from actorflow.graph.ops.flow.asserts import assert_less as assert_less
from actorflow.graph.ops.flow.asserts import assert_less_equal as assert_less_equal
from actorflow.graph.ops.flow.asserts import assert_near as assert_near
from actorflow.graph.ops.flow.asserts import assert_negative as assert_negative
from actorflow.graph.ops.flow.asserts import assert_non_negative as assert_non_negative
from actorflow.graph.ops.flow.asserts import assert_non_positive as assert_non_positive
from actorflow.graph.ops.flow.asserts import assert_none_equal as assert_none_equal
from actorflow.graph.ops.flow.asserts import assert_positive as assert_positive
from actorflow.graph.ops.flow.asserts_static import assert_integer as assert_integer
from actorflow.graph.ops.flow.asserts_static import assert_proper_iterable as assert_proper_iterable
from actorflow.graph.ops.flow.asserts_static import assert_rank as assert_rank
from actorflow.graph.ops.flow.asserts_static import assert_rank_at_least as assert_rank_at_least
from actorflow.graph.ops.flow.asserts_static import assert_rank_in as assert_rank_in
from actorflow.graph.ops.flow.asserts_static import assert_same_float_dtype as assert_same_float_dtype
from actorflow.graph.ops.flow.asserts_static import assert_scalar as assert_scalar
from actorflow.graph.ops.flow.asserts_static import assert_type as assert_type
from actorflow.graph.ops.flow.control import Assert as Assert
from actorflow.graph.ops.flow.control import control_trigger as control_trigger
from actorflow.graph.ops.flow.control import ensure_shape as ensure_shape
from actorflow.graph.ops.flow.control import group as group
from actorflow.graph.ops.flow.control import guarantee_const as guarantee_const
from actorflow.graph.ops.flow.control import identity as identity
from actorflow.graph.ops.flow.control import identity_n as identity_n
from actorflow.graph.ops.flow.control import no_op as no_op
from actorflow.graph.ops.flow.control import stop_gradient as stop_gradient
from actorflow.graph.ops.flow.control import tuple_ as tuple_
from actorflow.graph.ops.flow.control import with_dependencies as with_dependencies
from actorflow.graph.ops.flow.numerics import add_check_numerics_ops as add_check_numerics_ops
from actorflow.graph.ops.flow.numerics import check_numerics as check_numerics
from actorflow.graph.ops.flow.numerics import verify_tensor_all_finite as verify_tensor_all_finite
from actorflow.graph.ops.flow.primitives import enter as enter
from actorflow.graph.ops.flow.primitives import exit_ as exit
from actorflow.graph.ops.flow.primitives import loop_cond as loop_cond
from actorflow.graph.ops.flow.primitives import merge as merge
from actorflow.graph.ops.flow.primitives import next_iteration as next_iteration
from actorflow.graph.ops.flow.primitives import switch as switch
from actorflow.graph.ops.flow.printing import Print as Print
from actorflow.graph.ops.flow.printing import print_ as print_
from actorflow.graph.ops.flow.py_func import numpy_function as numpy_function
from actorflow.graph.ops.flow.py_func import py_func as py_func
from actorflow.graph.ops.indexed_slices import IndexedSlices as IndexedSlices
from actorflow.graph.ops.indexed_slices import IndexedSlicesValue as IndexedSlicesValue
from actorflow.graph.ops.io.decoding import decode_compressed as decode_compressed
from actorflow.graph.ops.io.decoding import decode_csv as decode_csv
from actorflow.graph.ops.io.decoding import decode_json_example as decode_json_example
from actorflow.graph.ops.io.decoding import decode_raw as decode_raw
from actorflow.graph.ops.io.decoding import parse_tensor as parse_tensor
from actorflow.graph.ops.io.decoding import serialize_tensor as serialize_tensor
from actorflow.graph.ops.io.files import matching_files as matching_files
from actorflow.graph.ops.io.files import read_file as read_file
from actorflow.graph.ops.io.files import write_file as write_file
from actorflow.graph.ops.io.parsing import FixedLenFeature as FixedLenFeature
from actorflow.graph.ops.io.parsing import FixedLenSequenceFeature as FixedLenSequenceFeature
from actorflow.graph.ops.io.parsing import SparseFeature as SparseFeature
from actorflow.graph.ops.io.parsing import VarLenFeature as VarLenFeature
from actorflow.graph.ops.io.parsing import parse_example as parse_example
from actorflow.graph.ops.io.parsing import parse_single_example as parse_single_example
from actorflow.graph.ops.io.parsing import parse_single_sequence_example as parse_single_sequence_example
from actorflow.graph.ops.io.readers import FixedLengthRecordReader as FixedLengthRecordReader
from actorflow.graph.ops.io.readers import IdentityReader as IdentityReader
from actorflow.graph.ops.io.readers import ReaderBase as ReaderBase
from actorflow.graph.ops.io.readers import TFRecordReader as TFRecordReader
from actorflow.graph.ops.io.readers import TextLineReader as TextLineReader
from actorflow.graph.ops.io.readers import WholeFileReader as WholeFileReader
from actorflow.graph.ops.linalg.bands import matrix_diag as matrix_diag
from actorflow.graph.ops.linalg.bands import matrix_diag_part as matrix_diag_part
from actorflow.graph.ops.linalg.bands import matrix_set_diag as matrix_set_diag
from actorflow.graph.ops.linalg.decompose import qr as qr
from actorflow.graph.ops.linalg.decompose import self_adjoint_eig as self_adjoint_eig
from actorflow.graph.ops.linalg.decompose import self_adjoint_eigvals as self_adjoint_eigvals
from actorflow.graph.ops.linalg.decompose import svd as svd
from actorflow.graph.ops.linalg.diagonal import diag as diag
from actorflow.graph.ops.linalg.diagonal import diag_part as diag_part
from actorflow.graph.ops.linalg.diagonal import matrix_band_part as matrix_band_part
from actorflow.graph.ops.linalg.functions import cross as cross
from actorflow.graph.ops.linalg.matrix import cholesky as cholesky
from actorflow.graph.ops.linalg.matrix import eye as eye
from actorflow.graph.ops.linalg.matrix import matrix_determinant as matrix_determinant
from actorflow.graph.ops.linalg.matrix import matrix_inverse as matrix_inverse
from actorflow.graph.ops.linalg.matrix import matrix_solve as matrix_solve
from actorflow.graph.ops.linalg.matrix import matrix_transpose as matrix_transpose
from actorflow.graph.ops.linalg.matrix import trace as trace
from actorflow.graph.ops.linalg.norm import norm as norm
from actorflow.graph.ops.linalg.solve import cholesky_solve as cholesky_solve
from actorflow.graph.ops.linalg.solve import matrix_solve_ls as matrix_solve_ls
from actorflow.graph.ops.linalg.solve import matrix_triangular_solve as matrix_triangular_solve
from actorflow.graph.ops.math.argmax import arg_max as arg_max
from actorflow.graph.ops.math.argmax import arg_min as arg_min
from actorflow.graph.ops.math.argmax import argmax as argmax
from actorflow.graph.ops.math.argmax import argmin as argmin
from actorflow.graph.ops.math.arithmetic import accumulate_n as accumulate_n
from actorflow.graph.ops.math.arithmetic import add as add
from actorflow.graph.ops.math.arithmetic import add_n as add_n
from actorflow.graph.ops.math.arithmetic import atan2 as atan2
from actorflow.graph.ops.math.arithmetic import div as div
from actorflow.graph.ops.math.arithmetic import div_no_nan as div_no_nan
from actorflow.graph.ops.math.arithmetic import divide as divide
from actorflow.graph.ops.math.arithmetic import floor_div as floor_div
from actorflow.graph.ops.math.arithmetic import floordiv as floordiv
from actorflow.graph.ops.math.arithmetic import floormod as floormod
from actorflow.graph.ops.math.arithmetic import floormod as mod
from actorflow.graph.ops.math.arithmetic import maximum as maximum
from actorflow.graph.ops.math.arithmetic import minimum as minimum
from actorflow.graph.ops.math.arithmetic import multiply as multiply
from actorflow.graph.ops.math.arithmetic import pow as pow
from actorflow.graph.ops.math.arithmetic import realdiv as realdiv
from actorflow.graph.ops.math.arithmetic import scalar_mul as scalar_mul
from actorflow.graph.ops.math.arithmetic import squared_difference as squared_difference
from actorflow.graph.ops.math.arithmetic import subtract as subtract
from actorflow.graph.ops.math.arithmetic import truediv as truediv
from actorflow.graph.ops.math.arithmetic import truncatediv as truncatediv
from actorflow.graph.ops.math.arithmetic import truncatemod as truncatemod
from actorflow.graph.ops.math.cast import angle as angle
from actorflow.graph.ops.math.cast import cast as cast
from actorflow.graph.ops.math.cast import complex as complex
from actorflow.graph.ops.math.cast import conj as conj
from actorflow.graph.ops.math.cast import imag as imag
from actorflow.graph.ops.math.cast import real as real
from actorflow.graph.ops.math.cast import saturate_cast as saturate_cast
from actorflow.graph.ops.math.cast import to_bfloat16 as to_bfloat16
from actorflow.graph.ops.math.cast import to_complex128 as to_complex128
from actorflow.graph.ops.math.cast import to_complex64 as to_complex64
from actorflow.graph.ops.math.cast import to_double as to_double
from actorflow.graph.ops.math.cast import to_float as to_float
from actorflow.graph.ops.math.cast import to_int32 as to_int32
from actorflow.graph.ops.math.cast import to_int64 as to_int64
from actorflow.graph.ops.math.clip import clip_by_average_norm as clip_by_average_norm
from actorflow.graph.ops.math.clip import clip_by_global_norm as clip_by_global_norm
from actorflow.graph.ops.math.clip import clip_by_norm as clip_by_norm
from actorflow.graph.ops.math.clip import clip_by_value as clip_by_value
from actorflow.graph.ops.math.clip import global_norm as global_norm
from actorflow.graph.ops.math.cumulative import cumprod as cumprod
from actorflow.graph.ops.math.cumulative import cumsum as cumsum
from actorflow.graph.ops.math.cumulative import linspace as lin_space
from actorflow.graph.ops.math.cumulative import linspace as linspace
from actorflow.graph.ops.math.cumulative import range_ as range_
from actorflow.graph.ops.math.elementwise import abs as abs
from actorflow.graph.ops.math.elementwise import acos as acos
from actorflow.graph.ops.math.elementwise import acosh as acosh
from actorflow.graph.ops.math.elementwise import asin as asin
from actorflow.graph.ops.math.elementwise import asinh as asinh
from actorflow.graph.ops.math.elementwise import atan as atan
from actorflow.graph.ops.math.elementwise import atanh as atanh
from actorflow.graph.ops.math.elementwise import ceil as ceil
from actorflow.graph.ops.math.elementwise import cos as cos
from actorflow.graph.ops.math.elementwise import cosh as cosh
from actorflow.graph.ops.math.elementwise import exp as exp
from actorflow.graph.ops.math.elementwise import expm1 as expm1
from actorflow.graph.ops.math.elementwise import floor as floor
from actorflow.graph.ops.math.elementwise import is_finite as is_finite
from actorflow.graph.ops.math.elementwise import is_inf as is_inf
from actorflow.graph.ops.math.elementwise import is_nan as is_nan
from actorflow.graph.ops.math.elementwise import log as log
from actorflow.graph.ops.math.elementwise import log1p as log1p
from actorflow.graph.ops.math.elementwise import negative as negative
from actorflow.graph.ops.math.elementwise import reciprocal as reciprocal
from actorflow.graph.ops.math.elementwise import rint as rint
from actorflow.graph.ops.math.elementwise import round as round
from actorflow.graph.ops.math.elementwise import rsqrt as rsqrt
from actorflow.graph.ops.math.elementwise import sigmoid as sigmoid
from actorflow.graph.ops.math.elementwise import sign as sign
from actorflow.graph.ops.math.elementwise import sin as sin
from actorflow.graph.ops.math.elementwise import sinh as sinh
from actorflow.graph.ops.math.elementwise import sqrt as sqrt
from actorflow.graph.ops.math.elementwise import square as square
from actorflow.graph.ops.math.elementwise import tan as tan
from actorflow.graph.ops.math.elementwise import tanh as tanh
from actorflow.graph.ops.math.histogram import bincount as bincount
from actorflow.graph.ops.math.histogram import confusion_matrix as confusion_matrix
from actorflow.graph.ops.math.histogram import histogram_fixed_width as histogram_fixed_width
from actorflow.graph.ops.math.histogram import histogram_fixed_width_bins as histogram_fixed_width_bins
from actorflow.graph.ops.math.logic import bitwise_and as bitwise_and
from actorflow.graph.ops.math.logic import bitwise_or as bitwise_or
from actorflow.graph.ops.math.logic import bitwise_xor as bitwise_xor
from actorflow.graph.ops.math.logic import equal as equal
from actorflow.graph.ops.math.logic import greater as greater
from actorflow.graph.ops.math.logic import greater_equal as greater_equal
from actorflow.graph.ops.math.logic import invert as invert
from actorflow.graph.ops.math.logic import left_shift as left_shift
from actorflow.graph.ops.math.logic import less as less
from actorflow.graph.ops.math.logic import less_equal as less_equal
from actorflow.graph.ops.math.logic import logical_and as logical_and
from actorflow.graph.ops.math.logic import logical_not as logical_not
from actorflow.graph.ops.math.logic import logical_or as logical_or
from actorflow.graph.ops.math.logic import logical_xor as logical_xor
from actorflow.graph.ops.math.logic import not_equal as not_equal
from actorflow.graph.ops.math.logic import right_shift as right_shift
from actorflow.graph.ops.math.logic import where as where
from actorflow.graph.ops.math.logic import where_v2 as where_v2
from actorflow.graph.ops.math.matmul import einsum as einsum
from actorflow.graph.ops.math.matmul import matmul as matmul
from actorflow.graph.ops.math.matmul import tensordot as tensordot
from actorflow.graph.ops.math.reduction import reduce_all as reduce_all
from actorflow.graph.ops.math.reduction import reduce_any as reduce_any
from actorflow.graph.ops.math.reduction import reduce_max as reduce_max
from actorflow.graph.ops.math.reduction import reduce_mean as reduce_mean
from actorflow.graph.ops.math.reduction import reduce_min as reduce_min
from actorflow.graph.ops.math.reduction import reduce_prod as reduce_prod
from actorflow.graph.ops.math.reduction import reduce_sum as reduce_sum
from actorflow.graph.ops.math.segment import segment_max as segment_max
from actorflow.graph.ops.math.segment import segment_mean as segment_mean
from actorflow.graph.ops.math.segment import segment_min as segment_min
from actorflow.graph.ops.math.segment import segment_prod as segment_prod
from actorflow.graph.ops.math.segment import segment_sum as segment_sum
from actorflow.graph.ops.math.segment import unsorted_segment_max as unsorted_segment_max
from actorflow.graph.ops.math.segment import unsorted_segment_mean as unsorted_segment_mean
from actorflow.graph.ops.math.segment import unsorted_segment_min as unsorted_segment_min
from actorflow.graph.ops.math.segment import unsorted_segment_prod as unsorted_segment_prod
from actorflow.graph.ops.math.segment import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from actorflow.graph.ops.math.segment import unsorted_segment_sum as unsorted_segment_sum
from actorflow.graph.ops.math.special import betainc as betainc
from actorflow.graph.ops.math.special import digamma as digamma
from actorflow.graph.ops.math.special import erf as erf
from actorflow.graph.ops.math.special import erfc as erfc
from actorflow.graph.ops.math.special import igamma as igamma
from actorflow.graph.ops.math.special import igammac as igammac
from actorflow.graph.ops.math.special import lbeta as lbeta
from actorflow.graph.ops.math.special import lgamma as lgamma
from actorflow.graph.ops.math.special import log_sigmoid as log_sigmoid
from actorflow.graph.ops.math.special import polygamma as polygamma
from actorflow.graph.ops.math.special import zeta as zeta
from actorflow.graph.ops.math.statistics import count_nonzero as count_nonzero
from actorflow.graph.ops.math.statistics import is_non_decreasing as is_non_decreasing
from actorflow.graph.ops.math.statistics import is_strictly_increasing as is_strictly_increasing
from actorflow.graph.ops.math.statistics import reduce_euclidean_norm as reduce_euclidean_norm
from actorflow.graph.ops.math.statistics import reduce_logsumexp as reduce_logsumexp
from actorflow.graph.ops.math.statistics import reduce_std as reduce_std
from actorflow.graph.ops.math.statistics import reduce_variance as reduce_variance
from actorflow.graph.ops.nn.conv.patches import extract_image_patches as extract_image_patches
from actorflow.graph.ops.quantize.fake_quantize import fake_quant_with_min_max_args as fake_quant_with_min_max_args
from actorflow.graph.ops.quantize.fake_quantize import fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient
from actorflow.graph.ops.quantize.fake_quantize import fake_quant_with_min_max_vars as fake_quant_with_min_max_vars
from actorflow.graph.ops.quantize.fake_quantize import fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient
from actorflow.graph.ops.quantize.fake_quantize import fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel
from actorflow.graph.ops.quantize.fake_quantize import fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient
from actorflow.graph.ops.quantize.quantize import dequantize as dequantize
from actorflow.graph.ops.quantize.quantize import quantize as quantize
from actorflow.graph.ops.quantize.quantize import quantize_v2 as quantize_v2
from actorflow.graph.ops.random.distributions import multinomial as multinomial
from actorflow.graph.ops.random.distributions import random_crop as random_crop
from actorflow.graph.ops.random.distributions import random_normal as random_normal
from actorflow.graph.ops.random.distributions import random_shuffle as random_shuffle
from actorflow.graph.ops.random.distributions import random_uniform as random_uniform
from actorflow.graph.ops.random.distributions import set_random_seed as set_random_seed
from actorflow.graph.ops.random.distributions import truncated_normal as truncated_normal
from actorflow.graph.ops.random.gamma_poisson import random_gamma as random_gamma
from actorflow.graph.ops.random.gamma_poisson import random_poisson as random_poisson
from actorflow.graph.ops.random.stateless import stateless_multinomial as stateless_multinomial
from actorflow.graph.ops.random.stateless import stateless_random_normal as stateless_random_normal
from actorflow.graph.ops.random.stateless import stateless_random_uniform as stateless_random_uniform
from actorflow.graph.ops.random.stateless import stateless_truncated_normal as stateless_truncated_normal
from actorflow.graph.ops.signal.fft import fft as fft
from actorflow.graph.ops.signal.fft import fft2d as fft2d
from actorflow.graph.ops.signal.fft import fft3d as fft3d
from actorflow.graph.ops.signal.fft import ifft as ifft
from actorflow.graph.ops.signal.fft import ifft2d as ifft2d
from actorflow.graph.ops.signal.fft import ifft3d as ifft3d
from actorflow.graph.ops.sparse.join import sparse_concat as sparse_concat
from actorflow.graph.ops.sparse.join import sparse_split as sparse_split
from actorflow.graph.ops.sparse.math import sparse_add as sparse_add
from actorflow.graph.ops.sparse.math import sparse_maximum as sparse_maximum
from actorflow.graph.ops.sparse.math import sparse_minimum as sparse_minimum
from actorflow.graph.ops.sparse.math import sparse_tensor_dense_matmul as sparse_tensor_dense_matmul
from actorflow.graph.ops.sparse.reduce import sparse_reduce_max as sparse_reduce_max
from actorflow.graph.ops.sparse.reduce import sparse_reduce_max_sparse as sparse_reduce_max_sparse
from actorflow.graph.ops.sparse.reduce import sparse_reduce_sum as sparse_reduce_sum
from actorflow.graph.ops.sparse.reduce import sparse_reduce_sum_sparse as sparse_reduce_sum_sparse
from actorflow.graph.ops.sparse.reduce import sparse_softmax as sparse_softmax
from actorflow.graph.ops.sparse.segment import sparse_segment_mean as sparse_segment_mean
from actorflow.graph.ops.sparse.segment import sparse_segment_sqrt_n as sparse_segment_sqrt_n
from actorflow.graph.ops.sparse.segment import sparse_segment_sum as sparse_segment_sum
from actorflow.graph.ops.sparse.serialize import deserialize_many_sparse as deserialize_many_sparse
from actorflow.graph.ops.sparse.serialize import serialize_many_sparse as serialize_many_sparse
from actorflow.graph.ops.sparse.serialize import serialize_sparse as serialize_sparse
from actorflow.graph.ops.sparse.shape import sparse_fill_empty_rows as sparse_fill_empty_rows
from actorflow.graph.ops.sparse.shape import sparse_reorder as sparse_reorder
from actorflow.graph.ops.sparse.shape import sparse_reset_shape as sparse_reset_shape
from actorflow.graph.ops.sparse.shape import sparse_reshape as sparse_reshape
from actorflow.graph.ops.sparse.shape import sparse_retain as sparse_retain
from actorflow.graph.ops.sparse.shape import sparse_slice as sparse_slice
from actorflow.graph.ops.sparse.shape import sparse_transpose as sparse_transpose
from actorflow.graph.ops.sparse.tensor import edit_distance as edit_distance
from actorflow.graph.ops.sparse.tensor import sparse_mask as sparse_mask
from actorflow.graph.ops.sparse.tensor import sparse_merge as sparse_merge
from actorflow.graph.ops.sparse.tensor import sparse_placeholder as sparse_placeholder
from actorflow.graph.ops.sparse.tensor import sparse_tensor_to_dense as sparse_tensor_to_dense
from actorflow.graph.ops.sparse.tensor import sparse_to_dense as sparse_to_dense
from actorflow.graph.ops.sparse.tensor import sparse_to_indicator as sparse_to_indicator
from actorflow.graph.ops.state.accumulators import ConditionalAccumulator as ConditionalAccumulator
from actorflow.graph.ops.state.accumulators import SparseConditionalAccumulator as SparseConditionalAccumulator
from actorflow.graph.ops.state.assign import assign as assign
from actorflow.graph.ops.state.assign import assign_add as assign_add
from actorflow.graph.ops.state.assign import assign_sub as assign_sub
from actorflow.graph.ops.state.assign import batch_scatter_update as batch_scatter_update
from actorflow.graph.ops.state.assign import count_up_to as count_up_to
from actorflow.graph.ops.state.assign import scatter_add as scatter_add
from actorflow.graph.ops.state.assign import scatter_div as scatter_div
from actorflow.graph.ops.state.assign import scatter_max as scatter_max
from actorflow.graph.ops.state.assign import scatter_min as scatter_min
from actorflow.graph.ops.state.assign import scatter_mul as scatter_mul
from actorflow.graph.ops.state.assign import scatter_nd_add as scatter_nd_add
from actorflow.graph.ops.state.assign import scatter_nd_sub as scatter_nd_sub
from actorflow.graph.ops.state.assign import scatter_nd_update as scatter_nd_update
from actorflow.graph.ops.state.assign import scatter_sub as scatter_sub
from actorflow.graph.ops.state.assign import scatter_update as scatter_update
from actorflow.graph.ops.state.mutex import CriticalSection as CriticalSection
from actorflow.graph.ops.state.session_handles import delete_session_tensor as delete_session_tensor
from actorflow.graph.ops.state.session_handles import get_session_handle as get_session_handle
from actorflow.graph.ops.state.session_handles import get_session_tensor as get_session_tensor
from actorflow.graph.ops.state.variable import read_variable as read_variable
from actorflow.graph.ops.static import broadcast_dynamic_shape as broadcast_dynamic_shape
from actorflow.graph.ops.static import broadcast_static_shape as broadcast_static_shape
from actorflow.graph.ops.static import get_static_value as get_static_value
from actorflow.graph.ops.static import is_numeric_tensor as is_numeric_tensor
from actorflow.graph.ops.static import is_tensor as is_tensor
from actorflow.graph.ops.strings.elementwise import as_string as as_string
from actorflow.graph.ops.strings.elementwise import decode_base64 as decode_base64
from actorflow.graph.ops.strings.elementwise import encode_base64 as encode_base64
from actorflow.graph.ops.strings.elementwise import regex_replace as regex_replace
from actorflow.graph.ops.strings.elementwise import string_join as string_join
from actorflow.graph.ops.strings.elementwise import string_strip as string_strip
from actorflow.graph.ops.strings.elementwise import string_to_number as string_to_number
from actorflow.graph.ops.strings.elementwise import substr as substr
from actorflow.graph.ops.strings.hash import string_to_hash_bucket as string_to_hash_bucket
from actorflow.graph.ops.strings.hash import string_to_hash_bucket_fast as string_to_hash_bucket_fast
from actorflow.graph.ops.strings.hash import string_to_hash_bucket_strong as string_to_hash_bucket_strong
from actorflow.graph.ops.strings.split import reduce_join as reduce_join
from actorflow.graph.ops.strings.split import string_split as string_split
from actorflow.graph.sparse_tensor import SparseTensor as SparseTensor
from actorflow.graph.sparse_tensor import SparseTensorValue as SparseTensorValue
from actorflow.graph.tensor import Operation as Operation
from actorflow.graph.tensor import Tensor as Tensor
from actorflow.graph.tensor import TensorLike as TensorLike
from actorflow.graph.variables.collections import GraphKeys as GraphKeys
from actorflow.graph.variables.collections import add_to_collection as add_to_collection
from actorflow.graph.variables.collections import add_to_collections as add_to_collections
from actorflow.graph.variables.collections import all_variables as all_variables
from actorflow.graph.variables.collections import assert_variables_initialized as assert_variables_initialized
from actorflow.graph.variables.collections import get_collection as get_collection
from actorflow.graph.variables.collections import get_collection_ref as get_collection_ref
from actorflow.graph.variables.collections import global_variables as global_variables
from actorflow.graph.variables.collections import global_variables_initializer as global_variables_initializer
from actorflow.graph.variables.collections import initialize_all_variables as initialize_all_variables
from actorflow.graph.variables.collections import initialize_local_variables as initialize_local_variables
from actorflow.graph.variables.collections import initialize_variables as initialize_variables
from actorflow.graph.variables.collections import is_variable_initialized as is_variable_initialized
from actorflow.graph.variables.collections import local_variables as local_variables
from actorflow.graph.variables.collections import local_variables_initializer as local_variables_initializer
from actorflow.graph.variables.collections import model_variables as model_variables
from actorflow.graph.variables.collections import moving_average_variables as moving_average_variables
from actorflow.graph.variables.collections import report_uninitialized_variables as report_uninitialized_variables
from actorflow.graph.variables.collections import trainable_variables as trainable_variables
from actorflow.graph.variables.collections import variables_initializer as variables_initializer
from actorflow.graph.variables.initializers import Constant as constant_initializer
from actorflow.graph.variables.initializers import GlorotNormal as glorot_normal_initializer
from actorflow.graph.variables.initializers import GlorotUniform as glorot_uniform_initializer
from actorflow.graph.variables.initializers import Identity as identity_initializer
from actorflow.graph.variables.initializers import Ones as ones_initializer
from actorflow.graph.variables.initializers import Orthogonal as orthogonal_initializer
from actorflow.graph.variables.initializers import RandomNormal as random_normal_initializer
from actorflow.graph.variables.initializers import RandomUniform as random_uniform_initializer
from actorflow.graph.variables.initializers import TruncatedNormal as truncated_normal_initializer
from actorflow.graph.variables.initializers import UniformUnitScaling as uniform_unit_scaling_initializer
from actorflow.graph.variables.initializers import VarianceScaling as variance_scaling_initializer
from actorflow.graph.variables.initializers import Zeros as zeros_initializer
from actorflow.graph.variables.initializers import he_normal as he_normal
from actorflow.graph.variables.initializers import he_uniform as he_uniform
from actorflow.graph.variables.initializers import lecun_normal as lecun_normal
from actorflow.graph.variables.initializers import lecun_uniform as lecun_uniform
from actorflow.graph.variables.partitioned import PartitionedVariable as PartitionedVariable
from actorflow.graph.variables.partitioners import fixed_size_partitioner as fixed_size_partitioner
from actorflow.graph.variables.partitioners import min_max_variable_partitioner as min_max_variable_partitioner
from actorflow.graph.variables.partitioners import variable_axis_size_partitioner as variable_axis_size_partitioner
from actorflow.graph.variables.scope import get_local_variable as get_local_variable
from actorflow.graph.variables.scope import get_variable as get_variable
from actorflow.graph.variables.scope import variable_scope as variable_scope
from actorflow.graph.variables.store import AUTO_REUSE as AUTO_REUSE
from actorflow.graph.variables.store import VariableScope as VariableScope
from actorflow.graph.variables.store import get_variable_scope as get_variable_scope
from actorflow.graph.variables.template import make_template as make_template
from actorflow.graph.variables.variable import Variable as Variable
from actorflow.models import data as data
from actorflow.models import feature_column as feature_column
from actorflow.models import layers as layers
from actorflow.models import lookup as lookup
from actorflow.models import metrics as metrics
from actorflow.models import summary as summary
from actorflow.models import train as train
from actorflow.models.data.spec import SparseTensorSpec as SparseTensorSpec
from actorflow.models.lookup.tables import initialize_all_tables as initialize_all_tables
from actorflow.models.lookup.tables import tables_initializer as tables_initializer
from actorflow.models.queues.barrier import Barrier as Barrier
from actorflow.models.queues.base import QueueBase as QueueBase
from actorflow.models.queues.kinds import FIFOQueue as FIFOQueue
from actorflow.models.queues.kinds import PaddingFIFOQueue as PaddingFIFOQueue
from actorflow.models.queues.kinds import PriorityQueue as PriorityQueue
from actorflow.models.queues.kinds import RandomShuffleQueue as RandomShuffleQueue
from actorflow.training import estimator as estimator
from actorflow.training import supervisor as supervisor
from actorflow.training.supervisor.supervisor import Supervisor as Supervisor

__version__: str

__all__ = [
    "AUTO_REUSE",
    "AggregationMethod",
    "Assert",
    "Barrier",
    "Batching",
    "ClusterSpec",
    "ConditionalAccumulator",
    "CostModel",
    "CriticalSection",
    "DType",
    "Defun",
    "FIFOQueue",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FixedLengthRecordReader",
    "Function",
    "GradientTape",
    "Graph",
    "GraphGrowthWarning",
    "GraphKeys",
    "IdentityReader",
    "IndexedSlices",
    "IndexedSlicesValue",
    "LocalCluster",
    "MembershipChange",
    "NotDifferentiable",
    "Operation",
    "PaddingFIFOQueue",
    "PartitionedVariable",
    "PlacementStudy",
    "PlacementTrial",
    "PlanOptions",
    "Print",
    "PriorityQueue",
    "QueueBase",
    "RandomShuffleQueue",
    "ReaderBase",
    "Recording",
    "RegisterGradient",
    "RetracingWarning",
    "Server",
    "Session",
    "SessionLimits",
    "SessionStatistics",
    "SparseConditionalAccumulator",
    "SparseFeature",
    "SparseTensor",
    "SparseTensorSpec",
    "SparseTensorValue",
    "Supervisor",
    "TFRecordReader",
    "TaskState",
    "Tensor",
    "TensorArray",
    "TensorLike",
    "TensorShape",
    "TensorSpec",
    "TextLineReader",
    "Trace",
    "UnconnectedGradients",
    "ValueOptions",
    "VarLenFeature",
    "Variable",
    "VariableScope",
    "WholeFileReader",
    "abs",
    "accumulate_n",
    "acos",
    "acosh",
    "add",
    "add_check_numerics_ops",
    "add_n",
    "add_to_collection",
    "add_to_collections",
    "all_variables",
    "angle",
    "arg_max",
    "arg_min",
    "argmax",
    "argmin",
    "argsort",
    "as_dtype",
    "as_string",
    "asin",
    "asinh",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_type",
    "assert_variables_initialized",
    "assign",
    "assign_add",
    "assign_sub",
    "atan",
    "atan2",
    "atanh",
    "batch_gather",
    "batch_scatter_update",
    "batch_to_space",
    "batch_to_space_nd",
    "betainc",
    "bfloat16",
    "bincount",
    "bitcast",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "blocking",
    "bool",
    "boolean_mask",
    "broadcast_dynamic_shape",
    "broadcast_static_shape",
    "broadcast_to",
    "case",
    "cast",
    "ceil",
    "check_numerics",
    "cholesky",
    "cholesky_solve",
    "clip_by_average_norm",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "colocate_with",
    "complex",
    "complex128",
    "complex64",
    "concat",
    "cond",
    "confusion_matrix",
    "conj",
    "constant",
    "constant_initializer",
    "container",
    "control_dependencies",
    "control_trigger",
    "convert_to_tensor",
    "cos",
    "cosh",
    "count_nonzero",
    "count_up_to",
    "cross",
    "cumprod",
    "cumsum",
    "custom_gradient",
    "dashboard",
    "data",
    "decode_base64",
    "decode_compressed",
    "decode_csv",
    "decode_json_example",
    "decode_raw",
    "delete_session_tensor",
    "depth_to_space",
    "dequantize",
    "deserialize_many_sparse",
    "device",
    "diag",
    "diag_part",
    "digamma",
    "disable_eager_execution",
    "div",
    "div_no_nan",
    "divide",
    "dynamic_partition",
    "dynamic_stitch",
    "eager",
    "edit_distance",
    "einsum",
    "enable_eager_execution",
    "encode_base64",
    "ensure_shape",
    "enter",
    "equal",
    "erf",
    "erfc",
    "errors",
    "estimator",
    "executing_eagerly",
    "exit",
    "exp",
    "expand_dims",
    "expm1",
    "export",
    "ext",
    "extract_image_patches",
    "eye",
    "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
    "feature_column",
    "fft",
    "fft2d",
    "fft3d",
    "fill",
    "fixed_size_partitioner",
    "float16",
    "float32",
    "float4_e2m1fn",
    "float64",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "floor",
    "floor_div",
    "floordiv",
    "floormod",
    "foldl",
    "foldr",
    "function",
    "gather",
    "gather_nd",
    "generation",
    "get_collection",
    "get_collection_ref",
    "get_default_graph",
    "get_local_variable",
    "get_session_handle",
    "get_session_tensor",
    "get_static_value",
    "get_variable",
    "get_variable_scope",
    "global_norm",
    "global_variables",
    "global_variables_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "gradients",
    "gradients_function",
    "greater",
    "greater_equal",
    "group",
    "guarantee_const",
    "he_normal",
    "he_uniform",
    "hessians",
    "histogram_fixed_width",
    "histogram_fixed_width_bins",
    "identity",
    "identity_initializer",
    "identity_n",
    "ifft",
    "ifft2d",
    "ifft3d",
    "igamma",
    "igammac",
    "imag",
    "image",
    "implicit_gradients",
    "implicit_value_and_gradients",
    "import_graph_def",
    "init_scope",
    "initialize_all_tables",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "int16",
    "int2",
    "int32",
    "int4",
    "int64",
    "int8",
    "invert",
    "invert_permutation",
    "io",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_numeric_tensor",
    "is_strictly_increasing",
    "is_tensor",
    "is_variable_initialized",
    "kernel",
    "launch",
    "layers",
    "lbeta",
    "lecun_normal",
    "lecun_uniform",
    "left_shift",
    "less",
    "less_equal",
    "lgamma",
    "lin_space",
    "linalg",
    "linspace",
    "load_model",
    "local_variables",
    "local_variables_initializer",
    "log",
    "log1p",
    "log_sigmoid",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lookup",
    "loop_cond",
    "losses",
    "lossy_sends",
    "make_ndarray",
    "make_template",
    "make_tensor_proto",
    "map_fn",
    "matching_files",
    "math",
    "matmul",
    "matrix_band_part",
    "matrix_determinant",
    "matrix_diag",
    "matrix_diag_part",
    "matrix_inverse",
    "matrix_set_diag",
    "matrix_solve",
    "matrix_solve_ls",
    "matrix_transpose",
    "matrix_triangular_solve",
    "maximum",
    "measure_links",
    "merge",
    "meshgrid",
    "metrics",
    "min_max_variable_partitioner",
    "minimum",
    "mod",
    "model_variables",
    "moving_average_variables",
    "multinomial",
    "multiply",
    "name_scope",
    "negative",
    "nest",
    "new_event_loop",
    "newaxis",
    "next_iteration",
    "nn",
    "no_op",
    "norm",
    "not_equal",
    "numpy_function",
    "one_hot",
    "ones",
    "ones_initializer",
    "ones_like",
    "onnx",
    "op",
    "orthogonal_initializer",
    "pad",
    "parallel_dynamic_stitch",
    "parallel_stack",
    "parse_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "placeholder",
    "placeholder_with_default",
    "polygamma",
    "pow",
    "print_",
    "py_func",
    "py_function",
    "qr",
    "quantize",
    "quantize_v2",
    "random_crop",
    "random_gamma",
    "random_normal",
    "random_normal_initializer",
    "random_poisson",
    "random_shuffle",
    "random_uniform",
    "random_uniform_initializer",
    "range_",
    "rank",
    "read_file",
    "read_variable",
    "real",
    "realdiv",
    "reciprocal",
    "recompute",
    "reduce_all",
    "reduce_any",
    "reduce_euclidean_norm",
    "reduce_join",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_std",
    "reduce_sum",
    "reduce_variance",
    "regex_replace",
    "register_tensor_conversion_function",
    "repeat",
    "report_uninitialized_variables",
    "required_space_to_batch_paddings",
    "reset_default_graph",
    "reshape",
    "reverse",
    "reverse_sequence",
    "reverse_v2",
    "right_shift",
    "rint",
    "roll",
    "round",
    "rsqrt",
    "saturate_cast",
    "saved_model",
    "scalar_mul",
    "scan",
    "scatter_add",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd",
    "scatter_nd_add",
    "scatter_nd_sub",
    "scatter_nd_update",
    "scatter_sub",
    "scatter_update",
    "searchsorted",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "self_adjoint_eig",
    "self_adjoint_eigvals",
    "sequence_mask",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "serving",
    "set_random_seed",
    "setdiff1d",
    "sets",
    "shape",
    "shape_n",
    "sigmoid",
    "sign",
    "signal",
    "sin",
    "sinh",
    "size",
    "slice_",
    "sort",
    "space_to_batch",
    "space_to_batch_nd",
    "space_to_depth",
    "sparse",
    "sparse_add",
    "sparse_concat",
    "sparse_fill_empty_rows",
    "sparse_mask",
    "sparse_maximum",
    "sparse_merge",
    "sparse_minimum",
    "sparse_placeholder",
    "sparse_reduce_max",
    "sparse_reduce_max_sparse",
    "sparse_reduce_sum",
    "sparse_reduce_sum_sparse",
    "sparse_reorder",
    "sparse_reset_shape",
    "sparse_reshape",
    "sparse_retain",
    "sparse_segment_mean",
    "sparse_segment_sqrt_n",
    "sparse_segment_sum",
    "sparse_slice",
    "sparse_softmax",
    "sparse_split",
    "sparse_tensor_dense_matmul",
    "sparse_tensor_to_dense",
    "sparse_to_dense",
    "sparse_to_indicator",
    "sparse_transpose",
    "split",
    "sqrt",
    "square",
    "squared_difference",
    "squeeze",
    "stack",
    "stateless_multinomial",
    "stateless_random_normal",
    "stateless_random_uniform",
    "stateless_truncated_normal",
    "stop_gradient",
    "strided_slice",
    "string",
    "string_join",
    "string_split",
    "string_strip",
    "string_to_hash_bucket",
    "string_to_hash_bucket_fast",
    "string_to_hash_bucket_strong",
    "string_to_number",
    "strings",
    "substr",
    "subtract",
    "summary",
    "supervisor",
    "svd",
    "switch",
    "switch_case",
    "tables_initializer",
    "tan",
    "tanh",
    "tensor_scatter_add",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "tensor_scatter_sub",
    "tensor_scatter_update",
    "tensordot",
    "tile",
    "to_bfloat16",
    "to_complex128",
    "to_complex64",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
    "trace",
    "train",
    "trainable_variables",
    "transpose",
    "truediv",
    "truncated_normal",
    "truncated_normal_initializer",
    "truncatediv",
    "truncatemod",
    "tuple_",
    "uint16",
    "uint2",
    "uint32",
    "uint4",
    "uint64",
    "uint8",
    "uniform_unit_scaling_initializer",
    "unique",
    "unique_with_counts",
    "unravel_index",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
    "unstack",
    "value_and_gradients_function",
    "variable_axis_size_partitioner",
    "variable_scope",
    "variables_initializer",
    "variance_scaling_initializer",
    "verify_tensor_all_finite",
    "where",
    "where_v2",
    "while_loop",
    "with_dependencies",
    "write_file",
    "zeros",
    "zeros_initializer",
    "zeros_like",
    "zeta",
]
