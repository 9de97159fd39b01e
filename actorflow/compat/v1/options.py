"""`ConfigProto` and its parts: options of a session under TensorFlow's names, as plain records.

An option that has a meaning here becomes an option of `actorflow.blocking.Session`. An option that has none, such as numbers of
threads, is named in a warning, once for each.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from actorflow.base.reports.user_line import user_line
from actorflow.engine.passes.options import PlanOptions
from actorflow.engine.session.settings import ValueOptions
from actorflow.public import public

SESSION = {"values": ValueOptions(writable=True, exact_feeds=True)}
"""Options of the sessions of TensorFlow's programs: arrays that may be written, and feeds that numpy converts."""


@public("tf")
@dataclass(slots=True)
class GPUOptions:
    """`tf.GPUOptions`: accepted without effect; memory is taken as it is needed.

    A session that gets an option without effect warns of it once.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True)).gpu_options.allow_growth
        True

    Args:
        per_process_gpu_memory_fraction, allow_growth, allocator_type, deferred_deletion_bytes: without effect.
        visible_device_list, polling_active_delay_usecs, polling_inactive_delay_msecs: without effect.
        force_gpu_compatible: without effect.
    """

    per_process_gpu_memory_fraction: float = 0.0
    allow_growth: bool = False
    allocator_type: str = ""
    deferred_deletion_bytes: int = 0
    visible_device_list: str = ""
    polling_active_delay_usecs: int = 0
    polling_inactive_delay_msecs: int = 0
    force_gpu_compatible: bool = False


@public("tf")
@dataclass(slots=True)
class OptimizerOptions:
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

    do_common_subexpression_elimination: bool = False
    do_constant_folding: bool = False
    max_folded_constant_in_bytes: int = 0
    do_function_inlining: bool = False
    opt_level: int = 0
    global_jit_level: int = 0
    cpu_global_jit: bool = False

    L1 = 0
    L0 = -1
    DEFAULT = 0
    OFF = -1
    ON_1 = 1
    ON_2 = 2


@public("tf")
@dataclass(slots=True)
class GraphOptions:
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
        enable_bfloat16_sendrecv, timeline_step: without effect.
    """

    enable_recv_scheduling: bool = False
    optimizer_options: OptimizerOptions = field(default_factory=OptimizerOptions)
    build_cost_model: int = 0
    build_cost_model_after: int = 0
    infer_shapes: bool = False
    place_pruned_graph: bool = False
    enable_bfloat16_sendrecv: bool = False
    timeline_step: int = 0


@public("tf")
@dataclass(slots=True)
class ConfigProto:
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
        operation_timeout_in_ms: the time of each run in milliseconds, unless `RunOptions` says otherwise; 0 for no
            limit.
        isolate_session_state: accepted without a warning; the state of a session is always its own.
        share_cluster_devices_in_session: without effect.
    """

    device_count: dict[str, int] = field(default_factory=dict)
    intra_op_parallelism_threads: int = 0
    inter_op_parallelism_threads: int = 0
    use_per_session_threads: bool = False
    placement_period: int = 0
    device_filters: list[str] = field(default_factory=list)
    gpu_options: GPUOptions = field(default_factory=GPUOptions)
    allow_soft_placement: bool = False
    log_device_placement: bool = False
    graph_options: GraphOptions = field(default_factory=GraphOptions)
    operation_timeout_in_ms: int = 0
    isolate_session_state: bool = False
    share_cluster_devices_in_session: bool = False


@public("tf")
@dataclass(slots=True)
class RunOptions:
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
        report_tensor_allocations_upon_oom: without effect.
    """

    trace_level: int = 0
    timeout_in_ms: int = 0
    inter_op_thread_pool: int = 0
    output_partition_graphs: bool = False
    report_tensor_allocations_upon_oom: bool = False

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
        options["devices"] = {"CPU": 1, **config.device_count}  # as in TensorFlow there is a CPU in any case
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


def _changed(record: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The fields, by their path, that differ from the default."""
    default = type(record)()
    for entry in fields(record):
        value, usual = getattr(record, entry.name), getattr(default, entry.name)
        if is_dataclass(value) and not isinstance(value, type):
            yield from _changed(value, f"{prefix}{entry.name}.")
        elif value != usual:
            yield f"{prefix}{entry.name}", value
