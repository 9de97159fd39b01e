"""`import tensorflow` for programs of TensorFlow 1: the module is `actorflow.compat.v1` itself."""

from actorflow.compat.door import open_door as _open_door

_open_door(alone=True)
