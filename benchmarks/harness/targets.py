"""The targets that the figures have to reach. A ratio is ours by the peer's, so that 0.3 means less than a third of its
time.

Models, steps and ops have to reach theirs with the extras `onednn` and `jit`; without them other bounds of the ops hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from benchmarks.harness import environment
from benchmarks.harness.rounds import Result
from benchmarks.models import TRAINING


@dataclass(frozen=True, slots=True)
class Target:
    """A bound on the median ratio, or on our own median in the figure's unit."""

    limit: float
    kind: Literal["ratio", "value"] = "ratio"
    sense: Literal["at most", "at least"] = "at most"

    def met(self, result: Result) -> bool | None:
        """None where the result has no such number, as when one side ran alone."""
        if self.kind == "value":
            value = result.value("ours")
        else:
            value = result.ratio.median if result.ratio else None
        if value is None:
            return None
        return value <= self.limit if self.sense == "at most" else value >= self.limit

    def text(self, unit: str) -> str:
        """As the table shows it."""
        sign = "≤" if self.sense == "at most" else "≥"
        return f"{sign} {self.limit:g}" + (f" {unit}" if self.kind == "value" and unit else "")


def _value(limit: float) -> Target:
    return Target(limit, "value")


# Figures that are not here are for information. Callables have no bound of their own: what they save on our side, they
# save on the peer's.
TARGETS: Mapping[str, Target] = {
    "session_calls/add_run": Target(0.3),
    "session_calls/blocking_add_run": Target(0.6),
    "chains/adds_run": Target(0.4),
    "chains/exponentials_run": Target(1.2),
    "mlp/mlp128_run": Target(0.7),
    "mlp/mlp512_run": Target(1.4),
    "eager/add": Target(0.35),
    "eager/tape": Target(0.2),
    "eager/mlp_step": Target(0.5),
    "eager/mlp_function": Target(0.6),
    **{f"tables/pyarrow_{size}": Target(1.25) for size in (1024, 4096, 16384)},
    "tables/datasets_1024": Target(0.667),
    "datasets/records": Target(0.8),
    "datasets/records_batched": Target(0.8),
    "datasets/coroutines": _value(1.1),
    "estimators/answer_ms": Target(0.01),
    "estimators/evaluate_ms": Target(0.1),
    "estimators/train_ms": Target(0.1),
    "estimators/step_us": Target(0.6),
    "estimators/step_by_bare": _value(1.3),
    "estimators/answer_p50_ms": _value(0.5),
    "estimators/answers_speedup": Target(10, "value", "at least"),
    "control/while_run": Target(0.15),
    "control/while_frames_run": Target(12),
    "control/lstm_run": Target(1.5),
    "control/loop_by_unrolled": _value(1.2),
    "control/iterations_growth_mb": _value(4),
    "control/iterations_frames_growth_mb": _value(4),
    "control/blocked_threads": _value(0),
    "control/overlap_waiting": _value(1.15),
    "remote/no_op_zmq_curve": Target(0.5),
    "remote/read_4b_shm": Target(0.3),
    "remote/read_4b_zmq_curve": Target(0.5),
    "remote/read_1mb_shm": Target(0.15),
    "remote/read_1mb_zmq": Target(0.5),
    "remote/read_1mb_zmq_curve": Target(0.9),
    "remote/read_100mb_shm": Target(0.005),
    "remote/read_100mb_zmq": Target(0.8),
    "remote/read_100mb_zmq_curve": Target(1),
    "remote/read_100mb_shm_summed": Target(0.3),
    "remote/push_100mb_shm": Target(0.4),
    **{f"remote/null_step_{workers}": Target(0.6) for workers in (1, 4, 16)},
    "arena/gigabyte_by_4_bytes": _value(1.5),
    "checkpoint/save_ms": Target(0.7),
    "checkpoint/restore_ms": Target(0.7),
    "checkpoint/held_up": _value(10),
    "importing/import_ms": Target(0.15),
    "importing/standalone_ms": _value(200),
    "importing/standalone_mb": _value(45),
    "watching/add_plan": _value(1.3),
    "watching/chain_plan": _value(1.3),
    "watching/digits_plan": _value(1.3),
    "watching/add_recorded": _value(1.02),
    "watching/chain_recorded": _value(1.02),
    "watching/digits_recorded": _value(1.02),
    "watching/page_ms": _value(20),
    "watching/scalar_us": Target(0.5),
    "watching/scalars_per_s": Target(100_000, "value", "at least"),
    "nodes/chain_node_us": _value(3),
    "nodes/wide_node_us": _value(3),
    "nodes/digits_node_us": _value(3),
    **{f"first_runs/{name}_peak_mb": Target(1) for name in (case.name for case in TRAINING)},
    "first_runs/seq2seq_first_ms": Target(1),
    "first_runs/lstm_unrolled_first_ms": Target(1),
    "first_runs/chain_first_ms": Target(0.3),
    "planning/build_ms": _value(1000),
    "planning/plan_ms": _value(2000),
    **{f"placement/{graph}_by_alone": _value(1) for graph in ("branches", "stages", "tangle")},
    **{f"placement/{graph}_by_turns": _value(1) for graph in ("branches", "stages", "tangle")},
    **{f"placement/{graph}_off": _value(10) for graph in ("branches", "stages", "tangle")},
    **{f"placement/{graph}_searched": _value(1.02) for graph in ("branches", "stages", "tangle")},
    "placement/predicted_within_10": Target(9, "value", "at least"),
    "placement_search/geometric_mean": _value(0.92),
    **{f"placement_search/{graphs}_worst": _value(1) for graphs in ("random", "profiles", "models")},
    "placement_search/large_greedy_s": _value(1),
    "placement_search/large_trials": Target(2000, "value", "at least"),
    **{f"placement_search/lstm_{link}": _value(1.05) for link in ("bus", "memory")},
    "placement_search/thousand_s": _value(10),
    "placement_search/session_s": _value(10),
    **{f"placement_search/{name}hold_p99_ms": _value(5) for name in ("", "session_")},
    "placement_search/learned_by_measured": _value(1.05),
    "concurrency/speedup_3": Target(2, "value", "at least"),
    "clients/policy": Target(0.4),
    "clients/vgg": Target(0.9),
    "clients/resnet": Target(0.9),
    **{f"serving/{kind}_64": Target(2, "ratio", "at least") for kind in ("json", "binary")},
    "serving/reload_by_usual": _value(2),
    "serving_bodies/worst": _value(50),
    **{f"resuming/beside_{busy}{end}": _value(3) for busy in (0, 8) for end in ("", "_longest")},
    "elastic/join": _value(0.5),
    "elastic/drain": _value(0.3),
    "elastic/kill": _value(3),
    "elastic/ratio": _value(1.02),
    "elastic/burst": _value(5),
    "memory/growth_mb": _value(4),
    **{
        f"loop_lag/{load}_p99_ms": _value(5)
        for load in ("digits", "mlp512", "eager", "eager_ops", "dataset", "concurrent", "first_plan")
    },
    **{f"loop_lag/{load}_max_ms": _value(25) for load in ("digits", "mlp512", "concurrent", "first_plan")},
}

