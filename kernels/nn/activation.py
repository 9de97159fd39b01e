"""Kernels of activations, biases and the softmax. A small output is computed by operators, a large one into `out`.

The loops of gradients multiply as the kernels do: an infinite dy times 0 is NaN in both.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from actorflow.base.dtypes import FLOATING, REAL
from actorflow.base.registry.kernel import kernel
from actorflow.base.registry.traits import APART, ELEMENTWISE, RECORDED, Loop

from ..shared.elementwise import at_least, at_most, chosen, scalar, with_vector
from ..shared.reducing import largest, sum_over
from ..shared.threads import WORTH_DIVIDING, in_pieces

# The constants of self-normalizing networks (Klambauer et al.).
SCALE = 1.0507009873554804934193349852946
SCALE_ALPHA = 1.7580993408473768599402175208123


@kernel("Relu", gpu=ELEMENTWISE, loop=Loop(lambda attrs, x: x.apply("max", 0), REAL))
def relu(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.maximum(x, scalar(xp, x.dtype, 0)) if out is None else at_least(xp, x, 0, out)


@kernel("ReluGrad", gpu=ELEMENTWISE, loop=Loop(lambda attrs, dy, x: dy * (x > 0).convert(dy.dtype), REAL))
def relu_grad(xp: Any, dy: Any, x: Any, *, out: Any = None) -> Any:
    return dy * (x > 0) if out is None else xp.multiply(dy, x > 0, out=out)


@kernel("Relu6", gpu=ELEMENTWISE, loop=Loop(lambda attrs, x: x.apply("max", 0).apply("min", 6), REAL))
def relu6(xp: Any, x: Any, *, out: Any = None) -> Any:
    return xp.minimum(xp.maximum(x, 0), 6) if out is None else at_most(xp, at_least(xp, x, 0, out), 6, out)


@kernel("Relu6Grad", gpu=ELEMENTWISE, loop=Loop(lambda attrs, dy, x: dy * ((x > 0) & (x < 6)).convert(dy.dtype), REAL))
def relu6_grad(xp: Any, dy: Any, x: Any, *, out: Any = None) -> Any:
    return xp.multiply(dy, (x > 0) & (x < 6), out=out)


@kernel("LeakyRelu", gpu=ELEMENTWISE, loop=Loop(lambda attrs, x: (x > 0).choose(x, x * attrs["alpha"]), FLOATING))
def leaky_relu(xp: Any, x: Any, *, alpha: float, out: Any = None) -> Any:
    return chosen(xp, x > 0, x, x * x.dtype.type(alpha), out)


@kernel(
    "LeakyReluGrad", gpu=ELEMENTWISE, loop=Loop(lambda attrs, dy, x: (x > 0).choose(dy, dy * attrs["alpha"]), FLOATING)
)
def leaky_relu_grad(xp: Any, dy: Any, x: Any, *, alpha: float, out: Any = None) -> Any:
    return chosen(xp, x > 0, dy, dy * dy.dtype.type(alpha), out)


@kernel(
    "Elu", gpu=ELEMENTWISE, loop=Loop(lambda attrs, x: (x < 0).choose(x.apply("expm1"), x), FLOATING, calls=("expm1",))
)
def elu(xp: Any, x: Any, *, out: Any = None) -> Any:
    return chosen(xp, x < 0, xp.expm1(x), x, out)


@kernel("EluGrad", gpu=ELEMENTWISE)
def elu_grad(xp: Any, dy: Any, y: Any, *, out: Any = None) -> Any:
    return xp.multiply(dy, xp.where(y < 0, y + 1, y.dtype.type(1)), out=out)


@kernel("Selu", gpu=ELEMENTWISE)
def selu(xp: Any, x: Any, *, out: Any = None) -> Any:
    return chosen(xp, x < 0, xp.expm1(x) * x.dtype.type(SCALE_ALPHA), x * x.dtype.type(SCALE), out)


@kernel("SeluGrad", gpu=ELEMENTWISE)
def selu_grad(xp: Any, dy: Any, y: Any, *, out: Any = None) -> Any:
    kind = y.dtype.type
    return xp.multiply(dy, xp.where(y < 0, y + kind(SCALE_ALPHA), kind(SCALE)), out=out)


@kernel("Softplus", gpu=ELEMENTWISE)
def softplus(xp: Any, x: Any, *, out: Any = None) -> Any:
    # log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), where nothing overflows.
    return xp.add(xp.maximum(x, 0), xp.log1p(xp.exp(-abs(x))), out=out)


@kernel("Softsign", gpu=ELEMENTWISE, loop=Loop(lambda attrs, x: x / (1 + abs(x)), FLOATING))
def softsign(xp: Any, x: Any, *, out: Any = None) -> Any:
    return x / (1 + abs(x)) if out is None else xp.divide(x, 1 + abs(x), out=out)


@kernel("SoftsignGrad", gpu=ELEMENTWISE)
def softsign_grad(xp: Any, dy: Any, x: Any, *, out: Any = None) -> Any:
    return xp.divide(dy, (1 + abs(x)) ** 2, out=out)


# ---- biases


@kernel(
    "BiasAdd",
    gpu=RECORDED,
    loop=Loop(lambda attrs, value, bias: value + bias if attrs["data_format"] != "NCHW" else None, REAL),
)
def bias_add(xp: Any, value: Any, bias: Any, *, data_format: str, out: Any = None) -> Any:
    return (
        value + _along_channels(bias, value.shape, data_format)
        if out is None
        else _add_bias(xp, value, _along_channels(bias, value.shape, data_format), out)
    )


def _add_bias(xp: Any, value: Any, bias: Any, out: Any) -> Any:
    return with_vector(xp, xp.add, value, bias, out) if bias.ndim == 1 else xp.add(value, bias, out=out)


def _along_channels(bias: Any, shape: tuple[int, ...], data_format: str) -> Any:
    """The bias as it is broadcast to a value of this shape."""
    rank = len(shape)
    if data_format != "NCHW" and rank >= 2 and bias.shape == shape[-1:]:
        return bias
    if rank < 2 or bias.ndim != 1:
        raise ValueError(f"A bias is a vector for two dimensions or more, not {bias.shape} for {shape}.")
    at = _channel(data_format, rank)
    if bias.shape[0] != shape[at]:
        raise ValueError(f"A bias of {bias.shape[0]} can't be added to dimension {at} of {shape}.")
    return bias if at == rank - 1 else bias.reshape((-1,) + (1,) * (rank - 1 - at))


def _channel(data_format: str, rank: int) -> int:
    return 1 if data_format == "NCHW" else rank - 1


@kernel("BiasAddGrad", gpu=RECORDED)
def bias_add_grad(xp: Any, dy: Any, *, data_format: str) -> Any:
    if dy.ndim < 2:
        raise ValueError(f"The gradient of a biased tensor has two dimensions or more, but the shape is {dy.shape}.")
    at = _channel(data_format, dy.ndim)
    if dy.ndim == 2:
        return sum_over(xp, dy, 0)
    return sum_over(xp, dy, (*range(at), *range(at + 1, dy.ndim)))


@kernel("L2Loss", gpu=APART)
def l2_loss(xp: Any, t: Any) -> Any:
    flat = t.reshape(-1)
    if t.dtype.itemsize == 2:  # the sum of halves may be beyond them where half of it is not
        flat = flat.astype(xp.float32)
    return (xp.dot(flat, flat) / 2).astype(t.dtype)


# ---- softmax


def _shifted(xp: Any, x: Any, axis: int, out: Any = None) -> Any:
    """`x` less its maximum along `axis`, so that exponentials can't overflow."""
    return xp.subtract(x, largest(xp, x, axis, True), out=out) if x.size else xp.array(x)


