"""Writes `metrics_tf215.json.gz`: random streams through metrics and TensorFlow 2.15's answers to them.

python tests/models/layers/dump_metrics.py      with tensorflow-cpu==2.15.1, under Python 3.11
"""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from models.layers.metric_programs import run

YES_NO = ["true_positives", "true_negatives", "false_positives", "false_negatives", "precision", "recall"]
AT_THRESHOLDS = [f"{kind}_at_thresholds" for kind in YES_NO]
ERRORS = ["mean_absolute_error", "mean_squared_error", "root_mean_squared_error", "mean_relative_error"]
AT_K = [
    "precision_at_k",
    "recall_at_k",
    "sparse_precision_at_k",
    "average_precision_at_k",
    "sparse_average_precision_at_k",
]
OTHERS = ["mean", "mean_tensor", "percentage_below", "accuracy", "mean_cosine_distance", "mean_iou"]
AREAS = ["auc", "sensitivity_at_specificity", "specificity_at_sensitivity"]
FUNCTIONS = [*YES_NO, *AT_THRESHOLDS, *ERRORS, *AT_K, "precision_at_top_k", "recall_at_top_k", *OTHERS, *AREAS]
FUNCTIONS += ["mean_per_class_accuracy"]


def numbers(rng: random.Random, shape: list[int], low: float, high: float, whole: bool = False) -> Any:
    """Random numbers of a shape, as nested lists."""
    if not shape:
        return rng.randint(int(low), int(high)) if whole else round(rng.uniform(low, high), 3)
    return [numbers(rng, shape[1:], low, high, whole) for _ in range(shape[0])]


def one(rng: random.Random, function: str) -> dict[str, Any]:
    """A random stream."""
    rank = rng.choice([1, 1, 2])
    inner = [3] if rank == 2 else []
    sizes = [rng.randint(1, 6) for _ in range(4)]
    fixed = function == "mean_tensor"
    if fixed:
        sizes = [3] * 4
    static = [3 if fixed else None, *inner]
    given: dict[str, Any] = {}
    draw: dict[str, Any] = {}
    kinds: dict[str, tuple[str, list[int | None]]] = {}

    def feed(name: str, kind: str, shape: list[int], low: float, high: float) -> None:
        kinds[name] = (kind, [static[0], *shape])
        drawn = (low, high, kind in ("int64", "int32", "bool"))
        draw[name] = lambda n: (
            _bools(numbers(rng, [n, *shape], *drawn)) if kind == "bool" else numbers(rng, [n, *shape], *drawn)
        )

    if function in ("mean", "mean_tensor", "percentage_below"):
        feed("values", "float32", inner, -2, 2)
        if function == "percentage_below":
            given["threshold"] = 0.3
    elif function in ERRORS or function == "mean_cosine_distance":
        feed("labels", "float32", inner, 0.5, 2)
        feed("predictions", "float32", inner, -2, 2)
        if function == "mean_relative_error":
            feed("normalizer", "float32", inner, 0.5, 2)
        if function == "mean_cosine_distance":
            given["dim"] = rank - 1
    elif function in YES_NO:
        feed("labels", rng.choice(["bool", "int64"]), inner, 0, 1)
        feed("predictions", "int64", inner, 0, 1)
    elif function in AT_THRESHOLDS or function in AREAS:
        feed("labels", "bool", inner, 0, 1)
        feed("predictions", "float32", inner, 0, 1)
        if function in AT_THRESHOLDS:
            given["thresholds"] = rng.choice([[0.5], [0.1, 0.5, 0.9], [0.0, 1.0]])
        elif function == "auc":
            given["curve"] = rng.choice(["ROC", "PR"])
            given["summation_method"] = rng.choice(["trapezoidal", "careful_interpolation", "minoring", "majoring"])
            if rng.random() < 0.5:
                given["num_thresholds"] = rng.choice([3, 50])
            elif rng.random() < 0.5:
                given["thresholds"] = [0.2, 0.5, 0.7]
        else:
            given[function.rpartition("_at_")[2]] = rng.choice([0.25, 0.5, 0.8])
    elif "_k" in function:
        _ranked(rng, function, feed, given, kinds, draw)
        inner = []
    else:
        whole = rng.choice(["int64", "int32"])
        feed("labels", whole, inner, 0, 3)
        feed("predictions", whole if function != "accuracy" else "float32", inner, 0, 3)
        if function == "accuracy":
            draw["predictions"] = lambda n: numbers(rng, [n, *inner], 0, 3, True)
        else:
            given["num_classes"] = 4
    if rng.random() < 0.6:
        plain = (
            function in ("mean_iou", "mean_per_class_accuracy") or "positives" in function or "negatives" in function
        )
        broadcast = rank == 2 and not plain and rng.random() < 0.5 and "_k" not in function
        last = [1] if function == "mean_cosine_distance" and rank == 2 else [1] if broadcast else inner
        if function == "mean_cosine_distance" and rank == 1:
            last = []
        if not (function == "mean_cosine_distance" and rank == 1):
            feed("weights", "float32", last, 0, 2)
    if function == "accuracy" and rng.random() < 0.3:
        kinds["labels"] = (kinds["labels"][0], [*kinds["labels"][1], 1])
        column = draw["labels"]
        draw["labels"] = lambda n: _deeper(column(n))
    if rng.random() < 0.3:
        given["name"] = "here"
    batches = []
    for n in sizes:
        batch = {name: make(n) for name, make in draw.items()}
        if function == "mean_cosine_distance" and rank == 1 and "weights" in batch:
            del batch["weights"]
        batches.append(list(batch.values()))
    fed = [[name, *kinds[name]] for name in draw]
    return {"function": function, "arguments": given, "fed": fed, "batches": batches}


