"""The parts of `tf.contrib` that are public names alone, without a file: the table of them."""

from __future__ import annotations

import sys
from typing import Any

from actorflow.compat.contrib.parts import PREFIX, part
from actorflow.compat.v1.namespaces import Namespace

_EXPERIMENTAL = (
    "AUTOTUNE Counter CsvDataset RandomDataset Reducer TFRecordWriter bucket_by_sequence_length "
    "choose_from_datasets copy_to_device enumerate_dataset get_single_element group_by_reducer group_by_window "
    "ignore_errors make_batched_features_dataset make_csv_dataset map_and_batch parallel_interleave "
    "prefetch_to_device rejection_resample sample_from_datasets scan shuffle_and_repeat unbatch unique "
)

ALIASES: dict[str, dict[str, str]] = {
    "autograph": {
        "tf.autograph": "to_graph to_code set_verbosity trace",
        "tf.autograph.experimental": "Feature do_not_convert set_loop_options",
    },
    "checkpoint": {"tf.train": "Checkpoint CheckpointManager"},
    "cluster_resolver": {
        "tf.distribute.cluster_resolver": "ClusterResolver SimpleClusterResolver TFConfigClusterResolver UnionResolver"
    },
    "data": {
        "tf.data.experimental": _EXPERIMENTAL,
        "tf.data": "Dataset Iterator TFRecordDataset TextLineDataset FixedLengthRecordDataset Options",
        ".transforming": "batch_and_drop_remainder padded_batch_and_drop_remainder assert_element_shape sliding_window_batch "
        "read_batch_features reduce_dataset",
    },
    "distribute": {
        "tf.distribute": "CrossDeviceOps InputContext InputReplicationMode MirroredStrategy OneDeviceStrategy ReduceOp "
        "ReplicaContext Strategy DistributionStrategy=Strategy ReductionToOneDeviceCrossDeviceOps=ReductionToOneDevice "
        "AllReduceCrossDeviceOps=CrossDeviceOps get_cross_replica_context=get_strategy get_distribution_strategy=get_strategy "
        "get_loss_reduction get_replica_context get_strategy has_distribution_strategy=has_strategy has_strategy "
        "in_cross_replica_context",
        "tf.distribute.experimental": "CollectiveAllReduceStrategy=MultiWorkerMirroredStrategy ParameterServerStrategy "
        "CentralStorageStrategy",
    },
    "eager": {
        "tf": "GradientTape TensorSpec Variable custom_gradient enable_eager_execution executing_eagerly function "
        "defun=function py_func in_eager_mode=executing_eagerly",
        "tf.train": "Checkpoint Saver",
        "actorflow.compat.door.standins": "num_gpus list_devices=list_local_devices "
        "run_test_in_graph_and_eager_modes=as_it_is run_all_tests_in_graph_and_eager_modes=as_it_is",
        ".differentiating": "Iterator=iterator gradients_function implicit_gradients implicit_value_and_gradients "
        "value_and_gradients_function",
    },
    "estimator": {
        "tf.estimator": "add_metrics binary_classification_head=BinaryClassHead multi_class_head=MultiClassHead "
        "multi_label_head=MultiLabelHead multi_head=MultiHead regression_head=RegressionHead "
        "poisson_regression_head=PoissonRegressionHead logistic_regression_head=LogisticRegressionHead "
        "InMemoryEvaluatorHook make_early_stopping_hook stop_if_higher_hook stop_if_lower_hook stop_if_no_decrease_hook "
        "stop_if_no_increase_hook make_stop_at_checkpoint_step_hook read_eval_metrics LinearEstimator DNNEstimator "
        "DNNLinearCombinedEstimator BaselineEstimator",
        ".moving": "clip_gradients_by_norm forward_features",
    },
    "feature_column": {
        "tf.feature_column": "sequence_categorical_column_with_hash_bucket sequence_categorical_column_with_identity "
        "sequence_categorical_column_with_vocabulary_file sequence_categorical_column_with_vocabulary_list "
        "sequence_numeric_column sequence_input_layer",
    },
    "lookup": {
        "tf.lookup": "FastHashSpec HasherSpec IdTableWithHashBuckets KeyValueTensorInitializer MutableHashTable StrongHashSpec "
        "TextFileIndex TextFileInitializer index_table_from_file index_table_from_tensor index_to_string_table_from_file "
        "index_to_string_table_from_tensor HashTable string_to_index_table_from_file=index_table_from_file "
        "string_to_index_table_from_tensor=index_table_from_tensor",
        "actorflow.compat.door.calculations": "TextFileIdTableInitializer=text_file_id_table_initializer "
        "TextFileStringTableInitializer=text_file_string_table_initializer",
    },
    "nn": {"tf.nn": "conv1d_transpose sampled_softmax_loss", ".moving": "alpha_dropout scaled_softplus nth_element"},
    "saved_model": {"tf.saved_model": "simple_save"},
    "signal": {
        "tf.signal": "frame hamming_window hann_window inverse_stft inverse_stft_window_fn linear_to_mel_weight_matrix "
        "mfccs_from_log_mel_spectrograms overlap_and_add stft",
    },
    "staging": {},
    "stateless": {
        "tf.random": "stateless_random_normal=stateless_normal stateless_random_uniform=stateless_uniform "
        "stateless_truncated_normal stateless_multinomial",
    },
    "summary": {
        "tf.summary": "scalar histogram image audio create_file_writer=FileWriter SummaryWriter=FileWriter",
        ".moving": "always_record_summaries never_record_summaries record_summaries_every_n_global_steps "
        "should_record_summaries all_summary_ops flush initialize=flush",
    },
    "util": {
        "tf": "make_ndarray make_tensor_proto",
        "actorflow.compat.door.standins": "constant_value",
    },
}
"""The parts, with the places of their names."""

_REASONS = {
    "eager": {"Network": "derive models from tf.layers.Layer", "Sequential": "Keras is not part of actorflow"},
    "lookup": {"MutableDenseHashTable": "use tf.lookup.MutableHashTable, which takes no empty_key and no deleted_key"},
    "staging": {"StagingArea": "use tf.FIFOQueue, which needs a capacity; its enqueue and dequeue are put and get"},
}


def register() -> None:
    """Makes each of these parts a module, without a file."""
    for name, places in ALIASES.items():
        module: Any = Namespace(f"{PREFIX}.{name}", f"TensorFlow 1.15's `tf.contrib.{name}`.")
        module.__path__ = []
        module.__getattr__, module.__dir__, module.__all__ = part(name, places, _REASONS.get(name))
        sys.modules[module.__name__] = module
