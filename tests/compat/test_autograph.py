"""`tf.autograph`: Python's control flow on tensors. The expected values are TensorFlow 1.15.5's, of the same functions."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorflow.compat.v1 as tf


def chosen(x: Any) -> Any:
    if tf.reduce_sum(x) > 0:
        y = x * 2
    else:
        y = -x
    return y


def early(x: Any) -> Any:
    if x > 0:
        return x * 10
    if x < -5:
        return x
    return x - 1


def counted(n: Any) -> Any:
    i = 0
    total = 0
    while i < n:
        if tf.equal(i % 4, 1):
            i += 2
            continue
        total += i
        if total > 20:
            break
        i += 1
    return total, i


def summed(x: Any) -> Any:
    s = 0.0
    for v in x:
        if v < 0.0:
            continue
        s += v
        if s > 5.0:
            break
    return s


def ranged(n: Any) -> Any:
    a = 1
    for i in tf.range(n):
        a = a * 2 + i
    return a


def logical(x: Any, y: Any) -> Any:
    a = x > 0 and y > 0
    b = x > 0 or y > 0
    c = not (x > 0)
    d = 1 if x > y else 2
    return a, b, c, d


def helper(x: Any) -> Any:
    if x > 3:
        return x
    else:
        return 3 * x


def nested(x: Any) -> Any:
    z = 0
    for i in range(3):
        z = z + helper(x + i)
    while z < 100:
        for j in tf.range(2):
            z = z * 2 + j
    return z


def collatz(n: Any) -> Any:
    steps = 0
    while n > 1:
        if n % 2 < 1:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def array(n: Any) -> Any:
    ta = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
    i = 0
    while i < n:
        ta = ta.write(i, i * i)
        i += 1
    return ta.stack()


def of_python(x: Any, flag: bool = True, names: tuple[str, ...] = ("a", "b")) -> Any:
    r = []
    for n in names:
        if flag and n != "c":
            r.append(n)
    k = 0
    while True:
        k += 1
        if k > 4:
            break
    else:
        k = -1
    return x + len(r) + k


def maker(scale: int) -> Callable[..., Any]:
    def inner(x: Any) -> Any:
        if x > 0:
            return x * scale
        return x

    return inner


def fizz(n: Any) -> Any:
    f = 0
    b = 0
    for i in tf.range(n):
        if i % 15 < 1:
            f += 1
            b += 1
        elif i % 3 < 1:
            f += 1
        elif i % 5 < 1:
            b += 1
    return f, b


def powers(x: Any) -> Any:
    a = x
    n = 0
    while tf.reduce_max(tf.abs(a)) > 0.1 and n < 50:
        a = tf.matmul(a, x)
        n += 1
    return a, n


POWER = [[0.021244436502456665, 0.056757185608148575], [0.028378592804074287, 0.07800161838531494]]


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (chosen, [np.float32([1, 2])], [2.0, 4.0]),
        (chosen, [np.float32([-1, -2])], [1.0, 2.0]),
        (early, [np.float32(3)], 30.0),
        (early, [np.float32(-7)], -7.0),
        (early, [np.float32(-2)], -3.0),
        (counted, [np.int32(10)], [22, 8]),
        (counted, [np.int32(4)], [3, 4]),
        (summed, [np.float32([1, -2, 3, 4, 9])], 8.0),
        (ranged, [np.int32(6)], 121),
        (logical, [np.int32(1), np.int32(-3)], [False, True, False, 1]),
        (nested, [np.int32(1)], 293),
        (collatz, [np.int32(27)], 111),
        (array, [np.int32(5)], [0, 1, 4, 9, 16]),
        (of_python, [np.int32(5)], 12),
        (maker(7), [np.int32(2)], 14),
        (fizz, [np.int32(31)], [11, 7]),
        (powers, [np.float32([[0.5, 0.2], [0.1, 0.7]])], [POWER, 8]),
    ],
)
@pytest.mark.parametrize("face", [tf.autograph.to_graph, tf.function])
def test_a_rewritten_function_has_tensorflows_values(
    face: Any, function: Callable[..., Any], arguments: list[Any], expected: Any
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        fed = [tf.placeholder_with_default(value, np.shape(value)) for value in arguments]
        result = session.run(face(function)(*fed))
    values = list(result) if isinstance(result, tuple) else [result]
    truth = expected if isinstance(result, tuple) else [expected]
    for value, true in zip(values, truth, strict=True):
        assert np.allclose(value, true, 1e-6)


def test_gradients_go_through_a_rewritten_loop() -> None:
    def cubed(x: Any) -> Any:
        y = x
        for _ in tf.range(3):
            if y < 10.0:
                y = y * x
        return y

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(2.0)
        assert session.run(tf.gradients(tf.autograph.to_graph(cubed)(x), x)[0]) == 32.0


def test_a_method_and_a_decorated_function_are_rewritten() -> None:
    class Model:
        limit = 3

        @tf.function
        def step(self, x: Any) -> Any:
            while x > self.limit:
                x = x - self.limit
            return x

    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(Model().step(tf.constant(10))) == 1


def test_a_loop_takes_its_options() -> None:
    def counted(n: Any) -> Any:
        i = 0
        while i < n:
            tf.autograph.experimental.set_loop_options(maximum_iterations=4)
            i += 1
        return i

    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.autograph.to_graph(counted)(tf.constant(9))) == 4


def test_a_loop_goes_over_a_data_set() -> None:
    def total(numbers: Any) -> Any:
        s = tf.constant(0, tf.int64)
        for number in numbers:
            if number > 2:
                s += number
        return s

    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.autograph.to_graph(total)(tf.data.Dataset.range(6))) == 12


def test_a_function_with_a_mark_stays_as_it_is() -> None:
    @tf.autograph.experimental.do_not_convert
    def plain(x: Any) -> Any:
        return x if x is not None and x > 0 else -x

    assert tf.autograph.to_graph(plain) is plain
    assert tf.autograph.to_graph(chosen) is tf.autograph.to_graph(chosen)


def half(x: Any) -> Any:
    if x > 0:
        y = 1
    return y


def mixed(x: Any) -> Any:
    y: Any = None
    if x > 0:
        y = x
    return y


def listed(n: Any) -> Any:
    word = None
    while n > 0:
        word = "text" if word is None else word
        n -= 1
    return word


def endless(n: Any) -> Any:
    while n > 0:
        pass


def from_loop(n: Any) -> Any:
    i = 0
    while i < n:
        if i > 3:
            return i
        i += 1
    return -1


def python_break(n: Any) -> Any:
    for i in [1, 2, 3]:
        if n > i:
            break
    return n


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (half, UnboundLocalError, "'y' is read, but it has a value behind a single branch"),
        (mixed, UnboundLocalError, "no tensors of one form"),
        (listed, TypeError, "gives the name 'word', which is NoneType before it"),
        (endless, ValueError, "would not end"),
        (from_loop, UnboundLocalError, "break out of the loop"),
        (python_break, TypeError, "Iterate over a tensor"),
    ],
)
def test_what_a_graph_can_not_hold_is_refused(function: Callable[..., Any], kind: type[Exception], words: str) -> None:
    with tf.Graph().as_default(), pytest.raises(kind, match=words):
        tf.autograph.to_graph(function)(tf.placeholder(tf.int32, []))


def test_what_has_no_source_is_refused() -> None:
    with pytest.raises(ValueError, match="is a lambda"):
        tf.autograph.to_graph(lambda x: x)
    with pytest.raises(ValueError, match="not type"):
        tf.autograph.to_graph(int)


def wrong(x: Any) -> Any:
    if x > 0:
        x = tf.matmul(x, x)  # the line of the fault
    return x


def test_an_error_has_the_line_of_the_program() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"test_autograph\.py") as raised:
        tf.autograph.to_graph(wrong)(tf.constant(1.0))
    lines = [frame.line for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert any("the line of the fault" in (line or "") for line in lines)


def test_the_text_of_a_rewritten_function() -> None:
    text = tf.autograph.to_code(half)
    assert "ag__.if_stmt(" in text
    assert "def half(x: Any)" in text
