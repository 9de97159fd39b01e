"""The table of names that only inner modules of TensorFlow have: where each is here.

A place is `module:name` of ours, or a path below `tf`, such as `train.Saver`. Modules beside this module are `standins:`,
`calculations:`, `cells:`, `linear:` and `structures:`.
"""

from __future__ import annotations

import importlib
from typing import Any

import actorflow.compat.v1 as v1
from actorflow.compat.door import structures


def _at(module: str, names: str) -> dict[str, str]:
    """The places of names, separated by spaces, that a module has under the same names."""
    return {name: f"{module}:{name}" for name in names.split()}


_DECORATORS = _at(
    "standins", "deprecated deprecated_args deprecated_arg_values deprecated_argument_lookup deprecated_alias"
)

_TYPES = "bool complex64 complex128 float16 float32 float64 int8 int16 int32 int64 string uint8"

_INSPECTED = (
    "getmembers getmodule getmro getsource getsourcefile getdoc getfile isclass isfunction ismethod ismodule isgenerator "
    "isgeneratorfunction isroutine isbuiltin isframe currentframe signature stack getcallargs"
)

NAMES: dict[str, dict[str, str]] = {
    "client.device_lib": {"list_local_devices": "standins:list_local_devices"},
    "client.session": {
        "BaseSession": "Session",
        "register_session_run_conversion_functions": "standins:register_conversions",
    },
    "client.timeline": {"Timeline": "actorflow.compat.door.timeline:Timeline"},
    "eager.backprop": {
        "implicit_grad": "implicit_gradients",
        "implicit_val_and_grad": "implicit_value_and_gradients",
        "val_and_grad_function": "value_and_gradients_function",
    },
    "eager.context": {
        "context": "standins:context",
        "in_eager_mode": "executing_eagerly",
        **_at("standins", "in_graph_mode graph_mode eager_mode num_gpus"),
    },
    "eager.function": {"defun": "function"},
    "estimator.estimator": {"EstimatorV2": "estimator.Estimator"},
    **{
        f"estimator.canned.{module}": {
            f"{name}V2": f"estimator.{name}"
            if name.endswith("Estimator")
            else f"actorflow.compat.estimator.second:{name}V2"
            for name in names.split()
        }
        for module, names in {
            "baseline": "BaselineClassifier BaselineEstimator BaselineRegressor",
            "dnn": "DNNClassifier DNNEstimator DNNRegressor",
            "dnn_linear_combined": "DNNLinearCombinedClassifier DNNLinearCombinedEstimator DNNLinearCombinedRegressor",
            "linear": "LinearClassifier LinearEstimator LinearRegressor",
        }.items()
    },
    "estimator.canned.metric_keys": {"MetricKeys": "actorflow.compat.estimator.keys:MetricKeys"},
    "estimator.canned.prediction_keys": {"PredictionKeys": "actorflow.compat.estimator.keys:PredictionKeys"},
    "estimator.model_fn": {
        "LOSS_METRIC_KEY": "actorflow.compat.estimator.keys:MetricKeys.LOSS",
        "AVERAGE_LOSS_METRIC_KEY": "actorflow.compat.estimator.keys:MetricKeys.LOSS_MEAN",
    },
    "estimator.run_config": {"TaskType": "actorflow.compat.estimator.keys:TaskType"},
    "framework.composite_tensor": {"CompositeTensor": "standins:CompositeTensor"},
    "framework.type_spec": {"BatchableTypeSpec": "refused:TYPE_SPEC"},
    "framework.constant_op": {"_constant_impl": "constant"},
    "framework.device": {"merge_device": "standins:merge_device", "canonical_name": "standins:canonical_name"},
    "framework.device_spec": {"DeviceSpecV1": "DeviceSpec"},
    "framework.dtypes": {f"{name}_ref": name for name in _TYPES.split()},
    "framework.function": {"Defun": "Defun", "Declare": "standins:declare"},
    "framework.indexed_slices": {"IndexedSlices": "IndexedSlices"},
    "framework.ops": {
        "EagerTensor": "Tensor",
        "_get_graph_from_inputs": "standins:graph_of_inputs",
        "convert_n_to_tensor": "standins:convert_n_to_tensor",
        "convert_n_to_tensor_or_indexed_slices": "standins:convert_n_to_tensor",
        "convert_to_tensor_or_composite": "convert_to_tensor_or_indexed_slices",
        "colocate_with": "colocate_with",
        "control_dependencies": "control_dependencies",
        "executing_eagerly_outside_functions": "executing_eagerly",
        "get_all_collection_keys": "standins:collection_keys",
        "get_from_proto_function": "standins:proto_function",
        "get_gradient_function": "standins:gradient_function",
        "get_to_proto_function": "standins:proto_function",
        "internal_convert_to_tensor": "convert_to_tensor",
        "internal_convert_to_tensor_or_indexed_slices": "convert_to_tensor_or_indexed_slices",
        "is_dense_tensor_like": "is_tensor",
        "name_from_scope_name": "standins:name_from_scope_name",
        "register_dense_tensor_like_type": "standins:register_type",
        **_at("standins", "register_proto_function strip_name_scope uid"),
        "op_scope": "op_scope",
    },
    "framework.sparse_tensor": {"is_sparse": "calculations:is_sparse"},
    "framework.smart_cond": {"smart_cond": "standins:smart_cond", "smart_constant_value": "standins:constant_value"},
    "framework.tensor_shape": {
        "as_dimension": "Dimension",
        "as_shape": "TensorShape",
        "scalar": "standins:scalar_shape",
        "unknown_shape": "standins:unknown_shape",
        "vector": "standins:vector_shape",
        "matrix": "standins:matrix_shape",
    },
    "framework.tensor_util": {
        "constant_value": "standins:constant_value",
        "constant_value_as_shape": "standins:constant_shape",
        "MakeNdarray": "make_ndarray",
        "make_ndarray": "make_ndarray",
        "is_tensor": "is_tensor",
        "TensorShapeProtoToList": "standins:shape_list",
    },
    "framework.test_util": {
        "run_in_graph_and_eager_modes": "standins:as_it_is",
        "run_deprecated_v1": "standins:as_it_is",
        "run_v1_only": "standins:as_it_is",
        "run_all_in_graph_and_eager_modes": "standins:as_it_is",
        "run_cuda_only": "standins:as_it_is",
        "TensorFlowTestCase": "test.TestCase",
        "deprecated_graph_mode_only": "standins:as_it_is",
        "skip_if": "standins:as_it_is",
        "use_deterministic_cudnn": "standins:as_it_is",
        "enable_control_flow_v2": "standins:as_it_is",
        "disable_xla": "standins:as_it_is",
        **{
            name: "standins:as_it_is"
            for name in (
                "assert_no_garbage_created",
                "assert_no_new_pyobjects_executing_eagerly",
                "assert_no_new_tensors",
                "run_gpu_only",
                "run_in_async_and_sync_mode",
                "run_in_graph_and_eager_mode",
                "run_v2_only",
                "with_c_api",
                "with_c_shapes",
                "with_control_flow_v2",
            )
        },
    },
    "keras.utils.tf_utils": {"register_symbolic_tensor_type": "standins:nothing"},
    "layers.utils": {
        **_at("standins", "smart_cond constant_value"),
        "normalize_tuple": "calculations:normalize_tuple",
        **{f"{kind}_length": f"calculations:{kind}_length" for kind in ("conv_input", "conv_output", "deconv_output")},
        **{
            name: f"calculations:{name}"
            for name in ("convert_data_format", "normalize_data_format", "normalize_padding")
        },
    },
    "layers.normalization": {"batch_norm": "layers.batch_normalization"},
    "layers.core": {"FullyConnected": "layers.Dense", "fully_connected": "layers.dense"},
    "layers.convolutional": {
        "Convolution1D": "layers.Conv1D",
        "Convolution2D": "layers.Conv2D",
        "Convolution3D": "layers.Conv3D",
        "Convolution2DTranspose": "layers.Conv2DTranspose",
        "Convolution3DTranspose": "layers.Conv3DTranspose",
        "SeparableConvolution1D": "layers.SeparableConv1D",
        "SeparableConvolution2D": "layers.SeparableConv2D",
    },
    "lib.io.file_io": {
        **_at("standins", "write_string_to_file read_file_to_string"),
        "FileIO": "gfile.GFile",
        "file_exists": "gfile.Exists",
        "delete_file": "gfile.Remove",
        "get_matching_files": "gfile.Glob",
        "create_dir": "gfile.MkDir",
        "recursive_create_dir": "gfile.MakeDirs",
        "copy": "gfile.Copy",
        "rename": "gfile.Rename",
        "delete_recursively": "gfile.DeleteRecursively",
        "is_directory": "gfile.IsDirectory",
        "list_directory": "gfile.ListDirectory",
        "walk": "gfile.Walk",
        "stat": "gfile.Stat",
    },
    "ops.array_ops": {f"{name}_internal": f"calculations:{name}_internal" for name in ("shape", "size", "rank")}
    | {"scatter_nd_non_aliasing_add": "tensor_scatter_add"},
    "ops.confusion_matrix": {"remove_squeezable_dimensions": "calculations:remove_squeezable_dimensions"},
    "ops.control_flow_ops": {"with_dependencies": "calculations:with_dependencies"},
    "ops.control_flow_util": {
        "GraphOrParentsInXlaContext": "standins:never",
        "GetContainingXLAContext": "standins:nothing",
        "GetContainingWhileContext": "standins:nothing",
        "IsInXLAContext": "standins:never",
        "IsInWhileLoop": "standins:never",
        "ENABLE_CONTROL_FLOW_V2": "standins:FALSE",
        "EnableControlFlowV2": "standins:never",
    },
    "ops.gradients_impl": {
        "gradients_v2": "gradients",
        "_hessian_vector_product": "calculations:hessian_vector_product",
    },
    "ops.init_ops": {
        "Constant": "initializers.constant",
        "GlorotNormal": "glorot_normal_initializer",
        "GlorotUniform": "glorot_uniform_initializer",
        "Identity": "initializers.identity",
        "Initializer": "actorflow.graph.variables.initializers:Initializer",
        "Ones": "initializers.ones",
        "Orthogonal": "initializers.orthogonal",
        "RandomNormal": "initializers.random_normal",
        "RandomUniform": "initializers.random_uniform",
        "TruncatedNormal": "initializers.truncated_normal",
        "UniformUnitScaling": "initializers.uniform_unit_scaling",
        "VarianceScaling": "initializers.variance_scaling",
        "Zeros": "initializers.zeros",
    },
    "ops.inplace_ops": {
        "alias_inplace_update": "calculations:inplace_update",
        "alias_inplace_add": "calculations:inplace_add",
        "alias_inplace_sub": "calculations:inplace_sub",
        **_at("calculations", "inplace_update inplace_add inplace_sub empty"),
        "empty_like": "zeros_like",
    },
    "ops.metrics_impl": {
        "_remove_squeezable_dimensions": "calculations:squeezed_for_metric",
        "metric_variable": "calculations:metric_variable",
        "_safe_scalar_div": "math.divide_no_nan",
        "_safe_div": "calculations:safe_div",
        "_aggregate_variable": "calculations:aggregate_variable",
        "_confusion_matrix_at_thresholds": "calculations:counts_at_thresholds",
        "_streaming_sparse_average_precision_at_top_k": "actorflow.models.metrics.ranking:average_precision_at_top_k",
    },
    "ops.gen_linalg_ops": {"matrix_logarithm": "linalg.logm", "log_matrix_determinant": "linalg.slogdet"},
    "ops.gen_nn_ops": {
        "softmax_cross_entropy_with_logits": "actorflow.graph.ops.nn.losses:softmax_cross_entropy_op",
        "sparse_softmax_cross_entropy_with_logits": "actorflow.graph.ops.nn.losses:sparse_softmax_cross_entropy_op",
    },
    "ops.lookup_ops": {
        "TextFileIdTableInitializer": "calculations:text_file_id_table_initializer",
        "TextFileStringTableInitializer": "calculations:text_file_string_table_initializer",
    },
    "ops.math_ops": {
        "_bucketize": "calculations:bucketize",
        "floor_mod": "floormod",
        "tensor_dot": "tensordot",
        "sparse_segment_sum_with_num_segments": "sparse_segment_sum",
        "sparse_segment_mean_with_num_segments": "sparse_segment_mean",
        "sparse_segment_sqrt_n_with_num_segments": "sparse_segment_sqrt_n",
    },
    "ops.nn_ops": {
        "convolution_internal": "nn.convolution",
        "_get_noise_shape": "calculations:noise_shape",
        "nth_element": "actorflow.compat.contrib.moving:nth_element",
    },
    "ops.script_ops": {"eager_py_func": "py_function"},
    "ops.resource_variable_ops": {
        "ResourceVariable": "Variable",
        "is_resource_variable": "standins:always",
        "BaseResourceVariable": "Variable",
    },
    "ops.resources": {
        "initialize_resources": "calculations:initializers_of",
        "shared_resources": "standins:no_list",
        "local_resources": "standins:no_list",
        "register_resource": "standins:nothing",
        "report_uninitialized_resources": "standins:no_names",
    },
    "ops.rnn": {
        "_transpose_batch_time": "calculations:transpose_batch_time",
        "_best_effort_input_batch_size": "calculations:batch_size",
        "_reverse_seq": "calculations:reverse_in_time",
    },
    "ops.rnn_cell_impl": {
        "_Linear": "cells:Linear",
        "_linear": "cells:linear",
        "_RNNCell": "nn.rnn_cell.RNNCell",
        "LayerRNNCell": "cells:LayerRNNCell",
        "_LayerRNNCell": "cells:LayerRNNCell",
        "_WEIGHTS_VARIABLE_NAME": "standins:KERNEL",
        "_BIAS_VARIABLE_NAME": "standins:BIAS",
        "_zero_state_tensors": "cells:zero_state_tensors",
        "_concat": "cells:concat_shapes",
        "assert_like_rnncell": "cells:assert_like_rnncell",
        "_like_rnncell": "cells:like_rnncell",
    },
    "ops.summary_op_util": {
        "skip_summary": "standins:never",
    },
    "ops.variable_scope": {"variable": "Variable", "default_variable_creator": "calculations:create_variable"},
    "ops.variables": {"VariableV1": "Variable", "RefVariable": "Variable"},
    "ops.weights_broadcast_ops": _at("calculations", "broadcast_weights assert_broadcastable"),
    "platform.build_info": {
        "build_info": "standins:no_dict",
        "is_cuda_build": "standins:FALSE",
        "is_rocm_build": "standins:FALSE",
    },
    "pywrap_tensorflow": {
        "NewCheckpointReader": "train.NewCheckpointReader",
        "CheckpointReader": "train.NewCheckpointReader",
    },
    "tf2": {"enabled": "standins:never", "enable": "standins:refuse_v2", "disable": "disable_v2_behavior"},
    "training.evaluation": {
        f"_{name}": f"actorflow.compat.contrib.training.evaluation:{name}"
        for name in ("StopAfterNEvalsHook", "evaluate_once", "get_or_create_eval_step")
    },
    "training.training_util": {"_increment_global_step": "calculations:increment_global_step"},
    "training.moving_averages": _at("calculations", "assign_moving_average weighted_moving_average"),
    "training.optimizer": {"_deduplicate_indexed_slices": "calculations:deduplicate_indexed_slices"},
    "training.slot_creator": {
        name: f"actorflow.models.train.optimizers.slot_creator:{name}" for name in ("create_slot", "create_zeros_slot")
    },
    "util.all_util": {"make_all": "standins:make_all", "remove_undocumented": "standins:nothing"}
    | {"reveal_undocumented": "standins:nothing"},
    "util.deprecation": _DECORATORS,
    "util.decorator_utils": {"validate_callable": "standins:nothing"},
    "util.function_utils": {
        "fn_args": "standins:fn_args",
        "get_func_name": "standins:function_name",
        "has_kwargs": "standins:has_kwargs",
    },
    **{f"{package}util.nest": {name: f"structures:{name}" for name in structures.__all__} for package in ("", "data.")},
    "ops.linalg.linear_operator_util": _at(
        "linear",
        "assert_compatible_matrix_dimensions assert_is_batch_matrix assert_no_entries_with_modulus_zero "
        "assert_not_ref_type assert_zero_imag_part broadcast_matrix_batch_dims cholesky_solve_with_broadcast "
        "convert_nonref_to_tensor is_ref matrix_solve_with_broadcast matrix_triangular_solve_with_broadcast "
        "shape_tensor use_operator_or_provided_hint_unless_contradicting",
    ),
    "platform.control_imports": {name: "standins:TRUE" for name in ("OSS_APP", "OSS_FLAGS", "OSS_GFILE", "USE_OSS")},
    "util.keyword_args": {"keyword_args_only": "standins:as_it_is"},
    "util.lazy_loader": {"LazyLoader": "standins:LazyLoader"},
    "util.tf_contextlib": {"contextmanager": "contextlib:contextmanager"},
    "util.tf_decorator": _at("standins", "make_decorator unwrap rewrap"),
    "util.tf_export": {name: "standins:exporter" for name in ("tf_export", "estimator_export", "keras_export")},
    "util.tf_inspect": {name: f"inspect:{name}" for name in _INSPECTED.split()}
    | {"getargspec": "standins:full_arguments", "getfullargspec": "standins:full_arguments"},
    "util.tf_should_use": {"should_use_result": "standins:as_it_is"},
}
"""The names of modules below `tensorflow.python` that no public namespace has."""


_BESIDE = ("standins", "calculations", "cells", "linear", "refused", "structures")


def get(place: str) -> Any:
    """The thing at a place of the table. Raises AttributeError or ImportError if the thing is not there."""
    module, colon, name = place.partition(":")
    if not colon:
        thing: Any = v1
        for part in module.split("."):
            thing = getattr(thing, part)
        return thing
    home = f"actorflow.compat.door.{module}" if module in _BESIDE else module
    thing = importlib.import_module(home)
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing
