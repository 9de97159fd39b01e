"""The updates of optimizers, one op each: a step of training is one pass over a variable and its slots.

All `ref` inputs are variables of one shape and type and are changed in place; the other inputs are scalars of that
type,
and the gradient: of the variable's shape, or for the `Sparse` ops rows `grad[i]` at `indices[i]`. In TensorFlow's raw
sparse ops an index that occurs twice is applied twice, and its optimizers sum the rows before; here the ops themselves
sum them, so that the result is that of the dense gradient on the rows that occur.

The formulas are TensorFlow 1.15's. Each op is a target: it has no output.
"""

from __future__ import annotations

from actorflow.dtypes import INDEX, INEXACT
from actorflow.graph.tensor import Operation, TensorLike
from actorflow.ops.state_sparse import rows_shape
from actorflow.registry.op import RefLike, op
from actorflow.registry.opdef import Inference, ShapeRule
from actorflow.shapes import Shape, merge, show

_INDICES = {"indices": INDEX}


def _update(refs: int, sparse: bool = False) -> ShapeRule:
    """The first `refs` inputs are variables of one shape and type, the last (or two) the gradient, others scalars."""

    def rule(c: Inference) -> list[Shape]:
        variable = c.shapes[0]
        for index in range(refs):
            if c.dtypes[index].base_dtype is not c.dtypes[0].base_dtype:
                raise TypeError(
                    f"Variables {index} and 0 differ: {c.dtypes[index].base_dtype} and {c.dtypes[0].base_dtype}."
                )
            variable = merge(variable, c.shapes[index])
        scalars = c.shapes[refs : -2 if sparse else -1]
        for index, shape in enumerate(scalars, start=refs):
            if shape not in (None, ()):
                raise ValueError(f"Input {index} is a scalar, but its shape is {show(shape)}.")
        if sparse:
            rows_shape(variable, c.shapes[-1], c.shapes[-2])
        else:
            merge(variable, c.shapes[-1])
        return []

    return rule


@op(
    "ApplyGradientDescent",
    shape=_update(1),
    dtypes=INEXACT,
    result=None,
    gradient=None,
    stateful=True,
    writes=True,
    work=2,
)
def apply_gradient_descent(var: RefLike, alpha: TensorLike, delta: TensorLike, *, name: str | None = None) -> Operation:
    """var -= alpha · delta."""


@op("ApplyMomentum", shape=_update(2), dtypes=INEXACT, result=None, gradient=None, stateful=True, writes=True, work=4)
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


@op(
    "SparseApplyMomentum",
    shape=_update(2, sparse=True),
    dtypes=INEXACT,
    types=_INDICES,
    result=None,
    gradient=None,
    stateful=True,
    writes=True,
    work=4,
)
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


@op("ApplyAdagrad", shape=_update(2), dtypes=INEXACT, result=None, gradient=None, stateful=True, writes=True, work=8)
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


@op(
    "SparseApplyAdagrad",
    shape=_update(2, sparse=True),
    dtypes=INEXACT,
    types=_INDICES,
    result=None,
    gradient=None,
    stateful=True,
    writes=True,
    work=8,
)
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


@op("ApplyRMSProp", shape=_update(3), dtypes=INEXACT, result=None, gradient=None, stateful=True, writes=True, work=12)
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


@op(
    "SparseApplyRMSProp",
    shape=_update(3, sparse=True),
    dtypes=INEXACT,
    types=_INDICES,
    result=None,
    gradient=None,
    stateful=True,
    writes=True,
    work=12,
)
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


@op(
    "ApplyCenteredRMSProp",
    shape=_update(4),
    dtypes=INEXACT,
    result=None,
    gradient=None,
    stateful=True,
    writes=True,
    work=16,
)
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


@op(
    "SparseApplyCenteredRMSProp",
    shape=_update(4, sparse=True),
    dtypes=INEXACT,
    types=_INDICES,
    result=None,
    gradient=None,
    stateful=True,
    writes=True,
    work=16,
)
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


@op("ApplyAdam", shape=_update(3), dtypes=INEXACT, result=None, gradient=None, stateful=True, writes=True, work=14)
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


@op(
    "SparseApplyAdam",
    shape=_update(3, sparse=True),
    dtypes=INEXACT,
    types=_INDICES,
    result=None,
    gradient=None,
    stateful=True,
    writes=True,
    work=14,
)
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
