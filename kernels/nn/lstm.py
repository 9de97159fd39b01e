"""Kernels of the LSTM over all steps: numpy's, step by step, and those of the library in C.

In C each thread takes some rows of the batch through all steps, so that threads never wait for each other in between. Its results
may differ from numpy's in the last bits, because products are added in another order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorflow.base import dtypes
from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import Gpu
from actorflow.errors import InvalidArgumentError

from ..native.library import function, loaded
from ..shared import blas
from ..shared.threads import threaded

_ALONE = 1 << 18
"""Multiplications up to which one thread computes a recurrence: to measure more of them would cost too much."""


def _sigmoid(xp: Any, x: Any) -> Any:
    return 1 / (1 + xp.exp(-x))


def _checked(x: Any, c: Any, h: Any, w: Any, b: Any, steps: int) -> None:
    """Raises InvalidArgumentError where shapes don't fit."""
    units = w.shape[1] // 4 if w.ndim == 2 else 0
    expected = (x.ndim == 3 and (x.shape[2] + units, 4 * units), (4 * units,), (x.shape[1:2] + (units,),) * 2)
    if expected != (w.shape, b.shape, (c.shape, h.shape)):
        raise InvalidArgumentError(
            "The inputs of an LSTM are x [time, batch, inputs], c and h [batch, units], w [inputs + units, 4 units] and "
            f"b [4 units], but their shapes are {[array.shape for array in (x, c, h, w, b)]}."
        )
    if not 0 <= steps <= x.shape[0]:
        raise InvalidArgumentError(f"seq_len_max is from 0 to the time of {x.shape[0]}, but it is {steps}.")


@kernel("BlockLSTM", gpu=Gpu(host=(0,)))
def block_lstm(
    xp: Any,
    seq_len_max: Any,
    x: Any,
    cs_prev: Any,
    h_prev: Any,
    w: Any,
    wci: Any,
    wcf: Any,
    wco: Any,
    b: Any,
    *,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
) -> Any:
    steps = int(seq_len_max)
    _checked(x, cs_prev, h_prev, w, b, steps)
    units = cs_prev.shape[1]
    outputs = [xp.zeros((*x.shape[:2], units), x.dtype) for _ in range(7)]
    c, h = cs_prev, h_prev
    for t in range(steps):
        gates = _matmul(xp, xp.concatenate([x[t], h], axis=1), w) + b
        i, ci, f, o = (gates[:, k * units : (k + 1) * units] for k in range(4))
        f = f + x.dtype.type(forget_bias)
        if use_peephole:
            i, f = i + c * wci, f + c * wcf
        i, f, ci = _sigmoid(xp, i), _sigmoid(xp, f), xp.tanh(ci)
        c = ci * i + c * f
        if cell_clip > 0:
            c = xp.clip(c, x.dtype.type(-cell_clip), x.dtype.type(cell_clip))
        o = _sigmoid(xp, o + c * wco if use_peephole else o)
        co = xp.tanh(c)
        h = co * o
        for into, value in zip(outputs, (i, c, f, o, ci, co, h)):
            into[t] = value
    return tuple(outputs)


@kernel("BlockLSTMGateGrad", gpu=Gpu(host=(0,)))
def block_lstm_gate_grad(
    xp: Any,
    seq_len_max: Any,
    x: Any,
    cs_prev: Any,
    h_prev: Any,
    w: Any,
    wci: Any,
    wcf: Any,
    wco: Any,
    b: Any,
    i: Any,
    cs: Any,
    f: Any,
    o: Any,
    ci: Any,
    co: Any,
    cs_grad: Any,
    h_grad: Any,
    *,
    use_peephole: bool,
) -> Any:
    before = xp.concatenate([cs_prev[None], cs], axis=0)[:-1]
    of_h, of_o = (1 - co * co) * o, o * (1 - o) * co
    of_c = xp.stack([i * (1 - i) * ci, (1 - ci * ci) * i, f * (1 - f) * before], axis=2)
    time, batch, units = i.shape
    steps = int(seq_len_max)
    slopes_of_gates = xp.zeros((time, batch, 4, units), i.dtype)
    recurrent = w[w.shape[0] - units :].T
    to_c, to_h = xp.zeros(cs_prev.shape, i.dtype), xp.zeros(cs_prev.shape, i.dtype)
    for t in range(steps - 1, -1, -1):
        dh = h_grad[t] + to_h
        slopes_of_gates[t, :, 3] = d_o = of_o[t] * dh
        dc = of_h[t] * dh + (cs_grad[t] + to_c)
        if use_peephole:
            dc = dc + d_o * wco
        slopes_of_gates[t, :, :3] = slopes = of_c[t] * dc[:, None]
        to_c = dc * f[t]
        if use_peephole:
            to_c = to_c + slopes[:, 0] * wci + slopes[:, 2] * wcf
        to_h = _matmul(xp, slopes_of_gates[t].reshape(batch, 4 * units), recurrent)
    return slopes_of_gates.reshape(time, batch, 4 * units), to_c, to_h


