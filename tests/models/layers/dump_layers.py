"""Writes `layers_tf215.json.gz`: random layers and TensorFlow 2.15's answers to them.

python tests/models/layers/dump_layers.py      with tensorflow-cpu==2.15.1, under Python 3.11
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

from models.layers.layer_programs import run

CLASSES = {
    "dense": "Dense",
    "conv1d": "Conv1D",
    "conv2d": "Conv2D",
    "conv3d": "Conv3D",
    "conv2d_transpose": "Conv2DTranspose",
    "conv3d_transpose": "Conv3DTranspose",
    "separable_conv1d": "SeparableConv1D",
    "separable_conv2d": "SeparableConv2D",
    "max_pooling1d": "MaxPooling1D",
    "max_pooling2d": "MaxPooling2D",
    "max_pooling3d": "MaxPooling3D",
    "average_pooling1d": "AveragePooling1D",
    "average_pooling2d": "AveragePooling2D",
    "average_pooling3d": "AveragePooling3D",
    "batch_normalization": "BatchNormalization",
    "dropout": "Dropout",
    "flatten": "Flatten",
}
STATEFUL = [name for name in CLASSES if "pooling" not in name and name not in ("dropout", "flatten")]


def one(rng: random.Random, function: str) -> dict[str, Any]:
    """A random program of a function."""
    rank = next((int(n) for n in "123" if f"{n}d" in function), rng.choice([0, 1, 2, 3]))
    shape = [rng.choice([1, 2, 3]), *(rng.randint(4, 7) for _ in range(rank)), rng.randint(1, 4)]
    given: dict[str, Any] = {}
    if function == "dense":
        given["units"] = rng.randint(1, 5)
    if "conv" in function:
        given["filters"] = rng.randint(1, 4)
        given["kernel_size"] = rng.choice([1, 2, 3, [rng.randint(1, 3) for _ in range(rank)]])
        given["padding"] = rng.choice(["valid", "same", "SAME"] + ["causal"] * (function == "conv1d"))
        step = rng.choice([1, 2, 3])
        if rng.random() < 0.7 or "transpose" in function or given["padding"] == "causal":
            given["strides"] = step if "conv3d" not in function else min(step, 2)
        elif "3d" not in function:
            given["dilation_rate"] = rng.choice([1, 2])
        if "separable" in function:
            given["depth_multiplier"] = rng.randint(1, 3)
    if "pooling" in function:
        given = {
            "pool_size": rng.choice([2, 3, [rng.randint(1, 3) for _ in range(rank)]]),
            "strides": rng.randint(1, 3),
        }
        given["padding"] = rng.choice(["valid", "same"])
    if function == "dense" or "conv" in function:
        if rng.random() < 0.4:
            given["activation"] = rng.choice(["relu", "tanh", "sigmoid", "softplus"])
        if rng.random() < 0.3:
            given["use_bias"] = False
        kernel = rng.choice(["depthwise", "pointwise"]) if "separable" in function else "kernel"
        for name in (kernel, "bias", "activity"):
            if rng.random() < 0.25:
                given[f"{name}_regularizer"] = "l2"
        if rng.random() < 0.2:
            given[f"{kernel}_initializer"] = 0.5
        if rng.random() < 0.2:
            given["trainable"] = False
    program: dict[str, Any] = {"function": function, "class": CLASSES[function], "shape": shape, "arguments": given}
    if function == "batch_normalization":
        _normalization(rng, program, rank)
    if function == "dropout":
        given["rate"] = rng.choice([0, 0.25, 0.5])
        given["training"] = rng.choice([True, False, "fed true", "fed false"])
        program["random"] = given["rate"] > 0 and given["training"] in (True, "fed true")
    if function == "flatten" and rng.random() < 0.3:
        given["data_format"] = "channels_first"
    program["way"] = rng.choice(
        ["once", "twice", "scope", "object"] + ["shared"] * 2 * (function in STATEFUL and function != "flatten")
    )
    program["static"] = [None if i == 0 and rng.random() < 0.6 else size for i, size in enumerate(program["shape"])]
    if rng.random() < 0.15 and rank and "causal" not in str(given):
        program["static"][1] = None
    return program


def _normalization(rng: random.Random, program: dict[str, Any], rank: int) -> None:
    given, shape = program["arguments"], program["shape"]
    given["training"] = rng.choice([True, True, False, "fed true", "fed false"])
    given["momentum"] = rng.choice([0.99, 0.9, 0.5])
    for name in ("center", "scale"):
        if rng.random() < 0.2:
            given[name] = False
    if rng.random() < 0.3:
        given["fused"] = rng.choice([True, False])
    if rng.random() < 0.3:
        given["axis"] = rng.choice([-1, 1, [1, len(shape) - 1]]) if rank else -1
    if rng.random() < 0.2:
        given["renorm"] = True
        if rng.random() < 0.5:
            given["renorm_clipping"] = {"rmin": 0.5, "rmax": 1.5, "dmax": 0.25}
    elif rng.random() < 0.15:
        shape[0] = 4
        given["virtual_batch_size"] = 2
        given.pop("fused", None)
    elif rng.random() < 0.1 and given["training"] is True:
        given["adjustment"] = "plain"
    if rng.random() < 0.2:
        given["trainable"] = False
    if rng.random() < 0.2:
        given["gamma_regularizer"] = "l2"


def refusals() -> list[dict[str, Any]]:
    """Programs that are wrong."""
    wrong: list[tuple[str, list[Any], dict[str, Any], str]] = [
        ("dense", [None, None], {"units": 2}, "once"),
        ("dense", [4], {"units": 2}, "once"),
        ("dense", [2, 3], {"units": -1}, "once"),
        ("dense", [2, 3], {"units": 2, "activation": 3}, "once"),
        ("dense", [2, 3], {"units": 2}, "named twice"),
        ("dense", [2, 3], {"units": 2}, "missing"),
        ("dense", [2, 3], {"units": 2, "unit": 3}, "once"),
        ("conv1d", [2, 8], {"filters": 2, "kernel_size": 3}, "once"),
        ("conv2d", [2, 8, 8], {"filters": 2, "kernel_size": 3}, "once"),
        ("conv2d", [2, 8, 8, None], {"filters": 2, "kernel_size": 3}, "once"),
        ("conv2d", [2, 8, 8, 3], {"filters": 0, "kernel_size": 3}, "once"),
        ("conv2d", [2, 8, 8, 3], {"filters": -2, "kernel_size": 3}, "once"),
        ("conv2d", [2, 8, 8, 3], {"filters": 2, "kernel_size": [3, 3, 3]}, "once"),
        ("conv2d", [2, 8, 8, 3], {"filters": 2, "kernel_size": 0}, "once"),
        ("conv2d", [2, 8, 8, 3], {"filters": 2, "kernel_size": "3x"}, "once"),
        ("conv2d", [2, 8, 8, 3], {"filters": 2, "kernel_size": 3, "strides": 0}, "once"),
        ("conv2d", [2, 8, 8, 3], {"filters": 2, "kernel_size": 3, "strides": [1, 2, 3]}, "once"),
        ("conv2d", [2, 8, 8, 3], {"filters": 2, "kernel_size": 3, "padding": "full"}, "once"),
        ("conv2d", [2, 8, 8, 3], {"filters": 2, "kernel_size": 3, "padding": "causal"}, "once"),
        ("conv2d", [2, 8, 8, 3], {"filters": 2, "kernel_size": 3, "data_format": "NHWC"}, "once"),
        ("conv2d", [2, 8, 8, 3], {"filters": 2, "kernel_size": 3, "strides": 2, "dilation_rate": 2}, "once"),
        ("conv2d", [2, 2, 2, 3], {"filters": 2, "kernel_size": 3}, "once"),
        ("conv2d", [2, 8, 8, 3], {"filters": 2, "kernel_size": 3}, "named twice"),
        ("conv3d", [2, 8, 8, 3], {"filters": 2, "kernel_size": 3}, "once"),
        ("conv2d_transpose", [2, 8, 8], {"filters": 2, "kernel_size": 3}, "once"),
        ("conv2d_transpose", [2, 8, 8, None], {"filters": 2, "kernel_size": 3}, "once"),
        ("separable_conv2d", [2, 8, 8, None], {"filters": 2, "kernel_size": 3}, "once"),
        ("separable_conv2d", [2, 8, 8, 3], {"filters": 0, "kernel_size": 3}, "once"),
        ("max_pooling1d", [2, 8], {"pool_size": 2, "strides": 2}, "once"),
        ("max_pooling2d", [2, 8, 8], {"pool_size": 2, "strides": 2}, "once"),
        ("max_pooling2d", [2, 8, 8, 3], {"pool_size": [2, 2, 2], "strides": 2}, "once"),
        ("max_pooling2d", [2, 8, 8, 3], {"pool_size": 2, "strides": 2, "padding": "full"}, "once"),
        ("average_pooling3d", [2, 8, 8, 3], {"pool_size": 2, "strides": 2}, "once"),
        ("batch_normalization", [2, None], {"training": True}, "once"),
        ("batch_normalization", [2, 3], {"axis": 2}, "once"),
        ("batch_normalization", [2, 3], {"axis": 1.5}, "once"),
        ("batch_normalization", [2, 3], {"axis": [1, 1]}, "once"),
        ("batch_normalization", [2, 3], {"renorm": True, "renorm_clipping": {"low": 1}}, "once"),
        ("batch_normalization", [2, 3], {"virtual_batch_size": 0, "training": True}, "once"),
        ("batch_normalization", [2, 3], {"virtual_batch_size": 2, "axis": 0}, "once"),
        ("dropout", [2, 3], {"rate": 2.0}, "once"),
        ("dropout", [2, 3], {"rate": -0.5}, "once"),
        ("flatten", [2, 3], {"data_format": "NHWC"}, "once"),
    ]
    return [
        {
            "function": f,
            "class": CLASSES[f],
            "shape": [s or 3 for s in static],
            "static": static,
            "arguments": a,
            "way": w,
        }
        for f, static, a, w in wrong
    ]


def main() -> None:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    warnings.simplefilter("ignore")
    import tensorflow.compat.v1 as tf  # type: ignore[import-not-found]

    tf.disable_v2_behavior()
    rng = random.Random(20)
    programs = [one(rng, function) for _ in range(7) for function in CLASSES]
    programs += [one(rng, "batch_normalization") for _ in range(45)] + refusals()
    found = [{**program, "answer": run(tf, program)} for program in programs]
    path = Path(__file__).with_name("layers_tf215.json.gz")
    path.write_bytes(gzip.compress(json.dumps(found, separators=(",", ":")).encode(), mtime=0))
    print(len(found), "programs,", path.stat().st_size, "bytes")
    for program in found:
        if program in found[-len(refusals()) :] and "error" not in program["answer"]:
            print("taken:", program)
        if "failed" in program["answer"]:
            print("failed:", program)


if __name__ == "__main__":
    main()
