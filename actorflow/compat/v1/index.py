"""The modules of TensorFlow's names that actorflow does not have so: `make names` writes this file from the marks in the sources."""

from __future__ import annotations

MODULES: dict[str, dict[str, str]] = {
    "tf": {
        "actorflow.base.dtypes": "double:float64 half:float16 resource variant",
        "actorflow.compat.autograph": "autograph:",
        "actorflow.compat.contrib": "contrib:",
        "actorflow.compat.distribute": "distribute:",
        "actorflow.compat.files.audio": "audio:",
        "actorflow.compat.files.gfile": "gfile:",
        "actorflow.compat.names.config": "config:",
        "actorflow.compat.names.devices": "DeviceSpec",
        "actorflow.compat.names.distributions": "distributions:",
        "actorflow.compat.names.functions": "function grad_pass_through no_regularizer timestamp vectorized_map",
        "actorflow.compat.names.graphs": "convert_to_tensor_or_indexed_slices op_scope recompute_grad",
        "actorflow.compat.names.libraries": "load_file_system_library:load_op_library load_library load_op_library",
        "actorflow.compat.names.numerics": "extract_volume_patches",
        "actorflow.compat.names.resource_loader": "resource_loader:",
        "actorflow.compat.names.switches": "VariableAggregation VariableSynchronization control_flow_v2_enabled"
            " disable_control_flow_v2 disable_tensor_equality enable_control_flow_v2 enable_tensor_equality"
            " enable_v2_behavior resource_variables_enabled",
        "actorflow.compat.names.sysconfig": "sysconfig:",
        "actorflow.compat.names.versions": "COMPILER_VERSION CXX11_ABI_FLAG GIT_VERSION GRAPH_DEF_VERSION"
            " GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER MONOLITHIC_BUILD version:",
        "actorflow.compat.profiler": "profiler:",
        "actorflow.compat.ragged": "ragged:",
        "actorflow.compat.ragged.tensor": "RaggedTensor",
        "actorflow.compat.v1.app": "app:",
        "actorflow.compat.v1.behavior": "VERSION disable_resource_variables:disable_v2_behavior disable_v2_behavior"
            " enable_resource_variables:disable_v2_behavior",
        "actorflow.compat.v1.bitwise": "bitwise:",
        "actorflow.compat.v1.blocking": "blocking:",
        "actorflow.compat.v1.compat": "compat:",
        "actorflow.compat.v1.dashboard": "dashboard:",
        "actorflow.compat.v1.data": "data:",
        "actorflow.compat.v1.debugging": "debugging:",
        "actorflow.compat.v1.dimensions": "Dimension dimension_at_index dimension_value disable_v2_tensorshape"
            " enable_v2_tensorshape",
        "actorflow.compat.v1.dtypes": "dtypes:",
        "actorflow.compat.v1.errors": "errors:",
        "actorflow.compat.v1.estimator": "estimator:",
        "actorflow.compat.v1.export": "export:",
        "actorflow.compat.v1.feature_column": "feature_column:",
        "actorflow.compat.v1.flags": "flags:",
        "actorflow.compat.v1.generation": "generation:",
        "actorflow.compat.v1.graph_util": "graph_util:",
        "actorflow.compat.v1.image": "image:",
        "actorflow.compat.v1.initializers": "initializers:",
        "actorflow.compat.v1.io": "io:",
        "actorflow.compat.v1.layers": "layers:",
        "actorflow.compat.v1.linalg": "linalg:",
        "actorflow.compat.v1.logs": "get_logger logging:",
        "actorflow.compat.v1.lookup": "lookup:",
        "actorflow.compat.v1.losses": "losses:",
        "actorflow.compat.v1.manip": "manip:",
        "actorflow.compat.v1.math": "math:",
        "actorflow.compat.v1.metrics": "metrics:",
        "actorflow.compat.v1.nest": "nest:",
        "actorflow.compat.v1.nn": "nn:",
        "actorflow.compat.v1.onnx": "onnx:",
        "actorflow.compat.v1.options": "ConfigProto GPUOptions GraphOptions OptimizerOptions RunOptions",
        "actorflow.compat.v1.python_io": "python_io:",
        "actorflow.compat.v1.quantization": "quantization:",
        "actorflow.compat.v1.queue": "queue:",
        "actorflow.compat.v1.random": "random:",
        "actorflow.compat.v1.saved_model": "saved_model:",
        "actorflow.compat.v1.serving": "serving:",
        "actorflow.compat.v1.sessions": "InteractiveSession Session get_default_session",
        "actorflow.compat.v1.sets": "sets:",
        "actorflow.compat.v1.signal": "signal:",
        "actorflow.compat.v1.sparse": "sparse:",
        "actorflow.compat.v1.spectral": "spectral:",
        "actorflow.compat.v1.strings": "strings:",
        "actorflow.compat.v1.summary": "summary:",
        "actorflow.compat.v1.supervisor": "supervisor:",
        "actorflow.compat.v1.test": "test:",
        "actorflow.compat.v1.train": "train:",
        "actorflow.errors": "OpError",
        "actorflow.graph.autodiff.override": "NoGradient:NotDifferentiable no_gradient:NotDifferentiable",
        "actorflow.graph.graphdef.protos": "AttrValue GraphDef MetaGraphDef NameAttrList NodeDef TensorInfo TensorProto"
            " TensorShapeProto",
        "actorflow.graph.ops.array.index": "slice:slice_",
        "actorflow.graph.ops.flow.control": "tuple:tuple_",
        "actorflow.graph.ops.flow.printing": "print:print_",
        "actorflow.graph.ops.linalg.functions": "matrix_square_root:sqrtm",
        "actorflow.graph.ops.math.cumulative": "range:range_",
        "actorflow.graph.ops.random.distributions": "get_seed",
        "actorflow.graph.ops.state.accumulators": "ConditionalAccumulatorBase",
        "actorflow.graph.sparse_tensor": "convert_to_tensor_or_sparse_tensor",
        "actorflow.graph.structure.module": "Module",
        "actorflow.graph.variables.creators": "variable_creator_scope",
        "actorflow.graph.variables.scope": "create_partitioned_variables variable_op_scope",
        "actorflow.models.summary.protos": "Event HistogramProto LogMessage RunMetadata SessionLog Summary SummaryMetadata",
    },
    "tf.bitwise": {
        "actorflow.graph.ops.math.logic": "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift",
    },
    "tf.blocking": {},
    "tf.dashboard": {},
    "tf.data": {
        "actorflow.models.data.experimental": "experimental:",
        "actorflow.models.data.experimental.options": "Options",
        "actorflow.models.data.iterator": "get_output_classes get_output_shapes get_output_types"
            " make_initializable_iterator make_one_shot_iterator",
    },
    "tf.debugging": {
        "actorflow.compat.names.functions": "get_log_device_placement set_log_device_placement",
        "actorflow.graph.ops.flow.asserts": "assert_equal assert_greater assert_greater_equal assert_less assert_less_equal"
            " assert_near assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive",
        "actorflow.graph.ops.flow.asserts_static": "assert_integer assert_proper_iterable assert_rank assert_rank_at_least"
            " assert_rank_in assert_same_float_dtype assert_scalar assert_type",
        "actorflow.graph.ops.flow.control": "Assert",
        "actorflow.graph.ops.flow.numerics": "assert_all_finite:verify_tensor_all_finite check_numerics",
        "actorflow.graph.ops.math.elementwise": "is_finite is_inf is_nan",
        "actorflow.graph.ops.math.statistics": "is_non_decreasing is_strictly_increasing",
        "actorflow.graph.ops.static": "is_numeric_tensor",
    },
    "tf.dtypes": {
        "actorflow.base.dtypes": "DType as_dtype bfloat16 bool complex128 complex64 double:float64 float16 float32"
            " float4_e2m1fn float64 float6_e2m3fn float6_e3m2fn float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz"
            " float8_e8m0fnu half:float16 int16 int2 int32 int4 int64 int8 resource string uint16 uint2 uint32 uint4 uint64"
            " uint8 variant",
        "actorflow.graph.ops.math.cast": "cast complex saturate_cast",
        "actorflow.graph.ops.strings.elementwise": "as_string",
    },
    "tf.errors": {
        "actorflow.compat.names.functions": "raise_exception_on_not_ok_status",
        "actorflow.compat.v1.error_codes": "ABORTED ALREADY_EXISTS CANCELLED DATA_LOSS DEADLINE_EXCEEDED"
            " FAILED_PRECONDITION INTERNAL INVALID_ARGUMENT NOT_FOUND OK OUT_OF_RANGE PERMISSION_DENIED RESOURCE_EXHAUSTED"
            " UNAUTHENTICATED UNAVAILABLE UNIMPLEMENTED UNKNOWN error_code_from_exception_type"
            " exception_type_from_error_code",
        "actorflow.errors": "AbortedError AlreadyExistsError CancelledError DataLossError DeadlineExceededError"
            " FailedPreconditionError FeedError InternalError InvalidArgumentError NotFoundError OpError OutOfRangeError"
            " Overloaded PermissionDeniedError ResourceExhaustedError StarvationError UnauthenticatedError UnavailableError"
            " UnimplementedError UnknownError UnknownNameError",
    },
    "tf.estimator": {
        "actorflow.compat.estimator.canned": "BaselineClassifier BaselineEstimator BaselineRegressor DNNClassifier"
            " DNNEstimator DNNLinearCombinedClassifier DNNLinearCombinedEstimator DNNLinearCombinedRegressor DNNRegressor"
            " LinearClassifier LinearEstimator LinearRegressor",
        "actorflow.compat.estimator.estimator": "Estimator RunConfig",
        "actorflow.compat.estimator.hooks": "CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook"
            " GlobalStepWaiterHook LoggingTensorHook NanLossDuringTrainingError NanTensorHook ProfilerHook SecondOrStepTimer"
            " SessionRunArgs SessionRunContext SessionRunHook SessionRunValues StepCounterHook StopAtStepHook"
            " SummarySaverHook",
        "actorflow.training.estimator.alternating.run": "train_and_evaluate:train_and_evaluate_blocking",
        "actorflow.training.estimator.experimental": "experimental:",
    },
    "tf.export": {},
    "tf.feature_column": {},
    "tf.generation": {},
    "tf.graph_util": {
        "actorflow.graph.graphdef.importing": "import_graph_def",
        "actorflow.graph.graphdef.subgraphs": "convert_variables_to_constants extract_sub_graph must_run_on_cpu"
            " remove_training_nodes tensor_shape_from_node_def_name",
    },
    "tf.image": {
        "actorflow.compat.names.boxes": "combined_non_max_suppression extract_jpeg_shape non_max_suppression_overlaps"
            " non_max_suppression_padded non_max_suppression_with_scores ssim_multiscale",
        "actorflow.compat.names.functions": "extract_patches",
    },
    "tf.initializers": {
        "actorflow.graph.variables.collections": "global_variables:global_variables_initializer"
            " local_variables:local_variables_initializer variables:variables_initializer",
        "actorflow.graph.variables.initializers": "constant:Constant glorot_normal:GlorotNormal"
            " glorot_uniform:GlorotUniform he_normal he_uniform identity:Identity lecun_normal lecun_uniform ones:Ones"
            " orthogonal:Orthogonal random_normal:RandomNormal random_uniform:RandomUniform truncated_normal:TruncatedNormal"
            " uniform_unit_scaling:UniformUnitScaling variance_scaling:VarianceScaling zeros:Zeros",
        "actorflow.models.lookup.tables": "tables_initializer",
    },
    "tf.io": {
        "actorflow.compat.files.io_gfile": "gfile:",
        "actorflow.compat.names.boxes": "extract_jpeg_shape",
        "actorflow.graph.graphdef.export": "write_graph",
        "actorflow.graph.ops.strings.elementwise": "decode_base64 encode_base64",
        "actorflow.models.queues.base": "QueueBase",
        "actorflow.models.queues.kinds": "PaddingFIFOQueue PriorityQueue RandomShuffleQueue",
        "actorflow.models.train.input.input": "match_filenames_once",
    },
    "tf.layers": {},
    "tf.linalg": {
        "actorflow.compat.names.functions": "matrix_rank tridiagonal_matmul",
        "actorflow.compat.names.numerics": "logm tridiagonal_solve",
    },
    "tf.lookup": {},
    "tf.losses": {},
    "tf.manip": {
        "actorflow.graph.ops.array.gather": "gather_nd",
        "actorflow.graph.ops.array.pad_tile": "tile",
        "actorflow.graph.ops.array.reverse": "roll",
        "actorflow.graph.ops.array.scatter": "scatter_nd",
        "actorflow.graph.ops.array.shape": "reshape reverse",
        "actorflow.graph.ops.array.space_batch": "batch_to_space_nd space_to_batch_nd",
    },
    "tf.math": {},
    "tf.metrics": {},
    "tf.nn": {
        "actorflow.compat.names.numerics": "conv3d_backprop_filter conv_transpose",
        "actorflow.compat.names.training": "avg_pool_v2 compute_average_loss max_pool_v2 scale_regularization_loss",
        "actorflow.graph.ops.nn.pooling.functions": "avg_pool2d:avg_pool",
    },
    "tf.onnx": {},
    "tf.python_io": {
        "actorflow.base.records.files": "TFRecordCompressionType TFRecordOptions TFRecordWriter tf_record_iterator",
    },
    "tf.quantization": {
        "actorflow.compat.names.numerics": "quantize_and_dequantize",
        "actorflow.graph.ops.quantize.fake_quantize": "fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient"
            " fake_quant_with_min_max_vars fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel"
            " fake_quant_with_min_max_vars_per_channel_gradient",
        "actorflow.graph.ops.quantize.quantize": "dequantize quantize",
    },
    "tf.queue": {
        "actorflow.models.queues.base": "QueueBase",
        "actorflow.models.queues.kinds": "FIFOQueue PaddingFIFOQueue PriorityQueue RandomShuffleQueue",
    },
    "tf.random": {
        "actorflow.compat.names.functions": "categorical stateless_categorical",
        "actorflow.graph.ops.nn.candidate_sampling": "all_candidate_sampler fixed_unigram_candidate_sampler"
            " learned_unigram_candidate_sampler log_uniform_candidate_sampler uniform_candidate_sampler",
        "actorflow.graph.ops.random.distributions": "get_seed multinomial normal:random_normal set_random_seed"
            " shuffle:random_shuffle truncated_normal uniform:random_uniform",
        "actorflow.graph.ops.random.gamma_poisson": "gamma:random_gamma poisson:random_poisson",
        "actorflow.graph.ops.random.stateless": "stateless_multinomial stateless_normal:stateless_random_normal"
            " stateless_truncated_normal stateless_uniform:stateless_random_uniform",
    },
    "tf.saved_model": {
        "actorflow.exchange.saved_model.folder": "maybe_saved_model_directory:contains_saved_model",
    },
    "tf.serving": {},
    "tf.sets": {},
    "tf.signal": {
        "actorflow.compat.names.signal": "dct frame hamming_window hann_window idct inverse_stft inverse_stft_window_fn"
            " linear_to_mel_weight_matrix mfccs_from_log_mel_spectrograms overlap_and_add stft",
    },
    "tf.sparse": {
        "actorflow.graph.ops.state.accumulators": "SparseConditionalAccumulator",
    },
    "tf.spectral": {
        "actorflow.compat.names.signal": "dct idct",
        "actorflow.graph.ops.signal.fft": "fft fft2d fft3d ifft ifft2d ifft3d irfft irfft2d irfft3d rfft rfft2d rfft3d",
    },
    "tf.strings": {
        "actorflow.compat.ragged.text": "bytes_split ngrams unicode_decode unicode_decode_with_offsets unicode_encode"
            " unicode_split unicode_split_with_offsets",
    },
    "tf.summary": {
        "actorflow.compat.names.functions": "all_v2_summary_ops",
    },
    "tf.supervisor": {},
    "tf.test": {
        "actorflow.compat.names.functions": "is_built_with_gpu_support is_built_with_rocm",
        "actorflow.compat.v1.testing.benchmarks": "Benchmark StubOutForTesting benchmark_config",
        "actorflow.compat.v1.testing.case": "TestCase",
        "actorflow.compat.v1.testing.gradients": "compute_gradient compute_gradient_error",
        "actorflow.compat.v1.testing.program": "assert_equal_graph_def create_local_cluster get_temp_dir gpu_device_name"
            " is_built_with_cuda is_gpu_available main mock test_src_dir_path",
    },
    "tf.train": {
        "actorflow.cluster.config.spec": "ClusterSpec",
        "actorflow.compat.estimator.hooks": "LoggingTensorHook StepCounterHook",
        "actorflow.compat.names.training": "checkpoints_iterator generate_checkpoint_state_proto",
        "actorflow.compat.training.loops": "basic_train_loop",
        "actorflow.compat.training.monitored": "ChiefSessionCreator MonitoredSession MonitoredTrainingSession"
            " SessionManager SingularMonitoredSession WorkerSessionCreator",
        "actorflow.compat.training.saver": "Checkpoint Saver",
        "actorflow.compat.training.server": "Server",
        "actorflow.compat.training.supervisor": "Supervisor",
        "actorflow.graph.graphdef.cluster_protos": "ClusterDef JobDef ServerDef",
        "actorflow.graph.graphdef.export": "write_graph",
        "actorflow.graph.graphdef.protos": "SaverDef",
        "actorflow.models.summary.file_writer": "SummaryWriter:FileWriter",
        "actorflow.models.train.input.queue_runner": "queue_runner:",
    },
}

NAMES: dict[str, dict[str, str]] = {
    path: {
        name: f"{module}{colon}{inner}"
        for module, names in modules.items()
        for name, colon, inner in (entry.partition(":") for entry in names.split())
    }
    for path, modules in MODULES.items()
}
