"""Summaries as ops: what TensorBoard shows, made in the step as serialised `Summary` messages (`tf.summary`).

These are the plain ops; `actorflow.summary` names and collects their results.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from actorflow.base.dtypes import FLOATING, INTEGER, float16, float32, float64, string, uint8
from actorflow.base.registry.opdef import Inference
from actorflow.base.shapes import Shape, compatible, show
from actorflow.graph.ops.declare import op
from actorflow.graph.ops.shape_rules import require_rank, scalar
from actorflow.graph.tensor import Tensor, TensorLike

_REAL = FLOATING | INTEGER
_UNKNOWN = 100_000  # elements of a tensor whose size is not known


def _size(c: Inference, index: int) -> float:
    shape = c.shapes[index]
    if shape is None:
        return _UNKNOWN
    sizes = [size for size in shape if size is not None]
    return math.prod(sizes) if len(sizes) == len(shape) else _UNKNOWN


def _scalars(c: Inference) -> Shape:
    if not compatible(c.shapes[0], c.shapes[1]):
        raise ValueError(f"tags and values have one shape, but theirs are {show(c.shapes[0])} and {show(c.shapes[1])}.")
    return ()


def _one_tag(c: Inference) -> Shape:
    require_rank(c, 0, 0)
    return ()


def _images(c: Inference) -> Shape:
    require_rank(c, 0, 0)
    shape = require_rank(c, 1, 4)
    if shape is not None and shape[3] not in (None, 1, 3, 4):
        raise ValueError(f"An image has 1, 3 or 4 channels; the shape of the batch is {show(shape)}.")
    _at_least_one(c, "max_images")
    return ()


def _clips(c: Inference) -> Shape:
    require_rank(c, 0, 0)
    require_rank(c, 2, 0)
    shape = c.shapes[1]
    if shape is not None and len(shape) not in (2, 3):
        raise ValueError(f"Audio is [batch, frames] or [batch, frames, channels]; its shape is {show(shape)}.")
    _at_least_one(c, "max_outputs")
    return ()


def _at_least_one(c: Inference, name: str) -> None:
    if c.attrs[name] < 1:
        raise ValueError(f"{name} is at least 1, but it is {c.attrs[name]}.")


def _tagged(c: Inference) -> Shape:
    require_rank(c, 0, 0)
    require_rank(c, 2, 0)
    return ()


def _any_number(c: Inference) -> Shape:
    if not c.shapes:
        raise ValueError("At least one summary is merged.")
    return ()


@op(
    "ScalarSummary",
    shape=_scalars,
    dtypes=_REAL,
    types={"tags": string},
    result=string,
    gradient=None,
    prefer=float32,
    work=lambda c: 50 * _size(c, 1),
)
def scalar_summary(tags: TensorLike, values: TensorLike, *, name: str | None = None) -> Tensor:
    """A summary of numbers; `tags` and `values` have one shape."""


@op(
    "HistogramSummary",
    shape=_one_tag,
    dtypes=_REAL,
    types={"tag": string},
    result=string,
    gradient=None,
    prefer=float32,
    work=lambda c: 10_000 + 50 * _size(c, 1),
)
def histogram_summary(tag: TensorLike, values: TensorLike, *, name: str | None = None) -> Tensor:
    """A summary of the distribution of all elements. The run raises InvalidArgumentError for an element that is not finite."""


@op(
    "ImageSummary",
    shape=_images,
    dtypes=frozenset((uint8, float16, float32, float64)),
    types={"tag": string},
    result=string,
    gradient=None,
    prefer=float32,
    work=lambda c: 10_000 + 100 * _size(c, 1),
)
def image_summary(
    tag: TensorLike, tensor: TensorLike, *, max_images: int = 3, bad_color: Any = None, name: str | None = None
) -> Tensor:
    """A summary of the first `max_images` images of `[batch, height, width, channels]`.

    `bad_color` is that of pixels that are not finite: uint8 `[4]`, red unless given.
    """


@op(
    "AudioSummaryV2",
    shape=_clips,
    dtypes=frozenset((float32,)),
    types={"tag": string, "sample_rate": float32},
    result=string,
    gradient=None,
    work=lambda c: 10_000 + 10 * _size(c, 1),
)
def audio_summary(
    tag: TensorLike,
    tensor: TensorLike,
    sample_rate: TensorLike,
    *,
    max_outputs: int = 3,
    name: str | None = None,
) -> Tensor:
    """A summary of the first `max_outputs` clips of `[batch, frames]` or `[batch, frames, channels]`."""


@op(
    "TensorSummary",
    shape=scalar,
    result=string,
    gradient=None,
    stateful=True,
    work=lambda c: 100 + _size(c, 0),
)
def tensor_summary_v1(
    tensor: TensorLike,
    *,
    description: str = "",
    labels: Sequence[str] = (),
    display_name: str = "",
    name: str | None = None,
) -> Tensor:
    """A summary of a tensor that has its node's name in the place of a tag. The attributes are kept, and not written."""


@op(
    "TensorSummaryV2",
    shape=_tagged,
    types={"tag": string, "serialized_summary_metadata": string},
    result=string,
    gradient=None,
    work=lambda c: 100 + _size(c, 1),
)
def tensor_summary_v2(
    tag: TensorLike, tensor: TensorLike, serialized_summary_metadata: TensorLike, *, name: str | None = None
) -> Tensor:
    """A summary of a tensor, with a `SummaryMetadata` message."""


@op(
    "MergeSummary",
    shape=_any_number,
    types={"inputs": string},
    result=string,
    gradient=None,
    work=lambda c: 50 * len(c.shapes),
)
def merge_summary(inputs: Sequence[TensorLike], *, name: str | None = None) -> Tensor:
    """Several summaries in a single summary. The run raises InvalidArgumentError where a tag is in two of them."""
