"""Tapes run in C (`src/tape.c`): the numbers of their instructions, and the objects that these call."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from actorflow.runtime.tape.tape import Instruction, Tape

MOST_ARGUMENTS = 63
"""Arguments of a call, a list counted as one."""


def compiled(library: Any, tape: Tape) -> Callable[[list[Any]], Any]:
    """The function that runs a tape in C; the tape itself if a call has more arguments than C takes.

    Args:
        library: the extension module.
        tape: what is run.
    """
    if any(_width(instruction) > MOST_ARGUMENTS for instruction in tape.instructions):
        return tape
    objects: list[Any] = []
    numbers: dict[int, int] = {}

    def number(value: Any) -> int:
        if value is None or (type(value) is tuple and not value):
            return -1
        place = numbers.get(id(value))
        if place is None:
            objects.append(value)
            place = numbers[id(value)] = len(objects) - 1
        return place

    code: list[int] = []
    for instruction in tape.instructions:
        begin, end = instruction.listed or (-1, -1)
        code += [
            number(instruction.function),
            number(instruction.otherwise),
            number(instruction.names),
            len(instruction.inputs),
        ]
        code += [begin, end, len(instruction.outputs), len(instruction.drops), *instruction.inputs]
        code += [-1 if place is None else place for place in instruction.outputs]
        code += instruction.drops
    code += [*tape.results, len(tape.results)]
    packed = struct.pack(f"={len(code)}i", *code)
    made: Callable[[list[Any]], Any] = library.tape(
        tape.inputs, tape.inputs + tape.fresh, tape.constants, tuple(objects), packed, tape.failed
    )
    return made


def _width(instruction: Instruction) -> int:
    begin, end = instruction.listed or (0, 1)
    return len(instruction.inputs) - (end - begin) + 1
