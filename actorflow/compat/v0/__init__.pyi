# `make names` writes this file from the marks in the sources.

"""TensorFlow 0.x's names, over those of `actorflow.compat.v1`.

    import actorflow.compat.v0 as tf

A name that is not here is that of `compat.v1`.
"""

from collections.abc import Iterable
from typing import Any

from actorflow.compat.v1 import AUTO_REUSE as AUTO_REUSE
from actorflow.compat.v1 import AggregationMethod as AggregationMethod
from actorflow.compat.v1 import Assert as Assert
from actorflow.compat.v1 import AttrValue as AttrValue
from actorflow.compat.v1 import Barrier as Barrier
from actorflow.compat.v1 import Batching as Batching
from actorflow.compat.v1 import COMPILER_VERSION as COMPILER_VERSION
from actorflow.compat.v1 import CXX11_ABI_FLAG as CXX11_ABI_FLAG
from actorflow.compat.v1 import ClusterSpec as ClusterSpec
from actorflow.compat.v1 import ConditionalAccumulator as ConditionalAccumulator
from actorflow.compat.v1 import ConditionalAccumulatorBase as ConditionalAccumulatorBase
from actorflow.compat.v1 import ConfigProto as ConfigProto
from actorflow.compat.v1 import CostModel as CostModel
from actorflow.compat.v1 import CriticalSection as CriticalSection
from actorflow.compat.v1 import DType as DType
from actorflow.compat.v1 import Defun as Defun
from actorflow.compat.v1 import DeviceSpec as DeviceSpec
from actorflow.compat.v1 import Dimension as Dimension
from actorflow.compat.v1 import Event as Event
from actorflow.compat.v1 import FIFOQueue as FIFOQueue
from actorflow.compat.v1 import FixedLenFeature as FixedLenFeature
from actorflow.compat.v1 import FixedLenSequenceFeature as FixedLenSequenceFeature
from actorflow.compat.v1 import FixedLengthRecordReader as FixedLengthRecordReader
from actorflow.compat.v1 import Function as Function
from actorflow.compat.v1 import GIT_VERSION as GIT_VERSION
from actorflow.compat.v1 import GPUOptions as GPUOptions
from actorflow.compat.v1 import GRAPH_DEF_VERSION as GRAPH_DEF_VERSION
from actorflow.compat.v1 import GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER
from actorflow.compat.v1 import GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER
from actorflow.compat.v1 import GradientTape as GradientTape
from actorflow.compat.v1 import Graph as Graph
from actorflow.compat.v1 import GraphDef as GraphDef
from actorflow.compat.v1 import GraphGrowthWarning as GraphGrowthWarning
from actorflow.compat.v1 import GraphKeys as GraphKeys
from actorflow.compat.v1 import GraphOptions as GraphOptions
from actorflow.compat.v1 import HistogramProto as HistogramProto
from actorflow.compat.v1 import IdentityReader as IdentityReader
from actorflow.compat.v1 import IndexedSlices as IndexedSlices
from actorflow.compat.v1 import IndexedSlicesValue as IndexedSlicesValue
from actorflow.compat.v1 import InteractiveSession as InteractiveSession
from actorflow.compat.v1 import LocalCluster as LocalCluster
from actorflow.compat.v1 import LogMessage as LogMessage
from actorflow.compat.v1 import MONOLITHIC_BUILD as MONOLITHIC_BUILD
from actorflow.compat.v1 import MembershipChange as MembershipChange
from actorflow.compat.v1 import MetaGraphDef as MetaGraphDef
from actorflow.compat.v1 import Module as Module
from actorflow.compat.v1 import NameAttrList as NameAttrList
from actorflow.compat.v1 import NoGradient as NoGradient
from actorflow.compat.v1 import NodeDef as NodeDef
from actorflow.compat.v1 import NotDifferentiable as NotDifferentiable
from actorflow.compat.v1 import OpError as OpError
from actorflow.compat.v1 import Operation as Operation
from actorflow.compat.v1 import OptimizerOptions as OptimizerOptions
from actorflow.compat.v1 import PaddingFIFOQueue as PaddingFIFOQueue
from actorflow.compat.v1 import PartitionedVariable as PartitionedVariable
from actorflow.compat.v1 import PlacementStudy as PlacementStudy
from actorflow.compat.v1 import PlacementTrial as PlacementTrial
from actorflow.compat.v1 import PlanOptions as PlanOptions
from actorflow.compat.v1 import Print as Print
from actorflow.compat.v1 import PriorityQueue as PriorityQueue
from actorflow.compat.v1 import QueueBase as QueueBase
from actorflow.compat.v1 import RaggedTensor as RaggedTensor
from actorflow.compat.v1 import RandomShuffleQueue as RandomShuffleQueue
from actorflow.compat.v1 import ReaderBase as ReaderBase
from actorflow.compat.v1 import Recording as Recording
from actorflow.compat.v1 import RegisterGradient as RegisterGradient
from actorflow.compat.v1 import RetracingWarning as RetracingWarning
from actorflow.compat.v1 import RunMetadata as RunMetadata
from actorflow.compat.v1 import RunOptions as RunOptions
from actorflow.compat.v1 import Server as Server
from actorflow.compat.v1 import Session as Session
from actorflow.compat.v1 import SessionLimits as SessionLimits
from actorflow.compat.v1 import SessionLog as SessionLog
from actorflow.compat.v1 import SessionStatistics as SessionStatistics
from actorflow.compat.v1 import SparseConditionalAccumulator as SparseConditionalAccumulator
from actorflow.compat.v1 import SparseFeature as SparseFeature
from actorflow.compat.v1 import SparseTensor as SparseTensor
from actorflow.compat.v1 import SparseTensorSpec as SparseTensorSpec
from actorflow.compat.v1 import SparseTensorValue as SparseTensorValue
from actorflow.compat.v1 import Summary as Summary
from actorflow.compat.v1 import SummaryMetadata as SummaryMetadata
from actorflow.compat.v1 import Supervisor as Supervisor
from actorflow.compat.v1 import TFRecordReader as TFRecordReader
from actorflow.compat.v1 import TaskState as TaskState
from actorflow.compat.v1 import Tensor as Tensor
from actorflow.compat.v1 import TensorArray as TensorArray
from actorflow.compat.v1 import TensorInfo as TensorInfo
from actorflow.compat.v1 import TensorLike as TensorLike
from actorflow.compat.v1 import TensorProto as TensorProto
from actorflow.compat.v1 import TensorShape as TensorShape
from actorflow.compat.v1 import TensorShapeProto as TensorShapeProto
from actorflow.compat.v1 import TensorSpec as TensorSpec
from actorflow.compat.v1 import TextLineReader as TextLineReader
from actorflow.compat.v1 import Trace as Trace
from actorflow.compat.v1 import UnconnectedGradients as UnconnectedGradients
from actorflow.compat.v1 import VERSION as VERSION
from actorflow.compat.v1 import ValueOptions as ValueOptions
from actorflow.compat.v1 import VarLenFeature as VarLenFeature
from actorflow.compat.v1 import Variable as Variable
from actorflow.compat.v1 import VariableAggregation as VariableAggregation
from actorflow.compat.v1 import VariableScope as VariableScope
from actorflow.compat.v1 import VariableSynchronization as VariableSynchronization
from actorflow.compat.v1 import WholeFileReader as WholeFileReader
from actorflow.compat.v1 import abs as abs
from actorflow.compat.v1 import accumulate_n as accumulate_n
from actorflow.compat.v1 import acos as acos
from actorflow.compat.v1 import acosh as acosh
from actorflow.compat.v1 import add as add
from actorflow.compat.v1 import add_check_numerics_ops as add_check_numerics_ops
from actorflow.compat.v1 import add_n as add_n
from actorflow.compat.v1 import add_to_collection as add_to_collection
from actorflow.compat.v1 import add_to_collections as add_to_collections
from actorflow.compat.v1 import global_variables as all_variables
from actorflow.compat.v1 import angle as angle
from actorflow.compat.v1 import app as app
from actorflow.compat.v1 import arg_max as arg_max
from actorflow.compat.v1 import arg_min as arg_min
from actorflow.compat.v1 import argmax as argmax
from actorflow.compat.v1 import argmin as argmin
from actorflow.compat.v1 import argsort as argsort
from actorflow.compat.v1 import as_dtype as as_dtype
from actorflow.compat.v1 import as_string as as_string
from actorflow.compat.v1 import asin as asin
from actorflow.compat.v1 import asinh as asinh
from actorflow.compat.v1 import assert_equal as assert_equal
from actorflow.compat.v1 import assert_greater as assert_greater
from actorflow.compat.v1 import assert_greater_equal as assert_greater_equal
from actorflow.compat.v1 import assert_integer as assert_integer
from actorflow.compat.v1 import assert_less as assert_less
from actorflow.compat.v1 import assert_less_equal as assert_less_equal
from actorflow.compat.v1 import assert_near as assert_near
from actorflow.compat.v1 import assert_negative as assert_negative
from actorflow.compat.v1 import assert_non_negative as assert_non_negative
from actorflow.compat.v1 import assert_non_positive as assert_non_positive
from actorflow.compat.v1 import assert_none_equal as assert_none_equal
from actorflow.compat.v1 import assert_positive as assert_positive
from actorflow.compat.v1 import assert_proper_iterable as assert_proper_iterable
from actorflow.compat.v1 import assert_rank as assert_rank
from actorflow.compat.v1 import assert_rank_at_least as assert_rank_at_least
from actorflow.compat.v1 import assert_rank_in as assert_rank_in
from actorflow.compat.v1 import assert_same_float_dtype as assert_same_float_dtype
from actorflow.compat.v1 import assert_scalar as assert_scalar
from actorflow.compat.v1 import assert_type as assert_type
from actorflow.compat.v1 import assert_variables_initialized as assert_variables_initialized
from actorflow.compat.v1 import assign as assign
from actorflow.compat.v1 import assign_add as assign_add
from actorflow.compat.v1 import assign_sub as assign_sub
from actorflow.compat.v1 import atan as atan
from actorflow.compat.v1 import atan2 as atan2
from actorflow.compat.v1 import atanh as atanh
from actorflow.compat.v1 import audio as audio
from actorflow.compat.v1 import autograph as autograph
from actorflow.compat.v1 import cholesky as batch_cholesky
from actorflow.compat.v1 import batch_gather as batch_gather
from actorflow.compat.v1 import matmul as batch_matmul
from actorflow.compat.v1 import matrix_determinant as batch_matrix_determinant
from actorflow.compat.v1 import matrix_inverse as batch_matrix_inverse
from actorflow.compat.v1 import batch_scatter_update as batch_scatter_update
from actorflow.compat.v1 import batch_to_space as batch_to_space
from actorflow.compat.v1 import batch_to_space_nd as batch_to_space_nd
from actorflow.compat.v1 import betainc as betainc
from actorflow.compat.v1 import bfloat16 as bfloat16
from actorflow.compat.v1 import bincount as bincount
from actorflow.compat.v1 import bitcast as bitcast
from actorflow.compat.v1 import bitwise as bitwise
from actorflow.compat.v1 import bitwise_and as bitwise_and
from actorflow.compat.v1 import bitwise_or as bitwise_or
from actorflow.compat.v1 import bitwise_xor as bitwise_xor
from actorflow.compat.v1 import blocking as blocking
from actorflow.compat.v1 import bool as bool
from actorflow.compat.v1 import boolean_mask as boolean_mask
from actorflow.compat.v1 import broadcast_dynamic_shape as broadcast_dynamic_shape
from actorflow.compat.v1 import broadcast_static_shape as broadcast_static_shape
from actorflow.compat.v1 import broadcast_to as broadcast_to
from actorflow.compat.v1 import case as case
from actorflow.compat.v1 import cast as cast
from actorflow.compat.v1 import ceil as ceil
from actorflow.compat.v1 import check_numerics as check_numerics
from actorflow.compat.v1 import cholesky as cholesky
from actorflow.compat.v1 import cholesky_solve as cholesky_solve
from actorflow.compat.v1 import clip_by_average_norm as clip_by_average_norm
from actorflow.compat.v1 import clip_by_global_norm as clip_by_global_norm
from actorflow.compat.v1 import clip_by_norm as clip_by_norm
from actorflow.compat.v1 import clip_by_value as clip_by_value
from actorflow.compat.v1 import colocate_with as colocate_with
from actorflow.compat.v1 import compat as compat
from actorflow.compat.v1 import complex as complex
from actorflow.compat.v1 import complex128 as complex128
from actorflow.compat.v1 import complex64 as complex64
from actorflow.compat.v1 import abs as complex_abs
from actorflow.compat.v1 import cond as cond
from actorflow.compat.v1 import config as config
from actorflow.compat.v1 import confusion_matrix as confusion_matrix
from actorflow.compat.v1 import conj as conj
from actorflow.compat.v1 import constant as constant
from actorflow.compat.v1 import constant_initializer as constant_initializer
from actorflow.compat.v1 import container as container
from actorflow.compat.v1 import contrib as contrib
from actorflow.compat.v1 import control_dependencies as control_dependencies
from actorflow.compat.v1 import control_flow_v2_enabled as control_flow_v2_enabled
from actorflow.compat.v1 import control_trigger as control_trigger
from actorflow.compat.v1 import convert_to_tensor as convert_to_tensor
from actorflow.compat.v1 import convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices
from actorflow.compat.v1 import convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor
from actorflow.compat.v1 import cos as cos
from actorflow.compat.v1 import cosh as cosh
from actorflow.compat.v1 import count_nonzero as count_nonzero
from actorflow.compat.v1 import count_up_to as count_up_to
from actorflow.compat.v1 import create_partitioned_variables as create_partitioned_variables
from actorflow.compat.v1 import cross as cross
from actorflow.compat.v1 import cumprod as cumprod
from actorflow.compat.v1 import cumsum as cumsum
from actorflow.compat.v1 import custom_gradient as custom_gradient
from actorflow.compat.v1 import dashboard as dashboard
from actorflow.compat.v1 import data as data
from actorflow.compat.v1 import debugging as debugging
from actorflow.compat.v1 import decode_base64 as decode_base64
from actorflow.compat.v1 import decode_compressed as decode_compressed
from actorflow.compat.v1 import decode_csv as decode_csv
from actorflow.compat.v1 import decode_json_example as decode_json_example
from actorflow.compat.v1 import decode_raw as decode_raw
from actorflow.compat.v1 import delete_session_tensor as delete_session_tensor
from actorflow.compat.v1 import depth_to_space as depth_to_space
from actorflow.compat.v1 import dequantize as dequantize
from actorflow.compat.v1 import deserialize_many_sparse as deserialize_many_sparse
from actorflow.compat.v1 import device as device
from actorflow.compat.v1 import diag as diag
from actorflow.compat.v1 import diag_part as diag_part
from actorflow.compat.v1 import digamma as digamma
from actorflow.compat.v1 import dimension_at_index as dimension_at_index
from actorflow.compat.v1 import dimension_value as dimension_value
from actorflow.compat.v1 import disable_control_flow_v2 as disable_control_flow_v2
from actorflow.compat.v1 import disable_eager_execution as disable_eager_execution
from actorflow.compat.v1 import disable_resource_variables as disable_resource_variables
from actorflow.compat.v1 import disable_tensor_equality as disable_tensor_equality
from actorflow.compat.v1 import disable_v2_behavior as disable_v2_behavior
from actorflow.compat.v1 import disable_v2_tensorshape as disable_v2_tensorshape
from actorflow.compat.v1 import distribute as distribute
from actorflow.compat.v1 import distributions as distributions
from actorflow.compat.v1 import div as div
from actorflow.compat.v1 import div_no_nan as div_no_nan
from actorflow.compat.v1 import divide as divide
from actorflow.compat.v1 import double as double
from actorflow.compat.v1 import dtypes as dtypes
from actorflow.compat.v1 import dynamic_partition as dynamic_partition
from actorflow.compat.v1 import dynamic_stitch as dynamic_stitch
from actorflow.compat.v1 import eager as eager
from actorflow.compat.v1 import edit_distance as edit_distance
from actorflow.compat.v1 import einsum as einsum
from actorflow.compat.v1 import enable_control_flow_v2 as enable_control_flow_v2
from actorflow.compat.v1 import enable_eager_execution as enable_eager_execution
from actorflow.compat.v1 import enable_resource_variables as enable_resource_variables
from actorflow.compat.v1 import enable_tensor_equality as enable_tensor_equality
from actorflow.compat.v1 import enable_v2_behavior as enable_v2_behavior
from actorflow.compat.v1 import enable_v2_tensorshape as enable_v2_tensorshape
from actorflow.compat.v1 import encode_base64 as encode_base64
from actorflow.compat.v1 import ensure_shape as ensure_shape
from actorflow.compat.v1 import enter as enter
from actorflow.compat.v1 import equal as equal
from actorflow.compat.v1 import erf as erf
from actorflow.compat.v1 import erfc as erfc
from actorflow.compat.v1 import errors as errors
from actorflow.compat.v1 import estimator as estimator
from actorflow.compat.v1 import executing_eagerly as executing_eagerly
from actorflow.compat.v1 import exit as exit
from actorflow.compat.v1 import exp as exp
from actorflow.compat.v1 import expand_dims as expand_dims
from actorflow.compat.v1 import expm1 as expm1
from actorflow.compat.v1 import export as export
from actorflow.compat.v1 import ext as ext
from actorflow.compat.v1 import extract_image_patches as extract_image_patches
from actorflow.compat.v1 import extract_volume_patches as extract_volume_patches
from actorflow.compat.v1 import eye as eye
from actorflow.compat.v1 import fake_quant_with_min_max_args as fake_quant_with_min_max_args
from actorflow.compat.v1 import fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient
from actorflow.compat.v1 import fake_quant_with_min_max_vars as fake_quant_with_min_max_vars
from actorflow.compat.v1 import fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient
from actorflow.compat.v1 import fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel
from actorflow.compat.v1 import fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient
from actorflow.compat.v1 import feature_column as feature_column
from actorflow.compat.v1 import fft as fft
from actorflow.compat.v1 import fft2d as fft2d
from actorflow.compat.v1 import fft3d as fft3d
from actorflow.compat.v1 import fill as fill
from actorflow.compat.v1 import fixed_size_partitioner as fixed_size_partitioner
from actorflow.compat.v1 import flags as flags
from actorflow.compat.v1 import float16 as float16
from actorflow.compat.v1 import float32 as float32
from actorflow.compat.v1 import float4_e2m1fn as float4_e2m1fn
from actorflow.compat.v1 import float64 as float64
from actorflow.compat.v1 import float6_e2m3fn as float6_e2m3fn
from actorflow.compat.v1 import float6_e3m2fn as float6_e3m2fn
from actorflow.compat.v1 import float8_e4m3fn as float8_e4m3fn
from actorflow.compat.v1 import float8_e4m3fnuz as float8_e4m3fnuz
from actorflow.compat.v1 import float8_e5m2 as float8_e5m2
from actorflow.compat.v1 import float8_e5m2fnuz as float8_e5m2fnuz
from actorflow.compat.v1 import float8_e8m0fnu as float8_e8m0fnu
from actorflow.compat.v1 import floor as floor
from actorflow.compat.v1 import floor_div as floor_div
from actorflow.compat.v1 import floordiv as floordiv
from actorflow.compat.v1 import floormod as floormod
from actorflow.compat.v1 import foldl as foldl
from actorflow.compat.v1 import foldr as foldr
from actorflow.compat.v1 import function as function
from actorflow.compat.v1 import gather as gather
from actorflow.compat.v1 import gather_nd as gather_nd
from actorflow.compat.v1 import generation as generation
from actorflow.compat.v1 import get_collection as get_collection
from actorflow.compat.v1 import get_collection_ref as get_collection_ref
from actorflow.compat.v1 import get_default_graph as get_default_graph
from actorflow.compat.v1 import get_default_session as get_default_session
from actorflow.compat.v1 import get_local_variable as get_local_variable
from actorflow.compat.v1 import get_logger as get_logger
from actorflow.compat.v1 import get_seed as get_seed
from actorflow.compat.v1 import get_session_handle as get_session_handle
from actorflow.compat.v1 import get_session_tensor as get_session_tensor
from actorflow.compat.v1 import get_static_value as get_static_value
from actorflow.compat.v1 import get_variable as get_variable
from actorflow.compat.v1 import get_variable_scope as get_variable_scope
from actorflow.compat.v1 import gfile as gfile
from actorflow.compat.v1 import global_norm as global_norm
from actorflow.compat.v1 import global_variables as global_variables
from actorflow.compat.v1 import global_variables_initializer as global_variables_initializer
from actorflow.compat.v1 import glorot_normal_initializer as glorot_normal_initializer
from actorflow.compat.v1 import glorot_uniform_initializer as glorot_uniform_initializer
from actorflow.compat.v1 import grad_pass_through as grad_pass_through
from actorflow.compat.v1 import gradients as gradients
from actorflow.compat.v1 import gradients_function as gradients_function
from actorflow.compat.v1 import graph_util as graph_util
from actorflow.compat.v1 import greater as greater
from actorflow.compat.v1 import greater_equal as greater_equal
from actorflow.compat.v1 import group as group
from actorflow.compat.v1 import guarantee_const as guarantee_const
from actorflow.compat.v1 import half as half
from actorflow.compat.v1 import he_normal as he_normal
from actorflow.compat.v1 import he_uniform as he_uniform
from actorflow.compat.v1 import hessians as hessians
from actorflow.compat.v1 import histogram_fixed_width as histogram_fixed_width
from actorflow.compat.v1 import histogram_fixed_width_bins as histogram_fixed_width_bins
from actorflow.compat.v1 import identity as identity
from actorflow.compat.v1 import identity_initializer as identity_initializer
from actorflow.compat.v1 import identity_n as identity_n
from actorflow.compat.v1 import ifft as ifft
from actorflow.compat.v1 import ifft2d as ifft2d
from actorflow.compat.v1 import ifft3d as ifft3d
from actorflow.compat.v1 import igamma as igamma
from actorflow.compat.v1 import igammac as igammac
from actorflow.compat.v1 import imag as imag
from actorflow.compat.v1 import image as image
from actorflow.compat.v1 import implicit_gradients as implicit_gradients
from actorflow.compat.v1 import implicit_value_and_gradients as implicit_value_and_gradients
from actorflow.compat.v1 import import_graph_def as import_graph_def
from actorflow.compat.v1 import init_scope as init_scope
from actorflow.compat.v1 import initialize_all_tables as initialize_all_tables
from actorflow.compat.v1 import global_variables_initializer as initialize_all_variables
from actorflow.compat.v1 import local_variables_initializer as initialize_local_variables
from actorflow.compat.v1 import variables_initializer as initialize_variables
from actorflow.compat.v1 import initializers as initializers
from actorflow.compat.v1 import int16 as int16
from actorflow.compat.v1 import int2 as int2
from actorflow.compat.v1 import int32 as int32
from actorflow.compat.v1 import int4 as int4
from actorflow.compat.v1 import int64 as int64
from actorflow.compat.v1 import int8 as int8
from actorflow.compat.v1 import reciprocal as inv
from actorflow.compat.v1 import invert as invert
from actorflow.compat.v1 import invert_permutation as invert_permutation
from actorflow.compat.v1 import io as io
from actorflow.compat.v1 import is_finite as is_finite
from actorflow.compat.v1 import is_inf as is_inf
from actorflow.compat.v1 import is_nan as is_nan
from actorflow.compat.v1 import is_non_decreasing as is_non_decreasing
from actorflow.compat.v1 import is_numeric_tensor as is_numeric_tensor
from actorflow.compat.v1 import is_strictly_increasing as is_strictly_increasing
from actorflow.compat.v1 import is_tensor as is_tensor
from actorflow.compat.v1 import is_variable_initialized as is_variable_initialized
from actorflow.compat.v1 import kernel as kernel
from actorflow.compat.v1 import launch as launch
from actorflow.compat.v1 import layers as layers
from actorflow.compat.v1 import lbeta as lbeta
from actorflow.compat.v1 import lecun_normal as lecun_normal
from actorflow.compat.v1 import lecun_uniform as lecun_uniform
from actorflow.compat.v1 import left_shift as left_shift
from actorflow.compat.v1 import less as less
from actorflow.compat.v1 import less_equal as less_equal
from actorflow.compat.v1 import lgamma as lgamma
from actorflow.compat.v1 import lin_space as lin_space
from actorflow.compat.v1 import linalg as linalg
from actorflow.compat.v1 import linspace as linspace
from actorflow.compat.v1 import setdiff1d as listdiff
from actorflow.compat.v1 import load_file_system_library as load_file_system_library
from actorflow.compat.v1 import load_library as load_library
from actorflow.compat.v1 import load_model as load_model
from actorflow.compat.v1 import load_op_library as load_op_library
from actorflow.compat.v1 import local_variables as local_variables
from actorflow.compat.v1 import local_variables_initializer as local_variables_initializer
from actorflow.compat.v1 import log as log
from actorflow.compat.v1 import log1p as log1p
from actorflow.compat.v1 import log_sigmoid as log_sigmoid
from actorflow.compat.v1 import logging as logging
from actorflow.compat.v1 import logical_and as logical_and
from actorflow.compat.v1 import logical_not as logical_not
from actorflow.compat.v1 import logical_or as logical_or
from actorflow.compat.v1 import logical_xor as logical_xor
from actorflow.compat.v1 import lookup as lookup
from actorflow.compat.v1 import loop_cond as loop_cond
from actorflow.compat.v1 import losses as losses
from actorflow.compat.v1 import lossy_sends as lossy_sends
from actorflow.compat.v1 import make_ndarray as make_ndarray
from actorflow.compat.v1 import make_template as make_template
from actorflow.compat.v1 import make_tensor_proto as make_tensor_proto
from actorflow.compat.v1 import manip as manip
from actorflow.compat.v1 import map_fn as map_fn
from actorflow.compat.v1 import matching_files as matching_files
from actorflow.compat.v1 import math as math
from actorflow.compat.v1 import matmul as matmul
from actorflow.compat.v1 import matrix_band_part as matrix_band_part
from actorflow.compat.v1 import matrix_determinant as matrix_determinant
from actorflow.compat.v1 import matrix_diag as matrix_diag
from actorflow.compat.v1 import matrix_diag_part as matrix_diag_part
from actorflow.compat.v1 import matrix_inverse as matrix_inverse
from actorflow.compat.v1 import matrix_set_diag as matrix_set_diag
from actorflow.compat.v1 import matrix_solve as matrix_solve
from actorflow.compat.v1 import matrix_solve_ls as matrix_solve_ls
from actorflow.compat.v1 import matrix_square_root as matrix_square_root
from actorflow.compat.v1 import matrix_transpose as matrix_transpose
from actorflow.compat.v1 import matrix_triangular_solve as matrix_triangular_solve
from actorflow.compat.v1 import maximum as maximum
from actorflow.compat.v1 import measure_links as measure_links
from actorflow.compat.v1 import merge as merge
from actorflow.compat.v1.summary import merge_all as merge_all_summaries
from actorflow.compat.v1.summary import merge as merge_summary
from actorflow.compat.v1 import meshgrid as meshgrid
from actorflow.compat.v1 import metrics as metrics
from actorflow.compat.v1 import min_max_variable_partitioner as min_max_variable_partitioner
from actorflow.compat.v1 import minimum as minimum
from actorflow.compat.v1 import mod as mod
from actorflow.compat.v1 import model_variables as model_variables
from actorflow.compat.v1 import moving_average_variables as moving_average_variables
from actorflow.compat.v1 import multiply as mul
from actorflow.compat.v1 import multinomial as multinomial
from actorflow.compat.v1 import multiply as multiply
from actorflow.compat.v1 import name_scope as name_scope
from actorflow.compat.v1 import negative as neg
from actorflow.compat.v1 import negative as negative
from actorflow.compat.v1 import nest as nest
from actorflow.compat.v1 import new_event_loop as new_event_loop
from actorflow.compat.v1 import newaxis as newaxis
from actorflow.compat.v1 import next_iteration as next_iteration
from actorflow.compat.v1 import no_gradient as no_gradient
from actorflow.compat.v1 import no_op as no_op
from actorflow.compat.v1 import no_regularizer as no_regularizer
from actorflow.compat.v1 import norm as norm
from actorflow.compat.v1 import not_equal as not_equal
from actorflow.compat.v1 import numpy_function as numpy_function
from actorflow.compat.v1 import one_hot as one_hot
from actorflow.compat.v1 import ones as ones
from actorflow.compat.v1 import ones_initializer as ones_initializer
from actorflow.compat.v1 import ones_like as ones_like
from actorflow.compat.v1 import onnx as onnx
from actorflow.compat.v1 import op as op
from actorflow.compat.v1 import op_scope as op_scope
from actorflow.compat.v1 import orthogonal_initializer as orthogonal_initializer
from actorflow.compat.v1 import stack as pack
from actorflow.compat.v1 import pad as pad
from actorflow.compat.v1 import parallel_dynamic_stitch as parallel_dynamic_stitch
from actorflow.compat.v1 import parallel_stack as parallel_stack
from actorflow.compat.v1 import parse_example as parse_example
from actorflow.compat.v1 import parse_single_example as parse_single_example
from actorflow.compat.v1 import parse_single_sequence_example as parse_single_sequence_example
from actorflow.compat.v1 import parse_tensor as parse_tensor
from actorflow.compat.v1 import placeholder as placeholder
from actorflow.compat.v1 import placeholder_with_default as placeholder_with_default
from actorflow.compat.v1 import polygamma as polygamma
from actorflow.compat.v1 import pow as pow
from actorflow.compat.v1 import print as print
from actorflow.compat.v1 import print_ as print_
from actorflow.compat.v1 import profiler as profiler
from actorflow.compat.v1 import py_func as py_func
from actorflow.compat.v1 import py_function as py_function
from actorflow.compat.v1 import python_io as python_io
from actorflow.compat.v1 import qr as qr
from actorflow.compat.v1 import quantization as quantization
from actorflow.compat.v1 import quantize as quantize
from actorflow.compat.v1 import quantize_v2 as quantize_v2
from actorflow.compat.v1 import queue as queue
from actorflow.compat.v1 import ragged as ragged
from actorflow.compat.v1 import random as random
from actorflow.compat.v1 import random_crop as random_crop
from actorflow.compat.v1 import random_gamma as random_gamma
from actorflow.compat.v1 import random_normal as random_normal
from actorflow.compat.v1 import random_normal_initializer as random_normal_initializer
from actorflow.compat.v1 import random_poisson as random_poisson
from actorflow.compat.v1 import random_shuffle as random_shuffle
from actorflow.compat.v1 import random_uniform as random_uniform
from actorflow.compat.v1 import random_uniform_initializer as random_uniform_initializer
from actorflow.compat.v1 import range as range
from actorflow.compat.v1 import range_ as range_
from actorflow.compat.v1 import rank as rank
from actorflow.compat.v1 import read_file as read_file
from actorflow.compat.v1 import read_variable as read_variable
from actorflow.compat.v1 import real as real
from actorflow.compat.v1 import realdiv as realdiv
from actorflow.compat.v1 import reciprocal as reciprocal
from actorflow.compat.v1 import recompute as recompute
from actorflow.compat.v1 import recompute_grad as recompute_grad
from actorflow.compat.v1 import reduce_all as reduce_all
from actorflow.compat.v1 import reduce_any as reduce_any
from actorflow.compat.v1 import reduce_euclidean_norm as reduce_euclidean_norm
from actorflow.compat.v1 import reduce_join as reduce_join
from actorflow.compat.v1 import reduce_logsumexp as reduce_logsumexp
from actorflow.compat.v1 import reduce_max as reduce_max
from actorflow.compat.v1 import reduce_mean as reduce_mean
from actorflow.compat.v1 import reduce_min as reduce_min
from actorflow.compat.v1 import reduce_prod as reduce_prod
from actorflow.compat.v1 import reduce_std as reduce_std
from actorflow.compat.v1 import reduce_sum as reduce_sum
from actorflow.compat.v1 import reduce_variance as reduce_variance
from actorflow.compat.v1 import regex_replace as regex_replace
from actorflow.compat.v1 import register_tensor_conversion_function as register_tensor_conversion_function
from actorflow.compat.v1 import repeat as repeat
from actorflow.compat.v1 import report_uninitialized_variables as report_uninitialized_variables
from actorflow.compat.v1 import required_space_to_batch_paddings as required_space_to_batch_paddings
from actorflow.compat.v1 import reset_default_graph as reset_default_graph
from actorflow.compat.v1 import reshape as reshape
from actorflow.compat.v1 import resource as resource
from actorflow.compat.v1 import resource_loader as resource_loader
from actorflow.compat.v1 import resource_variables_enabled as resource_variables_enabled
from actorflow.compat.v1 import reverse as reverse
from actorflow.compat.v1 import reverse_sequence as reverse_sequence
from actorflow.compat.v1 import reverse_v2 as reverse_v2
from actorflow.compat.v1 import right_shift as right_shift
from actorflow.compat.v1 import rint as rint
from actorflow.compat.v1 import roll as roll
from actorflow.compat.v1 import round as round
from actorflow.compat.v1 import rsqrt as rsqrt
from actorflow.compat.v1 import saturate_cast as saturate_cast
from actorflow.compat.v1 import saved_model as saved_model
from actorflow.compat.v1 import scalar_mul as scalar_mul
from actorflow.compat.v1 import scan as scan
from actorflow.compat.v1 import scatter_add as scatter_add
from actorflow.compat.v1 import scatter_div as scatter_div
from actorflow.compat.v1 import scatter_max as scatter_max
from actorflow.compat.v1 import scatter_min as scatter_min
from actorflow.compat.v1 import scatter_mul as scatter_mul
from actorflow.compat.v1 import scatter_nd as scatter_nd
from actorflow.compat.v1 import scatter_nd_add as scatter_nd_add
from actorflow.compat.v1 import scatter_nd_sub as scatter_nd_sub
from actorflow.compat.v1 import scatter_nd_update as scatter_nd_update
from actorflow.compat.v1 import scatter_sub as scatter_sub
from actorflow.compat.v1 import scatter_update as scatter_update
from actorflow.compat.v1 import searchsorted as searchsorted
from actorflow.compat.v1 import segment_max as segment_max
from actorflow.compat.v1 import segment_mean as segment_mean
from actorflow.compat.v1 import segment_min as segment_min
from actorflow.compat.v1 import segment_prod as segment_prod
from actorflow.compat.v1 import segment_sum as segment_sum
from actorflow.compat.v1 import where as select
from actorflow.compat.v1 import self_adjoint_eig as self_adjoint_eig
from actorflow.compat.v1 import self_adjoint_eigvals as self_adjoint_eigvals
from actorflow.compat.v1 import sequence_mask as sequence_mask
from actorflow.compat.v1 import serialize_many_sparse as serialize_many_sparse
from actorflow.compat.v1 import serialize_sparse as serialize_sparse
from actorflow.compat.v1 import serialize_tensor as serialize_tensor
from actorflow.compat.v1 import serving as serving
from actorflow.compat.v1 import set_random_seed as set_random_seed
from actorflow.compat.v1 import setdiff1d as setdiff1d
from actorflow.compat.v1 import sets as sets
from actorflow.compat.v1 import shape as shape
from actorflow.compat.v1 import shape_n as shape_n
from actorflow.compat.v1 import sigmoid as sigmoid
from actorflow.compat.v1 import sign as sign
from actorflow.compat.v1 import signal as signal
from actorflow.compat.v1 import sin as sin
from actorflow.compat.v1 import sinh as sinh
from actorflow.compat.v1 import size as size
from actorflow.compat.v1 import slice as slice
from actorflow.compat.v1 import slice_ as slice_
from actorflow.compat.v1 import sort as sort
from actorflow.compat.v1 import space_to_batch as space_to_batch
from actorflow.compat.v1 import space_to_batch_nd as space_to_batch_nd
from actorflow.compat.v1 import space_to_depth as space_to_depth
from actorflow.compat.v1 import sparse as sparse
from actorflow.compat.v1 import sparse_add as sparse_add
from actorflow.compat.v1 import sparse_concat as sparse_concat
from actorflow.compat.v1 import sparse_fill_empty_rows as sparse_fill_empty_rows
from actorflow.compat.v1 import sparse_mask as sparse_mask
from actorflow.compat.v1 import sparse_maximum as sparse_maximum
from actorflow.compat.v1 import sparse_merge as sparse_merge
from actorflow.compat.v1 import sparse_minimum as sparse_minimum
from actorflow.compat.v1 import sparse_placeholder as sparse_placeholder
from actorflow.compat.v1 import sparse_reduce_max as sparse_reduce_max
from actorflow.compat.v1 import sparse_reduce_max_sparse as sparse_reduce_max_sparse
from actorflow.compat.v1 import sparse_reduce_sum as sparse_reduce_sum
from actorflow.compat.v1 import sparse_reduce_sum_sparse as sparse_reduce_sum_sparse
from actorflow.compat.v1 import sparse_reorder as sparse_reorder
from actorflow.compat.v1 import sparse_reset_shape as sparse_reset_shape
from actorflow.compat.v1 import sparse_reshape as sparse_reshape
from actorflow.compat.v1 import sparse_retain as sparse_retain
from actorflow.compat.v1 import sparse_segment_mean as sparse_segment_mean
from actorflow.compat.v1 import sparse_segment_sqrt_n as sparse_segment_sqrt_n
from actorflow.compat.v1 import sparse_segment_sum as sparse_segment_sum
from actorflow.compat.v1 import sparse_slice as sparse_slice
from actorflow.compat.v1 import sparse_softmax as sparse_softmax
from actorflow.compat.v1 import sparse_split as sparse_split
from actorflow.compat.v1 import sparse_tensor_dense_matmul as sparse_tensor_dense_matmul
from actorflow.compat.v1 import sparse_tensor_to_dense as sparse_tensor_to_dense
from actorflow.compat.v1 import sparse_to_dense as sparse_to_dense
from actorflow.compat.v1 import sparse_to_indicator as sparse_to_indicator
from actorflow.compat.v1 import sparse_transpose as sparse_transpose
from actorflow.compat.v1 import spectral as spectral
from actorflow.compat.v1 import sqrt as sqrt
from actorflow.compat.v1 import square as square
from actorflow.compat.v1 import squared_difference as squared_difference
from actorflow.compat.v1 import squeeze as squeeze
from actorflow.compat.v1 import stack as stack
from actorflow.compat.v1 import stateless_multinomial as stateless_multinomial
from actorflow.compat.v1 import stateless_random_normal as stateless_random_normal
from actorflow.compat.v1 import stateless_random_uniform as stateless_random_uniform
from actorflow.compat.v1 import stateless_truncated_normal as stateless_truncated_normal
from actorflow.compat.v1 import stop_gradient as stop_gradient
from actorflow.compat.v1 import strided_slice as strided_slice
from actorflow.compat.v1 import string as string
from actorflow.compat.v1 import string_join as string_join
from actorflow.compat.v1 import string_split as string_split
from actorflow.compat.v1 import string_strip as string_strip
from actorflow.compat.v1 import string_to_hash_bucket as string_to_hash_bucket
from actorflow.compat.v1 import string_to_hash_bucket_fast as string_to_hash_bucket_fast
from actorflow.compat.v1 import string_to_hash_bucket_strong as string_to_hash_bucket_strong
from actorflow.compat.v1 import string_to_number as string_to_number
from actorflow.compat.v1 import strings as strings
from actorflow.compat.v1 import subtract as sub
from actorflow.compat.v1 import substr as substr
from actorflow.compat.v1 import subtract as subtract
from actorflow.compat.v1 import summary as summary
from actorflow.compat.v1 import supervisor as supervisor
from actorflow.compat.v1 import svd as svd
from actorflow.compat.v1 import switch as switch
from actorflow.compat.v1 import switch_case as switch_case
from actorflow.compat.v1 import sysconfig as sysconfig
from actorflow.compat.v1 import tables_initializer as tables_initializer
from actorflow.compat.v1 import tan as tan
from actorflow.compat.v1 import tanh as tanh
from actorflow.compat.v1 import tensor_scatter_add as tensor_scatter_add
from actorflow.compat.v1 import tensor_scatter_nd_add as tensor_scatter_nd_add
from actorflow.compat.v1 import tensor_scatter_nd_max as tensor_scatter_nd_max
from actorflow.compat.v1 import tensor_scatter_nd_min as tensor_scatter_nd_min
from actorflow.compat.v1 import tensor_scatter_nd_sub as tensor_scatter_nd_sub
from actorflow.compat.v1 import tensor_scatter_nd_update as tensor_scatter_nd_update
from actorflow.compat.v1 import tensor_scatter_sub as tensor_scatter_sub
from actorflow.compat.v1 import tensor_scatter_update as tensor_scatter_update
from actorflow.compat.v1 import tensordot as tensordot
from actorflow.compat.v1 import test as test
from actorflow.compat.v1 import tile as tile
from actorflow.compat.v1 import timestamp as timestamp
from actorflow.compat.v1 import to_bfloat16 as to_bfloat16
from actorflow.compat.v1 import to_complex128 as to_complex128
from actorflow.compat.v1 import to_complex64 as to_complex64
from actorflow.compat.v1 import to_double as to_double
from actorflow.compat.v1 import to_float as to_float
from actorflow.compat.v1 import to_int32 as to_int32
from actorflow.compat.v1 import to_int64 as to_int64
from actorflow.compat.v1 import trace as trace
from actorflow.compat.v1 import train as train
from actorflow.compat.v1 import trainable_variables as trainable_variables
from actorflow.compat.v1 import transpose as transpose
from actorflow.compat.v1 import truediv as truediv
from actorflow.compat.v1 import truncated_normal as truncated_normal
from actorflow.compat.v1 import truncated_normal_initializer as truncated_normal_initializer
from actorflow.compat.v1 import truncatediv as truncatediv
from actorflow.compat.v1 import truncatemod as truncatemod
from actorflow.compat.v1 import tuple as tuple
from actorflow.compat.v1 import tuple_ as tuple_
from actorflow.compat.v1 import uint16 as uint16
from actorflow.compat.v1 import uint2 as uint2
from actorflow.compat.v1 import uint32 as uint32
from actorflow.compat.v1 import uint4 as uint4
from actorflow.compat.v1 import uint64 as uint64
from actorflow.compat.v1 import uint8 as uint8
from actorflow.compat.v1 import uniform_unit_scaling_initializer as uniform_unit_scaling_initializer
from actorflow.compat.v1 import unique as unique
from actorflow.compat.v1 import unique_with_counts as unique_with_counts
from actorflow.compat.v1 import unstack as unpack
from actorflow.compat.v1 import unravel_index as unravel_index
from actorflow.compat.v1 import unsorted_segment_max as unsorted_segment_max
from actorflow.compat.v1 import unsorted_segment_mean as unsorted_segment_mean
from actorflow.compat.v1 import unsorted_segment_min as unsorted_segment_min
from actorflow.compat.v1 import unsorted_segment_prod as unsorted_segment_prod
from actorflow.compat.v1 import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from actorflow.compat.v1 import unsorted_segment_sum as unsorted_segment_sum
from actorflow.compat.v1 import unstack as unstack
from actorflow.compat.v1 import value_and_gradients_function as value_and_gradients_function
from actorflow.compat.v1 import variable_axis_size_partitioner as variable_axis_size_partitioner
from actorflow.compat.v1 import variable_creator_scope as variable_creator_scope
from actorflow.compat.v1 import variable_op_scope as variable_op_scope
from actorflow.compat.v1 import variable_scope as variable_scope
from actorflow.compat.v1 import variables_initializer as variables_initializer
from actorflow.compat.v1 import variance_scaling_initializer as variance_scaling_initializer
from actorflow.compat.v1 import variant as variant
from actorflow.compat.v1 import vectorized_map as vectorized_map
from actorflow.compat.v1 import verify_tensor_all_finite as verify_tensor_all_finite
from actorflow.compat.v1 import version as version
from actorflow.compat.v1 import where as where
from actorflow.compat.v1 import where_v2 as where_v2
from actorflow.compat.v1 import while_loop as while_loop
from actorflow.compat.v1 import with_dependencies as with_dependencies
from actorflow.compat.v1 import write_file as write_file
from actorflow.compat.v1 import zeros as zeros
from actorflow.compat.v1 import zeros_initializer as zeros_initializer
from actorflow.compat.v1 import zeros_like as zeros_like
from actorflow.compat.v1 import zeta as zeta
from actorflow.compat.v0 import nn as nn
from actorflow.graph.ops.io import summaries as _summaries
def concat(concat_dim: Any, values: Any, name: str='concat') -> Any:
    ...
