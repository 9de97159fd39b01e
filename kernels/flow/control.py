"""Kernels of ops that carry, order and check others, and of the primitives of control flow."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from actorflow.base.dtypes import BOOLEAN, REAL
from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import HANDS_ON, PASSES_ON, Gpu, Loop
from actorflow.base.reports.logs import get_logger
from actorflow.base.shapes import compatible, show
from actorflow.engine.runtime.context import KernelContext
from actorflow.engine.runtime.tokens import DEAD
from actorflow.errors import InvalidArgumentError
from actorflow.graph.ops.flow.control import broadcast_axes

from ..strings.objects import moving_kernel


@kernel(
    "Identity",
    "StopGradient",
    gpu=Gpu(anywhere=True, recorded=True),
    loop=Loop(lambda attrs, x: x, REAL | BOOLEAN),
    direct=PASSES_ON,
    packed="moved",
)
def identity(xp: Any, x: Any) -> Any:
    return x


@kernel("NoOp", gpu=Gpu(anywhere=True, recorded=True))
@kernel("ControlTrigger", gpu=HANDS_ON)
def no_op(xp: Any) -> None:
    return None


@kernel("Print")
def print_tensor(xp: Any, x: Any, data: Any, *, message: str, first_n: int, summarize: int, ctx: KernelContext) -> Any:
    printed = ctx.state["printed"] = ctx.state.get("printed", 0) + 1
    if first_n < 0 or printed <= first_n:
        print(message + "".join(f"[{_printed(np.asarray(d), summarize)}]" for d in data), file=sys.stderr)
    return x


@kernel("PrintV2", device="CPU")
def print_text(xp: Any, text: Any, *, output_stream: str, end: str) -> None:
    shown = np.asarray(text).item().decode("utf-8", "replace")
    if output_stream in ("stderr", "stdout"):
        print(shown, end=end, file=getattr(sys, output_stream), flush=True)
        return
    getattr(get_logger("printing"), output_stream[len("log(") : -1])(shown)


@kernel("Assert")
def assert_true(xp: Any, condition: Any, data: Any, *, summarize: int) -> None:
    if condition is not np.True_ and not np.all(condition):
        said, values = _report(data, summarize)
        raise InvalidArgumentError(f"assertion failed: {said}", details=values)


def _report(data: Any, summarize: int) -> tuple[str, list[str]]:
    """A failed assertion in words: its texts, and a line for each value. A text that ends with `=` names the value behind it.
    With texts that end with `:` before values, the only line has all data in brackets, as TensorFlow shows them."""
    said, lines, label = [], [], ""
    texts = [_text(value) for value in data]
    names = [text is not None and text.endswith(":") and after is None for text, after in zip(texts, [*texts[1:], ""])]
    for i, (value, text) in enumerate(zip(data, texts)):
        if names[i]:
            continue
        if text is None:
            lines.append(f"{label or f'data {i}:'} {_summary(value, summarize)}")
            label = ""
        elif text.endswith("="):
            label = text
        elif text:
            said.append(text if text[-1] in ".!?" else f"{text.rstrip(':')}.")
    if any(names):
        lines = [" ".join(f"[{_printed(np.asarray(value), summarize)}]" for value in data)]
    return " ".join(said) or "the condition does not hold.", lines


def _text(value: Any) -> str | None:
    """A single string, stripped; None for any other value."""
    array = np.asarray(value)
    if array.ndim or array.dtype.kind not in "OSU":
        return None
    item = array.item()
    return (item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)).strip()


def _printed(array: Any, summarize: int) -> str:
    """An array as TensorFlow's Print shows it: rows in brackets, texts as they are, and "..." for what is left out."""
    most = array.size if summarize < 0 else summarize
    return _rows(array, most, "") + ("..." if array.size > most else "")


def _rows(array: Any, most: int, left_out: str) -> str:
    """At most that many elements; a row that is cut ends in `left_out`."""
    if array.ndim < 2:
        flat = array.reshape(-1)
        return " ".join(map(_element, flat[:most].tolist() if flat.dtype.kind == "O" else flat[:most])) + (
            left_out if flat.size > most else ""
        )
    each = array[0].size if len(array) else 0
    rooms = [most - each * i for i in range(len(array)) if most > each * i]
    return "".join(f"[{_rows(row, room, '...' if array.ndim == 2 else left_out)}]" for row, room in zip(array, rooms))


