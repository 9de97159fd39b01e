"""Runs CUDA C on the host, as much of it as the GPU's own kernels are written in: what stands for the compiler in `fake_cupy`.

A program is parsed and then evaluated for all threads at once: each value is an array with one element a thread, branches
and loops go on with those threads that take them. Types and conversions are C's (`float * int` is a float, bytes are added
as ints). It raises at what a GPU would not tell: an address outside of an array, two threads that write one element, an element
of shared memory that is read or overwritten with no barrier since another thread used it, a barrier that some threads miss.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

TYPES: dict[str, Any] = {
    "float": np.float32, "double": np.float64, "bool": np.bool_, "char": np.int8, "signed char": np.int8,
    "unsigned char": np.uint8, "short": np.int16, "unsigned short": np.uint16, "int": np.int32, "unsigned int": np.uint32,
    "long long": np.int64, "unsigned long long": np.uint64,
}  # fmt: skip
_WORDS = frozenset(word for name in TYPES for word in name.split())
_TOKEN = re.compile(
    r"\s+|//[^\n]*|(?P<number>0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?[fFuUlL]*)"
    r"|(?P<name>[A-Za-z_]\w*(?:\.x)?)|(?P<string>\"[^\"]*\")"
    r"|(?P<mark><<=|>>=|[-+*/%&|^=!<>]=|&&|\|\||<<|>>|\+\+|--|[-+*/%&|^~!<>=?:;,(){}\[\]])"
)
_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
_FUNCTIONS: dict[str, Any] = {
    "sqrt": np.sqrt, "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "tanh": np.tanh, "pow": np.power,
    "floor": np.floor, "ceil": np.ceil, "rint": np.rint, "fabs": np.abs, "abs": np.abs, "fmax": np.fmax, "fmin": np.fmin,
    "max": np.maximum, "min": np.minimum, "copysign": np.copysign,
}  # fmt: skip
_BITS = {"__int_as_float": (np.uint32, np.float32), "__longlong_as_double": (np.uint64, np.float64)}
_COMPARED: dict[str, Any] = {
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip
_COMPUTED: dict[str, Any] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "|": np.bitwise_or, "^": np.bitwise_xor, "&": np.bitwise_and,
    "<<": np.left_shift, ">>": np.right_shift,
}  # fmt: skip

Tree = tuple[Any, ...]


class Wrong(AssertionError):
    """A program that no compiler takes, or that does on a GPU what no one can foresee."""


# ---- from text to trees


def _tokens(text: str) -> list[str]:
    found = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Wrong(f"no C that is known here: {text[at : at + 40]!r}")
        at = match.end()
        if match.lastgroup:
            found.append(match.group())
    return found


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = [*_tokens(text), ""]
        self.at = 0

    @property
    def next(self) -> str:
        return self.tokens[self.at]

    def take(self, wanted: str = "") -> str:
        token = self.tokens[self.at]
        if wanted and token != wanted:
            raise Wrong(f"{wanted!r} is missing before {' '.join(self.tokens[self.at : self.at + 8])!r}")
        self.at += 1
        return token

    def skip(self, token: str) -> bool:
        if self.next == token:
            self.at += 1
            return True
        return False

    def type(self) -> Any:
        """The type that begins here, or None."""
        begun = self.at
        self.skip("const")
        words = []
        while self.next in _WORDS:
            words.append(self.take())
        if not words:
            self.at = begun
            return None
        if " ".join(words) not in TYPES:
            raise Wrong(f"the type {' '.join(words)!r} is not known")
        return np.dtype(TYPES[" ".join(words)])

    def block(self) -> Tree:
        found = []
        while self.next not in ("}", ""):
            found.append(self.statement())
        return ("block", found)

    def statement(self) -> Tree:
        if self.skip(";"):
            return ("block", [])
        if self.skip("{"):
            body = self.block()
            self.take("}")
            return body
        if self.skip("if"):
            self.take("(")
            condition = self.expression()
            self.take(")")
            then = self.statement()
            return ("if", condition, then, self.statement() if self.skip("else") else ("block", []))
        if self.skip("for"):
            self.take("(")
            first = self.simple()
            self.take(";")
            condition = self.expression()
            self.take(";")
            step = self.simple()
            self.take(")")
            return ("for", first, condition, step, self.statement())
        if self.skip("__shared__"):
            kind, name = self.type(), self.take()
            self.take("[")
            size = int(self.take())
            self.take("]")
            self.take(";")
            return ("shared", kind, name, size)
        found = self.simple()
        self.take(";")
        return found

    def simple(self) -> Tree:
        kind = self.type()
        if kind is not None:
            names = []
            while True:
                name = self.take()
                self.take("=")
                names.append((name, self.expression()))
                if not self.skip(","):
                    return ("declare", kind, names)
        target = self.expression()
        mark = self.next
        if mark in ("=", "+=", "-=", "*=", "/=", "<<=", ">>="):
            self.take()
            value = self.expression()
            return ("assign", target, value if mark == "=" else ("binary", mark[:-1], target, value))
        return ("call", target)

    def expression(self) -> Tree:
        condition = self.binary(0)
        if not self.skip("?"):
            return condition
        yes = self.expression()
        self.take(":")
        return ("choice", condition, yes, self.expression())

    def binary(self, level: int) -> Tree:
        if level == len(_LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.next in _LEVELS[level]:
            mark = self.take()
            left = ("binary", mark, left, self.binary(level + 1))
        return left

    def unary(self) -> Tree:
        for mark in ("-", "!", "~", "+"):
            if self.skip(mark):
                return ("unary", mark, self.unary())
        if self.next == "(":
            begun = self.at
            self.take()
            kind = self.type()
            if kind is not None and self.skip(")"):
                return ("cast", kind, self.unary())
            self.at = begun + 1
            inner = self.expression()
            self.take(")")
            return inner
        token = self.take()
        if token[:1].isdigit() or token[:1] == ".":
            return ("value", _number(token))
        if token in ("true", "false"):
            return ("value", np.bool_(token == "true"))
        if self.skip("("):
            arguments = []
            while not self.skip(")"):
                arguments.append(self.expression())
                if self.next != ")":
                    self.take(",")
            return ("function", token, arguments)
        if self.skip("["):
            index = self.expression()
            self.take("]")
            return ("element", token, index)
        if not re.fullmatch(r"[A-Za-z_]\w*(\.x)?", token):
            raise Wrong(f"an expression was to begin with {token!r}")
        return ("name", token)


def _number(text: str) -> Any:
    if text[:2].lower() == "0x":
        body = text.rstrip("uUlL")
        return np.uint32(int(body, 16)) if int(body, 16) < 1 << 32 else np.uint64(int(body, 16))
    if re.fullmatch(r"\d+[uUlL]*", text):
        value = int(text.rstrip("uUlL"))
        suffix = text[len(str(value)) :].lower() if value else text[1:].lower()
        if "u" in suffix:
            return np.uint64(value) if "l" in suffix or value >= 1 << 32 else np.uint32(value)
        return np.int64(value) if "l" in suffix or value >= 1 << 31 else np.int32(value)
    return np.float32(text[:-1]) if text[-1] in "fF" else np.float64(text)


@functools.lru_cache(maxsize=4096)
def parsed_body(text: str) -> Tree:
    """The statements of a function's body."""
    parser = _Parser(text)
    found = parser.block()
    if parser.next:
        raise Wrong(f"{parser.next!r} closes nothing")
    return found


