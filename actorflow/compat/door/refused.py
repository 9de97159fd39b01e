"""Modules of TensorFlow that are refused, each with the reason and what to do."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

_REASONS = {
    "compiler": "there is no XLA. Cheap nodes are joined into tapes and loops without a switch",
    "contrib.tensorrt": "TensorRT converts graphs for NVIDIA's runtime. Export the model to ONNX, which TensorRT reads",
    "lite": "TensorFlow Lite writes models for phones. Export the model to ONNX (`tf.export`)",
    "python.autograph": "the converters inside autograph are not here. tf.autograph.to_graph and to_code rewrite functions",
    "python.compiler": "there are no XLA and no TensorRT. The graph is optimised without them",
    "python.debug": "the debugger tfdbg is not here. `actorflow explain` and a session's traces show what a step does",
    "python.keras": "Keras is not part of actorflow. tf.layers has the same layers",
    "keras": "Keras is not part of actorflow. tf.layers has the same layers",
    "python.tpu": "there are no TPUs. Estimators run with use_tpu=False: tf.contrib.tpu.TPUEstimator",
    "python.tools": "the tools of TensorFlow's sources are not here. `actorflow dump` shows graphs and checkpoints",
    "tools": "the tools of TensorFlow's sources are not here. `actorflow dump` shows graphs and checkpoints",
}
"""Paths below `tensorflow`, of which all that lies below is refused too."""


AT_USE = ("python.autograph", "python.debug", "python.keras")
"""Paths of modules that programs import in any case, and use by a flag. Their names are refused when they are first used."""


def reason(path: str) -> str:
    """Why the module `path` below `tensorflow` is refused; empty if it is not."""
    parts = path.split(".")
    for depth in range(len(parts), 0, -1):
        if (said := _REASONS.get(".".join(parts[:depth]))) is not None:
            return f"{said}."
    return ""


_CUSTOM_OBJECTS: dict[str, Any] = {}


class RefusedModule(ModuleType):
    """A module, or a name in it, that is refused when it is used: programs import it in any case, and use it by a flag.

    A class may be derived of such a name. Its objects are refused when they are made.
    """

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name, f"{name} is not offered by actorflow: {why}")
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or f"{self.__name__}.{name}" in sys.modules:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name)
        if name == "get_custom_objects":  # programs register their classes there when they are imported
            return lambda: _CUSTOM_OBJECTS
        return RefusedModule(f"{self.__name__}.{name}", str(self.__doc__).partition(": ")[2])

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Raises NotImplementedError with the reason."""
        raise NotImplementedError(self.__doc__)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type[Any]]:
        def refuse(cls: type[Any], *arguments: Any, **named: Any) -> Any:
            raise NotImplementedError(self.__doc__)

        return (type(self.__name__.rpartition(".")[2], (), {"__new__": refuse, "__doc__": self.__doc__}),)


TYPE_SPEC = RefusedModule(
    "tensorflow.TypeSpec", "it describes things of several tensors. Describe each tensor by a tf.TensorSpec."
)
"""The class from which programs derive descriptions of their own."""
