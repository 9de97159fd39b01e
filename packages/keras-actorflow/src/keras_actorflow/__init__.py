"""actorflow as a backend of Keras 3.

Importing this package before Keras selects the backend, as `KERAS_BACKEND=actorflow` does.

hook.py     Keras' choice of a backend, widened by a name
src/        the backend that Keras imports
aio.py      `fit`, `evaluate` and `predict` with `await`
"""

from keras_actorflow.hook import install

install()

from keras_actorflow.aio import evaluate, fit, predict  # noqa: E402

__all__ = ["evaluate", "fit", "predict"]
