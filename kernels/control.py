"""Kernels of ops that carry, order and observe others."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from actorflow.errors import InvalidArgumentError
from actorflow.logs import get_logger
from actorflow.registry.kernel import kernel
from actorflow.runtime.context import KernelContext


@kernel("Identity", "StopGradient")
def identity(xp: Any, x: Any) -> Any:
    return x


@kernel("NoOp", "ControlTrigger")
def no_op(xp: Any) -> None:
    return None


@kernel("Print")
def print_tensor(xp: Any, x: Any, data: Any, *, message: str, first_n: int, summarize: int, ctx: KernelContext) -> Any:
    printed = ctx.state["printed"] = ctx.state.get("printed", 0) + 1
    if first_n < 0 or printed <= first_n:
        print(message + "".join(f"[{_summary(d, summarize)}]" for d in data), file=sys.stderr)
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
    if not np.all(condition):
        raise InvalidArgumentError(
            "The assertion does not hold.", details=[f"data {i}: {_summary(d, summarize)}" for i, d in enumerate(data)]
        )


def _summary(value: Any, summarize: int) -> str:
    flat = np.asarray(value).reshape(-1)
    shown = flat if summarize < 0 else flat[:summarize]
    return " ".join(str(v) for v in shown) + ("..." if len(shown) < len(flat) else "")


@kernel("_Done")
def done(xp: Any) -> Any:
    return np.True_
