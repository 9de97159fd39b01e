"""Arrays of other libraries: what offers numpy's protocols, Python's buffers or DLPack becomes a numpy array.

Memory is shared where the other library allows it. The caller must not write to such an array, and copies what it keeps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_HOST_MEMORY = (1, 3, 11, 13)
"""DLPack's numbers for devices whose memory a processor reads: its own, what is pinned for CUDA or ROCm, and CUDA's managed."""
_DEVICES = {2: "CUDA device", 4: "OpenCL device", 7: "Vulkan device", 8: "Metal device", 10: "ROCm device"}
_PROTOCOLS = ("__array__", "__array_interface__", "__array_struct__", "__dlpack__")
_PLAIN = (list, tuple, int, float, complex, str, bytes, bytearray)


def is_foreign(value: Any) -> bool:
    """Whether `value` is an array of another library, or a buffer, which has a dtype and a shape of its own."""
    if isinstance(value, _PLAIN):
        return False
    if any(hasattr(type(value), protocol) for protocol in _PROTOCOLS):
        return True
    try:
        memoryview(value).release()
    except TypeError:
        return False
    return True


def host_array(value: Any) -> np.ndarray[Any, Any]:
    """`value` as a numpy array, which may share its memory.

    Raises:
        TypeError: its memory is that of a device.
        Exception: what numpy or the library of `value` says of a value that can't become an array.
    """
    if (asked := getattr(type(value), "__dlpack_device__", None)) is not None:
        kind, number = asked(value)
        if kind not in _HOST_MEMORY:
            device = _DEVICES.get(int(kind), f"device of DLPack's kind {int(kind)},")
            raise TypeError(
                f"it is in the memory of {device} {number}. Copy it to the host first (torch: x.cpu(), CuPy: x.get())."
            )
    array = np.asarray(value)
    if array.dtype.kind == "O" and not array.ndim and hasattr(type(value), "__dlpack__"):
        array = np.from_dlpack(value)  # which has no other protocol
    return array
