"""Modules of TensorFlow that are refused, each with the reason and what to do."""

from __future__ import annotations

_REASONS = {
    "compat.v2": "it is the API of TensorFlow 2. Programs of TensorFlow 1 run here; see tensorflow.compat.v1",
    "compiler": "there is no XLA. Cheap nodes are joined into tapes and loops without a switch",
    "contrib.tensorrt": "TensorRT converts graphs for NVIDIA's runtime. Export the model to ONNX, which TensorRT reads",
    "lite": "TensorFlow Lite writes models for phones. Export the model to ONNX (`tf.export`)",
    "python.autograph": "functions are not rewritten. Use tf.cond and tf.while_loop",
    "python.compiler": "there are no XLA and no TensorRT. The graph is optimised without them",
    "python.debug": "the debugger tfdbg is not here. `actorflow explain` and a session's traces show what a step does",
    "python.keras": "Keras is not part of actorflow. tf.layers has the same layers",
    "keras": "Keras is not part of actorflow. tf.layers has the same layers",
    "python.tpu": "there are no TPUs. Estimators run with use_tpu=False: tf.contrib.tpu.TPUEstimator",
    "python.tools": "the tools of TensorFlow's sources are not here. `actorflow dump` shows graphs and checkpoints",
    "tools": "the tools of TensorFlow's sources are not here. `actorflow dump` shows graphs and checkpoints",
}
"""Paths below `tensorflow`, of which all that lies below is refused too."""


AT_USE = ("python.debug",)
"""Paths of modules that programs import in any case, and use by a flag. Their names are refused when they are first used."""


def reason(path: str) -> str:
    """Why the module `path` below `tensorflow` is refused; empty if it is not."""
    parts = path.split(".")
    for depth in range(len(parts), 0, -1):
        if (said := _REASONS.get(".".join(parts[:depth]))) is not None:
            return f"{said}."
    return ""
