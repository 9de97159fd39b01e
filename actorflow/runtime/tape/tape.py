"""`Tape`: calls in a row over numbered places. The loop here is the reference; a library may provide a faster one.

A region of the graph is a tape. Its inputs, the results of its calls and its constants have a place each. An instruction says
which places it reads, which it writes, and which hold nothing afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from actorflow.errors import InternalError
from actorflow.graph.node import Node
from actorflow.runtime.diagnostics.misfit import Given, given

_FAILURE = "_actorflow_failure"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One call.

    Args:
        node: the node that it computes, or the last of several.
        function: what is called.
        inputs: the places of the arguments.
        outputs: the places of the results; None for a result that nobody reads.
        names: the keywords of the last arguments.
        listed: arguments from the first number up to the second are handed over as one list.
        otherwise: is called with the same arguments if the result is true: the function did nothing.
        operands: the places of the node's inputs, if these are the call's; an error tells their types.
        drops: the places that are emptied afterwards.
    """

    node: Node
    function: Callable[..., Any]
    inputs: tuple[int, ...] = ()
    outputs: tuple[int | None, ...] = ()
    names: tuple[str, ...] = ()
    listed: tuple[int, int] | None = None
    otherwise: Callable[..., Any] | None = None
    operands: tuple[int, ...] | None = None
    drops: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Where a tape failed: the node, and what was known of its inputs."""

    node: Node
    inputs: Sequence[Given] | None


class Tape:
    """Calls in a row: `tape(inputs)` gives the results, and empties the list of inputs, so that nobody else holds an input that
    the tape drops.

    Args:
        instructions: the calls, in order.
        inputs: the number of inputs. They have the first places.
        fresh: the number of places behind these, for results of calls.
        constants: the values of all other places.
        results: the places of what the tape gives: one value, or a tuple, or None if there are none.
    """

    __slots__ = ("_blank", "constants", "fresh", "inputs", "instructions", "results")

    def __init__(
        self,
        instructions: Sequence[Instruction],
        inputs: int,
        fresh: int,
        constants: Sequence[Any],
        results: Sequence[int],
    ) -> None:
        self.instructions = tuple(instructions)
        self.inputs, self.fresh = inputs, fresh
        self.constants, self.results = tuple(constants), tuple(results)
        self._blank = [*[None] * fresh, *constants]

    def __call__(self, inputs: list[Any]) -> Any:
        values = [*inputs, *self._blank]
        inputs.clear()
        for at, instruction in enumerate(self.instructions):
            try:
                self._perform(instruction, values)
            except BaseException as error:
                self.blame(error, at, values)
                raise
        results = [values[place] for place in self.results]
        return results[0] if len(results) == 1 else tuple(results) if results else None

    def _perform(self, instruction: Instruction, values: list[Any]) -> None:
        arguments: list[Any] = [values[place] for place in instruction.inputs]
        if instruction.listed is not None:
            begin, end = instruction.listed
            arguments[begin:end] = [arguments[begin:end]]
        count = len(arguments) - len(instruction.names)
        keywords = dict(zip(instruction.names, arguments[count:]))
        result = instruction.function(*arguments[:count], **keywords)
        if instruction.otherwise is not None and result:
            result = instruction.otherwise(*arguments[:count], **keywords)
        del arguments, keywords
        if len(instruction.outputs) == 1:
            if type(result) is tuple:
                raise self.wrong_outputs(instruction, result)
            (place,) = instruction.outputs
            if place is not None:
                values[place] = result
        elif instruction.outputs:
            if type(result) not in (tuple, list) or len(result) != len(instruction.outputs):
                raise self.wrong_outputs(instruction, result)
            for place, value in zip(instruction.outputs, result):
                if place is not None:
                    values[place] = value
        for place in instruction.drops:
            values[place] = None

    @staticmethod
    def wrong_outputs(instruction: Instruction, result: Any) -> InternalError:
        """The error of a kernel that gave another number of results than its op has outputs."""
        count = len(instruction.outputs)
        amount = f"{len(result)} values" if isinstance(result, (tuple, list)) else f"a {type(result).__name__}"
        return InternalError(
            f"The kernel of {instruction.node.op} returned {amount}, but the op has {count} output{'s' * (count != 1)}.",
            hint="A kernel returns one array, or a tuple with one array for each of several outputs.",
        )

    def blame(self, error: BaseException, at: int, values: Sequence[Any]) -> None:
        """Notes at an error that instruction number `at` raised it, for `failure_of`."""
        instruction = self.instructions[at]
        operands = instruction.operands
        kinds = None if operands is None else [given(values[place]) for place in operands]
        setattr(error, _FAILURE, Failure(instruction.node, kinds))

    def failed(self, error: BaseException | None, at: int, values: Sequence[Any], wrong: Any) -> None:
        """What a loop of a library calls as instruction number `at` fails: with the error, or with None and the results that the
        instruction can't have.

        Raises:
            InternalError: the results are wrong.
        """
        if error is not None:
            self.blame(error, at, values)
            return
        refused = self.wrong_outputs(self.instructions[at], wrong)
        self.blame(refused, at, values)
        raise refused


def failure_of(error: BaseException) -> Failure | None:
    """Where a tape failed with this error; None if no tape did."""
    failure: Failure | None = getattr(error, _FAILURE, None)
    return failure


class Loop(Protocol):
    """A loop that runs tapes."""

    def __call__(self, tape: Tape) -> Callable[[list[Any]], Any]:
        """A function that does what the tape does when it is called."""


_loops: list[Loop] = []


def provide(loop: Loop) -> None:
    """Has tapes run by this loop from now on."""
    _loops[:] = [loop]


def runner(tape: Tape) -> Callable[[list[Any]], Any]:
    """What runs a tape fastest here."""
    return _loops[0](tape) if _loops else tape
