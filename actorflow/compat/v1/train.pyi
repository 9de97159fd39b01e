# `make names` writes this file from the marks in the sources.

from actorflow.base.records.example import BytesList as BytesList
from actorflow.base.records.example import Example as Example
from actorflow.base.records.example import Feature as Feature
from actorflow.base.records.example import FeatureList as FeatureList
from actorflow.base.records.example import FeatureLists as FeatureLists
from actorflow.base.records.example import Features as Features
from actorflow.base.records.example import FloatList as FloatList
from actorflow.base.records.example import Int64List as Int64List
from actorflow.base.records.example import SequenceExample as SequenceExample
from actorflow.cluster.config.spec import ClusterSpec as ClusterSpec
from actorflow.compat.estimator.hooks import LoggingTensorHook as LoggingTensorHook
from actorflow.compat.estimator.hooks import StepCounterHook as StepCounterHook
from actorflow.compat.names.training import checkpoints_iterator as checkpoints_iterator
from actorflow.compat.names.training import generate_checkpoint_state_proto as generate_checkpoint_state_proto
from actorflow.compat.training.loops import basic_train_loop as basic_train_loop
from actorflow.compat.training.monitored import ChiefSessionCreator as ChiefSessionCreator
from actorflow.compat.training.monitored import MonitoredSession as MonitoredSession
from actorflow.compat.training.monitored import MonitoredTrainingSession as MonitoredTrainingSession
from actorflow.compat.training.monitored import SessionManager as SessionManager
from actorflow.compat.training.monitored import SingularMonitoredSession as SingularMonitoredSession
from actorflow.compat.training.monitored import WorkerSessionCreator as WorkerSessionCreator
from actorflow.compat.training.saver import Checkpoint as Checkpoint
from actorflow.compat.training.saver import Saver as Saver
from actorflow.compat.training.server import Server as Server
from actorflow.compat.training.supervisor import Supervisor as Supervisor
from actorflow.graph.graphdef.cluster_protos import ClusterDef as ClusterDef
from actorflow.graph.graphdef.cluster_protos import JobDef as JobDef
from actorflow.graph.graphdef.cluster_protos import ServerDef as ServerDef
from actorflow.graph.graphdef.export import write_graph as write_graph
from actorflow.graph.graphdef.protos import SaverDef as SaverDef
from actorflow.models.summary.file_writer import FileWriter as SummaryWriter
from actorflow.models.summary.reading import summary_iterator as summary_iterator
from actorflow.models.train.global_steps import assert_global_step as assert_global_step
from actorflow.models.train.global_steps import create_global_step as create_global_step
from actorflow.models.train.global_steps import get_global_step as get_global_step
from actorflow.models.train.global_steps import get_or_create_global_step as get_or_create_global_step
from actorflow.models.train.global_steps import global_step as global_step
from actorflow.models.train.input import queue_runner as queue_runner
from actorflow.models.train.input.batching import batch as batch
from actorflow.models.train.input.batching import batch_join as batch_join
from actorflow.models.train.input.batching import maybe_batch as maybe_batch
from actorflow.models.train.input.batching import maybe_batch_join as maybe_batch_join
from actorflow.models.train.input.batching import maybe_shuffle_batch as maybe_shuffle_batch
from actorflow.models.train.input.batching import maybe_shuffle_batch_join as maybe_shuffle_batch_join
from actorflow.models.train.input.batching import shuffle_batch as shuffle_batch
from actorflow.models.train.input.batching import shuffle_batch_join as shuffle_batch_join
from actorflow.models.train.input.coordinator import Coordinator as Coordinator
from actorflow.models.train.input.input import input_producer as input_producer
from actorflow.models.train.input.input import limit_epochs as limit_epochs
from actorflow.models.train.input.input import match_filenames_once as match_filenames_once
from actorflow.models.train.input.input import prefetch as prefetch
from actorflow.models.train.input.input import range_input_producer as range_input_producer
from actorflow.models.train.input.input import slice_input_producer as slice_input_producer
from actorflow.models.train.input.input import string_input_producer as string_input_producer
from actorflow.models.train.input.looper import LooperThread as LooperThread
from actorflow.models.train.input.queue_runner import QueueRunner as QueueRunner
from actorflow.models.train.input.queue_runner import add_queue_runner as add_queue_runner
from actorflow.models.train.input.queue_runner import start_queue_runners as start_queue_runners
from actorflow.models.train.optimizers.all_reduce import ring_all_reduce as ring_all_reduce
from actorflow.models.train.optimizers.learning_rates import cosine_decay as cosine_decay
from actorflow.models.train.optimizers.learning_rates import cosine_decay_restarts as cosine_decay_restarts
from actorflow.models.train.optimizers.learning_rates import exponential_decay as exponential_decay
from actorflow.models.train.optimizers.learning_rates import inverse_time_decay as inverse_time_decay
from actorflow.models.train.optimizers.learning_rates import linear_cosine_decay as linear_cosine_decay
from actorflow.models.train.optimizers.learning_rates import natural_exp_decay as natural_exp_decay
from actorflow.models.train.optimizers.learning_rates import noisy_linear_cosine_decay as noisy_linear_cosine_decay
from actorflow.models.train.optimizers.learning_rates import piecewise_constant as piecewise_constant
from actorflow.models.train.optimizers.learning_rates import piecewise_constant as piecewise_constant_decay
from actorflow.models.train.optimizers.learning_rates import polynomial_decay as polynomial_decay
from actorflow.models.train.optimizers.moving_averages import ExponentialMovingAverage as ExponentialMovingAverage
from actorflow.models.train.optimizers.optimizer import Optimizer as Optimizer
from actorflow.models.train.optimizers.optimizers import AdadeltaOptimizer as AdadeltaOptimizer
from actorflow.models.train.optimizers.optimizers import AdagradOptimizer as AdagradOptimizer
from actorflow.models.train.optimizers.optimizers import AdamOptimizer as AdamOptimizer
from actorflow.models.train.optimizers.optimizers import GradientDescentOptimizer as GradientDescentOptimizer
from actorflow.models.train.optimizers.optimizers import MomentumOptimizer as MomentumOptimizer
from actorflow.models.train.optimizers.optimizers import RMSPropOptimizer as RMSPropOptimizer
from actorflow.models.train.optimizers.proximal import AdagradDAOptimizer as AdagradDAOptimizer
from actorflow.models.train.optimizers.proximal import FtrlOptimizer as FtrlOptimizer
from actorflow.models.train.optimizers.proximal import ProximalAdagradOptimizer as ProximalAdagradOptimizer
from actorflow.models.train.optimizers.proximal import ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer
from actorflow.models.train.optimizers.sync_replicas import SyncReplicasOptimizer as SyncReplicasOptimizer
from actorflow.models.train.replica_devices import GreedyLoadBalancingStrategy as GreedyLoadBalancingStrategy
from actorflow.models.train.replica_devices import byte_size_load_fn as byte_size_load_fn
from actorflow.models.train.replica_devices import replica_device_setter as replica_device_setter
from actorflow.models.train.replicas.replicas import Replicas as Replicas
from actorflow.models.train.saving.checkpoint_init import init_from_checkpoint as init_from_checkpoint
from actorflow.models.train.saving.checkpoint_manager import CheckpointManager as CheckpointManager
from actorflow.models.train.saving.checkpoints import CheckpointState as CheckpointState
from actorflow.models.train.saving.checkpoints import NewCheckpointReader as NewCheckpointReader
from actorflow.models.train.saving.checkpoints import checkpoint_exists as checkpoint_exists
from actorflow.models.train.saving.checkpoints import get_checkpoint_mtimes as get_checkpoint_mtimes
from actorflow.models.train.saving.checkpoints import get_checkpoint_state as get_checkpoint_state
from actorflow.models.train.saving.checkpoints import latest_checkpoint as latest_checkpoint
from actorflow.models.train.saving.checkpoints import list_variables as list_variables
from actorflow.models.train.saving.checkpoints import load_checkpoint as load_checkpoint
from actorflow.models.train.saving.checkpoints import load_variable as load_variable
from actorflow.models.train.saving.checkpoints import remove_checkpoint as remove_checkpoint
from actorflow.models.train.saving.checkpoints import update_checkpoint_state as update_checkpoint_state
from actorflow.models.train.saving.meta_graph import export_meta_graph as export_meta_graph
from actorflow.models.train.saving.meta_graph import import_meta_graph as import_meta_graph
from actorflow.models.train.saving.meta_graph import read_meta_graph as read_meta_graph
from actorflow.training.estimator.vocabulary import VocabInfo as VocabInfo
from actorflow.training.estimator.warm_start import warm_start_from as warm_start
from actorflow.training.monitored.creators import SessionCreator as SessionCreator
from actorflow.training.monitored.hook import SessionRunArgs as SessionRunArgs
from actorflow.training.monitored.hook import SessionRunContext as SessionRunContext
from actorflow.training.monitored.hook import SessionRunHook as SessionRunHook
from actorflow.training.monitored.hook import SessionRunValues as SessionRunValues
from actorflow.training.monitored.hooks.feeding import FeedFnHook as FeedFnHook
from actorflow.training.monitored.hooks.feeding import FinalOpsHook as FinalOpsHook
from actorflow.training.monitored.hooks.saving import CheckpointSaverHook as CheckpointSaverHook
from actorflow.training.monitored.hooks.saving import CheckpointSaverListener as CheckpointSaverListener
from actorflow.training.monitored.hooks.stopping import GlobalStepWaiterHook as GlobalStepWaiterHook
from actorflow.training.monitored.hooks.stopping import NanLossDuringTrainingError as NanLossDuringTrainingError
from actorflow.training.monitored.hooks.stopping import NanTensorHook as NanTensorHook
from actorflow.training.monitored.hooks.stopping import StopAtStepHook as StopAtStepHook
from actorflow.training.monitored.hooks.summaries import ProfilerHook as ProfilerHook
from actorflow.training.monitored.hooks.summaries import SummarySaverHook as SummarySaverHook
from actorflow.training.monitored.hooks.timer import SecondOrStepTimer as SecondOrStepTimer
from actorflow.training.monitored.scaffold import Scaffold as Scaffold

__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "CheckpointState",
    "ChiefSessionCreator",
    "ClusterDef",
    "ClusterSpec",
    "Coordinator",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FeedFnHook",
    "FinalOpsHook",
    "FloatList",
    "FtrlOptimizer",
    "GlobalStepWaiterHook",
    "GradientDescentOptimizer",
    "GreedyLoadBalancingStrategy",
    "Int64List",
    "JobDef",
    "LoggingTensorHook",
    "LooperThread",
    "MomentumOptimizer",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "NewCheckpointReader",
    "Optimizer",
    "ProfilerHook",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "QueueRunner",
    "RMSPropOptimizer",
    "Replicas",
    "Saver",
    "SaverDef",
    "Scaffold",
    "SecondOrStepTimer",
    "SequenceExample",
    "Server",
    "ServerDef",
    "SessionCreator",
    "SessionManager",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "SingularMonitoredSession",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
    "SummaryWriter",
    "Supervisor",
    "SyncReplicasOptimizer",
    "VocabInfo",
    "WorkerSessionCreator",
    "add_queue_runner",
    "assert_global_step",
    "basic_train_loop",
    "batch",
    "batch_join",
    "byte_size_load_fn",
    "checkpoint_exists",
    "checkpoints_iterator",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "exponential_decay",
    "export_meta_graph",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "import_meta_graph",
    "init_from_checkpoint",
    "input_producer",
    "inverse_time_decay",
    "latest_checkpoint",
    "limit_epochs",
    "linear_cosine_decay",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "match_filenames_once",
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
    "queue_runner",
    "range_input_producer",
    "read_meta_graph",
    "remove_checkpoint",
    "replica_device_setter",
    "ring_all_reduce",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "summary_iterator",
    "update_checkpoint_state",
    "warm_start",
    "write_graph",
]