def _element(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    kind = value.dtype.kind
    if kind == "b":
        return str(int(value))
    if kind != "f":
        return str(value)
    number, short, exact = (np.float64, "15", "17") if value.dtype.itemsize == 8 else (np.float32, "6", "9")
    text = f"{value:.{short}g}"
    return text if number(text) == value or value != value else f"{value:.{exact}g}"


def _summary(value: Any, summarize: int) -> str:
    flat = np.asarray(value).reshape(-1)
    shown = flat if summarize < 0 else flat[:summarize]
    return " ".join(str(v) for v in shown) + ("..." if len(shown) < len(flat) else "")


@kernel("_Done", gpu=HANDS_ON)
def done(xp: Any) -> Any:
    return np.True_


# ---- Kernels of ops that hand tensors on.


@moving_kernel("EnsureShape", gpu=Gpu(anywhere=True, recorded=True))
def ensure_shape(xp: Any, x: Any, *, shape: Any) -> Any:
    if not compatible(x.shape, shape):
        raise ValueError(f"ensure_shape: the shape is {x.shape}, but {show(shape)} was promised.")
    return x


@kernel("IdentityN", gpu=Gpu(anywhere=True, recorded=True))
def identity_n(xp: Any, values: Any) -> Any:
    return values[0] if len(values) == 1 else tuple(values)


@moving_kernel("GuaranteeConst", gpu=Gpu(anywhere=True, recorded=True))
def guarantee_const(xp: Any, x: Any) -> Any:
    return x


# ---- Kernels of the ops that the gradient walk makes.


@kernel("BroadcastGradientArgs")
def broadcast_gradient_args(xp: Any, s0: Any, s1: Any) -> Any:
    first, second = (np.asarray(s).tolist() for s in (s0, s1))
    axes = broadcast_axes(first, second)
    if axes is None:
        raise InvalidArgumentError(f"Shapes {tuple(first)} and {tuple(second)} can't be broadcast together.")
    return tuple(np.array(part, s0.dtype) for part in axes)


@kernel("SumTo", gpu=Gpu(host=(1,), follows=True, recorded=True))
def sum_to(xp: Any, gradient: Any, shape: Any) -> Any:
    target = tuple(shape.tolist())
    sizes = gradient.shape
    if sizes == target:
        return gradient
    extra = len(sizes) - len(target)
    if extra < 0 or any(size not in (1, sizes[extra + i]) for i, size in enumerate(target)):
        raise InvalidArgumentError(
            f"A gradient of shape {sizes} can't be summed to {target}, which does not broadcast to it."
        )
    axes = (*range(extra), *(extra + i for i, size in enumerate(target) if size == 1))
    # Half-precision sums lose small terms after a few thousand: they are added up in float32.
    wide = xp.float32 if gradient.dtype.itemsize == 2 and gradient.dtype.kind in "fV" else None
    total = xp.add.reduce(gradient, axis=axes, dtype=wide)
    return total.astype(gradient.dtype, copy=False).reshape(target)


@kernel("CustomGradient", gpu=Gpu(anywhere=True, recorded=True))
def custom_gradient(xp: Any, values: Any) -> Any:
    return tuple(values) if len(values) > 1 else values[0]


@kernel("CheckNumerics")
def check_numerics(xp: Any, x: Any, *, message: str) -> Any:
    if not xp.isfinite(x).all():
        kinds = [name for name, test in (("Inf", xp.isinf), ("NaN", xp.isnan)) if test(x).any()]
        raise ValueError(f"{message} : Tensor had {' and '.join(kinds)} values")
    return x


# ---- Kernels of control flow's primitives. The runtime (`actorflow.engine.runtime.frames`) decides where their tokens go.


@kernel("Enter", "Exit", "NextIteration", "LoopCond", gpu=HANDS_ON)
def forward(xp: Any, data: Any) -> Any:
    return data


@kernel("Switch", gpu=HANDS_ON)
def switch(xp: Any, data: Any, pred: Any) -> Any:
    return (DEAD, data) if pred else (data, DEAD)


@kernel("Merge", gpu=HANDS_ON)
def merge(xp: Any, inputs: list[Any]) -> Any:
    raise AssertionError("Merge is carried out by the runtime: it fires on its first live token")


# ---- What is said where a part of a function's body is asked for outside of a call.


@kernel("_Arg", "_Return", "Call")
def inside(xp: Any, *values: Any, function: str) -> Any:
    raise InvalidArgumentError(
        f"This is part of the body of the function {function}, which has values in its calls only.",
        hint="Fetch what a call of the function gives.",
    )
