"""`tf.autograph`: statements keep Python's results where no tensor decides, and a graph carries or refuses what these set."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import actorflow.compat.v1 as tf
from actorflow.compat.autograph.conversion import called, convertible


def match_returns(numbers: Any) -> Any:
    for number in numbers:
        match number:
            case 3:
                return "three"
            case _ if number > 3:
                return "more"
    return "none"


def match_breaks(numbers: Any) -> Any:
    count = 0
    for number in numbers:
        match number:
            case 3:
                break
            case 4:
                continue
        count += 1
    return count


def match_binds(numbers: Any) -> Any:
    if numbers:
        match numbers:
            case [a, *rest]:
                pass
        match {"k": a, "m": 2}:
            case {"k": b, **others}:
                pass
    return a, rest, b, others


def try_else_returns(text: str) -> Any:
    try:
        value = int(text)
        if value > 0:
            return "positive"
    except ValueError:
        return "no number"
    else:
        return "not positive"


def try_else_continues(numbers: Any) -> Any:
    rows = []
    for number in numbers:
        try:
            if number < 0:
                continue
        except TypeError:
            pass
        else:
            rows.append(number)
    return rows


def try_finally_returns(end: int) -> Any:
    rows: list[int] = []
    for turn in range(4):
        try:
            if turn == end:
                return "end", rows
        finally:
            rows.append(turn)
    return rows


def handler_loops(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        count = 0
        for letter in text:
            if letter == "-":
                break
            count += 1
    return count


def handler_names(text: str) -> Any:
    words = None
    try:
        int(text)
    except ValueError as error:
        if text:
            words = str(error)[:7]
    return words


def inner_nonlocal(flag: bool) -> Any:
    if flag:
        n = 0
    else:
        n = 10

    def increase() -> None:
        nonlocal n
        if flag:
            n += 1

    increase()
    return n


def inner_same_name(flag: bool) -> Any:
    def inner(x: Any) -> Any:
        if x:
            y = 1
        else:
            y = 3
        return y

    if flag:
        y = 5
    else:
        y = 6
    return inner(flag) + y


def inner_recursive(n: int) -> Any:
    def product(k: int) -> Any:
        return 1 if k <= 1 else k * product(k - 1)

    return product(n)


def walrus_tests(numbers: Any) -> Any:
    values, rows, v = iter(numbers), [], 7
    while (v := next(values, None)) is not None:
        if v == 3:
            break
        rows.append(v)
    return rows, v


def walrus_in_list(numbers: Any) -> Any:
    if numbers:
        [y for x in numbers if (y := x * 2) > 2]
    return y


def annotated(flag: bool) -> Any:
    if flag:
        y: float = 1.0
    else:
        y = 2.0
    return y


def within_with(flag: bool) -> Any:
    with contextlib.nullcontext():
        if flag:
            y = 1
        else:
            y = 2
    return y


def twice(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def doubled(*args: Any) -> Any:
        return 2 * function(*args)

    return doubled


@twice
def decorated(x: Any) -> Any:
    if x > 0:
        return x + 1
    return -x


def calls_decorated(x: Any) -> Any:
    return decorated(x)


@contextlib.contextmanager
def managed() -> Iterator[int]:
    yield 3


def calls_managed(x: Any) -> Any:
    with managed() as number:
        return x + number


def factorial(n: int) -> Any:
    if n <= 1:
        return 1
    return n * factorial(n - 1)


class Base:
    def call(self, x: Any) -> Any:
        return x * 2


class Derived(Base):
    total: Any = 0

    def call(self, x: Any, training: bool = True) -> Any:
        if training:
            y = super().call(x)
        else:
            y = x
        return y

    def result(self, x: Any) -> Any:
        if x > 0:
            return x
        return -x

    def update(self, x: Any) -> Any:
        return self.result(x)

    def set_in_if(self, x: Any) -> Any:
        if x > 0:
            self.total = tf.constant(1)
        else:
            self.total = tf.constant(2)
        return self.total

    def set_in_for(self, x: Any) -> Any:
        self.total = 0
        for i in tf.range(x):
            self.total = self.total + i
        return self.total

    def set_in_while(self, x: Any) -> Any:
        self.total = 0
        while x > 0:
            self.total += x
            x -= 1
        return self.total


def calls_super(x: Any) -> Any:
    return Derived().call(x)


PYTHON = [
    (match_returns, [1, 3]),
    (match_returns, [5]),
    (match_returns, []),
    (match_breaks, [1, 4, 3, 4]),
    (match_binds, [1, 2, 3]),
    (try_else_returns, "5"),
    (try_else_returns, "-5"),
    (try_else_returns, "x"),
    (try_else_continues, [1, -1, "a", 2]),
    (try_finally_returns, 2),
    (try_finally_returns, 9),
    (handler_loops, "ab-c"),
    (handler_loops, "12"),
    (handler_names, "ab"),
    (inner_nonlocal, True),
    (inner_same_name, True),
    (inner_recursive, 5),
    (walrus_tests, [1, 2, 3, 4]),
    (walrus_tests, [1, 2]),
    (walrus_in_list, [1, 2, 3]),
    (annotated, True),
    (within_with, False),
    (decorated, 3),
    (calls_decorated, 3),
    (calls_managed, 3),
    (factorial, 5),
    (calls_super, 3),
    (Derived().update, -3),
]


@pytest.mark.parametrize(("function", "argument"), PYTHON)
@pytest.mark.parametrize("rewrite", [convertible, called])
def test_a_rewritten_function_has_pythons_results(rewrite: Any, function: Callable[..., Any], argument: Any) -> None:
    assert rewrite(function)(argument) == function(argument)


JUMP = """
def finally_jumps(end):
    for turn in range(4):
        try:
            if turn == end:
                raise KeyError(turn)
        finally:
            if turn == end:
                break
    return turn
