"""`update`: one row makes an optimizer's update. Its names are the ops' inputs, and its function is the formula.

    @update("ApplyMomentum", "accum", "lr momentum grad", work=4, flag="use_nesterov")
    def momentum(f, w, a, g, lr, momentum, use_nesterov):
        "accum = momentum · accum + grad; var -= lr · accum."
        accumulated = a * momentum + g
        ...
        return w - step, accumulated

The row declares `ApplyMomentum` and `SparseApplyMomentum`. The formula says how one element changes. The kernels write it down
once (`actorflow.kernels.state.update_program`), and get from that numpy's calls, a compiled loop and a kernel of a GPU.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, Signature
from types import FunctionType
from typing import Any, Protocol

from actorflow.base.dtypes import INDEX, INEXACT
from actorflow.base.registry.opdef import Inference, ShapeRule
from actorflow.base.shapes import Shape, merge, show
from actorflow.graph.ops.declare import Op, op
from actorflow.graph.ops.state.scatter import rows_shape
from actorflow.graph.tensor import Operation

Formula = Callable[..., Sequence[Any]]
"""Of the functions, the variable and its slots, the gradient, the scalars and the flag, in this order: what becomes of the
variable and of the slots."""
GRADIENTS = ("grad", "delta")
"""How TensorFlow's ops call their gradient."""


class Functions(Protocol):
    """The functions that a formula may use beside `+`, `-`, `*` and `/`. Numbers of Python have the type of what stands
    beside them."""

    def sqrt(self, x: Any) -> Any: ...

    def exp(self, x: Any) -> Any: ...

    def abs(self, x: Any) -> Any: ...

    def sign(self, x: Any) -> Any: ...

    def power(self, x: Any, y: Any) -> Any: ...

    def maximum(self, x: Any, y: Any) -> Any: ...

    def copysign(self, x: Any, y: Any) -> Any: ...

    def equal(self, x: Any, y: Any) -> Any: ...

    def greater(self, x: Any, y: Any) -> Any: ...

    def where(self, condition: Any, x: Any, y: Any) -> Any: ...

    def number(self, x: Any) -> Any:
        """A scalar of another type as one of the variable's."""


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """One row.

    `slots` are the inputs that the update changes beside the variable. `inputs` are all that come after them: the gradient, at
    position `gradient`, and the `scalars`; a sparse op has the rows' indices behind its gradient. `refs` counts the variable and
    its slots. `flag` is an attribute, or "", and `default` its default. `moves` says that the sparse op changes all rows, so that
    the formula is not that of the rows. `types` are those of scalars that don't have the variable's.
    """

    formula: Formula
    dense_type: str
    slots: tuple[str, ...]
    inputs: tuple[str, ...]
    flag: str
    default: bool
    moves: bool
    types: Mapping[str, Any]
    refs: int = field(init=False)
    gradient: int = field(init=False)
    scalars: tuple[str, ...] = field(init=False)
    dense: Op[..., Operation] = field(init=False)
    sparse: Op[..., Operation] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        put = functools.partial(object.__setattr__, self)
        put("refs", 1 + len(self.slots))
        put("gradient", next(at for at, name in enumerate(self.inputs) if name in GRADIENTS))
        put("scalars", tuple(name for name in self.inputs if name not in GRADIENTS))

    def __reduce__(self) -> tuple[Callable[[str], Update], tuple[str]]:
        return row_of, (self.dense_type,)

    @property
    def name(self) -> str:
        """Its name in those of kernels: that of the formula."""
        return self.formula.__name__


TABLE: list[Update] = []
"""All rows, in the order of their declaration."""


def row_of(dense_type: str) -> Update:
    """The row whose dense op has that name: rows are pickled by it."""
    return next(row for row in TABLE if row.dense_type == dense_type)


def update(
    type: str,
    slots: str,
    inputs: str,
    *,
    work: float,
    flag: str = "",
    default: bool = False,
    sparse: bool = True,
    moves: str = "",
    types: Mapping[str, Any] | None = None,
) -> Callable[[Formula], Update]:
    """Makes a row of a formula, and declares its ops.

    Args:
        type: the dense op's name, `Apply...`; the sparse one's is `SparseApply...`.
        slots: the names of the slots, in the order of the ops' inputs.
        inputs: the names of the ops' other inputs in their order: `grad` or `delta`, and scalars.
        work: arithmetic operations for each element.
        flag: the name of a boolean attribute, which the formula gets last.
        default: the flag's default.
        sparse: whether there is a sparse op: for rows `grad[i]` at `indices[i]` of the variable.
        moves: the documentation of a sparse op that changes other rows too. This op has no flag, and a kernel of its own.
        types: scalars of types of their own.
    """

    def decorate(formula: Formula) -> Update:
        own = dict(types or {})
        row = Update(formula, type, tuple(slots.split()), tuple(inputs.split()), flag, default, bool(moves), own)
        refs = ["var", *row.slots]

        def declared(
            type: str, names: list[str], doc: str, with_flag: bool, own: Mapping[str, Any]
        ) -> Op[..., Operation]:
            function = FunctionType(formula.__code__, formula.__globals__, _snake(type))
            function.__module__, function.__doc__ = formula.__module__, doc
            parameters = [Parameter(n, Parameter.POSITIONAL_OR_KEYWORD, annotation="RefLike") for n in refs]
            parameters += [Parameter(n, Parameter.POSITIONAL_OR_KEYWORD, annotation="TensorLike") for n in names]
            if with_flag:
                parameters.append(Parameter(flag, Parameter.KEYWORD_ONLY, annotation="bool", default=default))
            parameters.append(Parameter("name", Parameter.KEYWORD_ONLY, annotation="str | None", default=None))
            function.__signature__ = Signature(parameters, return_annotation="Operation")  # type: ignore[attr-defined]
            return op(
                type,
                shape=_shapes(len(refs)),
                dtypes=INEXACT,
                types=own,
                result=None,
                gradient=None,
                stateful=True,
                writes=True,
                work=work,
            )(function)

        object.__setattr__(row, "dense", declared(type, list(row.inputs), formula.__doc__ or "", bool(flag), own))
        if sparse:
            rows = list(row.inputs)
            rows[row.gradient : row.gradient + 1] = ["grad", "indices"]
            doc = moves or f"`{type}` on the rows at `indices`; all others, and their slots, stay as they are."
            sparse_op = declared(f"Sparse{type}", rows, doc, bool(flag) and not moves, {**own, "indices": INDEX})
            object.__setattr__(row, "sparse", sparse_op)
        TABLE.append(row)
        return row

    return decorate


def _snake(type: str) -> str:
    """ApplyAdaMax as apply_ada_max, ApplyRMSProp as apply_rms_prop."""
    text = ""
    for at, letter in enumerate(type):
        begins = letter.isupper() and at and (not type[at - 1].isupper() or type[at + 1 : at + 2].islower())
        text += ("_" if begins else "") + letter.lower()
    return text


def _shapes(refs: int) -> ShapeRule:
    """The rule of an op for `refs` variables of one shape, a gradient of that shape or rows of it, and scalars."""

    def rule(c: Inference) -> list[Shape]:
        variable = c.shapes[0]
        for index in range(refs):
            variable = merge(variable, c.shapes[index])
        names = [spec.name for spec in c.op.inputs]
        gradient = next(at for at, name in enumerate(names) if name in GRADIENTS)
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
