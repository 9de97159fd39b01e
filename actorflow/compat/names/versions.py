"""`tf.version`: TensorFlow's version whose names these are, and actorflow's beside."""

from __future__ import annotations

import sys

from actorflow import __version__
from actorflow.public import public

public("tf:version")

VERSION = "1.15.5"
GIT_VERSION = f"v{VERSION}-actorflow-{__version__}"
COMPILER_VERSION = f"Python {sys.version.partition(' ')[0]}"
GRAPH_DEF_VERSION = 134
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0
"""Versions of graphs that are read and written."""
CXX11_ABI_FLAG = 0
MONOLITHIC_BUILD = 0
"""Facts of libraries in C++, of which there are none."""
public(
    "tf",
    of="GIT_VERSION COMPILER_VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER",
)
public("tf", of="CXX11_ABI_FLAG MONOLITHIC_BUILD")

__all__ = [
    "COMPILER_VERSION",
    "GIT_VERSION",
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
    "VERSION",
]
