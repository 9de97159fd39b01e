"""The table of the modules below `tensorflow.python`: for each the public namespaces of TensorFlow 1.15 that have its names.

A module of TensorFlow's sources has functions that are public elsewhere: `tensorflow.python.ops.array_ops` those of `tf` and
some of `tf.nn`. The order says which namespace is asked first. `=nest` stands for the module `tf.nest` itself.
"""

from __future__ import annotations

import difflib

_TABLE: tuple[tuple[str, str, str], ...] = (
    ("", "tf", "tf2"),
    ("", "train tf", "pywrap_tensorflow pywrap_tensorflow_internal"),
    ("autograph", "autograph autograph.experimental", "impl.api"),
    ("checkpoint", "train", "checkpoint_management"),
    ("client", "tf", "client_lib device_lib session timeline"),
    ("compat", "compat", "compat"),
    ("data", "nest", "util.nest"),
    ("data", "data", "ops.readers util.convert util.sparse"),
    ("data", "data data.experimental", "ops.dataset_ops ops.iterator_ops"),
    ("data", "data.experimental tf", "ops.optional_ops"),
    (
        "distribute",
        "distribute",
        "cross_device_ops distribute_lib distribution_strategy_context mirrored_strategy one_device_strategy "
        "reduce_util",
    ),
    ("eager", "tf", "backprop function ops tape"),
    ("eager", "tf config", "def_function"),
    ("eager", "tf config config.experimental debugging", "context"),
    ("estimator", "=estimator", "estimator_lib"),
    (
        "estimator",
        "estimator",
        "canned.baseline canned.dnn canned.dnn_linear_combined canned.head canned.linear canned.metric_keys "
        "canned.parsing_utils canned.prediction_keys estimator exporter model_fn run_config training util",
    ),
    ("estimator", "estimator estimator.experimental train", "early_stopping hooks.basic_session_run_hooks hooks.hooks"),
    ("estimator", "estimator", "mode_keys"),
    ("estimator", "estimator.export", "export.export_output"),
    ("estimator", "estimator.export estimator saved_model", "export.export_lib"),
    ("estimator", "estimator.export estimator", "export.export"),
    ("estimator", "estimator.inputs", "inputs.inputs inputs.numpy_io inputs.pandas_io"),
    ("feature_column", "=feature_column", "feature_column_lib"),
    ("feature_column", "feature_column", "feature_column feature_column_v2 sequence_feature_column"),
    ("framework", "=errors", "errors"),
    ("framework", "=graph_util", "graph_util"),
    ("framework", "config config.experimental config.threading config.optimizer", "config"),
    ("framework", "dtypes tf", "dtypes"),
    ("framework", "errors", "errors_impl"),
    ("framework", "graph_util", "graph_util_impl"),
    ("framework", "io", "graph_io"),
    ("framework", "random tf", "random_seed"),
    ("framework", "test", "test_util"),
    (
        "framework",
        "tf",
        "c_api_util common_shapes composite_tensor constant_op device device_spec function graph_to_function_def "
        "indexed_slices load_library op_def_registry ops registry smart_cond tensor_conversion_registry "
        "tensor_shape tensor_spec tensor_util type_spec",
    ),
    ("framework", "tf errors", "framework_lib"),
    ("framework", "tf graph_util", "importer"),
    ("framework", "tf sparse", "sparse_tensor"),
    ("framework", "train tf", "meta_graph"),
    ("framework", "version tf", "versions"),
    ("keras", "layers", "engine.input_spec"),
    ("keras", "layers.utils", "utils.tf_utils"),
    ("layers", "=layers", "layers"),
    ("layers", "layers", "convolutional core normalization pooling utils"),
    ("layers", "layers tf", "base"),
    ("lib", "=python_io", "io.python_io"),
    ("lib", "gfile io.gfile", "io.file_io"),
    ("lib", "python_io io", "io.tf_record"),
    ("ops", "=distributions", "distributions.distributions"),
    ("ops", "=linalg", "linalg.linalg"),
    ("ops", "=losses", "losses.losses"),
    ("ops", "=nn.rnn_cell", "rnn_cell"),
    ("ops", "bitwise", "bitwise_ops"),
    (
        "ops",
        "distributions",
        "distributions.bernoulli distributions.beta distributions.categorical distributions.dirichlet "
        "distributions.dirichlet_multinomial distributions.distribution distributions.exponential distributions.gamma "
        "distributions.kullback_leibler distributions.laplace distributions.multinomial distributions.normal "
        "distributions.student_t distributions.uniform",
    ),
    ("ops", "debugging math tf", "check_ops"),
    ("ops", "debugging tf", "numerics"),
    ("ops", "image io", "image_ops_impl"),
    ("ops", "image tf", "gen_image_ops image_ops"),
    ("ops", "initializers tf", "init_ops_v2"),
    ("ops", "io tf", "gen_io_ops gen_parsing_ops io_ops parsing_ops"),
    (
        "ops",
        "linalg",
        "linalg.linalg_impl linalg.linear_operator linalg.linear_operator_adjoint "
        "linalg.linear_operator_block_diag linalg.linear_operator_circulant "
        "linalg.linear_operator_composition linalg.linear_operator_diag linalg.linear_operator_full_matrix "
        "linalg.linear_operator_householder linalg.linear_operator_identity linalg.linear_operator_inversion "
        "linalg.linear_operator_kronecker linalg.linear_operator_low_rank_update "
        "linalg.linear_operator_lower_triangular linalg.linear_operator_toeplitz linalg.linear_operator_zeros "
        "linalg.linear_operator_addition linalg.linear_operator_util",
    ),
    ("ops", "linalg tf", "gen_linalg_ops linalg_ops"),
    ("ops", "lookup initializers tf", "lookup_ops"),
    ("ops", "losses", "losses.losses_impl losses.util"),
    ("ops", "math", "confusion_matrix"),
    ("ops", "math tf", "gen_math_ops special_math_ops"),
    ("ops", "math tf sparse linalg dtypes", "math_ops"),
    ("ops", "metrics", "metrics metrics_impl"),
    ("ops", "nn", "ctc_ops embedding_ops rnn"),
    ("ops", "nn linalg math", "nn_impl"),
    ("ops", "nn math", "nn nn_ops"),
    ("ops", "nn tf", "gen_nn_ops"),
    ("ops", "nn.rnn_cell", "rnn_cell_impl"),
    ("ops", "queue tf sparse", "data_flow_ops"),
    (
        "ops",
        "ragged",
        "ragged.ragged_array_ops ragged.ragged_concat_ops ragged.ragged_factory_ops "
        "ragged.ragged_functional_ops ragged.ragged_math_ops ragged.ragged_tensor_value ragged.segment_id_ops",
    ),
    ("ops", "random", "stateless_random_ops"),
    ("ops", "random nn", "candidate_sampling_ops"),
    ("ops", "random tf", "gen_random_ops"),
    ("ops", "random.experimental", "stateful_random_ops"),
    ("ops", "sets", "sets sets_impl"),
    (
        "ops",
        "signal",
        "signal.dct_ops signal.fft_ops signal.mel_ops signal.mfcc_ops signal.reconstruction_ops "
        "signal.shape_ops signal.spectral_ops signal.window_ops",
    ),
    ("ops", "signal spectral", "gen_spectral_ops"),
    ("ops", "sparse io tf", "sparse_ops"),
    ("ops", "sparse tf", "gen_sparse_ops"),
    ("ops", "spectral signal", "spectral_ops"),
    ("ops", "strings", "ragged.ragged_string_ops"),
    ("ops", "strings tf", "gen_string_ops string_ops"),
    ("ops", "summary", "summary_op_util summary_ops summary_ops_v2"),
    ("ops", "summary tf", "logging_ops"),
    ("ops", "test", "gradient_checker"),
    (
        "ops",
        "tf",
        "batch_ops cond control_flow_case control_flow_ops control_flow_util critical_section_ops "
        "custom_gradient functional_ops gen_array_ops gen_audio_ops gen_bitwise_ops "
        "gen_candidate_sampling_ops gen_checkpoint_ops gen_control_flow_ops gen_ctc_ops gen_data_flow_ops "
        "gen_dataset_ops gen_functional_ops gen_list_ops gen_logging_ops gen_lookup_ops gen_manip_ops "
        "gen_resource_variable_ops gen_rnn_ops gen_script_ops gen_sdca_ops gen_set_ops gen_state_ops "
        "gen_summary_ops gen_user_ops gradients gradients_impl gradients_util histogram_ops inplace_ops "
        "manip_ops map_fn parallel_for.control_flow_ops partitioned_variables ragged.ragged_tensor "
        "resource_variable_ops resources script_ops session_ops sort_ops standard_ops state_ops template "
        "tensor_array_ops unconnected_gradients variable_scope weights_broadcast_ops while_loop",
    ),
    (
        "ops",
        "tf",
        "array_grad control_flow_grad cudnn_rnn_grad data_flow_grad image_grad linalg_grad lookup_grad manip_grad "
        "math_grad nn_grad optional_grad random_grad rnn_grad sparse_grad spectral_grad state_grad tensor_array_grad",
    ),
    ("ops", "tf initializers", "init_ops variables"),
    ("ops", "tf linalg", "clip_ops"),
    ("ops", "tf nn linalg quantization sparse", "array_ops"),
    ("ops", "tf random", "random_ops"),
    ("platform", "=app", "app"),
    ("platform", "=flags", "flags"),
    ("platform", "=gfile", "gfile"),
    ("platform", "=logging", "tf_logging"),
    ("platform", "=test", "googletest test"),
    ("platform", "resource_loader", "resource_loader"),
    ("platform", "sysconfig", "sysconfig"),
    ("platform", "test", "benchmark build_info control_imports"),
    ("profiler", "profiler", "model_analyzer option_builder tfprof_logger"),
    ("saved_model", "=saved_model", "saved_model"),
    ("saved_model", "=saved_model.builder", "builder"),
    ("saved_model", "=saved_model.constants", "constants"),
    ("saved_model", "=saved_model.loader", "loader"),
    ("saved_model", "=saved_model.signature_constants", "signature_constants"),
    ("saved_model", "=saved_model.signature_def_utils", "signature_def_utils"),
    ("saved_model", "=saved_model.tag_constants", "tag_constants"),
    ("saved_model", "=saved_model.utils", "utils"),
    ("saved_model", "saved_model", "builder_impl load save signature_def_utils_impl simple_save"),
    ("saved_model", "saved_model.loader saved_model", "loader_impl"),
    ("saved_model", "saved_model.main_op", "main_op"),
    ("saved_model", "saved_model.utils saved_model", "utils_impl"),
    ("summary", "summary", "summary writer.writer writer.writer_cache"),
    ("summary", "train", "summary_iterator"),
    ("training", "distribute", "distribution_strategy_context"),
    ("training", "io", "input"),
    (
        "training",
        "train",
        "adadelta adagrad adagrad_da adam basic_loops basic_session_run_hooks checkpoint_management "
        "checkpoint_state_pb2 checkpoint_utils checkpointable.base checkpointable.tracking "
        "checkpointable.util coordinator device_setter evaluation ftrl gradient_descent learning_rate_decay "
        "learning_rate_decay_v2 momentum monitored_session moving_averages optimizer proximal_adagrad "
        "proximal_gradient_descent rmsprop saveable_object saveable_object_util saver saving.saveable_object "
        "session_manager session_run_hook slot_creator supervisor sync_replicas_optimizer tracking.base "
        "tracking.tracking tracking.util training_ops training_util warm_starting_util",
    ),
    ("training", "train distribute", "server_lib"),
    ("training", "train initializers", "checkpoint_ops"),
    ("training", "train tf", "training"),
    (
        "training",
        "train.experimental",
        "experimental.loss_scale experimental.loss_scale_optimizer experimental.mixed_precision tracking.python_state",
    ),
    ("training", "train.queue_runner", "queue_runner_impl"),
    ("training", "train.queue_runner train", "queue_runner"),
    ("user_ops", "tf", "user_ops"),
    ("util", "=compat", "compat"),
    ("util", "nest", "nest"),
    (
        "util",
        "tf",
        "all_util decorator_utils deprecation function_utils is_in_graph_mode keyword_args lazy_loader "
        "object_identity serialization tf_contextlib tf_decorator tf_export tf_inspect tf_should_use",
    ),
)
"""Rows of a package, namespaces, and the package's modules that have their names there."""

SPACES: dict[str, str] = {
    f"{package}.{module}".lstrip("."): spaces for package, spaces, names in _TABLE for module in names.split()
}
"""The namespaces of each module below `tensorflow.python`."""

PACKAGES = frozenset(".".join(module.split(".")[:depth]) for module in SPACES for depth in range(module.count(".") + 1))
"""The packages that hold these modules; "" is `tensorflow.python` itself."""

ALL = (
    "tf",
    "nn",
    "math",
    "train",
    "io",
    "linalg",
    "image",
    "losses",
    "metrics",
    "layers",
    "strings",
    "sparse",
    "random",
    "debugging",
    "nn.rnn_cell",
    "summary",
    "errors",
    "initializers",
    "lookup",
    "data",
    "saved_model",
    "signal",
    "sets",
    "bitwise",
    "graph_util",
    "quantization",
    "estimator",
)
"""The namespaces that are searched for a name that a module's own do not have."""


def nearest(below: str) -> str:
    """A sentence about the module that looks most like `below`, which is a path below `tensorflow`; empty if none does."""
    near = difflib.get_close_matches(below.removeprefix("python."), SPACES, 1, 0.8)
    return f" Did it mean tensorflow.python.{near[0]}?" if near else ""
