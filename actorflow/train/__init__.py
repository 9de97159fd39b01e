"""`af.train`: optimizers, moving averages, the global step, learning rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorflow.lazy import lazily

if TYPE_CHECKING:
    from actorflow.records.example import (
        BytesList,
        Example,
        Feature,
        FeatureList,
        FeatureLists,
        Features,
        FloatList,
        Int64List,
        SequenceExample,
    )
    from actorflow.train.all_reduce import ring_all_reduce
    from actorflow.train.batching import (
        batch,
        batch_join,
        maybe_batch,
        maybe_batch_join,
        maybe_shuffle_batch,
        maybe_shuffle_batch_join,
        shuffle_batch,
        shuffle_batch_join,
    )
    from actorflow.train.checkpoint_init import init_from_checkpoint
    from actorflow.train.checkpoints import (
        CheckpointState,
        NewCheckpointReader,
        checkpoint_exists,
        get_checkpoint_mtimes,
        get_checkpoint_state,
        latest_checkpoint,
        list_variables,
        load_checkpoint,
        load_variable,
        remove_checkpoint,
        update_checkpoint_state,
    )
    from actorflow.train.coordinator import Coordinator
    from actorflow.train.global_steps import (
        assert_global_step,
        create_global_step,
        get_global_step,
        get_or_create_global_step,
        global_step,
    )
    from actorflow.train.input import (
        input_producer,
        limit_epochs,
        prefetch,
        range_input_producer,
        slice_input_producer,
        string_input_producer,
    )
    from actorflow.train.learning_rates import (
        cosine_decay,
        cosine_decay_restarts,
        exponential_decay,
        inverse_time_decay,
        linear_cosine_decay,
        natural_exp_decay,
        noisy_linear_cosine_decay,
        piecewise_constant,
        piecewise_constant_decay,
        polynomial_decay,
    )
    from actorflow.train.moving_averages import ExponentialMovingAverage
    from actorflow.train.optimizer import Optimizer
    from actorflow.train.optimizers import (
        AdadeltaOptimizer,
        AdagradOptimizer,
        AdamOptimizer,
        GradientDescentOptimizer,
        MomentumOptimizer,
        RMSPropOptimizer,
    )
    from actorflow.train.proximal import (
        AdagradDAOptimizer,
        FtrlOptimizer,
        ProximalAdagradOptimizer,
        ProximalGradientDescentOptimizer,
    )
    from actorflow.train.queue_runner import QueueRunner, add_queue_runner, start_queue_runners
    from actorflow.train.replica_devices import (
        GreedyLoadBalancingStrategy,
        byte_size_load_fn,
        replica_device_setter,
    )
    from actorflow.train.saver import Saver
    from actorflow.train.sync_replicas import SyncReplicasOptimizer

__getattr__, __dir__ = lazily(__name__, __file__)

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "BytesList",
    "CheckpointState",
    "Coordinator",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "FtrlOptimizer",
    "GradientDescentOptimizer",
    "GreedyLoadBalancingStrategy",
    "Int64List",
    "MomentumOptimizer",
    "NewCheckpointReader",
    "Optimizer",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "QueueRunner",
    "RMSPropOptimizer",
    "Saver",
    "SequenceExample",
    "SyncReplicasOptimizer",
    "add_queue_runner",
    "assert_global_step",
    "batch",
    "batch_join",
    "byte_size_load_fn",
    "checkpoint_exists",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "exponential_decay",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "init_from_checkpoint",
    "input_producer",
    "inverse_time_decay",
    "latest_checkpoint",
    "limit_epochs",
    "linear_cosine_decay",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
    "prefetch",
    "range_input_producer",
    "remove_checkpoint",
    "replica_device_setter",
    "ring_all_reduce",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "update_checkpoint_state",
]