def split(split_dim: Any, num_split: int, value: Any, name: str='split') -> Any:
    ...
def scalar_summary(tags: Any, values: Any, collections: Iterable[str] | None=None, name: str | None=None) -> Any:
    ...
def histogram_summary(tag: Any, values: Any, collections: Iterable[str] | None=None, name: str | None=None) -> Any:
    ...
def image_summary(tag: Any, tensor: Any, max_images: int=3, collections: Iterable[str] | None=None, name: str | None=None) -> Any:
    ...
def audio_summary(tag: Any, tensor: Any, sample_rate: Any, max_outputs: int=3, collections: Iterable[str] | None=None, name: str | None=None) -> Any:
    ...

__all__ = [
    "AUTO_REUSE",
    "AggregationMethod",
    "Assert",
    "AttrValue",
    "Barrier",
    "Batching",
    "COMPILER_VERSION",
    "CXX11_ABI_FLAG",
    "ClusterSpec",
    "ConditionalAccumulator",
    "ConditionalAccumulatorBase",
    "ConfigProto",
    "CostModel",
    "CriticalSection",
    "DType",
    "Defun",
    "DeviceSpec",
    "Dimension",
    "Event",
    "FIFOQueue",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FixedLengthRecordReader",
    "Function",
    "GIT_VERSION",
    "GPUOptions",
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
    "GradientTape",
    "Graph",
    "GraphDef",
    "GraphGrowthWarning",
    "GraphKeys",
    "GraphOptions",
    "HistogramProto",
    "IdentityReader",
    "IndexedSlices",
    "IndexedSlicesValue",
    "InteractiveSession",
    "LocalCluster",
    "LogMessage",
    "MONOLITHIC_BUILD",
    "MembershipChange",
    "MetaGraphDef",
    "Module",
    "NameAttrList",
    "NoGradient",
    "NodeDef",
    "NotDifferentiable",
    "OpError",
    "Operation",
    "OptimizerOptions",
    "PaddingFIFOQueue",
    "PartitionedVariable",
    "PlacementStudy",
    "PlacementTrial",
    "PlanOptions",
    "Print",
    "PriorityQueue",
    "QueueBase",
    "RaggedTensor",
    "RandomShuffleQueue",
    "ReaderBase",
    "Recording",
    "RegisterGradient",
    "RetracingWarning",
    "RunMetadata",
    "RunOptions",
    "Server",
    "Session",
    "SessionLimits",
    "SessionLog",
    "SessionStatistics",
    "SparseConditionalAccumulator",
    "SparseFeature",
    "SparseTensor",
    "SparseTensorSpec",
    "SparseTensorValue",
    "Summary",
    "SummaryMetadata",
    "Supervisor",
    "TFRecordReader",
    "TaskState",
    "Tensor",
    "TensorArray",
    "TensorInfo",
    "TensorLike",
    "TensorProto",
    "TensorShape",
    "TensorShapeProto",
    "TensorSpec",
    "TextLineReader",
    "Trace",
    "UnconnectedGradients",
    "VERSION",
    "ValueOptions",
    "VarLenFeature",
    "Variable",
    "VariableAggregation",
    "VariableScope",
    "VariableSynchronization",
    "WholeFileReader",
    "_summaries",
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
    "app",
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
    "audio",
    "audio_summary",
    "autograph",
    "batch_cholesky",
    "batch_gather",
    "batch_matmul",
    "batch_matrix_determinant",
    "batch_matrix_inverse",
    "batch_scatter_update",
    "batch_to_space",
    "batch_to_space_nd",
    "betainc",
    "bfloat16",
    "bincount",
    "bitcast",
    "bitwise",
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
    "compat",
    "complex",
    "complex128",
    "complex64",
    "complex_abs",
    "concat",
    "cond",
    "config",
    "confusion_matrix",
    "conj",
    "constant",
    "constant_initializer",
    "container",
    "contrib",
    "control_dependencies",
    "control_flow_v2_enabled",
    "control_trigger",
    "convert_to_tensor",
    "convert_to_tensor_or_indexed_slices",
    "convert_to_tensor_or_sparse_tensor",
    "cos",
    "cosh",
    "count_nonzero",
    "count_up_to",
    "create_partitioned_variables",
    "cross",
    "cumprod",
    "cumsum",
    "custom_gradient",
    "dashboard",
    "data",
    "debugging",
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
    "dimension_at_index",
    "dimension_value",
    "disable_control_flow_v2",
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_tensor_equality",
    "disable_v2_behavior",
    "disable_v2_tensorshape",
    "distribute",
    "distributions",
    "div",
    "div_no_nan",
    "divide",
    "double",
    "dtypes",
    "dynamic_partition",
    "dynamic_stitch",
    "eager",
    "edit_distance",
    "einsum",
    "enable_control_flow_v2",
    "enable_eager_execution",
    "enable_resource_variables",
    "enable_tensor_equality",
    "enable_v2_behavior",
    "enable_v2_tensorshape",
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
    "extract_volume_patches",
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
    "flags",
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
    "get_default_session",
    "get_local_variable",
    "get_logger",
    "get_seed",
    "get_session_handle",
    "get_session_tensor",
    "get_static_value",
    "get_variable",
    "get_variable_scope",
    "gfile",
    "global_norm",
    "global_variables",
    "global_variables_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "grad_pass_through",
    "gradients",
    "gradients_function",
    "graph_util",
    "greater",
    "greater_equal",
    "group",
    "guarantee_const",
    "half",
    "he_normal",
    "he_uniform",
    "hessians",
    "histogram_fixed_width",
    "histogram_fixed_width_bins",
    "histogram_summary",
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
    "image_summary",
    "implicit_gradients",
    "implicit_value_and_gradients",
    "import_graph_def",
    "init_scope",
    "initialize_all_tables",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "initializers",
    "int16",
    "int2",
    "int32",
    "int4",
    "int64",
    "int8",
    "inv",
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
    "listdiff",
    "load_file_system_library",
    "load_library",
    "load_model",
    "load_op_library",
    "local_variables",
    "local_variables_initializer",
    "log",
    "log1p",
    "log_sigmoid",
    "logging",
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
    "manip",
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
    "matrix_square_root",
    "matrix_transpose",
    "matrix_triangular_solve",
    "maximum",
    "measure_links",
    "merge",
    "merge_all_summaries",
    "merge_summary",
    "meshgrid",
    "metrics",
    "min_max_variable_partitioner",
    "minimum",
    "mod",
    "model_variables",
    "moving_average_variables",
    "mul",
    "multinomial",
    "multiply",
    "name_scope",
    "neg",
    "negative",
    "nest",
    "new_event_loop",
    "newaxis",
    "next_iteration",
    "nn",
    "no_gradient",
    "no_op",
    "no_regularizer",
    "norm",
    "not_equal",
    "numpy_function",
    "one_hot",
    "ones",
    "ones_initializer",
    "ones_like",
    "onnx",
    "op",
    "op_scope",
    "orthogonal_initializer",
    "pack",
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
    "print",
    "print_",
    "profiler",
    "py_func",
    "py_function",
    "python_io",
    "qr",
    "quantization",
    "quantize",
    "quantize_v2",
    "queue",
    "ragged",
    "random",
    "random_crop",
    "random_gamma",
    "random_normal",
    "random_normal_initializer",
    "random_poisson",
    "random_shuffle",
    "random_uniform",
    "random_uniform_initializer",
    "range",
    "range_",
    "rank",
    "read_file",
    "read_variable",
    "real",
    "realdiv",
    "reciprocal",
    "recompute",
    "recompute_grad",
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
    "resource",
    "resource_loader",
    "resource_variables_enabled",
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
    "scalar_summary",
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
    "select",
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
    "slice",
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
    "spectral",
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
    "sub",
    "substr",
    "subtract",
    "summary",
    "supervisor",
    "svd",
    "switch",
    "switch_case",
    "sysconfig",
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
    "test",
    "tile",
    "timestamp",
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
    "tuple",
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
    "unpack",
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
    "variable_creator_scope",
    "variable_op_scope",
    "variable_scope",
    "variables_initializer",
    "variance_scaling_initializer",
    "variant",
    "vectorized_map",
    "verify_tensor_all_finite",
    "version",
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
