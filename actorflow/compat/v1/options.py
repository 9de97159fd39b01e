"""`ConfigProto` and its parts: options of a session under TensorFlow's names, as messages.

An option that has a meaning here becomes an option of `actorflow.blocking.Session`. An option that has none, such as numbers of
threads, is named in a warning, once for each.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

from actorflow.base.records.messages.message import Message
from actorflow.base.records.messages.values import Field
from actorflow.base.reports.user_line import user_line
from actorflow.engine.passes.options import PlanOptions
from actorflow.engine.session.settings import ValueOptions
from actorflow.graph.graphdef.cluster_protos import ClusterDef
from actorflow.public import public

SESSION = {"values": ValueOptions(writable=True, exact_feeds=True)}
"""Options of the sessions of TensorFlow's programs: arrays that may be written, and feeds that numpy converts."""


class GPUExperimental(Message):
    """Options of GPUs that have no meaning here."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "use_unified_memory": Field(2, "bool"),
        "num_dev_to_dev_copy_streams": Field(3, "int"),
        "collective_ring_order": Field(4, "string"),
    }


class SessionExperimental(Message):
    """Options of sessions that have no meaning here."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "collective_group_leader": Field(1, "string"),
        "executor_type": Field(3, "string"),
        "recv_buf_max_chunk": Field(4, "int"),
        "use_numa_affinity": Field(5, "bool"),
        "collective_nccl": Field(7, "bool"),
        "share_session_state_in_clusterspec_propagation": Field(8, "bool"),
        "share_cluster_devices_in_session": Field(10, "bool"),
        "optimize_for_static_graph": Field(12, "bool"),
    }


class RunExperimental(Message):
    """Options of runs that have no meaning here."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "collective_graph_key": Field(1, "int"),
        "use_run_handler_pool": Field(2, "bool"),
    }


class ThreadPoolOptionProto(Message):
    """A pool of threads, which has no meaning here."""

    FIELDS: ClassVar[dict[str, Field]] = {"num_threads": Field(1, "int"), "global_name": Field(2, "string")}


class RPCOptions(Message):
    """Options of messages between tasks, which have no meaning here."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "use_rpc_for_inprocess_master": Field(1, "bool"),
        "compression_algorithm": Field(2, "string"),
        "compression_level": Field(3, "int"),
    }


class RewriterConfig(Message):
    """`rewriter_config_pb2.RewriterConfig`: passes over the graph, which can't be chosen here."""

    DEFAULT, ON, OFF, AGGRESSIVE = 0, 1, 2, 3
    FIELDS: ClassVar[dict[str, Field]] = {
        name: Field(number, "enum", names=((0, "DEFAULT"), (1, "ON"), (2, "OFF"), (3, "AGGRESSIVE")))
        for name, number in (
            ("layout_optimizer", 1),
            ("constant_folding", 3),
            ("arithmetic_optimization", 7),
            ("dependency_optimization", 8),
            ("loop_optimization", 9),
            ("function_optimization", 10),
            ("debug_stripper", 11),
            ("shape_optimization", 13),
            ("remapping", 14),
            ("scoped_allocator_optimization", 15),
            ("pin_to_host_optimization", 18),
            ("implementation_selector", 22),
            ("auto_mixed_precision", 23),
        )
    } | {"disable_model_pruning": Field(2, "bool"), "disable_meta_optimizer": Field(19, "bool")}


@public("tf")
class GPUOptions(Message):
    """`tf.GPUOptions`: accepted without effect; memory is taken as it is needed.

    A session that gets an option without effect warns of it once.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True)).gpu_options.allow_growth
        True

    Args:
        per_process_gpu_memory_fraction, allow_growth, allocator_type, deferred_deletion_bytes: without effect.
        visible_device_list, polling_active_delay_usecs, polling_inactive_delay_msecs: without effect.
        force_gpu_compatible, experimental: without effect.
    """

    FIELDS: ClassVar[dict[str, Field]] = {
        "per_process_gpu_memory_fraction": Field(1, "double"),
        "allocator_type": Field(2, "string"),
        "deferred_deletion_bytes": Field(3, "int"),
        "allow_growth": Field(4, "bool"),
        "visible_device_list": Field(5, "string"),
        "polling_active_delay_usecs": Field(6, "int"),
        "polling_inactive_delay_msecs": Field(7, "int"),
        "force_gpu_compatible": Field(8, "bool"),
        "experimental": Field(9, GPUExperimental),
    }
    Experimental = GPUExperimental


@public("tf")
class OptimizerOptions(Message):
    """`tf.OptimizerOptions`.

    A session that gets an option without effect warns of it once.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0).opt_level
        -1

    Args:
        do_common_subexpression_elimination, do_constant_folding, max_folded_constant_in_bytes: without effect.
        do_function_inlining: without effect.
        opt_level: with `L0` the graph is run as it is, without folding or merging of nodes; `L1` is the default.
        global_jit_level, cpu_global_jit: without effect.
    """

    FIELDS: ClassVar[dict[str, Field]] = {
        "do_common_subexpression_elimination": Field(1, "bool"),
        "do_constant_folding": Field(2, "bool"),
        "opt_level": Field(3, "enum", names=((0, "L1"), (-1, "L0"))),
        "do_function_inlining": Field(4, "bool"),
        "global_jit_level": Field(5, "enum", names=((0, "DEFAULT"), (-1, "OFF"), (1, "ON_1"), (2, "ON_2"))),
        "max_folded_constant_in_bytes": Field(6, "int"),
        "cpu_global_jit": Field(7, "bool"),
    }

    L1 = 0
    L0 = -1
    DEFAULT = 0
    OFF = -1
    ON_1 = 1
    ON_2 = 2


@public("tf")
class GraphOptions(Message):
    """`tf.GraphOptions`.

    A session that gets an option without effect warns of it once.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> plain = tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)
        >>> tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=plain)).graph_options.optimizer_options.opt_level
        -1

    Args:
        enable_recv_scheduling: without effect.
        optimizer_options: says whether nodes are folded and merged.
        build_cost_model, build_cost_model_after, infer_shapes, place_pruned_graph: without effect.
        enable_bfloat16_sendrecv, timeline_step, rewrite_options: without effect.
    """

    FIELDS: ClassVar[dict[str, Field]] = {
        "enable_recv_scheduling": Field(2, "bool"),
        "optimizer_options": Field(3, OptimizerOptions),
        "build_cost_model": Field(4, "int"),
        "infer_shapes": Field(5, "bool"),
        "place_pruned_graph": Field(6, "bool"),
        "enable_bfloat16_sendrecv": Field(7, "bool"),
        "timeline_step": Field(8, "int"),
        "build_cost_model_after": Field(9, "int"),
        "rewrite_options": Field(10, RewriterConfig),
    }


@public("tf")
class ConfigProto(Message):
    """`tf.ConfigProto`: the options of a session.

    A session that gets an option without effect warns of it once.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> config = tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)
        >>> with tf.Session(graph=tf.Graph(), config=config) as blocking:
        ...     print(len(blocking.list_devices()))
        2

    Args:
        device_count: the number of devices of each type, such as `{"CPU": 2}`.
        intra_op_parallelism_threads, inter_op_parallelism_threads, use_per_session_threads: without effect.
        placement_period, device_filters, gpu_options, log_device_placement: without effect.
        allow_soft_placement: whether to place a node elsewhere where a device that it asks for has no kernel for it.
        graph_options: its `optimizer_options.opt_level` says whether nodes are folded and merged.
        session_inter_op_thread_pool, rpc_options, cluster_def, experimental: without effect.
        operation_timeout_in_ms: the time of each run in milliseconds, unless `RunOptions` says otherwise; 0 for no
            limit.
        isolate_session_state: accepted without a warning; the state of a session is always its own.
    """

    FIELDS: ClassVar[dict[str, Field]] = {
        "device_count": Field(1, "int", key="string"),
        "intra_op_parallelism_threads": Field(2, "int"),
        "placement_period": Field(3, "int"),
        "device_filters": Field(4, "string", repeated=True),
        "inter_op_parallelism_threads": Field(5, "int"),
        "gpu_options": Field(6, GPUOptions),
        "allow_soft_placement": Field(7, "bool"),
        "log_device_placement": Field(8, "bool"),
        "use_per_session_threads": Field(9, "bool"),
        "graph_options": Field(10, GraphOptions),
        "operation_timeout_in_ms": Field(11, "int"),
        "session_inter_op_thread_pool": Field(12, ThreadPoolOptionProto, repeated=True),
        "rpc_options": Field(13, RPCOptions),
        "cluster_def": Field(14, ClusterDef),
        "isolate_session_state": Field(15, "bool"),
        "experimental": Field(16, SessionExperimental),
    }
    Experimental = SessionExperimental