@kernel("Softmax", gpu=RECORDED)
def softmax(xp: Any, logits: Any, *, axis: int, out: Any = None) -> Any:
    if xp is not np or logits.size < WORTH_DIVIDING or logits.ndim != 2 or axis not in (-1, 1):
        return _softmax(xp, logits, axis, out)
    y = np.empty(logits.shape, logits.dtype) if out is None else out
    step = max(1, _BLOCK // logits.shape[1])

    def some(number: int) -> None:
        rows = slice(number * step, (number + 1) * step)
        _softmax(np, logits[rows], axis, y[rows])

    in_pieces(some, -(-len(y) // step), ("softmax", y.dtype, y.shape))
    return y


_BLOCK = 1 << 17
"""Elements of large matrices that fit into a core's cache together."""


def _softmax(xp: Any, logits: Any, axis: int, out: Any) -> Any:
    powers = _shifted(xp, logits, axis, out)
    xp.exp(powers, out=powers)
    return xp.divide(powers, sum_over(xp, powers, axis, True), out=powers)


@kernel("LogSoftmax", gpu=RECORDED)
def log_softmax(xp: Any, logits: Any, *, axis: int, out: Any = None) -> Any:
    shifted = _shifted(xp, logits, axis, out)
    return xp.subtract(shifted, xp.log(sum_over(xp, xp.exp(shifted), axis, True)), out=shifted)


@kernel("SoftmaxCrossEntropyWithLogits", gpu=RECORDED)
def softmax_cross_entropy(xp: Any, logits: Any, labels: Any) -> Any:
    if logits.ndim != 2 or labels.ndim != 2:
        raise ValueError(f"Logits and labels are matrices, but have shapes {logits.shape} and {labels.shape}.")
    shifted = _shifted(xp, logits, 1)
    powers = xp.exp(shifted)
    total = sum_over(xp, powers, 1, True)
    loss = sum_over(xp, labels * (xp.log(total) - shifted), 1)
    return loss, powers / total - labels


_UNSIGNED = {4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}  # as which a negative label is too large as well


@kernel("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy(xp: Any, logits: Any, labels: Any) -> Any:
    if labels.ndim != 1:
        raise ValueError(f"labels must be 1-D, but got shape {labels.shape}.")
    if logits.ndim != 2 or labels.shape != logits.shape[:1]:
        raise ValueError(f"Labels of shape {labels.shape} don't fit logits of shape {logits.shape}.")
    classes = logits.shape[1]
    few = xp is np and classes <= FEW_CLASSES and logits.size
    if few and labels.itemsize == 4:
        try:
            return _of_few_classes(logits, labels.view(_UNSIGNED[4]))
        except IndexError:
            pass  # a label is out of range, as is said now: as an unsigned number, a negative label is too large as well
    _check_labels(xp, labels, classes)
    if few:
        return _of_few_classes(logits, labels)
    shifted = _shifted(xp, logits, 1)
    powers = xp.exp(shifted)
    total = sum_over(xp, powers, 1, True)
    true = xp.arange(0, logits.size, classes) + labels if logits.size else labels  # each row's class, counted flat
    loss = xp.log(total[:, 0]) - shifted.reshape(-1)[true]
    powers /= total
    powers.reshape(-1)[true] -= 1
    return loss, powers


def _check_labels(xp: Any, labels: Any, classes: int) -> None:
    if labels.size and xp.maximum.reduce(labels.view(_UNSIGNED[labels.dtype.itemsize])) >= classes:
        bad = labels[(labels < 0) | (labels >= classes)][0]
        raise ValueError(
            f"Received a label value of {bad} which is outside the valid range of [0, {classes}). "
            f"The labels of {classes} classes are 0 to {classes - 1}."
        )


FEW_CLASSES = 64
"""Up to this number of classes, rows are summed in order, one class after the other."""


_SHORT = 256
"""Up to this number of rows, a vector of them is written out over all classes, which costs less than numpy's walk from
one class to the next."""
_SHORTEST = 32


@functools.lru_cache(64)
def _constants(dtype: Any, rows: int, classes: int) -> tuple[Any, Any, Any, Any]:
    """The numbers of the rows, where each begins, their count and a 1. They are not to be changed."""
    return np.arange(rows), np.arange(0, rows * classes, classes), np.array(rows), np.array(1, dtype)


def _of_few_classes(logits: Any, labels: Any) -> Any:
    """Computed with a row for each class: numpy's loops go along rows, and such rows are longer. Raises IndexError for a label
    that is too large."""
    count, classes = logits.shape
    short = count <= _SHORT
    numbers, starts, step, unit = (_constants if short else _constants.__wrapped__)(logits.dtype, count, classes)
    true = labels * step + numbers
    shifted = logits.T.copy()
    if short:
        room = np.empty(shifted.shape, shifted.dtype)
        few = count <= _SHORTEST  # for which `reduceat` takes less than `reduce`
        room[...] = np.maximum.reduceat(logits.reshape(-1), starts) if few else np.maximum.reduce(shifted, 0)
        np.subtract(shifted, room, shifted)
    else:
        np.subtract(shifted, np.maximum.reduce(shifted, 0), shifted)
    flat = shifted.reshape(-1)
    loss = flat[true]
    powers = np.exp(shifted, shifted)
    total = np.add.reduce(powers, 0)  # in order, as compiled loops do
    if short:
        room[...] = total
    np.divide(powers, room if short else total, powers)
    flat[true] = flat[true] - unit
    return np.log(total) - loss, powers.T.copy()
