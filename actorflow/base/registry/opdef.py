"""The definition of an op: its declaration, and the table of all that are registered.

Nothing here knows of graphs, kernels or devices: a declaration maps the types, shapes and attributes of inputs to the
types and shapes of outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from actorflow.base.dtypes import ANY, DType
from actorflow.base.registry.roles import Role
from actorflow.base.shapes import Shape, num_elements
from actorflow.errors import UnknownNameError

if TYPE_CHECKING:
    pass

InputKind: TypeAlias = Literal["tensor", "list", "ref"]


class Inference:
    """The view that the rules of an op have: the types, static shapes and (if constant) values of its inputs.

    Inputs are numbered flat: a list input takes one number for each of its tensors.
    """

    __slots__ = ("_partial", "_value", "attrs", "dtypes", "op", "shapes")

    def __init__(
        self,
        op: OpDef,
        attrs: Mapping[str, Any],
        dtypes: Sequence[DType],
        shapes: Sequence[Shape],
        value: Callable[[int], np.ndarray[Any, Any] | None],
        partial: Callable[[int, int], Shape] | None = None,
    ) -> None:
        self.op = op
        self.attrs = attrs
        self.dtypes = dtypes
        self.shapes = shapes
        self._value = value
        self._partial = partial

    def value(self, index: int) -> np.ndarray[Any, Any] | None:
        """The value of an input that is known while the graph is built, else None."""
        return self._value(index)

    def shape_value(self, index: int, rank: int = 1) -> Shape:
        """The known sizes of an input that is a vector of sizes: a tuple with None for each size that only the run knows,
        or None where not even their number is known. A size may be -1 where the op gives that a meaning.

        With `rank` 2, the input is a matrix, whose elements come row by row.
        """
        if self._partial is not None:
            return self._partial(index, rank)
        value = self._value(index)
        if value is None or value.ndim != rank:
            shape = self.shapes[index]
            count = None if shape is None or len(shape) != rank else num_elements(shape)
            return None if count is None else (None,) * count
        return tuple([int(size) for size in value.reshape(-1)])


ShapeRule: TypeAlias = Callable[[Inference], "Shape | list[Shape]"]
DtypeRule: TypeAlias = Callable[[Inference], tuple[DType, ...]]
WorkRule: TypeAlias = Callable[[Inference], float]
# One entry an input: the gradient tensor, or None without a gradient.
GradientRule: TypeAlias = "Callable[..., Any]"


@dataclass(frozen=True, slots=True)
class InputDef:
    """One declared input: `tensor`, `list` (any number of tensors) or `ref` (a variable's handle).

    Inputs with the same `group` share one element type; `allowed` bounds it.
    """

    name: str
    kind: InputKind
    group: str
    allowed: frozenset[DType]
    prefer: DType | None = None


@dataclass(frozen=True, slots=True)
class AttrDef:
    """One declared attribute; `kind` is the spelling of its annotation, `default` is REQUIRED if it has none."""

    name: str
    kind: str
    default: Any


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()
MISSING_GRADIENT = _Required()


@dataclass(slots=True)
class OpDef:
    """A declaration: signature, type rule, shape rule, gradient and what passes may assume.

    stateful: has an effect or another result each time, so it is never folded, merged or left out of order.
    view: an output may be a view of an input's buffer.
    commutative: its inputs may be exchanged, unless they are strings.
    asynchronous: every kernel of it is `async def` (Dequeue) or calls a continuation (Recv), so no thread waits.
    fires_dead: runs (or forwards) although an input is dead: Merge, Send, Recv, ControlTrigger.
    takes_dead: hands a dead token on by itself: its kernel gets DEAD in place of its inputs. Send.
    emits_dead: may give a dead token although it is alive itself: Switch, Recv.
    writes: writes the variable that is its first input.
    role: what it is to the runtime and to passes, where these treat it apart.
    work: arithmetic operations per output element, or a rule that gives the total. None is unknown: passes count one operation,
        but the first run, which is measured, is not on the event loop.
    output_count: how many outputs each node has; None where the node's inputs or attributes say it.
    """

    type: str
    inputs: tuple[InputDef, ...]
    attrs: tuple[AttrDef, ...]
    dtype_rule: DtypeRule
    shape_rule: ShapeRule
    signature: str
    where: str
    module: str = ""
    gradient: GradientRule | _Required | None = MISSING_GRADIENT
    stateful: bool = False
    commutative: bool = False
    broadcasts: bool = False
    view: bool = False
    asynchronous: bool = False
    fires_dead: bool = False
    takes_dead: bool = False
    emits_dead: bool = False
    writes: bool = False
    role: Role | None = None
    work: float | WorkRule | None = 1.0
    output_count: int | None = None

    @property
    def name(self) -> str:
        """The type, as TensorFlow's message of that name calls it; so are `input_arg` and the two flags."""
        return self.type

    @property
    def input_arg(self) -> tuple[InputDef, ...]:
        return self.inputs

    @property
    def is_stateful(self) -> bool:
        return self.stateful

    @property
    def is_commutative(self) -> bool:
        return self.commutative

    @property
    def has_ref_input(self) -> bool:
        return any(i.kind == "ref" for i in self.inputs)

    def check_inputs(self, dtypes: Sequence[DType]) -> None:
        """Raises TypeError if the inputs of a node can't have these types, or for too few or too many inputs."""
        lists = [spec for spec in self.inputs if spec.kind == "list"]
        spare = len(dtypes) - len(self.inputs) + len(lists)
        if spare < 0 or not lists and spare:
            raise TypeError(f"{self.type} takes {len(self.inputs)} inputs, but {len(dtypes)} were given.")
        if len(lists) > 1:
            return  # how many tensors are in which list is for the op itself to know
        by_group: dict[str, DType] = {}
        at = 0
        for spec in self.inputs:
            anything = spec.allowed >= ANY  # control flow passes references on
            for dtype in dtypes[at : (at := at + (spare if spec.kind == "list" else 1))]:
                base = dtype.base_dtype
                if not anything and (base not in spec.allowed or dtype.is_ref and spec.kind != "ref"):
                    raise TypeError(f"Input {spec.name!r} has type {dtype}, but it takes: {_listed(spec.allowed)}.")
                if spec.group and by_group.setdefault(spec.group, base) is not base:
                    raise TypeError(
                        f"Input {spec.name!r} has type {base}, but the inputs before have {by_group[spec.group]}."
                    )

    def infer(self, context: Inference) -> tuple[tuple[DType, ...], tuple[Shape, ...]]:
        """The outputs' types and static shapes. Raises TypeError or ValueError where the inputs can't be."""
        dtypes = self.dtype_rule(context)
        shapes = self.shape_rule(context)
        if isinstance(shapes, list):
            return dtypes, tuple(shapes)
        return dtypes, (shapes,) * len(dtypes)


def _listed(allowed: frozenset[DType]) -> str:
    return ", ".join(d.name for d in sorted(allowed, key=lambda d: d.code))


_OPS: dict[str, OpDef] = {}


class _Roles(dict[str, "Role | None"]):
    def __missing__(self, op_type: str) -> Role | None:
        try:
            role = lookup(op_type).role
        except UnknownNameError:
            role = None
        self[op_type] = role
        return role


ROLES = _Roles(_Sink=None)  # the end of each plan is a node without an op
"""The role of each op by its name; None where the op has none, and where no op of the name is registered."""


def register(definition: OpDef) -> None:
    """Adds `definition` to the table. Raises ValueError where another op has its name; an interactive program may declare
    one again."""
    twin = _OPS.get(definition.type)
    if twin is not None and twin.where != definition.where and not twin.module == definition.module == "__main__":
        raise ValueError(
            f"Op {definition.type!r} is declared at {definition.where}, but {twin.where} has declared that name already."
        )
    _OPS[definition.type] = definition
    ROLES[definition.type] = definition.role


def lookup(op_type: str) -> OpDef:
    """The declaration of `op_type`. Raises UnknownNameError (a KeyError), which names the way out, for an unknown type."""
    definition = _OPS.get(op_type)
    if definition is None:
        from actorflow.base.registry.plugins import import_ops

        import_ops()
        definition = _OPS.get(op_type)
    if definition is None:
        raise UnknownNameError(f"No op {op_type!r} is registered; import the package that declares it.")
    return definition


def registered() -> Mapping[str, OpDef]:
    """All declarations by name."""
    return _OPS


def verify(names: Sequence[str] | None = None) -> None:
    """Raises TypeError naming each op whose gradient was neither given nor declared to be None."""
    incomplete = [
        f"{d.type} ({d.where})"
        for d in _OPS.values()
        if d.gradient is MISSING_GRADIENT and (names is None or d.type in names)
    ]
    if incomplete:
        raise TypeError(
            "Ops without a gradient: "
            + ", ".join(incomplete)
            + ". Add one with @NAME.gradient, or say gradient=None in the declaration where there is none."
        )
