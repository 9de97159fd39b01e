"""The updates of optimizers, one op each: a step of training is one pass over a variable and its slots.

All `ref` inputs are variables of one shape and type and are changed in place; the other inputs are scalars of that
type, and the gradient: of the variable's shape, or for the `Sparse` ops rows `grad[i]` at `indices[i]`. In TensorFlow's
raw sparse ops an index that occurs twice is applied twice, and its optimizers sum the rows before; here the ops
themselves sum them, so that the result is that of the dense gradient on the rows that occur.

The formulas are TensorFlow 1.15's. Each op is a target: it has no output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from actorflow.dtypes import INDEX, INEXACT
from actorflow.graph.tensor import Operation, TensorLike
from actorflow.ops.declare import Op, RefLike, op
from actorflow.ops.state.scatter import rows_shape
from actorflow.registry.opdef import Inference, ShapeRule
from actorflow.shapes import Shape, merge, show

P = ParamSpec("P")
R = TypeVar("R")


def updating(
    type: str, refs: int, work: float, sparse: bool = False, types: dict[str, Any] | None = None
) -> Callable[[Callable[P, R]], Op[P, R]]:
    """`@op` for an update of `refs` variables, whose gradient is the input `grad` (or `delta`); with `sparse` it is rows
    of the variable, at `indices`. The other inputs are scalars."""
    return op(
        type,
        shape=_update(refs),
        dtypes=INEXACT,
        types={**(types or {}), **({"indices": INDEX} if sparse else {})},
        result=None,
        gradient=None,
        stateful=True,
        writes=True,
        work=work,
    )


def _update(refs: int) -> ShapeRule:
    def rule(c: Inference) -> list[Shape]:
        variable = c.shapes[0]
        for index in range(refs):
            variable = merge(variable, c.shapes[index])
        names = [spec.name for spec in c.op.inputs]
        gradient = names.index("delta" if "delta" in names else "grad")
        indices = names.index("indices") if "indices" in names else None
        for index, shape in enumerate(c.shapes):
            if index >= refs and index not in (gradient, indices) and shape not in (None, ()):
                raise ValueError(f"Input {index} is a scalar, but its shape is {show(shape)}.")
        if indices is None:
            merge(variable, c.shapes[gradient])
        else:
            rows_shape(variable, c.shapes[indices], c.shapes[gradient])
        return []

    return rule


@updating("ApplyGradientDescent", 1, 2)
def apply_gradient_descent(var: RefLike, alpha: TensorLike, delta: TensorLike, *, name: str | None = None) -> Operation:
    """var -= alpha · delta."""


@updating("ApplyMomentum", 2, 4)
def apply_momentum(
    var: RefLike,
    accum: RefLike,
    lr: TensorLike,
    momentum: TensorLike,
    grad: TensorLike,
    *,
    use_nesterov: bool = False,
    name: str | None = None,
) -> Operation:
    """accum = momentum · accum + grad; var -= lr · accum, or lr · (grad + momentum · accum) with `use_nesterov`."""


@updating("SparseApplyMomentum", 2, 4, sparse=True)
def sparse_apply_momentum(
    var: RefLike,
    accum: RefLike,
    lr: TensorLike,
    momentum: TensorLike,
    grad: TensorLike,
    indices: TensorLike,
    *,
    use_nesterov: bool = False,
    name: str | None = None,
) -> Operation:
    """`ApplyMomentum` on the rows at `indices`; all others, and their accumulators, stay as they are."""


@updating("ApplyAdagrad", 2, 8)
def apply_adagrad(
    var: RefLike,
    accum: RefLike,
    lr: TensorLike,
    grad: TensorLike,
    *,
    update_slots: bool = True,
    name: str | None = None,
) -> Operation:
    """accum += grad²; var -= lr · grad / √accum. Without `update_slots` accum stays as it is."""


@updating("SparseApplyAdagrad", 2, 8, sparse=True)
def sparse_apply_adagrad(
    var: RefLike,
    accum: RefLike,
    lr: TensorLike,
    grad: TensorLike,
    indices: TensorLike,
    *,
    update_slots: bool = True,
    name: str | None = None,
) -> Operation:
    """`ApplyAdagrad` on the rows at `indices`; all others stay as they are."""


@updating("ApplyRMSProp", 3, 12)
def apply_rms_prop(
    var: RefLike,
    ms: RefLike,
    mom: RefLike,
    lr: TensorLike,
    rho: TensorLike,
    momentum: TensorLike,
    epsilon: TensorLike,
    grad: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """ms = rho · ms + (1 - rho) · grad²; mom = momentum · mom + lr · grad / √(ms + epsilon); var -= mom."""


@updating("SparseApplyRMSProp", 3, 12, sparse=True)
def sparse_apply_rms_prop(
    var: RefLike,
    ms: RefLike,
    mom: RefLike,
    lr: TensorLike,
    rho: TensorLike,
    momentum: TensorLike,
    epsilon: TensorLike,
    grad: TensorLike,
    indices: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """`ApplyRMSProp` on the rows at `indices`; all others, and their slots, stay as they are."""


@updating("ApplyCenteredRMSProp", 4, 16)
def apply_centered_rms_prop(
    var: RefLike,
    mg: RefLike,
    ms: RefLike,
    mom: RefLike,
    lr: TensorLike,
    rho: TensorLike,
    momentum: TensorLike,
    epsilon: TensorLike,
    grad: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """mg = rho · mg + (1 - rho) · grad; ms = rho · ms + (1 - rho) · grad²;
    mom = momentum · mom + lr · grad / √(ms - mg² + epsilon); var -= mom."""


@updating("SparseApplyCenteredRMSProp", 4, 16, sparse=True)
def sparse_apply_centered_rms_prop(
    var: RefLike,
    mg: RefLike,
    ms: RefLike,
    mom: RefLike,
    lr: TensorLike,
    rho: TensorLike,
    momentum: TensorLike,
    epsilon: TensorLike,
    grad: TensorLike,
    indices: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """`ApplyCenteredRMSProp` on the rows at `indices`; all others, and their slots, stay as they are."""


@updating("ApplyAdam", 3, 14)
def apply_adam(
    var: RefLike,
    m: RefLike,
    v: RefLike,
    beta1_power: TensorLike,
    beta2_power: TensorLike,
    lr: TensorLike,
    beta1: TensorLike,
    beta2: TensorLike,
    epsilon: TensorLike,
    grad: TensorLike,
    *,
    use_nesterov: bool = False,
    name: str | None = None,
) -> Operation:
    """rate = lr · √(1 - beta2_power) / (1 - beta1_power);
    m += (1 - beta1) · (grad - m); v += (1 - beta2) · (grad² - v);
    var -= rate · m / (√v + epsilon), with beta1 · m + (1 - beta1) · grad instead of m with `use_nesterov`."""


@updating("SparseApplyAdam", 3, 14, sparse=True)
def sparse_apply_adam(
    var: RefLike,
    m: RefLike,
    v: RefLike,
    beta1_power: TensorLike,
    beta2_power: TensorLike,
    lr: TensorLike,
    beta1: TensorLike,
    beta2: TensorLike,
    epsilon: TensorLike,
    grad: TensorLike,
    indices: TensorLike,
    *,
    name: str | None = None,
) -> Operation:
    """`ApplyAdam` where the gradient is zero in all rows but those at `indices`: the moments of the other rows decay
    too, and these rows go on moving, as with TensorFlow's AdamOptimizer."""
