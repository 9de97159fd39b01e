"""The cross entropy of softmax on a GPU: one kernel for the loss and its derivative, one block for each row.

The threads of a block go over the row's classes together: once for the largest logit, once for the sum of the exponentials,
which stay in the derivative's place, and once for the derivative. A row of up to 1024 classes has one warp, which needs no
barrier. Sums go by a tree of fixed form, so they are the same in each run; they differ from the CPU's in the last bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import RECORDED

from ..nn import activation as nn
from .choices import GPU
from .source import OPTIONS, made_once

WARP = 32
FEW = 1024
"""Classes that one warp goes over."""
WIDE = 256
"""Threads for more of them."""
_LABELS = {"<i4": "int", "<i8": "long long"}
_FLOATS = {
    "<f4": ("float", "__int_as_float(0xff800000u)", "__int_as_float(0x7fc00000u)"),
    "<f8": ("double", "__longlong_as_double(0xfff0000000000000ull)", "__longlong_as_double(0x7ff8000000000000ull)"),
}
"""Types in C, the least value, and NaN."""


def _reduced(kind: str, name: str, join: str, width: int) -> str:
    """Code after which `name` in each thread of the block is what `join` makes of all threads' values."""
    within = f"""
    for (int far = 16; far > 0; far /= 2) {{
        {kind} other = __shfl_xor_sync(0xffffffffu, {name}, far);
        {name} = {join};
    }}"""
    if width == WARP:
        return within
    return f"""{within}
    if (threadIdx.x % 32 == 0) {{
        of_warp[threadIdx.x / 32] = {name};
    }}
    __syncthreads();
    {name} = of_warp[0];
    for (int k = 1; k < {width // WARP}; k += 1) {{
        {kind} other = of_warp[k];
        {name} = {join};
    }}
    __syncthreads();"""


def code(dtype: str, labels: str, width: int) -> str:
    """The kernel for logits of one type, of labels (`labels` is their type, or empty for a distribution), and blocks of
    `width` threads."""
    kind, least, nan = _FLOATS[dtype]
    if labels:
        parameter = f"const {_LABELS[labels]}* labels"
        begin = "long long label = labels[row];\n    bool fits = label >= 0 && label < classes;"
        loss = f"""if (threadIdx.x == 0) {{
        loss[row] = fits ? log(total) - (logits[first + (fits ? label : 0)] - most) : {nan};
    }}"""
        slope = f"fits ? derivative[first + j] / total - (j == label ? ({kind})1 : ({kind})0) : {nan}"
    else:
        parameter, begin = f"const {kind}* labels", ""
        loss = f"""{kind} lost = ({kind})0;
    {kind} whole = log(total);
    for (long long j = threadIdx.x; j < classes; j += blockDim.x) {{
        lost = lost + labels[first + j] * (whole - (logits[first + j] - most));
    }}{_reduced(kind, "lost", "lost + other", width)}
    if (threadIdx.x == 0) {{
        loss[row] = lost;
    }}"""
        slope = "derivative[first + j] / total - labels[first + j]"
    text = f"""
extern "C" __global__ void cross_entropy(
    const {kind}* logits, {parameter}, {kind}* loss, {kind}* derivative, long long classes
) {{
    {f"__shared__ {kind} of_warp[{width // WARP}];" if width > WARP else ""}
    long long row = blockIdx.x;
    long long first = row * classes;
    {begin}
    {kind} most = {least};
    for (long long j = threadIdx.x; j < classes; j += blockDim.x) {{
        {kind} x = logits[first + j];
        most = x >= most || x != x ? x : most;
    }}{_reduced(kind, "most", "other >= most || other != other ? other : most", width)}
    {kind} total = ({kind})0;
    for (long long j = threadIdx.x; j < classes; j += blockDim.x) {{
        {kind} power = exp(logits[first + j] - most);
        derivative[first + j] = power;
        total = total + power;
    }}{_reduced(kind, "total", "total + other", width)}
    {loss}
    for (long long j = threadIdx.x; j < classes; j += blockDim.x) {{
        derivative[first + j] = {slope};
    }}
}}
"""
    return "\n".join(line for line in text.split("\n") if line.strip())


def _launched(xp: Any, logits: Any, labels: Any, labels_type: str) -> Any:
    rows, classes = logits.shape
    width = WARP if classes <= FEW else WIDE
    dtype = logits.dtype.str
    function = made_once(
        xp,
        ("cross_entropy", dtype, labels_type, width),
        lambda: xp.RawKernel(code(dtype, labels_type, width), "cross_entropy", options=OPTIONS),
    )
    loss, derivative = xp.empty((rows,), logits.dtype), xp.empty((rows, classes), logits.dtype)
    function(
        (rows,),
        (width,),
        (xp.ascontiguousarray(logits), xp.ascontiguousarray(labels), loss, derivative, np.int64(classes)),
    )
    return loss, derivative


def _sparse_of_any_type(xp: Any, logits: Any, labels: Any) -> Any:
    if not logits.size:
        return xp.zeros(labels.shape, logits.dtype), xp.zeros(logits.shape, logits.dtype)
    shifted = logits - logits.max(1, None, True)
    powers = xp.exp(shifted)
    total = powers.sum(1, None, None, True)
    hot = xp.arange(logits.shape[1]) == labels[:, None]
    unit = logits.dtype.type(1)
    true = xp.where(hot, shifted, logits.dtype.type(0)).sum(1)
    wrong = (labels < 0) | (labels >= logits.shape[1])
    nan = logits.dtype.type("nan")
    loss = xp.where(wrong, nan, xp.log(total[:, 0]) - true)
    slope = powers / total - xp.where(hot, unit, logits.dtype.type(0))
    return loss, xp.where(wrong[:, None], nan, slope)


@kernel("SparseSoftmaxCrossEntropyWithLogits", device=GPU, gpu=RECORDED)
def sparse_softmax_cross_entropy(xp: Any, logits: Any, labels: Any) -> Any:
    if logits.ndim != 2 or labels.shape != logits.shape[:1]:
        raise ValueError(f"Labels of shape {labels.shape} don't fit logits of shape {logits.shape}.")
    if logits.dtype.str not in _FLOATS or not logits.size:
        return _sparse_of_any_type(xp, logits, labels)
    return _launched(xp, logits, labels, labels.dtype.str)


@kernel("SoftmaxCrossEntropyWithLogits", device=GPU)
def softmax_cross_entropy(xp: Any, logits: Any, labels: Any) -> Any:
    same = logits.ndim == 2 and logits.shape == labels.shape and logits.dtype == labels.dtype
    if not same or logits.dtype.str not in _FLOATS or not logits.size:
        return nn.softmax_cross_entropy(xp, logits, labels)
    return _launched(xp, logits, labels, "")