def _bools(value: Any) -> Any:
    return [_bools(one) for one in value] if isinstance(value, list) else bool(value)


def _deeper(value: Any) -> Any:
    return [_deeper(one) for one in value] if isinstance(value, list) else [value]


def _ranked(rng: random.Random, function: str, feed: Any, given: Any, kinds: Any, draw: Any) -> None:
    classes, k = 6, rng.randint(1, 4)
    given["k"] = k
    if "top" in function:
        feed("predictions_idx", "int64", [k], 0, classes - 1)
    else:
        feed("predictions", "float32", [classes], 0, 1)
    if "average" not in function and rng.random() < 0.4:
        given["class_id"] = rng.randint(0, classes - 1)
    way = rng.choice(["dense", "one", "sparse"])
    feed("labels", "int64", [] if way == "one" else [3], -1 if "average" in function else 0, classes)
    if way == "sparse":
        kinds["labels"] = ("sparse", [None, 3])

        def rows(n: int) -> Any:
            places = [[i, j] for i in range(n) for j in range(3) if rng.random() < 0.7]
            return {"indices": places, "values": [rng.randint(0, classes) for _ in places], "shape": [n, 3]}

        draw["labels"] = rows


def refusals() -> list[dict[str, Any]]:
    """Streams that are refused."""
    pair = [["labels", "float32", [3]], ["predictions", "float32", [2]]]
    fine = [["labels", "bool", [None]], ["predictions", "float32", [None]]]
    ranks = [["labels", "int64", [None]], ["predictions", "float32", [None, 4, 5]]]
    return [
        *({"function": f, "arguments": {}, "fed": pair, "batches": []} for f in (*ERRORS[:3], "accuracy", *YES_NO)),
        {"function": "mean_iou", "arguments": {"num_classes": 2}, "fed": pair, "batches": []},
        {"function": "auc", "arguments": {"curve": "XY"}, "fed": fine, "batches": []},
        {"function": "auc", "arguments": {"summation_method": "best"}, "fed": fine, "batches": []},
        {"function": "sensitivity_at_specificity", "arguments": {"specificity": 1.5}, "fed": fine, "batches": []},
        {"function": "specificity_at_sensitivity", "arguments": {"sensitivity": -1}, "fed": fine, "batches": []},
        {"function": "average_precision_at_k", "arguments": {"k": 0}, "fed": ranks, "batches": []},
        {"function": "recall_at_k", "arguments": {"k": 2}, "fed": ranks, "batches": []},
        {"function": "mean", "arguments": {"weights": [1.0, 2.0]}, "fed": [["values", "float32", [3]]], "batches": []},
        {"function": "mean", "arguments": {"value": 1}, "fed": [], "batches": []},
    ]


def main() -> None:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    warnings.simplefilter("ignore")
    import tensorflow.compat.v1 as tf  # type: ignore[import-not-found]

    tf.disable_v2_behavior()
    rng = random.Random(33)
    programs = [one(rng, function) for _ in range(5) for function in FUNCTIONS] + refusals()
    found = [{**program, "answer": run(tf, program)} for program in programs]
    path = Path(__file__).with_name("metrics_tf215.json.gz")
    path.write_bytes(gzip.compress(json.dumps(found, separators=(",", ":")).encode(), mtime=0))
    print(len(set(FUNCTIONS)), "functions,", len(found), "programs,", path.stat().st_size, "bytes")
    for program in found[: -len(refusals())]:
        if "error" in program["answer"]:
            print("refused:", {**program, "batches": 0})


if __name__ == "__main__":
    main()
