"""Random programs of branches, loops and arrays, as data. `in_graph` builds one as a graph; `in_numpy` runs it as Python.

A program works on scalars ("f") and vectors of three ("v") of float64, and int32 scalars ("i"). All functions are smooth
and keep their values small, so that derivatives can be checked by differences. A seed decides everything.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from random_graphs import later

import actorflow as af

Kind: TypeAlias = str
DEPTH = 3
WEIGHTS = np.array([[0.3, -0.2, 0.5], [0.1, 0.4, -0.6], [-0.5, 0.2, 0.3]])


@dataclass(frozen=True)
class Apply:
    """One function of values."""

    function: str
    args: tuple[int, ...]
    kind: Kind


@dataclass(frozen=True)
class Test:
    """The test that decides a branch: whether one value is less than another (of vectors, the means)."""

    left: int
    right: int


@dataclass(frozen=True)
class Choice:
    """A `cond`."""

    test: Test
    yes: Block
    no: Block
    kinds: tuple[Kind, ...]


@dataclass(frozen=True)
class Loop:
    """A `while_loop` of `trips % 4` iterations at most. The body sees the counter, then the variables, then, with a `table`,
    one of its elements, then, with a `chain`, the element before the one that it writes.

    `table` is a vector whose elements an array holds. `record` is a result that an array takes, in iterations where
    `keeps` holds; `chain` one of kind "f" that an array takes, which starts with `chain_start`.
    """

    trips: int
    starts: tuple[int, ...]
    kinds: tuple[Kind, ...]
    body: Block
    bound: float | None
    table: int | None
    record: bool
    keeps: Test | None
    chain_start: int | None
    parallel: int
    swap: bool
    limit: int | None


@dataclass(frozen=True)
class Rows:
    """`map_fn`, `scan` or `foldl` over the elements of a vector; the body sees the state (but for `map_fn`) and one."""

    form: str
    vector: int
    start: int
    body: Block
    reverse: bool


@dataclass(frozen=True)
class Tick:
    """Counts once, and passes a value on. A block that gives its results waits for all of its values in programs that
    count, as Python does."""

    value: int


@dataclass
class Block:
    """Statements, each of which adds values to those that there are, and which of them the block gives."""

    statements: list[Any] = field(default_factory=list)
    results: tuple[int, ...] = ()


@dataclass(frozen=True)
class Program:
    """`kinds` are those of the inputs, which are the first values."""

    seed: int
    kinds: tuple[Kind, ...]
    body: Block
    result_kinds: tuple[Kind, ...]
    counts: bool

    def inputs(self, number: int) -> list[Any]:
        """Values for the inputs; each number gives others."""
        rng = np.random.default_rng((self.seed, number))
        made: list[Any] = []
        for kind in self.kinds:
            made.append(
                np.int32(rng.integers(0, 8)) if kind == "i" else rng.uniform(-1, 1, () if kind == "f" else (3,))[()]
            )
        return made


# ---- what both sides compute with


class InNumpy:
    """The functions on arrays."""

    sin, tanh, exp, mean, stack, less = np.sin, np.tanh, np.exp, np.mean, np.stack, np.less
    constant = staticmethod(lambda x: x)
    at = staticmethod(lambda vector, index: vector[index])
    total = staticmethod(lambda x: np.sum(x, 0))
    later = staticmethod(lambda x: x)


class InGraph:
    """The same on tensors."""

    sin, tanh, exp, less, at = (staticmethod(f) for f in (af.sin, af.tanh, af.exp, af.less, af.gather))
    mean, stack, constant = staticmethod(af.reduce_mean), staticmethod(af.stack), staticmethod(af.constant)
    total = staticmethod(lambda x: af.reduce_sum(x, 0))
    later = staticmethod(lambda x: later(x, turns=2))


Function: TypeAlias = "tuple[str, Kind, Callable[..., Any]]"

FUNCTIONS: Mapping[str, Function] = {
    "add": ("ff", "f", lambda m, x, y: (x + y) * 0.5),
    "add_v": ("vv", "v", lambda m, x, y: (x - y) * 0.5),
    "mul": ("ff", "f", lambda m, x, y: x * y),
    "scale": ("fv", "v", lambda m, x, y: x * y),
    "tanh": ("f", "f", lambda m, x: m.tanh(x * 1.5)),
    "tanh_v": ("v", "v", lambda m, x: m.tanh(x + 0.3)),
    "sin": ("f", "f", lambda m, x: m.sin(x * 2.0)),
    "bell": ("v", "v", lambda m, x: m.exp(-x * x)),
    "mean": ("v", "f", lambda m, x: m.mean(x)),
    "stack": ("fff", "v", lambda m, x, y, z: m.stack([x, y, z])),
    "weigh": ("v", "v", lambda m, x: m.total(m.constant(WEIGHTS) * x)),
    "at": ("vi", "f", lambda m, x, i: m.at(x, i % 3)),
    "half": ("", "f", lambda m: m.constant(np.float64(0.5))),
    "one": ("", "i", lambda m: m.constant(np.int32(1))),
    "iadd": ("ii", "i", lambda m, x, y: (x + y) % 7),
    "imul": ("ii", "i", lambda m, x, y: (x * y + 3) % 5),
    "later": ("i", "i", lambda m, x: m.later(x)),
}


# ---- making one


def random_program(seed: int) -> Program:
    maker = _Maker(seed)
    kinds = (*"ffvi", *maker.rng.choices("fvi", k=2))
    body, result_kinds = maker.block(list(kinds), DEPTH, maker.rng.randint(5, 8), top=True)
    return Program(seed, kinds, body, result_kinds, maker.ticks)


class _Maker:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.ticks = self.rng.random() < 0.25
        self.waits = self.rng.random() < 0.4

    def block(
        self, kinds: list[Kind], depth: int, size: int, wanted: Sequence[Kind] = (), top: bool = False
    ) -> tuple[Block, tuple[Kind, ...]]:
        """Statements over values of `kinds`; the results are of the kinds `wanted`, or at the top all that are new."""
        kinds = list(kinds)
        known = len(kinds)
        made = Block()
        for _ in range(size):
            statement, new = self.statement(kinds, depth, top)
            made.statements.append(statement)
            kinds += new
        if top:
            made.results = tuple(range(known, len(kinds)))
            return made, tuple(kinds[known:])
        made.results = tuple(self.pick(kinds, kind) for kind in wanted)
        return made, tuple(wanted)

    def statement(self, kinds: list[Kind], depth: int, top: bool) -> tuple[Any, list[Kind]]:
        if depth and self.rng.random() < (0.6 if top else 0.45):
            match self.rng.randrange(5):
                case 0 | 1:
                    return self.choice(kinds, depth)
                case 2 | 3:
                    return self.loop(kinds, depth)
                case _:
                    return self.rows(kinds, depth)
        if self.ticks and self.rng.random() < 0.2:
            value = self.rng.randrange(len(kinds))
            return Tick(value), [kinds[value]]
        names = [n for n in FUNCTIONS if n != "later" or self.waits]
        name = self.rng.choice(names)
        wanted, kind, _ = FUNCTIONS[name]
        return Apply(name, tuple(self.pick(kinds, k) for k in wanted), kind), [kind]

    def pick(self, kinds: Sequence[Kind], kind: Kind) -> int:
        """A value of a kind, the younger ones more often."""
        found = [i for i, k in enumerate(kinds) if k == kind]
        return self.rng.choice(found[len(found) // 2 :] if self.rng.random() < 0.6 else found)

    def test(self, kinds: Sequence[Kind]) -> Test:
        kind = self.rng.choice("fvii")
        return Test(self.pick(kinds, kind), self.pick(kinds, kind))

    def choice(self, kinds: list[Kind], depth: int) -> tuple[Any, list[Kind]]:
        wanted = self.rng.choices("ffvi", k=self.rng.randint(1, 3))
        yes, _ = self.block(kinds, depth - 1, self.rng.randint(0, 3), wanted)
        no, _ = self.block(kinds, depth - 1, self.rng.randint(0, 3), wanted)
        return Choice(self.test(kinds), yes, no, tuple(wanted)), wanted

    def loop(self, kinds: list[Kind], depth: int) -> tuple[Any, list[Kind]]:
        rng = self.rng
        variables = rng.choices("ffvi", k=rng.randint(1, 3))
        table = self.pick(kinds, "v") if rng.random() < 0.3 else None
        chain = self.pick(kinds, "f") if rng.random() < 0.3 else None
        record = rng.random() < 0.4
        inner = [*kinds, "i", *variables, *(["f"] if table is not None else []), *(["f"] if chain is not None else [])]
        wanted = [*variables, *(["f"] if record else []), *(["f"] if chain is not None else [])]
        body, _ = self.block(inner, depth - 1, rng.randint(1, 4), wanted)
        made = Loop(
            trips=self.pick(kinds, "i"),
            starts=tuple(self.pick(kinds, kind) for kind in variables),
            kinds=tuple(variables),
            body=body,
            bound=rng.uniform(-0.5, 0.8) if rng.random() < 0.3 and variables[0] == "f" else None,
            table=table,
            record=record,
            keeps=self.test(inner) if record and rng.random() < 0.4 else None,
            chain_start=chain,
            parallel=rng.choice((1, 2, 10, 32)),
            swap=rng.random() < 0.3,
            limit=rng.randint(0, 4) if rng.random() < 0.2 else None,
        )
        return made, ["i", *variables, *(["f"] if record else []), *(["f"] if chain is not None else [])]

    def rows(self, kinds: list[Kind], depth: int) -> tuple[Any, list[Kind]]:
        form = self.rng.choice(["map", "scan", "foldl"])
        inner = [*kinds, "f", *(["f"] if form != "map" else [])]
        body, _ = self.block(inner, depth - 1, self.rng.randint(1, 3), "f")
        made = Rows(form, self.pick(kinds, "v"), self.pick(kinds, "f"), body, self.rng.random() < 0.5)
        return made, ["f" if form == "foldl" else "v"]


# ---- running one as Python


class Run:
    """The decisions and counts of one run in Python, beside its results."""

    def __init__(self, program: Program, inputs: Sequence[Any]) -> None:
        self.decisions: list[bool] = []
        self.ticks = 0
        self.results = self._block(program.body, list(inputs))

    def _block(self, block: Block, values: list[Any]) -> list[Any]:
        for statement in block.statements:
            values = values + self._statement(statement, values)
        return [values[i] for i in block.results]

    def _holds(self, test: Test, values: list[Any]) -> bool:
        self.decisions.append(bool(np.mean(values[test.left]) < np.mean(values[test.right])))
        return self.decisions[-1]

    def _statement(self, s: Any, values: list[Any]) -> list[Any]:
        match s:
            case Apply():
                return [FUNCTIONS[s.function][2](InNumpy, *(values[i] for i in s.args))]
            case Tick():
                self.ticks += 1
                return [values[s.value]]
            case Choice():
                return self._block(s.yes if self._holds(s.test, values) else s.no, values)
            case Rows():
                return [self._rows(s, values)]
            case _:
                return self._loop(s, values)

    def _rows(self, s: Rows, values: list[Any]) -> Any:
        vector = values[s.vector]
        if s.form == "map":
            return np.array([self._block(s.body, [*values, x])[0] for x in vector])
        state, states = values[s.start], []
        for x in vector[::-1] if s.reverse else vector:
            state = self._block(s.body, [*values, state, x])[0]
            states.append(state)
        if s.form == "foldl":
            return state
        return np.array(states[::-1] if s.reverse else states)

    def _loop(self, s: Loop, values: list[Any]) -> list[Any]:
        i, state = np.int32(0), [values[k] for k in s.starts]
        recorded: float = 0.0
        chain = [] if s.chain_start is None else [values[s.chain_start]]
        while i < values[s.trips] % 4 and (s.limit is None or i < s.limit):
            if s.bound is not None:
                self.decisions.append(bool(state[0] < s.bound))
                if not self.decisions[-1]:
                    break
            inner = [*values, i, *state]
            if s.table is not None:
                inner.append(values[s.table][i % 3])
            if chain:
                inner.append(chain[-1])
            made = self._block(s.body, inner)
            if chain:
                chain.append(made.pop())
            if s.record:
                item = made.pop()
                if s.keeps is None or self._holds(s.keeps, inner):
                    recorded = recorded + item
            state = made
            i = np.int32(i + 1)
        return [i, *state, *([recorded / 4.0] if s.record else []), *([sum(chain) / 5.0] if chain else [])]


# ---- and as a graph


class Built:
    """The graph of a program: `inputs`, `results`, and `ticks`, which counts. With `devices` above 1 most statements, and
    parts of them, ask for one of them; nothing else changes."""

    def __init__(self, program: Program, known_shapes: bool = True, devices: int = 1) -> None:
        self.graph = af.Graph()
        self._counts = program.counts
        self._devices = devices
        self._places = random.Random(~program.seed)
        with self.graph.as_default():
            types = {"f": (af.float64, []), "v": (af.float64, [3] if known_shapes else [None]), "i": (af.int32, [])}
            self.inputs = [af.placeholder(*types[kind]) for kind in program.kinds]
            self.ticks = af.Variable(0, trainable=False)
            self.results = self._block(program.body, list(self.inputs))
            self.initializer = af.global_variables_initializer()

    def _block(self, block: Block, values: list[Any]) -> list[Any]:
        known = len(values)
        for statement in block.statements:
            with self._device():
                values = values + self._statement(statement, values)
        results = [values[i] for i in block.results]
        if not self._counts:
            return results
        with af.control_dependencies(values[known:]):
            return [af.identity(value) for value in results]

    def _device(self) -> Any:
        choice = self._places.randrange(self._devices + 1)
        return nullcontext() if self._devices == 1 or choice == self._devices else af.device(f"/device:CPU:{choice}")

    def _test(self, test: Test, values: list[Any]) -> Any:
        left, right = values[test.left], values[test.right]
        with self._device():
            return left < right if left.dtype is af.int32 else af.reduce_mean(left) < af.reduce_mean(right)

    def _statement(self, s: Any, values: list[Any]) -> list[Any]:
        match s:
            case Apply():
                return [af.convert_to_tensor(FUNCTIONS[s.function][2](InGraph, *(values[i] for i in s.args)))]
            case Tick():
                inside = af.identity(values[s.value])
                with af.device(None):  # the variable has its own place
                    tick = self.ticks.assign_add(1, read_value=False)
                with af.control_dependencies([tick]):
                    return [af.identity(inside)]
            case Choice():
                test = self._test(s.test, values)
                return list(
                    af.cond(test, lambda: self._block(s.yes, values), lambda: self._block(s.no, values), strict=True)
                )
            case Rows():
                return [self._rows(s, values)]
            case _:
                return self._loop(s, values)

    def _rows(self, s: Rows, values: list[Any]) -> Any:
        vector = values[s.vector]
        if s.form == "map":
            made = af.map_fn(lambda x: self._block(s.body, [*values, x])[0], vector)
        elif s.form == "scan":
            made = af.scan(
                lambda state, x: self._block(s.body, [*values, state, x])[0],
                vector,
                initializer=values[s.start],
                reverse=s.reverse,
            )
        else:
            fold = af.foldr if s.reverse else af.foldl
            return fold(lambda state, x: self._block(s.body, [*values, state, x])[0], vector, values[s.start])
        made.set_shape(vector.static_shape)
        return made

    def _loop(self, s: Loop, values: list[Any]) -> list[Any]:
        trips = values[s.trips] % 4
        table = None if s.table is None else af.TensorArray(af.float64, size=3).unstack(values[s.table])
        arrays: list[Any] = []
        if s.record:
            arrays.append(af.TensorArray(af.float64, size=trips, element_shape=[]))
        if s.chain_start is not None:
            chain = af.TensorArray(af.float64, size=1, dynamic_size=True, element_shape=[])
            arrays.append(chain.write(0, values[s.chain_start]))

        def goes_on(i: Any, state: Any, arrays: Any) -> Any:
            with self._device():
                more = i < trips
            return more if s.bound is None else af.logical_and(more, state[0] < s.bound)

        def body(i: Any, state: Any, arrays: Any) -> Any:
            inner = [*values, i, *state]
            if table is not None:
                inner.append(table.read(i % 3))
            if s.chain_start is not None:
                inner.append(arrays[-1].read(i))
            made = self._block(s.body, inner)
            written = []
            if s.chain_start is not None:
                written.append(arrays[-1].write(i + 1, made.pop()))
            if s.record:
                written.insert(0, self._record(s, arrays[0], i, made.pop(), inner))
            return i + 1, made, written

        i, state, done = af.while_loop(
            goes_on,
            body,
            (af.constant(0), [values[k] for k in s.starts], arrays),
            shape_invariants=(
                af.TensorShape([]),
                [af.TensorShape([None] if kind == "v" else []) for kind in s.kinds],
                [af.TensorShape([]) for _ in arrays],
            ),
            parallel_iterations=s.parallel,
            swap_memory=s.swap,
            maximum_iterations=s.limit,
        )
        found = [i, *state]
        if s.record:
            found.append(af.reduce_sum(done[0].stack()) / 4.0)
        if s.chain_start is not None:
            found.append(af.reduce_sum(done[-1].stack()) / 5.0)
        return found

    def _record(self, s: Loop, array: Any, i: Any, item: Any, inner: list[Any]) -> Any:
        if s.keeps is None:
            return array.write(i, item)
        return af.cond(self._test(s.keeps, inner), lambda: array.write(i, item), lambda: array.identity())
