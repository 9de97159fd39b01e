"""Tapes: the loop in Python and the one in C do the same."""

from __future__ import annotations

import collections
import gc
import operator
import random
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorflow.engine.runtime.tape.tape import Instruction, InstructionKind, PausingRun, Tape, TapeRun, failure_of
from actorflow.errors import InternalError
from actorflow.graph.node import Node, TensorId
from actorflow.kernels.native.library import loaded
from actorflow.kernels.shared.tapes import TapesInC

Runner = Callable[[Tape], Callable[[list[Any]], Any]]


def in_python(tape: Tape) -> Callable[[list[Any]], Any]:
    return tape


def in_c(tape: Tape) -> Callable[[list[Any]], Any]:
    return TapesInC(loaded()).runs(tape) or tape


LOOPS = pytest.mark.parametrize(
    "run",
    [
        pytest.param(in_python, id="python"),
        pytest.param(in_c, id="c", marks=pytest.mark.skipif(loaded() is None, reason="the library is not compiled")),
    ],
)


def node(name: str, *inputs: str) -> Node:
    return Node(name=name, op="Op", inputs=tuple(TensorId(each, 0) for each in inputs))


def call(function: Callable[..., Any], *inputs: int, to: Any = None, **facts: Any) -> Instruction:
    """An instruction with one output at `to`, or several, or none."""
    outputs = () if to is None else to if isinstance(to, tuple) else (to,)
    return Instruction(facts.pop("node", node("n")), function, inputs, outputs, **facts)


class Box:
    """An object that can be watched."""


def listed(*arguments: Any, **keywords: Any) -> Any:
    """The arguments of a call, as nested lists."""
    return [list(arguments), sorted(keywords.items())]


CASES: list[tuple[str, Tape, list[Any], Any]] = [
    ("nothing", Tape([], 0, 0, [], []), [], None),
    ("an input", Tape([], 2, 0, [], [1]), [1, 2], 2),
    ("a constant", Tape([], 0, 0, ["a", "b"], [1]), [], "b"),
    ("several results", Tape([], 2, 0, ["c"], [2, 0, 0]), [1, 2], ("c", 1, 1)),
    ("a call", Tape([call(operator.add, 0, 1, to=2)], 2, 1, [], [2]), [1, 2], 3),
    (
        "a call of what was called",
        Tape([call(operator.add, 0, 0, to=1)] * 1 + [call(operator.mul, 1, 0, to=2)], 1, 2, [], [2]),
        [3],
        18,
    ),
    ("no arguments", Tape([call(list, to=0)], 0, 1, [], [0]), [], []),
    (
        "keywords",
        Tape([call(listed, 0, 1, 2, to=3, names=("b", "a"))], 3, 1, [], [3]),
        [1, 2, 3],
        [[1], [("a", 3), ("b", 2)]],
    ),
    (
        "a list in the middle",
        Tape([call(listed, 0, 1, 2, 0, to=3, listed=(1, 3))], 3, 1, [], [3]),
        [1, 2, 3],
        [[1, [2, 3], 1], []],
    ),
    (
        "a list at the end",
        Tape([call(listed, 0, 1, 2, to=3, listed=(1, 3))], 3, 1, [], [3]),
        [1, 2, 3],
        [[1, [2, 3]], []],
    ),
    ("an empty list at the end", Tape([call(listed, 0, to=1, listed=(1, 1))], 1, 1, [], [1]), [1], [[1, []], []]),
    (
        "an empty list before others",
        Tape([call(listed, 0, 0, to=1, listed=(1, 1))], 1, 1, [], [1]),
        [1],
        [[1, [], 1], []],
    ),
    ("an empty list alone", Tape([call(listed, to=0, listed=(0, 0))], 0, 1, [], [0]), [], [[[]], []]),
    (
        "a list before keywords",
        Tape([call(listed, 0, 1, 2, to=3, names=("k",), listed=(0, 2))], 3, 1, [], [3]),
        [1, 2, 3],
        [[[1, 2]], [("k", 3)]],
    ),
    ("several outputs", Tape([call(divmod, 0, 1, to=(2, 3))], 2, 2, [], [3, 2]), [7, 2], (1, 3)),
    ("outputs as a list", Tape([call(list, 0, to=(1, 2))], 1, 2, [], [2, 1]), ["ab"], ("b", "a")),
    ("an output that no instruction reads", Tape([call(divmod, 0, 1, to=(None, 2))], 2, 1, [], [2]), [7, 2], 1),
    ("one output that no instruction reads", Tape([call(listed, 0, to=(None,))], 1, 0, [], [0]), [7], 7),
    (
        "a place that is written twice",
        Tape([call(operator.neg, 0, to=1), call(operator.neg, 1, to=1)], 1, 1, [], [1]),
        [7],
        7,
    ),
    ("another way that is not taken", Tape([call(int, 0, to=1, otherwise=listed)], 1, 1, [], [1]), ["0"], 0),
    ("another way that is taken", Tape([call(int, 0, to=1, otherwise=listed)], 1, 1, [], [1]), ["5"], [["5"], []]),
]


