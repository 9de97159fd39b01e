"""Kernels of summaries: serialised `Summary` messages, made on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.dtypes import as_dtype
from actorflow.base.records import summaries
from actorflow.base.records.proto_tensor import write_tensor
from actorflow.base.registry.kernel import kernel
from actorflow.engine.runtime.context import KernelContext
from actorflow.errors import InvalidArgumentError

from ..strings.objects import as_arrays

_RED = (255, 0, 0, 255)


def _text(value: Any, what: str = "A tag") -> str:
    array = as_arrays(value)
    if array.ndim:
        raise InvalidArgumentError(f"{what} is a scalar, but its shape is {array.shape}.")
    content: bytes = array.item()
    return content.decode("utf-8", "surrogateescape")


@kernel("ScalarSummary")
def scalar_summary(xp: Any, tags: Any, values: Any) -> Any:
    texts, numbers = as_arrays(tags), np.asarray(values)
    if texts.shape != numbers.shape:
        raise InvalidArgumentError(
            f"tags and values have one shape, but theirs are {texts.shape} and {numbers.shape}"
            + (f" (tag {texts.item().decode('utf-8', 'replace')!r})." if not texts.ndim else ".")
        )
    pairs = zip(texts.reshape(-1).tolist(), numbers.astype(np.float32).reshape(-1).tolist())
    return as_arrays(b"".join([summaries.scalar(tag.decode("utf-8", "surrogateescape"), n) for tag, n in pairs]))


@kernel("HistogramSummary")
def histogram_summary(xp: Any, tag: Any, values: Any) -> Any:
    try:
        return as_arrays(summaries.histogram(_text(tag), values))
    except ValueError as error:
        raise InvalidArgumentError(str(error)) from None


@kernel("ImageSummary")
def image_summary(xp: Any, tag: Any, tensor: Any, *, max_images: int, bad_color: Any) -> Any:
    if tensor.ndim != 4 or tensor.shape[3] not in (1, 3, 4):
        raise InvalidArgumentError(
            f"Tensor must be 4-D with last dim 1, 3, or 4, not {list(tensor.shape)}: [batch, height, width, channels]."
        )
    if tensor.size == 0 and tensor.shape[0]:
        raise InvalidArgumentError(f"An image has at least one pixel, but the batch has the shape {tensor.shape}.")
    colour = _RED if bad_color is None else tuple(np.asarray(bad_color).tolist())
    if len(colour) < tensor.shape[3]:
        raise InvalidArgumentError(f"bad_color has {len(colour)} values, and the images {tensor.shape[3]} channels.")
    return as_arrays(summaries.images(_text(tag), tensor, max_images, colour))


@kernel("AudioSummaryV2")
def audio_summary(xp: Any, tag: Any, tensor: Any, sample_rate: Any, *, max_outputs: int) -> Any:
    if tensor.ndim not in (2, 3):
        raise InvalidArgumentError(
            f"Tensor must be 3-D or 2-D, got: {list(tensor.shape)}; audio is [batch, frames] or [batch, frames, channels]."
        )
    rate = float(sample_rate)
    if not rate > 0:
        raise InvalidArgumentError(f"sample_rate must be > 0, but it is {rate}.")
    return as_arrays(summaries.audio(_text(tag), tensor, rate, max_outputs))


@kernel("TensorSummary")
def tensor_summary_v1(xp: Any, tensor: Any, *, ctx: KernelContext) -> Any:
    return as_arrays(summaries.tensor("", _message(tensor), node_name=ctx.node.name))


@kernel("TensorSummaryV2")
def tensor_summary_v2(xp: Any, tag: Any, tensor: Any, serialized_summary_metadata: Any) -> Any:
    metadata = as_arrays(serialized_summary_metadata).item()
    return as_arrays(summaries.tensor(_text(tag), _message(tensor), metadata))


def _message(tensor: Any) -> bytes:
    array = np.asarray(as_arrays(tensor))
    return write_tensor(array, as_dtype(array.dtype))


@kernel("MergeSummary")
def merge_summary(xp: Any, inputs: Any) -> Any:
    return as_arrays(summaries.merge([part for value in inputs for part in as_arrays(value).reshape(-1).tolist()]))
