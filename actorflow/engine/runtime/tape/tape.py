"""`Tape`: instructions over numbered places. The loop here is the reference; a library may provide a faster loop.

A region of the graph is a tape, and so is a while loop. Inputs, results of calls and constants have a place each. An instruction
says which places it reads, which it writes, and which hold nothing afterwards.
"""

from __future__ import annotations

import contextlib
import enum
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from actorflow.engine.runtime.diagnostics.misfit import Given, given
from actorflow.errors import InternalError
from actorflow.graph.node import Node

_FAILURE = "_actorflow_failure"


class InstructionKind(enum.IntEnum):
    """The kinds of instructions."""

    CALL = 0
    """Calls a function."""
    MOVE = 1
    """Puts the values of the inputs into the outputs, all at once."""
    JUMP = 2
    """Goes on at the target: always, or if the truth of its one input is `sense`."""
    TURN = 3
    """Ends an iteration. After as many as were allowed, the run pauses."""
    ENTER = 4
    """Begins the run of an inner loop, which `function` gives for a list of inputs, and goes through it."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step of a tape.

    Args:
        node: the node that it computes, or the last of several.
        function: what is called.
        inputs: the places of the arguments.
        outputs: the places of the results; None for a result that no instruction reads.
        names: the keywords of the last arguments.
        listed: arguments from the first number up to the second are handed over as one list.
        otherwise: is called with the same arguments if the result is true: the function did nothing.
        operands: the places of the node's inputs, if these are the call's; an error tells their types.
        drops: the places that are emptied afterwards.
        kind: what the instruction does.
        target: the number of the instruction to which it jumps.
        sense: the truth for which it jumps.
        members: the nodes that it computes, if `node` stands for several.
    """

    node: Node
    function: Callable[..., Any] | None = None
    inputs: tuple[int, ...] = ()
    outputs: tuple[int | None, ...] = ()
    names: tuple[str, ...] = ()
    listed: tuple[int, int] | None = None
    otherwise: Callable[..., Any] | None = None
    operands: tuple[int, ...] | None = None
    drops: tuple[int, ...] = ()
    kind: InstructionKind = InstructionKind.CALL
    target: int = -1
    sense: bool = True
    members: tuple[Node, ...] = ()

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that it computes."""
        return self.members or (self.node,)


@dataclass(frozen=True, slots=True)
class TapeFailure:
    """The node at which a tape failed, and what was known of its inputs."""

    node: Node
    inputs: Sequence[Given] | None


class Tape:
    """Instructions in a row: `tape(inputs)` gives the results, and empties the list of inputs, so that no caller holds an input
    that the tape drops.

    Args:
        instructions: in order.
        inputs: the number of inputs. They have the first places.
        fresh: the number of places behind these, for results of calls.
        constants: the values of all other places.
        results: the places of what the tape gives: one value, or a tuple, or None if there are none.
    """

    __slots__ = ("blank", "constants", "fresh", "inputs", "instructions", "results")

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
        self.blank = [*[None] * fresh, *constants]

    def __call__(self, inputs: list[Any]) -> Any:
        run = TapeRun(self, inputs)
        run.go(1)
        return run.result()

    def fresh_values(self, inputs: Sequence[Any]) -> list[Any]:
        """The values of a run as it begins."""
        return [*inputs, *self.blank]

    def perform(self, instruction: Instruction, values: list[Any]) -> int:
        """Does what an instruction says. The number of the instruction that it jumps to, or -1."""
        following = -1
        arguments: list[Any] = [values[place] for place in instruction.inputs]
        match instruction.kind:
            case InstructionKind.CALL:
                self.store(instruction, _called(instruction, arguments), values)
            case InstructionKind.MOVE:
                for place, value in zip(instruction.outputs, arguments):
                    if place is not None:
                        values[place] = value
            case InstructionKind.JUMP:
                if not arguments or bool(arguments[0]) == instruction.sense:
                    following = instruction.target
        del arguments
        for place in instruction.drops:
            values[place] = None
        return following

    def store(self, instruction: Instruction, result: Any, values: list[Any]) -> None:
        """Puts the results of a call into their places. Raises InternalError for another number of results."""
        outputs = instruction.outputs
        if len(outputs) == 1:
            if type(result) is tuple:
                raise self.wrong_outputs(instruction, result)
            if outputs[0] is not None:
                values[outputs[0]] = result
        elif outputs:
            if not isinstance(result, (tuple, list)) or len(result) != len(outputs):
                raise self.wrong_outputs(instruction, result)
            for place, value in zip(outputs, result):
                if place is not None:
                    values[place] = value

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
        with contextlib.suppress(Exception):  # the error goes on, whatever its inputs are
            operands = instruction.operands
            kinds = None if operands is None else [given(values[place]) for place in operands]
            setattr(error, _FAILURE, TapeFailure(instruction.nodes[-1], kinds))

    def failed(self, error: BaseException | None, at: int, values: Sequence[Any], wrong: Any) -> None:
        """A library calls it as instruction number `at` fails: with the error, or with None and the results that the instruction
        can't have.

        Raises:
            InternalError: the results are wrong.
        """
        if error is not None:
            self.blame(error, at, values)
            return
        refused = self.wrong_outputs(self.instructions[at], wrong)
        self.blame(refused, at, values)
        raise refused


def failure_of(error: BaseException) -> TapeFailure | None:
    """The place at which a tape failed with this error; None if no tape did."""
    failure: TapeFailure | None = getattr(error, _FAILURE, None)
    return failure


class PausingRun(Protocol):
    """A run of a tape that may pause."""

    def go(self, turns: int) -> int:
        """Goes on, through `turns` iterations at most, or some milliseconds. Raises what a call raises.

        Returns: how many of the turns are left at the end of the tape, or -1 if the run paused before the end.
        """

    def result(self) -> Any:
        """The results of the tape, after its end."""


class TapeRun:
    """A run of a tape in Python. It empties the list of inputs."""

    __slots__ = ("_at", "_inner", "_tape", "_values")

    def __init__(self, tape: Tape, inputs: list[Any]) -> None:
        self._tape = tape
        self._values = tape.fresh_values(inputs)
        inputs.clear()
        self._at = 0
        self._inner: PausingRun | None = None

    def go(self, turns: int) -> int:
        """See `PausingRun.go`."""
        instructions, values = self._tape.instructions, self._values
        while self._at < len(instructions):
            instruction = instructions[self._at]
            if instruction.kind is InstructionKind.ENTER:
                turns = self._enter(instruction, turns)
                if turns < 0:
                    return -1
            else:
                try:
                    following = self._tape.perform(instruction, values)
                except BaseException as error:
                    self._tape.blame(error, self._at, values)
                    raise
                if following >= 0:
                    self._at = following
                    continue
            self._at += 1
            if instruction.kind is InstructionKind.TURN:
                turns -= 1
                if turns <= 0:
                    return -1
        return turns

    def result(self) -> Any:
        """See `PausingRun.result`."""
        results = [self._values[place] for place in self._tape.results]
        return results[0] if len(results) == 1 else tuple(results) if results else None

    def _enter(self, instruction: Instruction, turns: int) -> int:
        """Goes through an inner loop, whose errors are its own."""
        values = self._values
        if self._inner is None:
            assert instruction.function is not None
            try:
                self._inner = instruction.function([values[place] for place in instruction.inputs])
            except BaseException as error:
                self._tape.blame(error, self._at, values)
                raise
        assert self._inner is not None
        turns = self._inner.go(turns)
        if turns >= 0:
            result, self._inner = self._inner.result(), None
            self._tape.store(instruction, result, values)
            for place in instruction.drops:
                values[place] = None
        return turns


def _called(instruction: Instruction, arguments: list[Any]) -> Any:
    """The result of the function of a call."""
    assert instruction.function is not None
    if instruction.listed is not None:
        begin, end = instruction.listed
        arguments = [*arguments[:begin], arguments[begin:end], *arguments[end:]]
    count = len(arguments) - len(instruction.names)
    keywords = dict(zip(instruction.names, arguments[count:]))
    result = instruction.function(*arguments[:count], **keywords)
    if instruction.otherwise is not None and result:
        result = instruction.otherwise(*arguments[:count], **keywords)
    return result


class TapeLibrary(Protocol):
    """A library that runs tapes."""

    def runs(self, tape: Tape) -> Callable[[list[Any]], Any] | None:
        """A function that does what the tape does when it is called; None for a tape that the library does not take."""

    def begins(self, tape: Tape) -> Callable[[list[Any]], PausingRun] | None:
        """A function that begins a run of the tape; None for a tape that the library does not take."""


_libraries: list[TapeLibrary] = []


def provide(library: TapeLibrary) -> None:
    """Has tapes run by this library from now on."""
    _libraries[:] = [library]


def runner(tape: Tape) -> Callable[[list[Any]], Any]:
    """The fastest function here that does what a tape does."""
    return next((run for library in _libraries if (run := library.runs(tape)) is not None), tape)


def beginner(tape: Tape) -> Callable[[list[Any]], PausingRun]:
    """The function that begins a run of a tape, which may pause."""
    begins = (library.begins(tape) for library in _libraries)
    return next((begin for begin in begins if begin is not None), functools.partial(TapeRun, tape))
