"""`RecordingTape`: the operations that ran while it watched, in their order; and which tapes watch here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from actorflow.engine.eager.operation import EagerOperation
from actorflow.graph.autodiff.override import OVERRIDE
from actorflow.graph.tensor import Tensor

_tapes: ContextVar[tuple[RecordingTape, ...]] = ContextVar("actorflow_tapes", default=())

recording = _tapes.get
"""The tapes that watch here, an empty tuple for none."""


class RecordingTape:
    """Which tensors are watched, by their identity, and what was computed from them.

    A tensor that is computed from a watched tensor is watched too. All of them are kept as long as the tape, so that no other
    tensor takes their identity.
    """

    __slots__ = ("operations", "variables", "watch_variables", "watched")

    def __init__(self, watch_variables: bool) -> None:
        self.watch_variables = watch_variables
        self.watched: dict[int, Tensor] = {}
        self.operations: list[EagerOperation] = []
        self.variables: dict[int, Any] = {}
        """The variables that were read, by the identity of their handles, in the order of their first reads."""

    def watch(self, tensor: Tensor) -> None:
        """Remembers what is computed from `tensor` from now on."""
        self.watched[id(tensor)] = tensor

    def take(self, operation: EagerOperation) -> None:
        """Remembers the operation, if something watched enters it."""
        watched = self.watched
        for tensor in operation._inputs:
            if id(tensor) in watched:
                break
        else:
            return
        for tensor in operation._outputs:
            if tensor.dtype.kind in "fcV":
                watched[id(tensor)] = tensor
        self.operations.append(operation)


def record(operation: EagerOperation) -> None:
    """Shows an operation that ran to all tapes that watch here."""
    definition = operation.definition
    if definition.gradient is None and operation.rule is None and OVERRIDE not in operation._attrs:
        return
    for tape in _tapes.get():
        if definition.has_ref_input and operation._type == "ReadVariableOp" and tape.watch_variables:
            watch_read(tape, operation._inputs[0])
        tape.take(operation)


def watch_read(tape: RecordingTape, handle: Tensor) -> None:
    """Shows a tape that a variable is read, by its handle: it watches trainable variables."""
    from actorflow.engine.eager.variable import variable_of

    variable = variable_of(handle)
    if variable is not None and variable.trainable:
        tape.watched.setdefault(id(handle), handle)
        tape.variables.setdefault(id(handle), variable)


def push(tape: RecordingTape) -> None:
    """Lets a tape watch from now on."""
    _tapes.set((*_tapes.get(), tape))


def pop(tape: RecordingTape) -> None:
    """Ends that."""
    _tapes.set(tuple(other for other in _tapes.get() if other is not tape))


@contextmanager
def only(kept: Iterable[RecordingTape]) -> Iterator[None]:
    """A block in which no other tapes watch than those `kept`."""
    token = _tapes.set(tuple(kept))
    try:
        yield
    finally:
        _tapes.reset(token)
