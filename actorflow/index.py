"""The modules of actorflow's public names: `make names` writes this file from the marks in the sources."""

from __future__ import annotations

MODULES: dict[str, dict[str, str]] = {
    "af": {
        "actorflow.base.dtypes": "DType as_dtype bfloat16 bool complex128 complex64 float16 float32 float4_e2m1fn float64"
            " float6_e2m3fn float6_e3m2fn float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu int16"
            " int2 int32 int4 int64 int8 string uint16 uint2 uint32 uint4 uint64 uint8",
        "actorflow.base.nest": "nest:",
        "actorflow.base.registry.kernel": "kernel",
        "actorflow.base.shapes": "TensorShape",
        "actorflow.blocking": "blocking:",
        "actorflow.cluster.config.spec": "ClusterSpec",
        "actorflow.cluster.launch": "launch:",
        "actorflow.cluster.processes.local": "LocalCluster",
        "actorflow.cluster.server": "Server",
        "actorflow.engine.batching.rows": "Batching",
        "actorflow.engine.eager.functions.function": "Function RetracingWarning function",
        "actorflow.engine.eager.functions.signature": "TensorSpec",
        "actorflow.engine.eager.py_function": "py_function",
        "actorflow.engine.eager.scope": "disable_eager_execution eager enable_eager_execution executing_eagerly init_scope",
        "actorflow.engine.eager.tapes.functional": "gradients_function implicit_gradients implicit_value_and_gradients"
            " value_and_gradients_function",
        "actorflow.engine.eager.tapes.gradient_tape": "GradientTape UnconnectedGradients",
        "actorflow.engine.passes.options": "PlanOptions",
        "actorflow.engine.placement.learned_costs": "CostModel",
        "actorflow.engine.placement.study.study": "PlacementStudy",
        "actorflow.engine.runtime.diagnostics.recorder": "Recording",
        "actorflow.engine.runtime.diagnostics.trace": "Trace",
        "actorflow.engine.runtime.event_loops.polling": "new_event_loop",
        "actorflow.engine.runtime.visible_actors": "TaskState",
        "actorflow.engine.session.link_probe": "measure_links",
        "actorflow.engine.session.members": "MembershipChange",
        "actorflow.engine.session.planning.trial": "PlacementTrial",
        "actorflow.engine.session.session": "Session",
        "actorflow.engine.session.settings": "SessionLimits ValueOptions",
        "actorflow.engine.session.statistics": "SessionStatistics",
        "actorflow.errors": "errors:",
        "actorflow.exchange.export": "export:",
        "actorflow.exchange.onnx": "onnx:",
        "actorflow.exchange.onnx.inference.loading": "load_model",
        "actorflow.exchange.saved_model": "saved_model:",
        "actorflow.frontends.dashboard": "dashboard:",
        "actorflow.frontends.ext": "ext:",
        "actorflow.frontends.generation": "generation:",
        "actorflow.frontends.serving": "serving:",
        "actorflow.graph.autodiff.custom": "custom_gradient",
        "actorflow.graph.autodiff.gradients": "AggregationMethod gradients",
        "actorflow.graph.autodiff.hessians": "hessians",
        "actorflow.graph.autodiff.override": "NotDifferentiable RegisterGradient",
        "actorflow.graph.autodiff.recompute": "recompute",
        "actorflow.graph.control_flow.cond": "case cond switch_case",
        "actorflow.graph.control_flow.function": "Defun",
        "actorflow.graph.control_flow.functional": "foldl foldr map_fn scan",
        "actorflow.graph.control_flow.tensor_array": "TensorArray",
        "actorflow.graph.control_flow.while_loop": "while_loop",
        "actorflow.graph.convert": "convert_to_tensor register_tensor_conversion_function",
        "actorflow.graph.default_graph": "colocate_with container control_dependencies device get_default_graph lossy_sends"
            " name_scope reset_default_graph",
        "actorflow.graph.elements": "GraphGrowthWarning",
        "actorflow.graph.graph": "Graph",
        "actorflow.graph.graphdef.attributes": "make_ndarray make_tensor_proto",
        "actorflow.graph.graphdef.importing": "import_graph_def",
        "actorflow.graph.losses": "losses:",
        "actorflow.graph.ops.array.constant": "constant fill ones ones_like placeholder placeholder_with_default zeros"
            " zeros_like",
        "actorflow.graph.ops.array.gather": "batch_gather boolean_mask gather gather_nd unravel_index",
        "actorflow.graph.ops.array.index": "newaxis slice_ strided_slice",
        "actorflow.graph.ops.array.join": "concat parallel_stack split stack unstack",
        "actorflow.graph.ops.array.one_hot": "meshgrid one_hot sequence_mask",
        "actorflow.graph.ops.array.pad_tile": "pad repeat tile",
        "actorflow.graph.ops.array.partition": "dynamic_partition dynamic_stitch parallel_dynamic_stitch",
        "actorflow.graph.ops.array.reverse": "invert_permutation reverse_sequence roll",
        "actorflow.graph.ops.array.scatter": "scatter_nd tensor_scatter_add tensor_scatter_nd_add:tensor_scatter_add"
            " tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub:tensor_scatter_sub"
            " tensor_scatter_nd_update:tensor_scatter_update tensor_scatter_sub tensor_scatter_update",
        "actorflow.graph.ops.array.shape": "bitcast broadcast_to expand_dims rank reshape reverse reverse_v2:reverse shape"
            " shape_n size squeeze transpose",
        "actorflow.graph.ops.array.sort": "argsort searchsorted sort",
        "actorflow.graph.ops.array.space_batch": "batch_to_space batch_to_space_nd depth_to_space"
            " required_space_to_batch_paddings space_to_batch space_to_batch_nd space_to_depth",
        "actorflow.graph.ops.array.unique": "setdiff1d unique unique_with_counts",
        "actorflow.graph.ops.declare": "op",
        "actorflow.graph.ops.flow.asserts": "assert_equal assert_greater assert_greater_equal assert_less assert_less_equal"
            " assert_near assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive",
        "actorflow.graph.ops.flow.asserts_static": "assert_integer assert_proper_iterable assert_rank assert_rank_at_least"
            " assert_rank_in assert_same_float_dtype assert_scalar assert_type",
        "actorflow.graph.ops.flow.control": "Assert control_trigger ensure_shape group guarantee_const identity identity_n"
            " no_op stop_gradient tuple_ with_dependencies",
        "actorflow.graph.ops.flow.numerics": "add_check_numerics_ops check_numerics verify_tensor_all_finite",
        "actorflow.graph.ops.flow.primitives": "enter exit:exit_ loop_cond merge next_iteration switch",
        "actorflow.graph.ops.flow.printing": "Print print_",
        "actorflow.graph.ops.flow.py_func": "numpy_function py_func",
        "actorflow.graph.ops.indexed_slices": "IndexedSlices IndexedSlicesValue",
        "actorflow.graph.ops.io.decoding": "decode_compressed decode_csv decode_json_example decode_raw parse_tensor"
            " serialize_tensor",
        "actorflow.graph.ops.io.files": "matching_files read_file write_file",
        "actorflow.graph.ops.io.parsing": "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature"
            " parse_example parse_single_example parse_single_sequence_example",
        "actorflow.graph.ops.io.readers": "FixedLengthRecordReader IdentityReader ReaderBase TFRecordReader TextLineReader"
            " WholeFileReader",
        "actorflow.graph.ops.linalg.bands": "matrix_diag matrix_diag_part matrix_set_diag",
        "actorflow.graph.ops.linalg.decompose": "qr self_adjoint_eig self_adjoint_eigvals svd",
        "actorflow.graph.ops.linalg.diagonal": "diag diag_part matrix_band_part",
        "actorflow.graph.ops.linalg.functions": "cross",
        "actorflow.graph.ops.linalg.matrix": "cholesky eye matrix_determinant matrix_inverse matrix_solve matrix_transpose"
            " trace",
        "actorflow.graph.ops.linalg.norm": "norm",
        "actorflow.graph.ops.linalg.solve": "cholesky_solve matrix_solve_ls matrix_triangular_solve",
        "actorflow.graph.ops.math.argmax": "arg_max arg_min argmax argmin",
        "actorflow.graph.ops.math.arithmetic": "accumulate_n add add_n atan2 div div_no_nan divide floor_div floordiv"
            " floormod maximum minimum mod:floormod multiply pow realdiv scalar_mul squared_difference subtract truediv"
            " truncatediv truncatemod",
        "actorflow.graph.ops.math.cast": "angle cast complex conj imag real saturate_cast to_bfloat16 to_complex128"
            " to_complex64 to_double to_float to_int32 to_int64",
        "actorflow.graph.ops.math.clip": "clip_by_average_norm clip_by_global_norm clip_by_norm clip_by_value global_norm",
        "actorflow.graph.ops.math.cumulative": "cumprod cumsum lin_space:linspace linspace range_",
        "actorflow.graph.ops.math.elementwise": "abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor"
            " is_finite is_inf is_nan log log1p negative reciprocal rint round rsqrt sigmoid sign sin sinh sqrt square tan"
            " tanh",
        "actorflow.graph.ops.math.histogram": "bincount confusion_matrix histogram_fixed_width histogram_fixed_width_bins",
        "actorflow.graph.ops.math.logic": "bitwise_and bitwise_or bitwise_xor equal greater greater_equal invert left_shift"
            " less less_equal logical_and logical_not logical_or logical_xor not_equal right_shift where where_v2",
        "actorflow.graph.ops.math.matmul": "einsum matmul tensordot",
        "actorflow.graph.ops.math.reduction": "reduce_all reduce_any reduce_max reduce_mean reduce_min reduce_prod"
            " reduce_sum",
        "actorflow.graph.ops.math.segment": "segment_max segment_mean segment_min segment_prod segment_sum"
            " unsorted_segment_max unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n"
            " unsorted_segment_sum",
        "actorflow.graph.ops.math.special": "betainc digamma erf erfc igamma igammac lbeta lgamma log_sigmoid polygamma"
            " zeta",
        "actorflow.graph.ops.math.statistics": "count_nonzero is_non_decreasing is_strictly_increasing"
            " reduce_euclidean_norm reduce_logsumexp reduce_std reduce_variance",
        "actorflow.graph.ops.nn.conv.patches": "extract_image_patches",
        "actorflow.graph.ops.quantize.fake_quantize": "fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient"
            " fake_quant_with_min_max_vars fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel"
            " fake_quant_with_min_max_vars_per_channel_gradient",
        "actorflow.graph.ops.quantize.quantize": "dequantize quantize quantize_v2",
        "actorflow.graph.ops.random.distributions": "multinomial random_crop random_normal random_shuffle random_uniform"
            " set_random_seed truncated_normal",
        "actorflow.graph.ops.random.gamma_poisson": "random_gamma random_poisson",
        "actorflow.graph.ops.random.stateless": "stateless_multinomial stateless_random_normal stateless_random_uniform"
            " stateless_truncated_normal",
        "actorflow.graph.ops.signal.fft": "fft fft2d fft3d ifft ifft2d ifft3d",
        "actorflow.graph.ops.sparse.join": "sparse_concat sparse_split",
        "actorflow.graph.ops.sparse.math": "sparse_add sparse_maximum sparse_minimum sparse_tensor_dense_matmul",
        "actorflow.graph.ops.sparse.reduce": "sparse_reduce_max sparse_reduce_max_sparse sparse_reduce_sum"
            " sparse_reduce_sum_sparse sparse_softmax",
        "actorflow.graph.ops.sparse.segment": "sparse_segment_mean sparse_segment_sqrt_n sparse_segment_sum",
        "actorflow.graph.ops.sparse.serialize": "deserialize_many_sparse serialize_many_sparse serialize_sparse",
        "actorflow.graph.ops.sparse.shape": "sparse_fill_empty_rows sparse_reorder sparse_reset_shape sparse_reshape"
            " sparse_retain sparse_slice sparse_transpose",
        "actorflow.graph.ops.sparse.tensor": "edit_distance sparse_mask sparse_merge sparse_placeholder"
            " sparse_tensor_to_dense sparse_to_dense sparse_to_indicator",
        "actorflow.graph.ops.state.accumulators": "ConditionalAccumulator SparseConditionalAccumulator",
        "actorflow.graph.ops.state.assign": "assign assign_add assign_sub batch_scatter_update count_up_to scatter_add"
            " scatter_div scatter_max scatter_min scatter_mul scatter_nd_add scatter_nd_sub scatter_nd_update scatter_sub"
            " scatter_update",
        "actorflow.graph.ops.state.mutex": "CriticalSection",
        "actorflow.graph.ops.state.session_handles": "delete_session_tensor get_session_handle get_session_tensor",
        "actorflow.graph.ops.state.variable": "read_variable",
        "actorflow.graph.ops.static": "broadcast_dynamic_shape broadcast_static_shape get_static_value is_numeric_tensor"
            " is_tensor",
        "actorflow.graph.ops.strings.elementwise": "as_string decode_base64 encode_base64 regex_replace string_join"
            " string_strip string_to_number substr",
        "actorflow.graph.ops.strings.hash": "string_to_hash_bucket string_to_hash_bucket_fast string_to_hash_bucket_strong",
        "actorflow.graph.ops.strings.split": "reduce_join string_split",
        "actorflow.graph.sparse_tensor": "SparseTensor SparseTensorValue",
        "actorflow.graph.tensor": "Operation Tensor TensorLike",
        "actorflow.graph.variables.collections": "GraphKeys add_to_collection add_to_collections all_variables"
            " assert_variables_initialized get_collection get_collection_ref global_variables global_variables_initializer"
            " initialize_all_variables initialize_local_variables initialize_variables is_variable_initialized"
            " local_variables local_variables_initializer model_variables moving_average_variables"
            " report_uninitialized_variables trainable_variables variables_initializer",
        "actorflow.graph.variables.initializers": "constant_initializer:Constant glorot_normal_initializer:GlorotNormal"
            " glorot_uniform_initializer:GlorotUniform he_normal he_uniform identity_initializer:Identity lecun_normal"
            " lecun_uniform ones_initializer:Ones orthogonal_initializer:Orthogonal random_normal_initializer:RandomNormal"
            " random_uniform_initializer:RandomUniform truncated_normal_initializer:TruncatedNormal"
            " uniform_unit_scaling_initializer:UniformUnitScaling variance_scaling_initializer:VarianceScaling"
            " zeros_initializer:Zeros",
        "actorflow.graph.variables.partitioned": "PartitionedVariable",
        "actorflow.graph.variables.partitioners": "fixed_size_partitioner min_max_variable_partitioner"
            " variable_axis_size_partitioner",
        "actorflow.graph.variables.scope": "get_local_variable get_variable variable_scope",
        "actorflow.graph.variables.store": "AUTO_REUSE VariableScope get_variable_scope",
        "actorflow.graph.variables.template": "make_template",
        "actorflow.graph.variables.variable": "Variable",
        "actorflow.image": "image:",
        "actorflow.io": "io:",
        "actorflow.linalg": "linalg:",
        "actorflow.math": "math:",
        "actorflow.models.data": "data:",
        "actorflow.models.data.spec": "SparseTensorSpec",
        "actorflow.models.feature_column": "feature_column:",
        "actorflow.models.layers": "layers:",
        "actorflow.models.lookup": "lookup:",
        "actorflow.models.lookup.tables": "initialize_all_tables tables_initializer",
        "actorflow.models.metrics": "metrics:",
        "actorflow.models.queues.barrier": "Barrier",
        "actorflow.models.queues.base": "QueueBase",
        "actorflow.models.queues.kinds": "FIFOQueue PaddingFIFOQueue PriorityQueue RandomShuffleQueue",
        "actorflow.models.summary": "summary:",
        "actorflow.models.train": "train:",
        "actorflow.nn": "nn:",
        "actorflow.sets": "sets:",
        "actorflow.signal": "signal:",
        "actorflow.sparse": "sparse:",
        "actorflow.strings": "strings:",
        "actorflow.training.estimator": "estimator:",
        "actorflow.training.supervisor": "supervisor:",
        "actorflow.training.supervisor.supervisor": "Supervisor",
    },
    "af.blocking": {
        "actorflow.cluster.processes.blocking_local": "LocalCluster",
        "actorflow.cluster.processes.blocking_server": "Server",
        "actorflow.engine.session.blocking": "Session",
        "actorflow.training.estimator.alternating.run": "train_and_evaluate:train_and_evaluate_blocking",
        "actorflow.training.estimator.blocking": "Estimator Predictor",
        "actorflow.training.estimator.canned.blocking": "BaselineClassifier BaselineEstimator BaselineRegressor"
            " DNNClassifier DNNEstimator DNNLinearCombinedClassifier DNNLinearCombinedEstimator DNNLinearCombinedRegressor"
            " DNNRegressor LinearClassifier LinearEstimator LinearRegressor",
        "actorflow.training.monitored.blocking": "MonitoredSession MonitoredTrainingSession SingularMonitoredSession",
        "actorflow.training.supervisor.blocking": "Supervisor",
    },
    "af.export": {
        "actorflow.exchange.export.batch_norm": "fold_scales",
        "actorflow.exchange.export.branches": "fold_branches",
        "actorflow.exchange.export.constants": "fold_constants",
        "actorflow.exchange.export.freezing": "freeze optimize_for_inference",
        "actorflow.exchange.export.numpy_module.module": "standalone",
        "actorflow.exchange.export.quantization.quantize": "quantize",
        "actorflow.exchange.export.quantization.report": "OutputError QuantizationReport QuantizedNode",
    },
    "af.onnx": {
        "actorflow.exchange.onnx.backend": "Backend",
        "actorflow.exchange.onnx.exporter.save": "save",
        "actorflow.exchange.onnx.inference.arguments": "ModelMetadata NodeArg",
        "actorflow.exchange.onnx.inference.options": "ExecutionMode GraphOptimizationLevel RunOptions SessionOptions",
        "actorflow.exchange.onnx.inference.providers": "get_available_providers get_device",
        "actorflow.exchange.onnx.inference.session": "InferenceSession",
        "actorflow.exchange.onnx.inference.values": "IOBinding OrtValue",
        "actorflow.exchange.onnx.model": "Model load",
    },
    "af.saved_model": {
        "actorflow.exchange.saved_model.builder": "Builder:SavedModelBuilder builder: simple_save",
        "actorflow.exchange.saved_model.constants": "ASSETS_DIRECTORY ASSETS_KEY LEGACY_INIT_OP_KEY MAIN_OP_KEY"
            " SAVED_MODEL_FILENAME_PB SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION VARIABLES_DIRECTORY"
            " VARIABLES_FILENAME constants:",
        "actorflow.exchange.saved_model.folder": "contains_saved_model",
        "actorflow.exchange.saved_model.loader": "load loader:",
        "actorflow.exchange.saved_model.main_op": "main_op: main_op_with_restore",
        "actorflow.exchange.saved_model.signature_constants": "CLASSIFY_INPUTS CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES"
            " CLASSIFY_OUTPUT_SCORES DEFAULT_SERVING_SIGNATURE_DEF_KEY PREDICT_INPUTS PREDICT_METHOD_NAME PREDICT_OUTPUTS"
            " REGRESS_INPUTS REGRESS_METHOD_NAME REGRESS_OUTPUTS signature_constants:",
        "actorflow.exchange.saved_model.signature_def_utils": "build_signature_def classification_signature_def"
            " is_valid_signature predict_signature_def regression_signature_def signature_def_utils:",
        "actorflow.exchange.saved_model.tag_constants": "GPU SERVING TPU TRAINING tag_constants:",
        "actorflow.exchange.saved_model.utils": "build_tensor_info get_tensor_from_tensor_info utils:",
    },
    "af.dashboard": {
        "actorflow.frontends.dashboard.application": "Dashboard",
    },
    "af.generation": {
        "actorflow.frontends.generation.decoding": "Decoding",
        "actorflow.frontends.generation.model": "Model",
        "actorflow.frontends.generation.request": "Rules",
        "actorflow.frontends.generation.saving": "save",
        "actorflow.frontends.generation.scheduler": "Limits",
        "actorflow.frontends.generation.stream": "Stream Token",
        "actorflow.frontends.generation.tokenizers": "Bytes Characters Pieces Tokenizer",
    },
    "af.serving": {
        "actorflow.frontends.grpc.server": "GrpcServer",
        "actorflow.frontends.serving.application": "Application app",
        "actorflow.frontends.serving.model": "Batching Model",
        "actorflow.frontends.serving.pipelines.pipeline": "Pipeline",
        "actorflow.frontends.serving.pipelines.policy": "StagePolicy",
        "actorflow.frontends.serving.versions": "VersionPolicy",
    },
    "af.losses": {
        "actorflow.graph.losses.prediction": "absolute_difference cosine_distance hinge_loss huber_loss log_loss"
            " mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy softmax_cross_entropy"
            " sparse_softmax_cross_entropy",
        "actorflow.graph.losses.weighted": "Reduction add_loss compute_weighted_loss get_losses get_regularization_loss"
            " get_regularization_losses get_total_loss",
    },
    "af.image": {
        "actorflow.graph.ops.image.adjust": "adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_jpeg_quality"
            " adjust_saturation per_image_standardization random_brightness random_contrast random_hue random_saturation",
        "actorflow.graph.ops.image.boxes": "draw_bounding_boxes non_max_suppression sample_distorted_bounding_box",
        "actorflow.graph.ops.image.colors": "grayscale_to_rgb hsv_to_rgb rgb_to_grayscale rgb_to_hsv rgb_to_yiq rgb_to_yuv"
            " yiq_to_rgb yuv_to_rgb",
        "actorflow.graph.ops.image.convert": "convert_image_dtype",
        "actorflow.graph.ops.image.crops": "central_crop crop_to_bounding_box pad_to_bounding_box"
            " resize_image_with_crop_or_pad resize_with_crop_or_pad:resize_image_with_crop_or_pad total_variation",
        "actorflow.graph.ops.image.flips": "flip_left_right flip_up_down random_flip_left_right random_flip_up_down rot90"
            " transpose:transpose_image transpose_image",
        "actorflow.graph.ops.image.glimpse": "extract_glimpse",
        "actorflow.graph.ops.image.quality": "image_gradients psnr sobel_edges ssim",
        "actorflow.graph.ops.image.regions": "crop_and_resize",
        "actorflow.graph.ops.image.resize": "resize_area resize_bicubic resize_bilinear resize_nearest_neighbor",
        "actorflow.graph.ops.image.resizing": "ResizeMethod resize:resize_images resize_image_with_pad resize_images"
            " resize_with_pad:resize_image_with_pad",
        "actorflow.graph.ops.io.images": "decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png"
            " encode_jpeg encode_png is_jpeg",
        "actorflow.graph.ops.nn.conv.patches": "extract_image_patches",
        "actorflow.graph.ops.random.distributions": "random_crop",
    },
    "af.io": {
        "actorflow.base.records.files": "TFRecordCompressionType TFRecordOptions TFRecordWriter tf_record_iterator",
        "actorflow.graph.ops.io.decoding": "decode_compressed decode_csv decode_json_example decode_npy decode_raw"
            " parse_tensor serialize_tensor",
        "actorflow.graph.ops.io.files": "matching_files read_file write_file",
        "actorflow.graph.ops.io.images": "decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png"
            " encode_jpeg encode_png is_jpeg",
        "actorflow.graph.ops.io.parsing": "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature"
            " parse_example parse_single_example parse_single_sequence_example",
        "actorflow.graph.ops.sparse.serialize": "deserialize_many_sparse serialize_many_sparse serialize_sparse",
    },
    "af.linalg": {
        "actorflow.graph.linear_operators.block_diagonal": "LinearOperatorBlockDiag",
        "actorflow.graph.linear_operators.circulant": "LinearOperatorCirculant LinearOperatorCirculant2D"
            " LinearOperatorCirculant3D",
        "actorflow.graph.linear_operators.composition": "LinearOperatorComposition",
        "actorflow.graph.linear_operators.derived": "LinearOperatorAdjoint LinearOperatorInversion",
        "actorflow.graph.linear_operators.diagonal": "LinearOperatorDiag",
        "actorflow.graph.linear_operators.householder": "LinearOperatorHouseholder",
        "actorflow.graph.linear_operators.identity": "LinearOperatorIdentity LinearOperatorScaledIdentity"
            " LinearOperatorZeros",
        "actorflow.graph.linear_operators.kronecker": "LinearOperatorKronecker",
        "actorflow.graph.linear_operators.low_rank_update": "LinearOperatorLowRankUpdate",
        "actorflow.graph.linear_operators.matrices": "LinearOperatorFullMatrix LinearOperatorLowerTriangular",
        "actorflow.graph.linear_operators.operator": "LinearOperator",
        "actorflow.graph.linear_operators.toeplitz": "LinearOperatorToeplitz",
        "actorflow.graph.ops.linalg.bands": "diag:matrix_diag diag_part:matrix_diag_part set_diag:matrix_set_diag",
        "actorflow.graph.ops.linalg.decompose": "eigh:self_adjoint_eig eigvalsh:self_adjoint_eigvals lu qr svd",
        "actorflow.graph.ops.linalg.diagonal": "band_part:matrix_band_part tensor_diag:diag tensor_diag_part:diag_part",
        "actorflow.graph.ops.linalg.functions": "adjoint cross expm logdet matvec pinv slogdet sqrtm",
        "actorflow.graph.ops.linalg.matrix": "cholesky det:matrix_determinant eye inv:matrix_inverse matrix_transpose"
            " solve:matrix_solve trace transpose:matrix_transpose",
        "actorflow.graph.ops.linalg.norm": "norm normalize",
        "actorflow.graph.ops.linalg.solve": "cholesky_solve lstsq:matrix_solve_ls triangular_solve:matrix_triangular_solve",
        "actorflow.graph.ops.math.clip": "global_norm",
        "actorflow.graph.ops.math.matmul": "einsum matmul tensordot",
        "actorflow.graph.ops.nn.normalization": "l2_normalize",
    },
    "af.math": {
        "actorflow.graph.ops.array.reverse": "invert_permutation",
        "actorflow.graph.ops.array.sort": "in_top_k top_k",
        "actorflow.graph.ops.math.argmax": "argmax argmin",
        "actorflow.graph.ops.math.arithmetic": "accumulate_n add add_n atan2 divide divide_no_nan:div_no_nan floordiv"
            " floormod maximum minimum mod:floormod multiply polyval pow scalar_mul squared_difference subtract truediv",
        "actorflow.graph.ops.math.cast": "angle conj imag real",
        "actorflow.graph.ops.math.cumulative": "cumprod cumsum cumulative_logsumexp",
        "actorflow.graph.ops.math.elementwise": "abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor"
            " is_finite is_inf is_nan log log1p negative reciprocal rint round rsqrt sigmoid sign sin sinh sqrt square tan"
            " tanh",
        "actorflow.graph.ops.math.histogram": "bincount confusion_matrix",
        "actorflow.graph.ops.math.logic": "equal greater greater_equal less less_equal logical_and logical_not logical_or"
            " logical_xor not_equal",
        "actorflow.graph.ops.math.reduction": "reduce_all reduce_any reduce_max reduce_mean reduce_min reduce_prod"
            " reduce_sum",
        "actorflow.graph.ops.math.segment": "segment_max segment_mean segment_min segment_prod segment_sum"
            " unsorted_segment_max unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n"
            " unsorted_segment_sum",
        "actorflow.graph.ops.math.special": "bessel_i0 bessel_i0e bessel_i1 bessel_i1e betainc digamma erf erfc erfinv"
            " igamma igammac lbeta lgamma log_sigmoid multiply_no_nan ndtri nextafter polygamma reciprocal_no_nan xdivy"
            " xlog1py xlogy zeta",
        "actorflow.graph.ops.math.statistics": "count_nonzero is_non_decreasing is_strictly_increasing"
            " reduce_euclidean_norm reduce_logsumexp reduce_std reduce_variance zero_fraction",
        "actorflow.graph.ops.nn.activation": "log_softmax softmax softplus softsign",
        "actorflow.graph.ops.nn.normalization": "l2_normalize",
    },
    "af.data": {
        "actorflow.models.data.dataset": "AUTOTUNE Dataset",
        "actorflow.models.data.iteration": "DatasetIterator",
        "actorflow.models.data.iterator": "Iterator",
        "actorflow.models.data.readers": "FixedLengthRecordDataset TFRecordDataset TextLineDataset",
        "actorflow.models.data.samples.images": "ImageFolder",
        "actorflow.models.data.samples.tars": "TarDataset",
        "actorflow.models.data.sharing.shared_files": "SharedFiles",
        "actorflow.models.data.spec": "DatasetSpec",
        "actorflow.models.data.statistics": "IteratorStatistics",
        "actorflow.models.data.tables.csv_files": "CsvDataset",
        "actorflow.models.data.tables.database": "SqlDataset",
        "actorflow.models.data.tables.parquet": "ArrowDataset ParquetDataset write_parquet",
    },
    "af.feature_column": {
        "actorflow.models.feature_column.categorical": "categorical_column_with_hash_bucket"
            " categorical_column_with_identity categorical_column_with_vocabulary_file"
            " categorical_column_with_vocabulary_list weighted_categorical_column",
        "actorflow.models.feature_column.crossed": "crossed_column",
        "actorflow.models.feature_column.embedded": "embedding_column indicator_column shared_embedding_columns",
        "actorflow.models.feature_column.models": "input_layer linear_model make_parse_example_spec",
        "actorflow.models.feature_column.numeric": "bucketized_column numeric_column",
        "actorflow.models.feature_column.sequence": "concatenate_context_input sequence_categorical_column_with_hash_bucket"
            " sequence_categorical_column_with_identity sequence_categorical_column_with_vocabulary_file"
            " sequence_categorical_column_with_vocabulary_list sequence_input_layer sequence_numeric_column",
    },
    "af.layers": {
        "actorflow.models.layers.batch_norm": "BatchNormalization",
        "actorflow.models.layers.convolution": "Conv1D Conv2D Conv3D",
        "actorflow.models.layers.dropping": "Dropout",
        "actorflow.models.layers.fully_connected": "Dense Flatten",
        "actorflow.models.layers.functions": "average_pooling1d average_pooling2d average_pooling3d batch_normalization"
            " conv1d conv2d conv2d_transpose conv3d conv3d_transpose dense dropout flatten max_pooling1d max_pooling2d"
            " max_pooling3d separable_conv1d separable_conv2d",
        "actorflow.models.layers.input_spec": "InputSpec",
        "actorflow.models.layers.layer": "Layer",
        "actorflow.models.layers.pooling": "AveragePooling1D AveragePooling2D AveragePooling3D MaxPooling1D MaxPooling2D"
            " MaxPooling3D",
        "actorflow.models.layers.separable": "SeparableConv1D SeparableConv2D",
        "actorflow.models.layers.transposed": "Conv2DTranspose Conv3DTranspose",
    },
    "af.lookup": {
        "actorflow.models.lookup.initializers": "KeyValueTensorInitializer TextFileIndex TextFileInitializer",
        "actorflow.models.lookup.tables": "HashTable:StaticHashTable MutableHashTable StaticHashTable",
        "actorflow.models.lookup.vocabulary": "FastHashSpec HasherSpec IdTableWithHashBuckets StaticVocabularyTable"
            " StrongHashSpec index_table_from_file index_table_from_tensor index_to_string_table_from_file"
            " index_to_string_table_from_tensor",
    },
    "af.metrics": {
        "actorflow.models.metrics.classes": "mean_iou mean_per_class_accuracy",
        "actorflow.models.metrics.counts": "false_negatives false_positives precision recall true_negatives true_positives",
        "actorflow.models.metrics.means": "accuracy mean mean_absolute_error mean_cosine_distance mean_relative_error"
            " mean_squared_error mean_tensor percentage_below root_mean_squared_error",
        "actorflow.models.metrics.ranking": "average_precision_at_k precision_at_k precision_at_top_k recall_at_k"
            " recall_at_top_k sparse_average_precision_at_k:average_precision_at_k sparse_precision_at_k",
        "actorflow.models.metrics.streaming": "reset",
        "actorflow.models.metrics.thresholds": "auc false_negatives_at_thresholds false_positives_at_thresholds"
            " precision_at_thresholds recall_at_thresholds sensitivity_at_specificity specificity_at_sensitivity"
            " true_negatives_at_thresholds true_positives_at_thresholds",
    },
    "af.nn.rnn_cell": {
        "actorflow.models.rnn.base": "LSTMStateTuple RNNCell",
        "actorflow.models.rnn.cells": "BasicLSTMCell BasicRNNCell GRUCell LSTMCell MultiRNNCell",
        "actorflow.models.rnn.wrappers": "DeviceWrapper DropoutWrapper ResidualWrapper",
    },
    "af.summary": {
        "actorflow.models.summary.file_writer": "FileWriter FileWriterCache",
        "actorflow.models.summary.ops": "audio get_summary_description histogram image merge merge_all scalar"
            " tensor_summary text",
        "actorflow.models.summary.protos": "Event SessionLog Summary SummaryDescription TaggedRunMetadata",
        "actorflow.models.summary.reading": "read_events",
        "actorflow.models.summary.writer": "Writer",
    },
    "af.train": {
        "actorflow.base.records.example": "BytesList Example Feature FeatureList FeatureLists Features FloatList Int64List"
            " SequenceExample",
        "actorflow.models.summary.reading": "summary_iterator",
        "actorflow.models.train.global_steps": "assert_global_step create_global_step get_global_step"
            " get_or_create_global_step global_step",
        "actorflow.models.train.input.batching": "batch batch_join maybe_batch maybe_batch_join maybe_shuffle_batch"
            " maybe_shuffle_batch_join shuffle_batch shuffle_batch_join",
        "actorflow.models.train.input.coordinator": "Coordinator",
        "actorflow.models.train.input.input": "input_producer limit_epochs match_filenames_once prefetch"
            " range_input_producer slice_input_producer string_input_producer",
        "actorflow.models.train.input.looper": "LooperThread",
        "actorflow.models.train.input.queue_runner": "QueueRunner add_queue_runner start_queue_runners",
        "actorflow.models.train.optimizers.all_reduce": "ring_all_reduce",
        "actorflow.models.train.optimizers.learning_rates": "cosine_decay cosine_decay_restarts exponential_decay"
            " inverse_time_decay linear_cosine_decay natural_exp_decay noisy_linear_cosine_decay piecewise_constant"
            " piecewise_constant_decay:piecewise_constant polynomial_decay",
        "actorflow.models.train.optimizers.moving_averages": "ExponentialMovingAverage",
        "actorflow.models.train.optimizers.optimizer": "Optimizer",
        "actorflow.models.train.optimizers.optimizers": "AdadeltaOptimizer AdagradOptimizer AdamOptimizer"
            " GradientDescentOptimizer MomentumOptimizer RMSPropOptimizer",
        "actorflow.models.train.optimizers.proximal": "AdagradDAOptimizer FtrlOptimizer ProximalAdagradOptimizer"
            " ProximalGradientDescentOptimizer",
        "actorflow.models.train.optimizers.sync_replicas": "SyncReplicasOptimizer",
        "actorflow.models.train.replica_devices": "GreedyLoadBalancingStrategy byte_size_load_fn replica_device_setter",
        "actorflow.models.train.replicas.replicas": "Replicas",
        "actorflow.models.train.saving.checkpoint": "Checkpoint",
        "actorflow.models.train.saving.checkpoint_init": "init_from_checkpoint",
        "actorflow.models.train.saving.checkpoint_manager": "CheckpointManager",
        "actorflow.models.train.saving.checkpoints": "CheckpointState NewCheckpointReader checkpoint_exists"
            " get_checkpoint_mtimes get_checkpoint_state latest_checkpoint list_variables load_checkpoint load_variable"
            " remove_checkpoint update_checkpoint_state",
        "actorflow.models.train.saving.meta_graph": "export_meta_graph import_meta_graph read_meta_graph",
        "actorflow.models.train.saving.saver": "Saver",
        "actorflow.training.estimator.vocabulary": "VocabInfo",
        "actorflow.training.estimator.warm_start": "warm_start:warm_start_from",
        "actorflow.training.monitored.creators": "ChiefSessionCreator SessionCreator WorkerSessionCreator",
        "actorflow.training.monitored.hook": "SessionRunArgs SessionRunContext SessionRunHook SessionRunValues",
        "actorflow.training.monitored.hooks.feeding": "FeedFnHook FinalOpsHook",
        "actorflow.training.monitored.hooks.logged": "LoggingTensorHook StepCounterHook",
        "actorflow.training.monitored.hooks.saving": "CheckpointSaverHook CheckpointSaverListener",
        "actorflow.training.monitored.hooks.stopping": "GlobalStepWaiterHook NanLossDuringTrainingError NanTensorHook"
            " StopAtStepHook",
        "actorflow.training.monitored.hooks.summaries": "ProfilerHook SummarySaverHook",
        "actorflow.training.monitored.hooks.timer": "SecondOrStepTimer",
        "actorflow.training.monitored.monitored_session": "MonitoredSession MonitoredTrainingSession"
            " SingularMonitoredSession",
        "actorflow.training.monitored.scaffold": "Scaffold",
        "actorflow.training.monitored.session_manager": "SessionManager",
    },
    "af.nn": {
        "actorflow.graph.ops.array.sort": "in_top_k top_k",
        "actorflow.graph.ops.array.space_batch": "batch_to_space depth_to_space space_to_batch space_to_depth"
            " with_space_to_batch",
        "actorflow.graph.ops.math.elementwise": "sigmoid tanh",
        "actorflow.graph.ops.math.statistics": "zero_fraction",
        "actorflow.graph.ops.nn.activation": "bias_add elu l2_loss leaky_relu log_softmax relu relu6 selu softmax softplus"
            " softsign",
        "actorflow.graph.ops.nn.candidate_sampling": "all_candidate_sampler compute_accidental_hits"
            " fixed_unigram_candidate_sampler learned_unigram_candidate_sampler log_uniform_candidate_sampler"
            " uniform_candidate_sampler",
        "actorflow.graph.ops.nn.conv.depthwise": "depthwise_conv2d"
            " depthwise_conv2d_backprop_filter:depthwise_conv2d_native_backprop_filter"
            " depthwise_conv2d_backprop_input:depthwise_conv2d_native_backprop_input depthwise_conv2d_native"
            " depthwise_conv2d_native_backprop_filter depthwise_conv2d_native_backprop_input separable_conv2d",
        "actorflow.graph.ops.nn.conv.functions": "conv1d conv2d conv2d_backprop_filter conv2d_backprop_input conv3d"
            " convolution",
        "actorflow.graph.ops.nn.conv.morphology": "dilation2d erosion2d",
        "actorflow.graph.ops.nn.conv.rules": "conv3d_backprop_filter_v2:conv3d_backprop_filter_op",
        "actorflow.graph.ops.nn.conv.transpose": "atrous_conv2d atrous_conv2d_transpose conv1d_transpose conv2d_transpose"
            " conv3d_transpose",
        "actorflow.graph.ops.nn.ctc": "collapse_repeated ctc_beam_search_decoder ctc_beam_search_decoder_v2"
            " ctc_greedy_decoder ctc_loss",
        "actorflow.graph.ops.nn.ctc_dense": "ctc_loss_v2 ctc_unique_labels",
        "actorflow.graph.ops.nn.embedding": "embedding_lookup embedding_lookup_sparse safe_embedding_lookup_sparse",
        "actorflow.graph.ops.nn.layers": "crelu dropout relu_layer swish xw_plus_b",
        "actorflow.graph.ops.nn.losses": "log_poisson_loss sigmoid_cross_entropy_with_logits"
            " softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2"
            " sparse_softmax_cross_entropy_with_logits weighted_cross_entropy_with_logits",
        "actorflow.graph.ops.nn.moments": "batch_norm_with_global_normalization batch_normalization moments"
            " normalize_moments sufficient_statistics weighted_moments",
        "actorflow.graph.ops.nn.normalization": "fused_batch_norm l2_normalize local_response_normalization"
            " lrn:local_response_normalization",
        "actorflow.graph.ops.nn.pooling.fractional": "fractional_avg_pool fractional_max_pool",
        "actorflow.graph.ops.nn.pooling.functions": "avg_pool avg_pool1d avg_pool2d avg_pool3d max_pool max_pool1d"
            " max_pool2d max_pool3d max_pool_with_argmax pool",
        "actorflow.graph.ops.nn.sampled_losses": "nce_loss sampled_softmax_loss",
        "actorflow.models.rnn.raw": "raw_rnn",
        "actorflow.models.rnn.rnn_cell": "rnn_cell:",
        "actorflow.models.rnn.unroll": "bidirectional_dynamic_rnn dynamic_rnn static_bidirectional_rnn static_rnn",
    },
    "af.sets": {
        "actorflow.graph.ops.sparse.sets": "difference:set_difference intersection:set_intersection set_difference"
            " set_intersection set_size set_union size:set_size union:set_union",
    },
    "af.signal": {
        "actorflow.graph.ops.signal.fft": "fft fft2d fft3d fftshift ifft ifft2d ifft3d ifftshift irfft irfft2d irfft3d rfft"
            " rfft2d rfft3d",
    },
    "af.sparse": {
        "actorflow.graph.ops.sparse.cross": "cross_hashed:sparse_cross_hashed",
        "actorflow.graph.ops.sparse.join": "concat:sparse_concat split:sparse_split",
        "actorflow.graph.ops.sparse.math": "add:sparse_add matmul:sparse_tensor_dense_matmul maximum:sparse_maximum"
            " minimum:sparse_minimum sparse_dense_matmul:sparse_tensor_dense_matmul",
        "actorflow.graph.ops.sparse.reduce": "reduce_max:sparse_reduce_max reduce_max_sparse:sparse_reduce_max_sparse"
            " reduce_sum:sparse_reduce_sum reduce_sum_sparse:sparse_reduce_sum_sparse softmax:sparse_softmax",
        "actorflow.graph.ops.sparse.segment": "segment_mean:sparse_segment_mean segment_sqrt_n:sparse_segment_sqrt_n"
            " segment_sum:sparse_segment_sum",
        "actorflow.graph.ops.sparse.shape": "expand_dims:sparse_expand_dims fill_empty_rows:sparse_fill_empty_rows"
            " reorder:sparse_reorder reset_shape:sparse_reset_shape reshape:sparse_reshape retain:sparse_retain"
            " slice:sparse_slice transpose:sparse_transpose",
        "actorflow.graph.ops.sparse.tensor": "eye:sparse_eye from_dense:sparse_from_dense mask:sparse_mask"
            " merge:sparse_merge placeholder:sparse_placeholder to_dense:sparse_tensor_to_dense"
            " to_indicator:sparse_to_indicator",
        "actorflow.graph.sparse_tensor": "SparseTensor",
        "actorflow.models.data.spec": "SparseTensorSpec",
    },
    "af.strings": {
        "actorflow.graph.ops.strings.elementwise": "as_string join:string_join length:string_length lower:string_lower"
            " regex_full_match regex_replace strip:string_strip substr to_number:string_to_number unicode_transcode"
            " upper:string_upper",
        "actorflow.graph.ops.strings.hash": "to_hash_bucket:string_to_hash_bucket"
            " to_hash_bucket_fast:string_to_hash_bucket_fast to_hash_bucket_strong:string_to_hash_bucket_strong",
        "actorflow.graph.ops.strings.split": "format:string_format reduce_join split:strings_split unsorted_segment_join",
    },
    "af.estimator": {
        "actorflow.training.estimator.added_metrics": "add_metrics",
        "actorflow.training.estimator.alternating.early_stopping": "make_early_stopping_hook read_eval_metrics"
            " stop_if_higher_hook stop_if_lower_hook stop_if_no_decrease_hook stop_if_no_increase_hook",
        "actorflow.training.estimator.alternating.exporters": "BestExporter Exporter FinalExporter LatestExporter",
        "actorflow.training.estimator.alternating.run": "train_and_evaluate",
        "actorflow.training.estimator.alternating.specs": "EvalSpec TrainSpec",
        "actorflow.training.estimator.canned.classes": "BaselineClassifier BaselineEstimator BaselineRegressor"
            " DNNClassifier DNNEstimator DNNLinearCombinedClassifier DNNLinearCombinedEstimator DNNLinearCombinedRegressor"
            " DNNRegressor LinearClassifier LinearEstimator LinearRegressor",
        "actorflow.training.estimator.canned.heads.class_heads": "BinaryClassHead MultiClassHead",
        "actorflow.training.estimator.canned.heads.head": "Head",
        "actorflow.training.estimator.canned.heads.label_heads": "MultiLabelHead",
        "actorflow.training.estimator.canned.heads.multi_head": "MultiHead",
        "actorflow.training.estimator.canned.heads.number_heads": "LogisticRegressionHead PoissonRegressionHead"
            " RegressionHead",
        "actorflow.training.estimator.estimator": "Estimator",
        "actorflow.training.estimator.events": "Evaluated Exported Saved StepMade TrainingBegun TrainingEnded",
        "actorflow.training.estimator.export": "export:",
        "actorflow.training.estimator.hooks": "InMemoryEvaluatorHook make_stop_at_checkpoint_step_hook",
        "actorflow.training.estimator.inputs": "inputs:",
        "actorflow.training.estimator.inputs.parsing_specs": "classifier_parse_example_spec regressor_parse_example_spec",
        "actorflow.training.estimator.predictor": "Predictor",
        "actorflow.training.estimator.progress.state": "Progress",
        "actorflow.training.estimator.run_config": "RunConfig",
        "actorflow.training.estimator.spec": "EstimatorSpec ModeKeys",
        "actorflow.training.estimator.vocabulary": "VocabInfo",
        "actorflow.training.estimator.warm_start": "WarmStartSettings",
    },
    "af.estimator.export": {
        "actorflow.training.estimator.export.outputs": "ClassificationOutput ExportOutput PredictOutput RegressionOutput",
        "actorflow.training.estimator.export.receivers": "ServingInputReceiver TensorServingInputReceiver"
            " build_parsing_serving_input_receiver_fn build_raw_serving_input_receiver_fn"
            " build_raw_supervised_input_receiver_fn",
    },
    "af.estimator.inputs": {
        "actorflow.training.estimator.inputs.arrays": "numpy_input_fn",
        "actorflow.training.estimator.inputs.tables": "pandas_input_fn",
    },
    "af.supervisor": {
        "actorflow.training.supervisor.events": "CheckpointSaved DeathReport Event LoopStalled ReplicasMapped Restored"
            " StateMoved StepAborted TaskRestarted TaskSlow WaitsForTasks WorkerEnded WorkerLost",
        "actorflow.training.supervisor.liveness": "Rules",
        "actorflow.training.supervisor.recovery.restarts": "RestartPolicy",
        "actorflow.training.supervisor.supervisor": "Supervisor",
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