def _matmul(xp: Any, a: Any, b: Any) -> Any:
    return blas.matmul(a, b) if xp is np else xp.matmul(a, b)


# ---- in C


def _called(name: str, work: int, *arguments: Any) -> bool:
    """Calls a kernel in C, by several threads where that pays. False for arguments that the kernel does not know."""
    if work <= _ALONE:
        return _FUNCTIONS[name](*arguments) is not None
    key = (name, work, *(array.shape for array in arguments[:2]), arguments[-1].shape)
    return threaded(key, lambda threads: loaded().call(name, threads, *arguments)) is True


_FUNCTIONS = {name: function(name) for name in ("lstm", "lstm_grad")}


def _can(attrs: Mapping[str, Any], shapes: Sequence[Any]) -> bool:
    return not attrs["use_peephole"]


_OPTIONS: dict[str, Any] = {"device": "CPU", "dtypes": frozenset((dtypes.float32,)), "library": "native", "can": _can}


@kernel("BlockLSTM", **_OPTIONS)
def block_lstm_in_c(
    xp: Any,
    seq_len_max: Any,
    x: Any,
    cs_prev: Any,
    h_prev: Any,
    w: Any,
    wci: Any,
    wcf: Any,
    wco: Any,
    b: Any,
    *,
    forget_bias: float,
    cell_clip: float,
    use_peephole: bool,
) -> Any:
    steps = int(seq_len_max)
    _checked(x, cs_prev, h_prev, w, b, steps)
    outputs = tuple([np.empty((*x.shape[:2], cs_prev.shape[1]), np.float32) for _ in range(7)])
    some: Any = outputs
    if steps < x.shape[0]:
        some = [output[:steps] for output in outputs]
        for array in outputs:
            array[steps:] = 0
    arguments = x[:steps], cs_prev, h_prev, w, b, float(forget_bias), float(cell_clip)
    if _called("lstm", steps * x.shape[1] * w.size, *arguments, *some):
        return outputs
    how: dict[str, Any] = {"forget_bias": forget_bias, "cell_clip": cell_clip, "use_peephole": use_peephole}
    return block_lstm(np, seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, **how)


@kernel("BlockLSTMGateGrad", **_OPTIONS)
def block_lstm_gate_grad_in_c(
    xp: Any,
    seq_len_max: Any,
    x: Any,
    cs_prev: Any,
    h_prev: Any,
    w: Any,
    wci: Any,
    wcf: Any,
    wco: Any,
    b: Any,
    i: Any,
    cs: Any,
    f: Any,
    o: Any,
    ci: Any,
    co: Any,
    cs_grad: Any,
    h_grad: Any,
    *,
    use_peephole: bool,
) -> Any:
    time, batch, units = i.shape
    steps = int(seq_len_max)
    outputs = np.empty((time, batch, 4 * units), np.float32), np.empty_like(cs_prev), np.empty_like(cs_prev)
    outputs[0][steps:] = 0
    seen = (array[:steps] for array in (i, cs, f, o, ci, co, cs_grad, h_grad))
    if _called("lstm_grad", steps * batch * 4 * units * units, cs_prev, w, *seen, outputs[0][:steps], *outputs[1:]):
        return outputs
    rest = i, cs, f, o, ci, co, cs_grad, h_grad
    return block_lstm_gate_grad(np, seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, *rest, use_peephole=False)
