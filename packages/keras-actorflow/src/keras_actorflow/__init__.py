"""actorflow as a backend of Keras 3.

Importing this package before Keras selects the backend, as `KERAS_BACKEND=actorflow` does.

hook.py     Keras' choice of a backend, widened by a name
src/        the backend that Keras imports
files.py    `.keras` files for `af.load_model` and `actorflow serve`
aio.py      `fit`, `evaluate` and `predict` with `await`
resuming.py `BackupAndRestore`, exact to the bit
"""

from typing import TYPE_CHECKING

from keras_actorflow.hook import install

install()

from keras_actorflow.aio import evaluate, fit, predict  # noqa: E402


def export_onnx(model: object, path: str) -> None:
    """Writes a model that has been built as an ONNX file.

    Example:
        >>> keras_actorflow.export_onnx(model, "model.onnx")

    Args:
        model: a model of Keras.
        path: the file.

    Raises:
        ValueError: the model has not been built.
        UnimplementedError: ONNX has no form for an op of it.
    """
    from keras_actorflow.src import export  # Keras is imported with it

    export.export_onnx(model, path)


def __getattr__(name: str) -> object:
    if name != "BackupAndRestore":
        raise AttributeError(f"module 'keras_actorflow' has no attribute {name!r}; it has: {', '.join(__all__)}.")
    from keras_actorflow import resuming  # Keras is imported with it

    return resuming.BackupAndRestore


if TYPE_CHECKING:
    from keras_actorflow.resuming import BackupAndRestore

__all__ = ["BackupAndRestore", "evaluate", "export_onnx", "fit", "predict"]
