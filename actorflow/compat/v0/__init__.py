"""TensorFlow 0.x's names, over those of `actorflow.compat.v1`.

    import actorflow.compat.v0 as tf

A name that is not here is that of `compat.v1`. Summaries raise NotImplementedError where they are called.
"""

from __future__ import annotations

from typing import Any, NoReturn

import actorflow.compat.v1 as _v1
from actorflow.compat.v0 import nn as nn

_RENAMED = {
    "all_variables": "global_variables",
    "batch_cholesky": "cholesky",
    "batch_matmul": "matmul",
    "batch_matrix_determinant": "matrix_determinant",
    "batch_matrix_inverse": "matrix_inverse",
    "complex_abs": "abs",
    "initialize_all_variables": "global_variables_initializer",
    "initialize_local_variables": "local_variables_initializer",
    "initialize_variables": "variables_initializer",
    "inv": "reciprocal",
    "listdiff": "setdiff1d",
    "mul": "multiply",
    "neg": "negative",
    "pack": "stack",
    "select": "where",
    "sub": "subtract",
    "unpack": "unstack",
}
_SUMMARIES = (
    "audio_summary",
    "histogram_summary",
    "image_summary",
    "merge_all_summaries",
    "merge_summary",
    "scalar_summary",
)


def concat(concat_dim: Any, values: Any, name: str = "concat") -> Any:
    """`tf.concat` of 0.x, whose axis comes first."""
    return _v1.concat(values, concat_dim, name=name)


def split(split_dim: Any, num_split: int, value: Any, name: str = "split") -> Any:
    """`tf.split` of 0.x, whose axis comes first."""
    return _v1.split(value, num_split, axis=split_dim, name=name)


def _refuse_summaries(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError("Summaries are not in actorflow yet; leave this call and its writer out.")


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        return getattr(_v1, _RENAMED[name])
    if name in _SUMMARIES:
        return _refuse_summaries
    return getattr(_v1, name)


def __dir__() -> list[str]:
    return sorted({*dir(_v1), *_RENAMED, "concat", "split"})
