"""What each op computes on each device type.

A kernel is an implementation of an op that the core declares; importing this package registers all of them. The core
finds it through the entry point group `actorflow.kernels`. Modules import the core as `from actorflow.x import y`,
their siblings relatively, and no other part.
"""

if not __name__.startswith("actorflow."):
    raise ImportError(
        f"this folder is the package actorflow.kernels, not {__name__}: install the checkout (make test, or "
        "pip install -e .) and write `import actorflow.kernels`"
    )

from . import (
    cast,
    control,
    filling,
    gathering,
    gradient_ops,
    indexing,
    joining,
    linalg,
    logic,
    math,
    nn,
    ordering,
    padding,
    random,
    reduction,
    segment,
    sendrecv,
    shaping,
    source,
    special,
    state,
    state_sparse,
    training,
    unary,
)

__all__ = [
    "cast",
    "control",
    "filling",
    "gathering",
    "gradient_ops",
    "indexing",
    "joining",
    "linalg",
    "logic",
    "math",
    "nn",
    "ordering",
    "padding",
    "random",
    "reduction",
    "segment",
    "sendrecv",
    "shaping",
    "source",
    "special",
    "state",
    "state_sparse",
    "training",
    "unary",
]
