"""Tapes run in C (`native/src/tape.c`): the numbers of their instructions, and the objects that these call."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from actorflow.engine.runtime.tape.tape import Instruction, InstructionKind, PausingRun, Tape

MOST_ARGUMENTS = 63
"""Arguments of a call, a list counted as one argument."""


@dataclass(frozen=True, slots=True)
class TapesInC:
    """The library as a runner of tapes (`actorflow.engine.runtime.tape.tape.TapeLibrary`).

    Args:
        library: the extension module.
    """

    library: Any

    def runs(self, tape: Tape) -> Callable[[list[Any]], Any] | None:
        """See `Library.runs`."""
        function: Callable[[list[Any]], Any] | None = self._made(tape, pauses=False)
        return function

    def begins(self, tape: Tape) -> Callable[[list[Any]], PausingRun] | None:
        """See `Library.begins`."""
        function: Callable[[list[Any]], PausingRun] | None = self._made(tape, pauses=True)
        return function

    def _made(self, tape: Tape, pauses: bool) -> Any:
        if any(_width(instruction) > MOST_ARGUMENTS for instruction in tape.instructions):
            return None
        code, objects = encoded(tape)
        dynamic = tape.inputs + tape.fresh
        return self.library.tape(tape.inputs, dynamic, tape.constants, objects, code, tape.failed, pauses)


def encoded(tape: Tape) -> tuple[bytes, tuple[Any, ...]]:
    """The code of a tape, and the objects that it names."""
    objects: list[Any] = []
    numbers: dict[int, int] = {}

    def number(value: Any) -> int:
        if value is None:
            return -1
        place = numbers.get(id(value))
        if place is None:
            objects.append(value)
            place = numbers[id(value)] = len(objects) - 1
        return place

    code: list[int] = []
    for instruction in tape.instructions:
        begin, end = instruction.listed or (-1, -1)
        code += [instruction.kind, number(instruction.function), number(instruction.otherwise)]
        code += [number(instruction.names or None), len(instruction.inputs), begin, end]
        code += [len(instruction.outputs), len(instruction.drops), instruction.target, instruction.sense]
        code += instruction.inputs
        code += [-1 if place is None else place for place in instruction.outputs]
        code += instruction.drops
    code += [*tape.results, len(tape.results)]
    return struct.pack(f"={len(code)}i", *code), tuple(objects)


def _width(instruction: Instruction) -> int:
    begin, end = instruction.listed or (0, 1)
    return 0 if instruction.kind is InstructionKind.ENTER else len(instruction.inputs) - (end - begin) + 1