@functools.lru_cache(maxsize=256)
def parsed_kernel(text: str, name: str) -> tuple[tuple[tuple[Any, bool, bool, str], ...], Tree]:
    """The parameters of the kernel `name` (type, whether it is an array, whether a constant one, name) and its body."""
    parser = _Parser(text)
    for word in ("extern", '"C"', "__global__", "void", name, "("):
        parser.take(word)
    parameters = []
    while not parser.skip(")"):
        constant = parser.next == "const"
        kind = parser.type()
        array = parser.skip("*")
        parser.skip("__restrict__")
        parameters.append((kind, array, constant, parser.take()))
        if parser.next != ")":
            parser.take(",")
    parser.take("{")
    body = parser.block()
    parser.take("}")
    return tuple(parameters), body


# ---- what they compute


@dataclass
class _Shared:
    """An array of each block, and who used each element since the last barrier."""

    values: np.ndarray[Any, Any]
    writer: np.ndarray[Any, Any] = field(init=False)
    written: np.ndarray[Any, Any] = field(init=False)
    reader: np.ndarray[Any, Any] = field(init=False)
    read: np.ndarray[Any, Any] = field(init=False)

    def __post_init__(self) -> None:
        for name in ("writer", "written", "reader", "read"):
            setattr(self, name, np.full(self.values.shape, -1))