WITH_EXTRAS: Mapping[str, Target] = {
    "ops/forty_geometric_mean": Target(0.55),
    "ops/forty_worst": Target(1.5),
    "models/training_geometric_mean": Target(0.75),
    "models/training_worst": Target(1),
    "models/inference_geometric_mean": Target(0.5),
    **{f"torch_steps/{name}": Target(1) for name in ("mlp", "cnn", "lstm", "transformer")},
    **{
        f"keras_steps/{model}_{size}": Target(1.2)
        for model in ("mlp", "cnn", "lstm", "transformer", "vae")
        for size in ("small", "middle")
    },
    **{f"keras_steps/predict_{model}": Target(0.3) for model in ("mlp", "cnn")},
    "keras_steps/import_ms": Target(0.5),
    **{f"onnx_models/batch_{batch}_geometric_mean": Target(1.2) for batch in (1, 8)},
    **{f"onnx_models/batch_{batch}_worst": Target(1.5) for batch in (1, 8)},
    "steps/mlp128": Target(0.45),
    "steps/mlp512": Target(0.7),
    "steps/lenet": Target(0.9),
    "steps/elementwise": Target(0.25),
    "steps/adam": Target(0.5),
    "steps/adam_one_thread": Target(0.85),
    **{f"steps/{step}_slowdown": Target(1.2) for step in ("mlp128", "mlp512", "lenet", "elementwise", "adam")},
}

WITHOUT_EXTRAS: Mapping[str, Target] = {"ops/forty_geometric_mean": Target(1.3), "ops/forty_worst": Target(4)}


def target(name: str) -> Target | None:
    """The target that the figure has to reach in this interpreter, if any."""
    extras = environment.extras()
    more = WITH_EXTRAS if "onednn" in extras and "jit" in extras else WITHOUT_EXTRAS
    return TARGETS.get(name) or more.get(name)
