"""`tf.sysconfig`: there are no headers and no libraries to build ops against, and each function says so."""

from __future__ import annotations

from typing import NoReturn

from actorflow.compat.names.versions import CXX11_ABI_FLAG as CXX11_ABI_FLAG
from actorflow.compat.names.versions import MONOLITHIC_BUILD as MONOLITHIC_BUILD
from actorflow.public import public

public("tf:sysconfig")


def get_include() -> NoReturn:
    """Raises NotImplementedError: an op of one's own is written in Python (see the guide about ops)."""
    raise NotImplementedError("There are no headers of TensorFlow: an op of your own is written in Python, with af.op.")


def get_lib() -> NoReturn:
    """Raises NotImplementedError: see `get_include`."""
    raise NotImplementedError("There is no library of TensorFlow: an op of your own is written in Python, with af.op.")


def get_compile_flags() -> list[str]:
    """No flags."""
    return []


def get_link_flags() -> list[str]:
    """No flags."""
    return []