def _promoted(x: Any) -> Any:
    """C's promotion of what is smaller than an int."""
    return x.astype(np.int32) if x.dtype.kind == "b" or x.dtype.kind in "iu" and x.dtype.itemsize < 4 else x


def _common(*values: Any) -> list[Any]:
    """C's usual arithmetic conversions."""
    given = [_promoted(v) for v in values]
    kinds = [v.dtype for v in given]
    floats = [k for k in kinds if k.kind == "f"]
    if floats:
        kind = max(floats, key=lambda k: k.itemsize)
    else:
        size = max(k.itemsize for k in kinds)
        unsigned = any(k.kind == "u" and k.itemsize == size for k in kinds)
        kind = np.dtype(f"{'u' if unsigned else 'i'}{size}")
    return [v.astype(kind) for v in given]


class Threads:
    """Threads that run one program: `blocks` of `width` each."""

    def __init__(self, blocks: int, width: int) -> None:
        self.count = blocks * width
        self.width = width
        self.number = np.arange(self.count)
        self.block = self.number // width
        self.names: dict[str, Any] = {
            "threadIdx.x": (self.number % width).astype(np.uint32),
            "blockIdx.x": self.block.astype(np.uint32),
            "blockDim.x": np.full(self.count, width, np.uint32),
            "gridDim.x": np.full(self.count, blocks, np.uint32),
        }
        self.constant: set[str] = set(self.names)
        self.arrays: dict[str, tuple[Any, bool]] = {}
        self.shared: dict[str, _Shared] = {}
        self.epoch = 0

    def run(self, body: Tree) -> None:
        with np.errstate(all="ignore"):
            self._do(body, np.ones(self.count, bool))

    def give(self, name: str, value: Any, constant: bool = False) -> None:
        """A variable of each thread."""
        self.names[name] = value
        if constant:
            self.constant.add(name)

    # ---- statements

    def _do(self, tree: Tree, mask: Any) -> None:
        if not mask.any():
            return
        getattr(self, f"_do_{tree[0]}")(*tree[1:], mask)

    def _do_block(self, statements: Sequence[Tree], mask: Any) -> None:
        for statement in statements:
            self._do(statement, mask)

    def _do_declare(self, kind: Any, names: Sequence[tuple[str, Tree]], mask: Any) -> None:
        for name, value in names:
            if name in self.constant or name in self.arrays:
                raise Wrong(f"{name!r} is declared again")
            self.names[name] = self._value(value, mask).astype(kind)

    def _do_shared(self, kind: Any, name: str, size: int, mask: Any) -> None:
        self.shared[name] = _Shared(np.full((self.count // self.width, size), 77, kind))

    def _do_assign(self, target: Tree, value: Tree, mask: Any) -> None:
        new = self._value(value, mask)
        if target[0] == "element":
            self._store(target[1], self._value(target[2], mask), new, mask)
            return
        if target[0] != "name" or target[1] not in self.names:
            raise Wrong(f"{target!r} can't be assigned to")
        if target[1] in self.constant:
            raise Wrong(f"{target[1]!r} is constant, and is assigned to")
        old = self.names[target[1]]
        np.copyto(old, new.astype(old.dtype), where=mask)

    def _do_if(self, condition: Tree, yes: Tree, no: Tree, mask: Any) -> None:
        taken = self._value(condition, mask).astype(bool)
        self._do(yes, mask & taken)
        self._do(no, mask & ~taken)

    def _do_for(self, first: Tree, condition: Tree, step: Tree, body: Tree, mask: Any) -> None:
        self._do(first, mask)
        going = mask & self._value(condition, mask).astype(bool)
        while going.any():
            self._do(body, going)
            self._do(step, going)
            going = going & self._value(condition, going).astype(bool)

    def _do_call(self, tree: Tree, mask: Any) -> None:
        if tree != ("function", "__syncthreads", []):
            raise Wrong(f"{tree!r} does nothing")
        if not mask.all():
            raise Wrong("a barrier that not all threads of a block come to")
        self.epoch += 1

    # ---- expressions

    def _value(self, tree: Tree, mask: Any) -> Any:
        found = getattr(self, f"_of_{tree[0]}")(*tree[1:], mask)
        return np.broadcast_to(found, (self.count,)) if np.ndim(found) == 0 else found

    def _of_value(self, value: Any, mask: Any) -> Any:
        return np.full(self.count, value)

    def _of_name(self, name: str, mask: Any) -> Any:
        if name not in self.names:
            raise Wrong(f"{name!r} was not declared")
        return self.names[name].copy()

    def _of_cast(self, kind: Any, value: Tree, mask: Any) -> Any:
        return self._value(value, mask).astype(kind)

    def _of_unary(self, mark: str, value: Tree, mask: Any) -> Any:
        x = self._value(value, mask)
        if mark == "!":
            return ~x.astype(bool)
        x = _promoted(x)
        return ~x if mark == "~" else -x if mark == "-" else x

    def _of_choice(self, condition: Tree, yes: Tree, no: Tree, mask: Any) -> Any:
        taken = self._value(condition, mask).astype(bool)
        a, b = self._value(yes, mask & taken), self._value(no, mask & ~taken)
        if a.dtype != b.dtype:
            a, b = _common(a, b)
        return np.where(taken, a, b)

    def _of_binary(self, mark: str, left: Tree, right: Tree, mask: Any) -> Any:
        a = self._value(left, mask)
        if mark in ("&&", "||"):
            taken = a.astype(bool)
            b = self._value(right, mask & (taken if mark == "&&" else ~taken)).astype(bool)
            return taken & b if mark == "&&" else taken | b
        a, b = _common(a, self._value(right, mask))
        if mark in _COMPARED:
            return _COMPARED[mark](a, b)
        if mark in ("/", "%"):
            if a.dtype.kind == "f":
                if mark == "%":
                    raise Wrong("floats have no rest")
                return a / b
            if (b[mask] == 0).any():
                raise Wrong("a division of integers by zero")
            b = np.where(b == 0, b.dtype.type(1), b)
            whole = a // b
            whole = whole + ((a % b != 0) & ((a < 0) != (b < 0)))  # C rounds toward zero
            return (whole if mark == "/" else a - whole * b).astype(a.dtype)
        if a.dtype.kind == "f" and mark in ("|", "^", "&", "<<", ">>"):
            raise Wrong(f"floats have no {mark}")
        return _COMPUTED[mark](a, b)

    def _of_function(self, name: str, arguments: Sequence[Tree], mask: Any) -> Any:
        given = [self._value(a, mask) for a in arguments]
        if name == "__shfl_xor_sync":
            _, value, by = given
            partner = self.number ^ by.astype(np.int64)
            if not (mask.reshape(-1, 32).all(1) | ~mask.reshape(-1, 32).any(1)).all():
                raise Wrong("a shuffle that not all threads of a warp come to")
            return value[partner]
        if name in _BITS:
            return given[0].astype(_BITS[name][0]).view(_BITS[name][1])
        if name not in _FUNCTIONS:
            raise Wrong(f"the function {name!r} is not known")
        if all(g.dtype.kind != "f" for g in given) and name not in ("abs", "max", "min"):
            raise Wrong(f"{name} of whole numbers")
        return _FUNCTIONS[name](*_common(*given))

    # ---- arrays

    def _of_element(self, name: str, index: Tree, mask: Any) -> Any:
        where = self._value(index, mask).astype(np.int64)
        if name in self.shared:
            shared = self.shared[name]
            where = self._inside(name, where, shared.values.shape[1], mask)
            b, i, t = self.block[mask], where[mask], self.number[mask]
            if ((shared.written[b, i] == self.epoch) & (shared.writer[b, i] != t)).any():
                raise Wrong(f"{name} is read with no barrier since another thread wrote it")
            several = (shared.read[b, i] == self.epoch) & (shared.reader[b, i] != t)
            shared.reader[b, i] = np.where(several, -2, t)
            shared.read[b, i] = self.epoch
            counted = np.zeros(shared.values.shape, np.int64)
            np.add.at(counted, (b, i), 1)
            shared.reader[counted > 1] = -2
            return shared.values[self.block, where]
        array, _ = self._array(name)
        return array[self._inside(name, where, array.size, mask)]

    def _store(self, name: str, where: Any, value: Any, mask: Any) -> None:
        where = where.astype(np.int64)
        if name in self.shared:
            shared = self.shared[name]
            where = self._inside(name, where, shared.values.shape[1], mask)
            b, i, t = self.block[mask], where[mask], self.number[mask]
            for epochs, users in ((shared.written, shared.writer), (shared.read, shared.reader)):
                if ((epochs[b, i] == self.epoch) & (users[b, i] != t)).any():
                    raise Wrong(f"{name} is overwritten with no barrier since another thread used it")
            _one_each(name, b * shared.values.shape[1] + i)
            shared.values[b, i] = value[mask].astype(shared.values.dtype)
            shared.writer[b, i], shared.written[b, i] = t, self.epoch
            return
        array, constant = self._array(name)
        if constant:
            raise Wrong(f"{name!r} is constant, and is written")
        places = self._inside(name, where, array.size, mask)[mask]
        _one_each(name, places)
        array[places] = value[mask].astype(array.dtype)

    def _array(self, name: str) -> tuple[Any, bool]:
        if name not in self.arrays:
            raise Wrong(f"{name!r} is no array")
        return self.arrays[name]

    def _inside(self, name: str, where: Any, size: int, mask: Any) -> Any:
        bad = mask & ((where < 0) | (where >= size))
        if bad.any():
            raise Wrong(f"the address {name}[{where[bad][0]}] is outside of an array of {size}")
        return np.where(mask, where, 0) if size else np.zeros_like(where)


def _one_each(name: str, places: Any) -> None:
    if len(np.unique(places)) < len(places):
        raise Wrong(f"several threads write one element of {name}")


def run_elementwise(body: str, given: Mapping[str, tuple[Any, bool]], count: int) -> None:
    """Runs a loop's body for `count` elements: `given` are flat arrays by name, and whether they are constant."""
    threads = Threads(1, count)
    threads.names.clear()
    threads.constant.clear()
    for name, (array, constant) in given.items():
        threads.give(name, array, constant)
    threads.run(parsed_body(body))


def run_kernel(text: str, name: str, blocks: int, width: int, arguments: Sequence[Any]) -> None:
    """Runs a kernel over flat arrays and numbers."""
    if width % 32:
        raise Wrong("blocks are of whole warps here")
    parameters, body = parsed_kernel(text, name)
    if len(parameters) != len(arguments):
        raise Wrong(f"{name} takes {len(parameters)} arguments, but is given {len(arguments)}")
    threads = Threads(blocks, width)
    for (kind, array, constant, parameter), value in zip(parameters, arguments):
        if array != (np.ndim(value) == 1) or np.asarray(value).dtype != kind:
            raise Wrong(f"{parameter!r} is given {np.asarray(value).dtype}[{np.ndim(value)}]")
        if array:
            threads.arrays[parameter] = (value, constant)
        else:
            threads.give(parameter, np.full(threads.count, value), True)
    threads.run(body)
