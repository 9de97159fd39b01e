"""One row makes all tests of an op: a `Case` says how to build it, what it should give, and on which inputs.

    Case(
        "Softsign",
        af_nn.softsign,
        each(lambda x: x / (1 + abs(x))),
        [((),), ((0, 3),), ((2, 3),)],
        literal=Literal(([-1.0, 3.0],), [-0.5, 0.75]),
    )

Modules `rows_*.py` in the folders beside it hold lists `CASES` of them. `checks` and `derivatives` check one row, `harness`
builds and runs it, and `test_table` makes the tests.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from actorflow.base.dtypes import DType, as_dtype

FLOATS = "float16 bfloat16 float32 float64"
COMPLEXES = "complex64 complex128"
INTS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64"
REALS = f"{INTS} {FLOATS}"
NUMBERS = f"{REALS} {COMPLEXES}"

Array: TypeAlias = "np.ndarray[Any, Any]"
# One input of an example: a shape to draw, a value as it is (an axis, say), or a function that draws.
Entry: TypeAlias = "tuple[int, ...] | Array | np.generic | Callable[[np.random.Generator, DType], Any]"
Domain: TypeAlias = "tuple[float, float]"


@dataclass(frozen=True)
class Literal:
    """A hand-written input, and TensorFlow's own answer to it.

    Python values become arrays of `dtype` (the row's float32, else its first); numpy arrays stay, and enter the graph
    as constants. An expected numpy array fixes the element type too. `output` is a tuple for an op of several outputs.
    """

    inputs: tuple[Any, ...]
    output: Any
    dtype: str = ""


@dataclass(frozen=True)
class Reject:
    """Inputs that TensorFlow refuses, with `error`.

    TypeError and ValueError are raised as the graph is built (shapes are known then); an OpError in the run, after a
    build that knew no shapes. A tuple of both kinds checks both. `build` stands in for the row's.
    """

    error: type[Exception] | tuple[type[Exception], ...]
    inputs: tuple[Any, ...]
    build: Callable[..., Any] | None = None
    match: str = ""
    dtype: str = ""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        return self.error if isinstance(self.error, tuple) else (self.error,)


@dataclass(frozen=True)
class Case:
    """A row.

    ops: the registered ops that the row covers, separated by spaces; the first is the one under test. Empty for a
        function that is made of other ops, which `note` then names.
    build: from tensors to the op's tensor (or several).
    reference: the same in numpy or plain Python, by another way than the kernel's. It gets floating values as float64
        (complex128), and the rest as it is; with `exact=True` all arrays as they are. None where there is no reference.
    args: examples, each with one `Entry` an input.
    literal: an input and TensorFlow's answer; `special` has more of them (NaN, infinities, corners).
    slopes: inputs and TensorFlow's gradients of the output's sum, one an input (None where there is none): ties, kinks.
    rejects: inputs that TensorFlow refuses.
    dtypes: the element types to draw; an example's fixed arrays keep their own.
    domain: bounds of drawn values, or one pair of bounds for each input.
    gradient: to which order derivatives are checked (by random projection, at float64 and complex128) with respect to
        the drawn inputs. 0: `gradients` gives None for each. None: nothing is checked.
    static: with known input shapes the output's shape is fully known.
    loose: multiplies the tolerance.
    note: tells the rows of one op apart.
    """

    ops: str
    build: Callable[..., Any]
    reference: Callable[..., Any] | None
    args: Sequence[Sequence[Entry]]
    literal: Literal
    special: Sequence[Literal] = ()
    slopes: Sequence[Literal] = ()
    rejects: Sequence[Reject] = ()
    dtypes: str = FLOATS
    domain: Domain | tuple[Domain, ...] = (-2.0, 2.0)
    gradient: int | None = 2
    static: bool = True
    exact: bool = False
    loose: float = 1.0
    note: str = ""

    @property
    def id(self) -> str:
        return "-".join([*self.ops.split()[:1], *self.note.split()])

    def types(self) -> list[DType]:
        return [as_dtype(name) for name in self.dtypes.split()]

    def examples(self, dtype: DType, seed: int) -> Iterator[tuple[str, list[Any], list[bool]]]:
        """Each example as (a name for messages, input arrays, which of them were drawn)."""
        for number, entries in enumerate(self.args):
            rng = np.random.default_rng([seed, zlib.crc32(self.id.encode()), number])
            arrays = [self._draw(entry, index, dtype, rng) for index, entry in enumerate(entries)]
            shapes = ", ".join(str(np.shape(a)) for a in arrays)
            yield f"{self.id} {dtype} example {number}: {shapes}", arrays, [not _is_fixed(e) for e in entries]

    def _draw(self, entry: Entry, index: int, dtype: DType, rng: np.random.Generator) -> Any:
        if callable(entry):
            return entry(rng, dtype)
        if isinstance(entry, (np.ndarray, np.generic)):
            return np.asarray(entry)
        bounds: Any = self.domain[index] if isinstance(self.domain[0], tuple) else self.domain
        return draw(rng, entry, dtype, bounds)


def _is_fixed(entry: Entry) -> bool:
    return isinstance(entry, (np.ndarray, np.generic))


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType | str, domain: Domain = (-2.0, 2.0)) -> Any:
    """Random values of `dtype` in `domain` (negative bounds are cut for unsigned types)."""
    dtype = as_dtype(dtype)
    low, high = domain
    kind = dtype.numpy_dtype
    if dtype.is_bool:
        return np.asarray(rng.integers(0, 2, shape), kind)
    if dtype.kind == "S":
        words = np.empty(shape, object)
        for index in np.ndindex(*shape):
            words[index] = bytes(rng.integers(0, 256, rng.integers(0, 4), np.uint8))
        return words
    if dtype.is_integer:
        first = max(int(np.ceil(low)), 0 if dtype.is_unsigned else -(2**63))
        return np.asarray(rng.integers(first, int(np.floor(high)) + 1, shape)).astype(kind)
    value = rng.uniform(low, high, shape)
    if dtype.is_complex:
        value = value + 1j * rng.uniform(low, high, shape)
    return np.asarray(value).astype(kind)


def each(function: Callable[..., Any]) -> Callable[..., Array]:
    """`function` of Python's own numbers as an elementwise reference with broadcasting.

    Integers are unbounded in it; a comparison wraps them to the type of the output.
    """

    def reference(*arrays: Any) -> Array:
        spread = np.broadcast_arrays(*arrays)
        result = np.empty(spread[0].shape, object)
        for index in np.ndindex(*result.shape):
            result[index] = function(*(a[index].item() if hasattr(a[index], "item") else a[index] for a in spread))
        return result

    return reference


def choice(*values: Any) -> Callable[[np.random.Generator, DType], Any]:
    """An entry that draws a vector of seven of `values` as the row's type."""
    return lambda rng, dtype: np.asarray(rng.choice(values, 7), dtype.numpy_dtype)


UNARY: list[tuple[Entry, ...]] = [((),), ((0, 3),), ((5,),), ((2, 3),), ((2, 1, 3),)]
BINARY: list[tuple[Entry, ...]] = [
    ((), ()),
    ((3,), ()),
    ((), (2, 2)),
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((3,), (2, 1, 1)),
    ((0, 3), (1, 3)),
]


def all_cases() -> list[Case]:
    """The rows of all tables, in the order of the files' names."""
    here = Path(__file__).parent
    found: list[Case] = []
    for path in sorted(here.rglob("rows_*.py")):
        name = ".".join(("graph", "ops", *path.relative_to(here).with_suffix("").parts))
        found += importlib.import_module(name).CASES
    return found
