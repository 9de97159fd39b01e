"""`tf.contrib.training`: settings of models, operations that train, and loops of evaluation.

evaluation.py  evaluations of checkpoints, once or as new checkpoints come
hparams.py     `HParams`: settings of a model with their types
training.py    operations that train, with clipped gradients
"""

from actorflow.compat.contrib.parts import part as _part

__getattr__, __dir__, __all__ = _part(
    "training",
    {
        ".training.hparams": "HParams parse_values",
        ".training.training": "create_train_op train add_gradients_summaries clip_gradient_norms clip_gradient_norms_fn "
        "multiply_gradients",
        ".training.evaluation": "StopAfterNEvalsHook SummaryAtEndHook evaluate_once evaluate_repeatedly "
        "get_or_create_eval_step checkpoints_iterator wait_for_new_checkpoint",
        "tf.train": "GreedyLoadBalancingStrategy byte_size_load_fn",
    },
    {
        "bucket_by_sequence_length": "use tf.data.experimental.bucket_by_sequence_length",
        "bucket": "use tf.data.experimental.group_by_window",
        "batch_sequences_with_states": "use tf.data.Dataset, and keep the state of a network in variables",
        "stratified_sample": "use tf.data.experimental.rejection_resample",
        "rejection_sample": "use tf.data.experimental.rejection_resample",
    },
)