@LOOPS
@pytest.mark.parametrize(("tape", "inputs", "result"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_a_tape_gives(run: Runner, tape: Tape, inputs: list[Any], result: Any) -> None:
    performed = run(tape)
    for _ in range(3):
        given = list(inputs)
        assert performed(given) == result
        assert given == [], "the list of inputs is emptied"


@LOOPS
def test_values_are_let_go_where_the_tape_says(run: Runner) -> None:
    boxes: list[weakref.ref[Box]] = []
    alive: list[list[bool]] = []

    def make(*_: Any) -> Box:
        box = Box()
        boxes.append(weakref.ref(box))
        return box

    def look(*_: Any) -> None:
        alive.append([box() is not None for box in boxes])

    performed = run(
        Tape(
            [
                call(make, 0, to=1, drops=(0,)),
                call(make, 1, to=2),
                call(look, 1, drops=(1,)),
                call(look, 2),
                call(make, to=(None,)),
                call(look, 2, drops=(2,)),
                call(look),
            ],
            1,
            2,
            [],
            [],
        )
    )
    box = Box()
    boxes.append(weakref.ref(box))
    inputs = [box]
    del box
    performed(inputs)
    assert alive == [[False, True, True], [False, False, True], [False, False, True, False], [False] * 4]


@LOOPS
def test_an_error_names_the_node_and_the_kinds_of_its_inputs(run: Runner) -> None:
    def refuse(*_: Any) -> None:
        raise ValueError("refused")

    x = np.zeros((2, 3), np.float32)
    performed = run(
        Tape(
            [
                call(operator.neg, 0, to=1),
                call(refuse, 2, 0, 1, node=node("bad", "a", "b"), operands=(0, 1)),
            ],
            1,
            1,
            ["constant"],
            [1],
        )
    )
    for _ in range(2):
        with pytest.raises(ValueError, match="refused") as caught:
            performed([x])
        failure = failure_of(caught.value)
        assert failure is not None and failure.node.name == "bad" and failure.inputs is not None
        assert [str(each) for each in failure.inputs] == ["float32 (2, 3)"] * 2
    assert failure_of(ValueError()) is None


@LOOPS
@pytest.mark.parametrize(
    ("result", "outputs", "says"),
    [
        ((1, 2), (1,), "returned 2 values, but the op has 1 output"),
        ((1, 2), (1, 2, 3), "returned 2 values, but the op has 3 outputs"),
        (7, (1, 2), "returned a int, but the op has 2 outputs"),
        ([1], (1, 2), "returned 1 values, but the op has 2 outputs"),
    ],
)
def test_a_kernel_with_another_number_of_results_is_an_error(
    run: Runner, result: Any, outputs: tuple[int, ...], says: str
) -> None:
    performed = run(Tape([call(lambda _: result, 0, to=outputs, node=node("bad", "a"))], 1, 3, [], [0]))
    with pytest.raises(InternalError, match=says) as caught:
        performed([1])
    failure = failure_of(caught.value)
    assert failure is not None and failure.node.name == "bad"


@LOOPS
def test_references_are_balanced(run: Runner) -> None:
    """After runs that end and runs that fail, nothing holds the inputs, the results or what lay between."""
    boxes: list[weakref.ref[Box]] = []

    def make(*arguments: Any, fails: bool = False, **_: Any) -> Any:
        if fails:
            raise ValueError
        box = Box()
        boxes.append(weakref.ref(box))
        return box

    for fails in (False, True):
        tape = Tape(
            [
                call(make, 0, 1, to=2, listed=(0, 2)),
                call(lambda x: (x, x), 2, to=(3, None)),
                call(make, 0, 6, to=4, names=("fails",), drops=(2,)),
                call(make, 3, to=5, otherwise=make),
            ],
            2,
            4,
            [fails],
            [5, 0],
        )
        performed = run(tape)
        for _ in range(5):
            inputs = [Box(), Box()]
            boxes += map(weakref.ref, inputs)
            try:
                performed(inputs)
            except ValueError:
                assert fails
    gc.collect()
    assert boxes and not any(box() is not None for box in boxes)


@LOOPS
def test_a_tape_that_reaches_itself_is_collected(run: Runner) -> None:
    box = Box()
    watched = weakref.ref(box)
    box.performed = run(Tape([call(lambda x: x, 1, to=0)], 0, 1, [box], [0]))  # type: ignore[attr-defined]
    assert box.performed([]) is box  # type: ignore[attr-defined]
    del box
    gc.collect()
    assert watched() is None


@LOOPS
def test_a_tape_runs_in_threads_and_within_itself(run: Runner) -> None:
    def deeper(depth: int) -> int:
        return performed([depth - 1]) + 1 if depth else 0

    performed = run(Tape([call(deeper, 0, to=1)], 1, 1, [], [1]))
    depths: list[int] = []
    threads = [threading.Thread(target=lambda: depths.append(performed([20]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert depths == [20] * 4


@LOOPS
def test_many_arguments_and_many_places(run: Runner) -> None:
    count = 500
    tape = Tape(
        [call(operator.add, place, count, to=place + 1) for place in range(count - 1)]
        + [call(lambda *values: sum(values), *range(count), to=0), call(sum, *range(count), to=1, listed=(0, count))],
        1,
        count - 1,
        [1],
        [0, 1],
    )
    total = sum(range(count))
    assert run(tape)([0]) == (total, 2 * total)


@LOOPS
def test_what_is_no_list_of_its_inputs_is_refused(run: Runner) -> None:
    if run is in_c:
        for inputs in ([], [1, 2], (1,), None):
            with pytest.raises(TypeError, match="takes a list of 1 inputs"):
                run(Tape([], 1, 0, [], [0]))(inputs)  # type: ignore[arg-type]


@pytest.mark.skipif(loaded() is None, reason="the library is not compiled")
@pytest.mark.parametrize(
    "code", [b"", b"\0" * 3, b"\xff" * 4, b"\x01\0\0\0", b"\x07\0\0\0" * 2, b"\0" * 36, b"\x7f" * 40]
)
def test_code_out_of_bounds_is_refused(code: bytes) -> None:
    with pytest.raises(ValueError, match="no tape"):
        loaded().tape(0, 0, (), (), code, print, False)


@pytest.mark.skipif(loaded() is None, reason="the library is not compiled")
def test_random_tapes_are_the_same_in_c(seed: int) -> None:
    """Calls over random places, of which some fail: the results, the errors and their places agree."""
    rng = random.Random(seed)
    functions = [listed, lambda *values: len(values), lambda *values: values[0], lambda *values: 1 // len(values)]
    for _ in range(300):
        inputs, constants = rng.randrange(3), [rng.random() for _ in range(rng.randrange(3))]
        count = rng.randrange(12)
        full = [*range(inputs), *range(inputs + count, inputs + count + len(constants))]
        instructions = []
        for place in range(inputs, inputs + count):
            reads = [rng.choice(full) for _ in range(rng.randrange(4))] if full else []
            begin = rng.randrange(len(reads) + 1)
            span = (begin, rng.randrange(begin, len(reads) + 1)) if rng.random() < 0.3 else None
            instructions.append(call(rng.choice(functions), *reads, to=place, listed=span, node=node(f"n{place}")))
            full.append(place)
        results = [rng.choice(full) for _ in range(rng.randrange(3))] if full else []
        tape = Tape(instructions, inputs, count, constants, results)
        assert _outcome(tape, inputs) == _outcome(in_c(tape), inputs)


def _outcome(run: Callable[[list[Any]], Any], inputs: int) -> Any:
    try:
        return run(list(range(inputs)))
    except (IndexError, ZeroDivisionError, TypeError) as error:
        failure = failure_of(error)
        assert failure is not None
        return type(error), failure.node.name


# ---- loops


def begin_in_python(tape: Tape, inputs: list[Any]) -> PausingRun:
    return TapeRun(tape, inputs)


def begin_in_c(tape: Tape, inputs: list[Any]) -> PausingRun:
    begins = TapesInC(loaded()).begins(tape)
    assert begins is not None
    return begins(inputs)


Begin = Callable[[Tape, list[Any]], PausingRun]
BEGINNINGS = pytest.mark.parametrize(
    "begin",
    [
        pytest.param(begin_in_python, id="python"),
        pytest.param(
            begin_in_c, id="c", marks=pytest.mark.skipif(loaded() is None, reason="the library is not compiled")
        ),
    ],
)


def jump(target: int, *inputs: int, sense: bool = True, drops: tuple[int, ...] = ()) -> Instruction:
    return Instruction(node("jump"), inputs=inputs, kind=InstructionKind.JUMP, target=target, sense=sense, drops=drops)


def move(inputs: tuple[int, ...], outputs: tuple[int | None, ...]) -> Instruction:
    return Instruction(node("move"), inputs=inputs, outputs=outputs, kind=InstructionKind.MOVE)


TURN = Instruction(node("turn"), kind=InstructionKind.TURN)


def counting(*body: Instruction) -> Tape:
    """`while i < n: body; i, last = i + 1, i`: places 0 is i, 1 is n, 2 is last, 3 a comparison, 4 a sum."""
    ahead = [
        call(operator.lt, 0, 1, to=3),
        jump(6 + len(body), 3, sense=False, drops=(3,)),
        *body,
        call(operator.add, 0, 5, to=4),
        move((4, 0), (0, 2)),
        TURN,
        jump(0),
    ]
    return Tape(ahead, 3, 2, [1], [0, 2])


@BEGINNINGS
@pytest.mark.parametrize(
    ("turns", "pauses"), [(1, 5), (2, 2), (3, 1), (5, 1), (6, 0), (100, 0)], ids=lambda value: str(value)
)
def test_a_loop_pauses_after_so_many_turns(begin: Begin, turns: int, pauses: int) -> None:
    run = begin(counting(), [0, 5, None])
    seen = 0
    while (left := run.go(turns)) < 0:
        seen += 1
    assert (seen, left) == (pauses, turns - (5 - pauses * turns))
    assert run.result() == (5, 4), "values move all at once"


@BEGINNINGS
def test_a_loop_without_turns_ends_at_once(begin: Begin) -> None:
    inputs = [7, 5, None]
    run = begin(counting(), inputs)
    assert inputs == [] and run.go(3) == 3 and run.result() == (7, None)


@BEGINNINGS
@pytest.mark.parametrize(("value", "result"), [(0, "no"), (1, "yes"), (np.bool_(False), "no"), (np.array(True), "yes")])
def test_a_jump_goes_by_the_truth_of_a_value(begin: Begin, value: Any, result: str) -> None:
    tape = Tape([jump(3, 0, sense=False), move((2,), (1,)), jump(4), move((3,), (1,))], 1, 1, ["yes", "no"], [1])
    run = begin(tape, [value])
    assert run.go(1) == 1 and run.result() == result


@BEGINNINGS
@pytest.mark.parametrize("turns", [1, 2, 5, 1000])
def test_inner_loops_share_the_turns(begin: Begin, turns: int) -> None:
    """An outer loop of 5 with an inner one of 3 in each turn: 20 turns, whoever counts them."""
    begun: list[list[Any]] = []

    def inner(inputs: list[Any]) -> PausingRun:
        begun.append(list(inputs))
        return begin(counting(), inputs)

    enter = Instruction(node("inner"), inner, (5, 6, 7), (None, 2), kind=InstructionKind.ENTER)
    outer = Tape(
        [
            call(operator.lt, 0, 1, to=3),
            jump(7, 3, sense=False),
            enter,
            call(operator.add, 0, 8, to=4),
            move((4,), (0,)),
            TURN,
            jump(0),
        ],
        3,
        2,
        [0, 3, None, 1],
        [0, 2],
    )
    run = begin(outer, [0, 5, None])
    pauses = 0
    while run.go(turns) < 0:
        pauses += 1
    assert run.result() == (5, 2) and begun == [[0, 3, None]] * 5
    assert pauses == 20 // turns


@BEGINNINGS
def test_an_error_in_an_inner_loop_is_of_its_own_node(begin: Begin) -> None:
    def refuse(*_: Any) -> None:
        raise ValueError("refused")

    def inner(inputs: list[Any]) -> PausingRun:
        return begin(counting(call(refuse, 0, node=node("bad"), operands=())), inputs)

    outer = Tape(
        [Instruction(node("inner"), inner, (0, 1, 2), (None, None), kind=InstructionKind.ENTER)], 3, 0, [], [0]
    )
    with pytest.raises(ValueError, match="refused") as caught:
        begin(outer, [0, 5, None]).go(10)
    failure = failure_of(caught.value)
    assert failure is not None and failure.node.name == "bad"


@BEGINNINGS
def test_the_truth_of_several_values_is_an_error_of_the_jump(begin: Begin) -> None:
    with pytest.raises(ValueError, match="ambiguous") as caught:
        begin(Tape([jump(0, 0)], 1, 0, [], [0]), [np.zeros(2)]).go(1)
    failure = failure_of(caught.value)
    assert failure is not None and failure.node.name == "jump"


@BEGINNINGS
def test_a_paused_run_that_is_let_go_holds_nothing(begin: Begin) -> None:
    box = Box()
    watched = weakref.ref(box)
    run = begin(Tape([TURN, jump(0)], 1, 0, [], [0]), [box])
    box.run = run  # type: ignore[attr-defined]
    assert run.go(1) == -1
    del box, run
    gc.collect()
    assert watched() is None


@BEGINNINGS
def test_an_inner_loop_that_can_not_begin_is_an_error_of_its_node(begin: Begin) -> None:
    def inner(inputs: list[Any]) -> PausingRun:
        raise ValueError("refused")

    outer = Tape([Instruction(node("inner"), inner, (0,), (None,), kind=InstructionKind.ENTER)], 1, 0, [], [0])
    with pytest.raises(ValueError, match="refused") as caught:
        begin(outer, [0]).go(10)
    failure = failure_of(caught.value)
    assert failure is not None and failure.node.name == "inner"


@pytest.mark.skipif(loaded() is None, reason="the library is not compiled")
def test_a_run_in_c_pauses_by_itself_when_it_takes_long() -> None:
    """Signals and other threads wait meanwhile."""
    until = time.thread_time() + 0.05  # the time of this thread: others may have the cores
    run = begin_in_c(Tape([call(lambda: time.thread_time() < until, to=1), TURN, jump(0, 1)], 1, 1, [], [0]), [1])
    pauses = 0
    while run.go(1 << 40) < 0:
        pauses += 1
    assert pauses > 3


@LOOPS
def test_results_may_be_a_named_tuple(run: Runner) -> None:
    pair = collections.namedtuple("pair", ["left", "right"])
    assert run(Tape([call(pair, 0, 0, to=(1, 2))], 1, 2, [], [2]))([7]) == 7
