"""TensorBoard's pages, as `tf.contrib.tensorboard.plugins` has them.

projector.py  the page of embeddings
"""

from actorflow.compat.contrib.parts import part as _part

__getattr__, __dir__, __all__ = _part("tensorboard.plugins", {".tensorboard.plugins.projector": "projector=."})
