"""`tf.contrib.tensorboard`: the settings of TensorBoard's pages.

plugins/  the pages: that of embeddings
"""

from actorflow.compat.contrib.parts import part as _part

__getattr__, __dir__, __all__ = _part("tensorboard", {".tensorboard.plugins": "plugins=."})