@public("tf")
class RunOptions(Message):
    """`tf.RunOptions`: the options of a run.

    A run that gets an option without effect warns of it once.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as blocking:
        ...     queue = tf.FIFOQueue(1, tf.float32)
        ...     blocking.run(queue.dequeue(), options=tf.RunOptions(timeout_in_ms=10))
        Traceback (most recent call last):
            ...
        actorflow.errors.DeadlineExceededError: Step 1 was not done after 0.01 s.

    Args:
        trace_level: with `FULL_TRACE` (or another level above `NO_TRACE`), a run that is given `run_metadata` is traced.
        inter_op_thread_pool, output_partition_graphs: without effect.
        timeout_in_ms: the maximum time of the run in milliseconds; 0 for no limit.
        report_tensor_allocations_upon_oom, experimental: without effect.
    """

    FIELDS: ClassVar[dict[str, Field]] = {
        "trace_level": Field(
            1, "enum", names=((0, "NO_TRACE"), (1, "SOFTWARE_TRACE"), (2, "HARDWARE_TRACE"), (3, "FULL_TRACE"))
        ),
        "timeout_in_ms": Field(2, "int"),
        "inter_op_thread_pool": Field(3, "int"),
        "output_partition_graphs": Field(5, "bool"),
        "report_tensor_allocations_upon_oom": Field(7, "bool"),
        "experimental": Field(8, RunExperimental),
    }
    Experimental = RunExperimental

    NO_TRACE = 0
    SOFTWARE_TRACE = 1
    HARDWARE_TRACE = 2
    FULL_TRACE = 3


# In which way each option that is kept is kept; state is a session's own in any case.
_MEANT = {
    "allow_soft_placement",
    "device_count",
    "operation_timeout_in_ms",
    "graph_options.optimizer_options.opt_level",
    "isolate_session_state",
    "timeout_in_ms",
    "trace_level",
}
_warned: set[str] = set()


def session_options(config: ConfigProto | None) -> tuple[dict[str, Any], float | None]:
    """The options of `actorflow.blocking.Session` that `config` stands for, and the time of a run in seconds.

    Raises:
        TypeError: it is no ConfigProto.
        ValueError: an unknown optimizer level, or a negative time.
    """
    if config is None:
        return {}, None
    if not isinstance(config, ConfigProto):
        raise TypeError(f"config= takes a ConfigProto, but a {type(config).__name__} was given.")
    warn_of_ignored(config)
    options: dict[str, Any] = {}
    if config.device_count:
        options["devices"] = {"CPU": 1, **dict(config.device_count)}  # as in TensorFlow there is a CPU in any case
    level = config.graph_options.optimizer_options.opt_level
    if level not in (OptimizerOptions.L0, OptimizerOptions.L1):
        raise ValueError(f"opt_level is OptimizerOptions.L0 or L1, not {level!r}.")
    optimize = level == OptimizerOptions.L1
    if config.allow_soft_placement or not optimize:
        options["options"] = PlanOptions(soft_placement=config.allow_soft_placement, optimize=optimize)
    return options, _seconds(config.operation_timeout_in_ms, "operation_timeout_in_ms")


def run_timeout(options: RunOptions | None, default: float | None) -> float | None:
    """The time of a run in seconds, or None for any.

    Raises:
        TypeError: the options are no RunOptions.
        ValueError: a negative time.
    """
    if options is None:
        return default
    if not isinstance(options, RunOptions):
        raise TypeError(f"options= takes RunOptions, but a {type(options).__name__} was given.")
    warn_of_ignored(options)
    return _seconds(options.timeout_in_ms, "timeout_in_ms") or default


def _seconds(milliseconds: int, what: str) -> float | None:
    if milliseconds < 0:
        raise ValueError(f"{what} is a number of milliseconds, or 0 for any time, not {milliseconds}.")
    return milliseconds / 1000 if milliseconds else None


def warn_of_ignored(options: Any) -> None:
    """Warns of each option that is set and has no meaning here, the first time that it is seen."""
    name = type(options).__name__
    for path, value in _changed(options):
        if path not in _MEANT and path not in _warned:
            _warned.add(path)
            text = f"{name}({path}={value!r}) has no meaning in actorflow and is ignored."
            where = user_line()
            if where is None:
                warnings.warn(text, UserWarning, stacklevel=2)
            else:
                warnings.warn_explicit(text, UserWarning, where.file, where.line)


def _changed(record: Message, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The fields that are set, by their path."""
    for name, value in record.ListFields():
        if isinstance(value, Message):
            yield from _changed(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
