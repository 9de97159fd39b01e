"""`TapeWriter`: instructions are added in sequence, and their places are numbered at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from actorflow.engine.runtime.tape.tape import Instruction, Tape
from actorflow.graph.node import Node


class TapeWriter:
    """Collects the instructions of a tape.

    Args:
        inputs: the number of inputs. They have the places 0, 1, 2, ...
    """

    def __init__(self, inputs: int) -> None:
        self.instructions: list[Instruction] = []
        self._inputs = self._dynamic = inputs
        self._constants: list[Any] = []
        self._held: dict[int, int] = {}

    def fresh(self) -> int:
        """A place for a result."""
        self._dynamic += 1
        return self._dynamic - 1

    def hold(self, value: Any) -> int:
        """The place of a constant; the same object keeps its place."""
        place = self._held.get(id(value))
        if place is None:
            self._constants.append(value)  # it lives as long as the tape, so that its id stays its own
            place = self._held[id(value)] = -len(self._constants)
        return place

    def call(self, node: Node, function: Callable[..., Any], inputs: Sequence[int], names: tuple[str, ...] = ()) -> int:
        """Adds a call with one result. The place of the result."""
        place = self.fresh()
        self.instructions.append(Instruction(node, function, tuple(inputs), (place,), names))
        return place

    def finish(self, results: Sequence[int] = ()) -> Tape:
        """The tape, which gives the values of some places."""

        def settled(place: int) -> int:
            """Constants were numbered -1, -2, ...; they follow the other places."""
            return place if place >= 0 else self._dynamic - 1 - place

        instructions = [
            replace(
                instruction,
                inputs=tuple(map(settled, instruction.inputs)),
                operands=None if instruction.operands is None else tuple(map(settled, instruction.operands)),
            )
            for instruction in self.instructions
        ]
        gives = tuple(map(settled, results))
        instructions = _dropping(instructions, self._dynamic, gives)
        return Tape(instructions, self._inputs, self._dynamic - self._inputs, self._constants, gives)


def _dropping(instructions: Sequence[Instruction], dynamic: int, results: Sequence[int]) -> list[Instruction]:
    """The instructions, each with the places that no instruction reads after it: buffers return, and snapshots end
    before a write.

    In a loop a place is let go of only if each iteration writes it before it reads it.
    """
    loops = [(each.target, number) for number, each in enumerate(instructions) if 0 <= each.target <= number]
    first: dict[int, tuple[int, bool]] = {}
    last: dict[int, int] = {}
    for number, instruction in enumerate(instructions):
        for place in instruction.inputs:
            first.setdefault(place, (number, False))
            last[place] = number
        for output in instruction.outputs:
            if output is not None:
                first.setdefault(output, (number, True))
                last[output] = number
    ended: dict[int, list[int]] = {}
    for place, number in last.items():
        begin, is_written = first[place]
        around = [loop for loop in loops if loop[0] <= number <= loop[1]]
        if place < dynamic and place not in results and all(is_written and begin >= loop[0] for loop in around):
            ended.setdefault(number, []).append(place)
    return [replace(each, drops=tuple(ended.get(number, ()))) for number, each in enumerate(instructions)]
