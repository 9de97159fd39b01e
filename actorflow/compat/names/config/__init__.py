"""`tf.config`: devices and threads of this process.

experimental.py  devices, and their memory
optimizer.py     switches of passes
threading.py     numbers of threads
"""

from __future__ import annotations

from actorflow.compat.names.config import experimental as experimental
from actorflow.compat.names.config import optimizer as optimizer
from actorflow.compat.names.config import threading as threading
from actorflow.compat.names.refused import absent
from actorflow.public import public

public("tf:config")

__getattr__ = absent("config", __name__)

_soft = [False]


def get_soft_device_placement() -> bool:
    """The setting that was kept."""
    return _soft[0]


def set_soft_device_placement(enabled: bool) -> None:
    """Keeps the setting. A session takes that of its own: `tf.ConfigProto(allow_soft_placement=True)`."""
    _soft[0] = enabled


def experimental_run_functions_eagerly(run_eagerly: bool) -> None:
    """Raises NotImplementedError if functions are to run eagerly: a function is traced."""
    if run_eagerly:
        raise NotImplementedError("Functions are traced: call the Python function itself to run it eagerly.")


def experimental_list_devices() -> list[str]:
    """The names of the devices of this process."""
    return [device.name for device in experimental.list_logical_devices()]