"""


@pytest.mark.parametrize("rewrite", [convertible, called])
def test_a_jump_out_of_finally_stays_pythons_own(tmp_path: Path, rewrite: Any) -> None:
    path = tmp_path / "jumps.py"
    path.write_text(JUMP, encoding="utf-8")
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # CPython 3.14 warns as it compiles the file
        exec(compile(JUMP, str(path), "exec"), names)
    assert rewrite(names["finally_jumps"])(2) == names["finally_jumps"](2) == 2


def item_in_if(x: Any) -> Any:
    items: dict[str, Any] = {}
    if x > 0:
        items["k"] = tf.constant(1)
    else:
        items["k"] = tf.constant(2)
    return items["k"]


def item_in_one_branch(x: Any) -> Any:
    rows: list[Any] = [0, 5]
    if x > 0:
        rows[-1] = x * 3
    return rows[1]


def item_of_new_object(x: Any) -> Any:
    if x > 0:
        items = {}
        items["k"] = x * 2
    else:
        items = {"k": x}
    return items["k"]


def error_name(x: Any) -> Any:
    y = x
    if x > 0:
        try:
            y = x * int("a")
        except ValueError as error:
            y = x + len(str(error)) * 0
    return y


def in_name_scope(x: Any) -> Any:
    with tf.name_scope("part"):
        if x > 0:
            y = x * 2
        else:
            y = -x
    return y


def called_inner(x: Any) -> Any:
    def inner(z: Any) -> Any:
        if x > 0:
            return z
        return -z

    return inner(x)


GRAPHS = [
    (Derived().set_in_if, 3, 1),
    (Derived().set_in_if, -3, 2),
    (Derived().set_in_for, 4, 6),
    (Derived().set_in_while, 4, 10),
    (Derived().update, -3, 3),
    (item_in_if, 3, 1),
    (item_in_if, -3, 2),
    (item_in_one_branch, 3, 9),
    (item_in_one_branch, -3, 5),
    (item_of_new_object, 3, 6),
    (item_of_new_object, -3, -3),
    (error_name, 3, 3),
    (in_name_scope, 3, 6),
    (in_name_scope, -3, 3),
    (called_inner, -3, 3),
    (calls_decorated, 3, 8),
    (calls_decorated, -3, 6),
]


@pytest.mark.parametrize(("function", "argument", "expected"), GRAPHS)
@pytest.mark.parametrize("face", [tf.autograph.to_graph, tf.function])
def test_a_graph_carries_what_a_tensor_decides(
    face: Any, function: Callable[..., Any], argument: int, expected: int
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder_with_default(argument, [])
        assert session.run(face(function)(x)) == expected


def moving_index(x: Any) -> Any:
    rows, i = [0, 0, 0], 0
    while x > i:
        rows[i] = x
        i += 1
    return rows


def moving_object(x: Any) -> Any:
    rows = [Derived(), Derived()]
    if x > 0:
        for row in rows:
            row.total = x
    return rows


def alias(x: Any) -> Any:
    rows: list[Any] = [[0]]
    if x > 0:
        row = rows[0]
        row[0] = x
    return rows


def from_call(x: Any) -> Any:
    rows: list[Any] = [[0]]
    for i in tf.range(x):
        rows.copy()[0] = i
    return rows


def walrus_of_tensor(x: Any) -> Any:
    total = 0
    while (y := x * 2) > 3:
        total += y
        x -= 1
    return total


def match_of_tensor(x: Any) -> Any:
    match (x, 1):
        case (3, 1):
            return 1
    return 2


def attribute_in_one_branch(x: Any) -> Any:
    row = Base()
    if x > 0:
        row.total = x  # type: ignore[attr-defined]
    return row


def deleted_in_one_branch(x: Any) -> Any:
    items = {"k": x}
    if x > 0:
        del items["k"]
    return items


def attribute_without_value(x: Any) -> Any:
    row = Base()
    for i in tf.range(x):
        row.total = i  # type: ignore[attr-defined]
    return row


def attribute_of_text(x: Any) -> Any:
    row = Derived()
    row.total = "text"
    while x > 0:
        row.total = None
        x -= 1
    return row


def other_keys(x: Any) -> Any:
    if x > 0:
        items = {"a": x}
    else:
        items = {"b": x}
    return items["a"]


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (moving_index, NotImplementedError, r"rows\[i\] is set in the while of line"),
        (moving_object, NotImplementedError, "row.total is set in the if of line"),
        (alias, NotImplementedError, r"row\[0\] is set in the if"),
        (from_call, NotImplementedError, r"rows.copy\(\)\[0\] is set in the for"),
        (walrus_of_tensor, NotImplementedError, "a while whose test binds y"),
        (match_of_tensor, NotImplementedError, "Write it as an if with elif"),
        (
            attribute_in_one_branch,
            ValueError,
            "row.total is set in an if or a loop on tensors, but it has a value behind",
        ),
        (deleted_in_one_branch, ValueError, r"items\['k'\] is set in an if"),
        (attribute_without_value, ValueError, "row.total is set .* a value before it"),
        (attribute_of_text, TypeError, "no tensor|row.total"),
        (other_keys, UnboundLocalError, "no tensors of one form: dict"),
    ],
)
@pytest.mark.parametrize("face", [tf.autograph.to_graph, tf.function])
def test_what_a_graph_can_not_carry_is_refused(
    face: Any, function: Callable[..., Any], kind: type[Exception], words: str
) -> None:
    with tf.Graph().as_default(), pytest.raises(kind, match=words):
        face(function)(tf.placeholder(tf.int32, []))


def test_a_function_that_does_not_compile_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def plain(x: Any) -> Any:
        if x > 0:
            return x
        return -x

    for fault in (SyntaxError("no binding"), KeyError("name")):

        def fails(*_: Any, fault: Exception = fault) -> Any:
            raise fault

        monkeypatch.setattr("actorflow.compat.autograph.conversion._convert", fails)
        assert convertible(plain) is plain
        assert called(plain) is plain
        with pytest.raises(ValueError, match="does not rewrite"):
            tf.autograph.to_graph(plain)
