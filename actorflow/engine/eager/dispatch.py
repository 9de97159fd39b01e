"""The short way from a call of an op to its kernel.

An op that has run once with attributes, types and shapes of inputs has a row for them in its own table: the bound kernel and the
types of its outputs. The next such call looks the row up and calls the kernel; nothing is checked again that was found right.
All else goes the long way, through the graph: other kinds of inputs, new shapes, ops with state, and kernels that fail, which
the long way calls again, to say what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from actorflow.engine.eager.graph import GRAPH
from actorflow.engine.eager.launches import PendingTensor
from actorflow.engine.eager.operation import EagerOperation
from actorflow.engine.eager.quiet import quiet_run
from actorflow.engine.eager.tapes import recording as tapes
from actorflow.engine.eager.tensor import EagerTensor, eager_tensor
from actorflow.engine.eager.variable import EagerVariable
from actorflow.graph import scopes
from actorflow.graph.ops import declare
from actorflow.graph.ops.declare import Op
from actorflow.graph.ops.math import arithmetic, logic

_MOST_ROWS = 1024
_entered = scopes._default.get
_scoped = scopes._scopes.get
_new = EagerTensor.__new__
_OF_SCALAR = {float: "fc", int: "fciu"}


class Row:
    """A call that is known to be right: `launch` takes the arrays of the inputs."""

    __slots__ = ("attrs", "dtype", "launch", "op")

    def __init__(self, op: str, attrs: Mapping[str, Any], launch: Any, dtype: Any) -> None:
        self.op = op
        self.attrs = attrs
        self.launch = launch
        self.dtype = dtype


def call(op: Op[Any, Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Runs an op whose first input has a value; NotImplemented where that takes the long way."""
    entered = _entered()
    if entered is not None and entered is not GRAPH:
        return NotImplemented
    first = args[0]
    count = len(args)
    if type(first) is not EagerTensor:
        if not isinstance(first, EagerTensor):
            if op.definition.has_ref_input:
                return NotImplemented
            first = first.read_value()
            args = first, *args[1:]
        if isinstance(first, PendingTensor):
            return NotImplemented
    value = first._value
    try:
        if count == 2:
            second = args[1]
            kind = value.dtype
            if type(second) is EagerVariable and not op.definition.has_ref_input:
                second = second.read_value()
                args = first, second
            if type(second) is EagerTensor:
                other = second._value
                key: Any = kind, value.shape, other.dtype, other.shape
            elif op.definition.broadcasts and kind.kind in _OF_SCALAR.get(type(second), ""):
                other = kind.type(second)
                key = kind, value.shape, kind, ()
            else:
                return NotImplemented
            inputs: Any = value, other
        elif count == 1:
            key = (value.dtype, value.shape)
            inputs = (value,)
        else:
            return NotImplemented
        if kwargs:
            key += tuple([(k, type(v), v) for k, v in kwargs.items() if k != "name"])
        row = op.prepared.get(key)
    except (AttributeError, TypeError, OverflowError):  # no array, or an attribute without a hash
        return NotImplemented
    if row is None:
        row = _prepare(op, key, inputs, kwargs)
        if row is None:
            return NotImplemented
    if _scoped():
        return NotImplemented  # a device, or a gradient, is asked for
    try:
        result = quiet_run()(row.launch, *inputs)
    except Exception:
        return NotImplemented
    tensor = _new(EagerTensor)
    tensor._value = result
    tensor._dtype = row.dtype
    tensor._operation = None
    if tapes.recording():
        _record(row, args, inputs, tensor)
    return tensor


def _record(row: Row, args: Sequence[Any], inputs: Sequence[Any], output: EagerTensor) -> None:
    """Notes a call for gradients."""
    dtype = args[0]._dtype
    tensors = [arg if isinstance(arg, EagerTensor) else EagerTensor(v, dtype) for arg, v in zip(args, inputs)]
    tapes.record(EagerOperation(row.op, row.attrs, tensors, (output,)))


def _prepare(op: Op[Any, Any], key: Any, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Row | None:
    """The row for a call, where its op and inputs are right and nothing but types and shapes decides that."""
    definition = op.definition
    if len(inputs) != len(definition.inputs) or any(spec.kind != "tensor" for spec in definition.inputs):
        return None
    options = {name: value for name, value in kwargs.items() if name != "name"}
    try:
        attrs = op._attributes(options)
        if options:
            return None
        prepared = GRAPH.resolve(definition, [eager_tensor(value) for value in inputs], attrs)
    except Exception:
        return None  # the long way says what is wrong
    if prepared is None:
        return None
    if len(op.prepared) >= _MOST_ROWS:
        op.prepared.clear()
    row = op.prepared[key] = Row(definition.type, attrs, prepared.call, prepared.node.dtypes[0])
    return row


def _operator(op: Op[Any, Any], name: str) -> None:
    """Gives tensors with values an operator that takes the short way if it can."""
    general = getattr(EagerTensor, name)

    def operator(self: Any, other: Any) -> Any:
        result = call(op, (self, other), _NOTHING)
        return general(self, other) if result is NotImplemented else result

    setattr(EagerTensor, name, operator)


_NOTHING: Mapping[str, Any] = {}
for _name, _op in (
    ("__add__", arithmetic.add),
    ("__radd__", arithmetic.add),  # the order of two summands, or factors, changes no bit
    ("__sub__", arithmetic.subtract),
    ("__mul__", arithmetic.multiply),
    ("__rmul__", arithmetic.multiply),
    ("__lt__", logic.less),
    ("__le__", logic.less_equal),
    ("__gt__", logic.greater),
    ("__ge__", logic.greater_equal),
):
    _operator(_op, _name)

declare.call_instead((EagerTensor, EagerVariable), call)
