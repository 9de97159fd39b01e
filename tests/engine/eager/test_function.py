"""`af.function`: traces, the order of effects, gradients, and what is refused."""

from __future__ import annotations

import gc
import random
import sys
import threading
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import anyio
import numpy as np
import pytest

import actorflow as af
from actorflow.engine.runtime.event_loops.driver import LoopDriver


@pytest.fixture(autouse=True)
def _eager() -> Iterator[None]:
    with af.eager():
        yield


def test_a_function_is_traced_once_for_equal_kinds_of_arguments_f119() -> None:
    traced = []

    @af.function
    def f(x: Any, flag: bool = True) -> Any:
        traced.append(x)
        return x + x if flag else x

    assert float(f(af.constant(1.0))) == 2.0
    assert float(f(af.constant(5.0))) == 10.0
    assert float(f(7.0)) == 14.0
    assert len(traced) == 1, "numbers of Python are tensors"
    assert isinstance(traced[0], af.Tensor)
    f(af.constant([1.0]))
    f(af.constant(1))
    assert float(f(3.0, flag=False)) == 3.0
    assert f.trace_count == 4


def test_numbers_that_stay_values_of_python() -> None:
    @af.function(static_argnames=["axis"])
    def f(x: Any, axis: int) -> Any:
        assert isinstance(axis, int)
        return af.reduce_sum(x, axis)

    x = af.ones([2, 3])
    assert [f(x, 0).numpy().tolist(), f(x, axis=1).numpy().tolist()] == [[2, 2, 2], [3, 3]]

    @af.function(numbers_are_tensors=False)
    def g(n: int) -> Any:
        return sum([af.constant(1.0) for _ in range(n)], af.constant(0.0))

    assert [float(g(2)), float(g(3))] == [2.0, 3.0]


def test_structures_go_in_and_come_out_f119() -> None:
    @af.function
    def f(pair: Any, named: Any) -> Any:
        return {"sum": pair[0] + pair[1], "none": None, "rest": [named["x"] * 2.0]}

    found = f((af.constant(1.0), af.constant(2.0)), {"x": af.constant(5.0)})
    assert float(found["sum"]) == 3.0
    assert found["none"] is None
    assert float(found["rest"][0]) == 10.0


def test_variables_and_values_of_the_program_are_used_f119() -> None:
    w, scale = af.Variable(2.0), af.constant(3.0)

    @af.function
    def f(x: Any) -> Any:
        return x * w * scale

    assert float(f(1.0)) == 6.0
    w.assign(5.0)
    assert float(f(1.0)) == 15.0
    assert f.trace_count == 1


def test_effects_run_in_the_order_of_the_program_f119() -> None:
    c = af.Variable(0.0)
    seen: list[float] = []

    @af.function
    def f() -> Any:
        c.assign(1.0)
        a = c + 0.0
        c.assign_add(10.0)
        af.py_func(lambda v: seen.append(float(v)), [c + 0.0], [])
        b = c + 0.0
        c.assign(b * 2.0)
        af.py_func(lambda v: seen.append(float(v)), [c + 0.0], [])
        return a, b, c.read_value()

    for _ in range(3):
        assert [float(v) for v in f()] == [1.0, 11.0, 22.0]
    assert seen == [11.0, 22.0] * 3
    assert float(c) == 22.0


def test_effects_in_branches_and_loops_run_in_order_too() -> None:
    c = af.Variable(0.0)

    @af.function
    def branch(x: Any) -> Any:
        c.assign(1.0)
        af.cond(x > 0.0, lambda: c.assign_add(10.0), lambda: c.assign_sub(10.0))
        return c.read_value()

    assert [float(branch(1.0)), float(branch(-1.0))] == [11.0, -9.0]

    @af.function
    def loop(n: Any) -> Any:
        c.assign(0.0)

        def body(i: Any) -> Any:
            c.assign_add(1.0)
            c.assign(c * 2.0)
            return i + 1

        af.while_loop(lambda i: i < n, body, [0])
        return c.read_value()

    assert [float(loop(0)), float(loop(3))] == [0.0, 14.0]


def test_random_programs_of_effects_give_what_eager_gives(seed: int) -> None:
    for number in range(30):
        variables = [af.Variable(1.0) for _ in range(3)]

        def run(choose: int, variables: list[Any] = variables) -> Any:
            rng = random.Random(choose)
            kept = [af.constant(1.0)]
            for _ in range(rng.randint(2, 10)):
                v, w = rng.choice(variables), rng.choice(variables)
                kind = rng.randrange(5)
                if kind == 0:
                    v.assign(w * 0.5 + kept[-1])
                elif kind == 1:
                    v.assign_add(w.read_value())
                elif kind == 2:
                    kept.append(v + w)
                elif kind == 3:
                    kept.append(af.cond(v > w, lambda v=v, w=w: v.assign(w + 1.0), lambda v=v: v * 1.0))
                else:
                    af.while_loop(lambda i: i < 2, lambda i, v=v, w=w: (v.assign(v * 0.5 + w), i + 1)[1], [0])
            return [kept[-1], *[v.read_value() for v in variables]]

        expected = [float(v) for v in run(seed + number)]
        for v in variables:
            v.assign(1.0)
        traced = af.function(run, static_argnames=["choose", "variables"])
        found = [float(v) for v in traced(seed + number, variables)]
        assert found == pytest.approx(expected, rel=1e-5), f"program {seed + number}"


def test_tapes_see_a_call_as_one_operation_f119() -> None:
    w = af.Variable([[1.0], [2.0]])

    @af.function
    def f(x: Any) -> Any:
        return af.reduce_sum(af.tanh(af.matmul(x, w)))

    x = af.constant([[0.5, 0.25]])
    with af.GradientTape() as tape:
        tape.watch(x)
        y = f(x) * 3.0
    found = tape.gradient(y, [x, w])
    with af.GradientTape() as tape:
        tape.watch(x)
        y = f.python_function(x) * 3.0
    for one, other in zip(found, tape.gradient(y, [x, w])):
        np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-6)


def test_gradients_of_gradients_through_a_function() -> None:
    cube = af.function(lambda x: x * x * x)
    x = af.constant(3.0)
    with af.GradientTape() as outer:
        outer.watch(x)
        with af.GradientTape() as inner:
            inner.watch(x)
            y = cube(x)
        first = inner.gradient(y, x)
    assert [float(first), float(outer.gradient(first, x))] == [27.0, 18.0]


def test_gradients_through_branches_and_loops() -> None:
    @af.function
    def f(x: Any) -> Any:
        y = af.cond(x > 0.0, lambda: x * x, lambda: -x)
        return af.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * x), [0, y])[1]

    x = af.constant(2.0)
    with af.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert [float(y), float(tape.gradient(y, x))] == [32.0, 80.0]


def test_a_training_step_is_one_plan_f119() -> None:
    w = af.Variable([5.0, -3.0])
    optimizer = af.train.AdamOptimizer(0.5)

    @af.function
    def step() -> Any:
        with af.GradientTape() as tape:
            loss = af.reduce_sum(w * w)
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return loss

    losses = [float(step()) for _ in range(60)]
    assert step.trace_count == 1
    assert losses[-1] < 0.5 < losses[0]
    assert len(optimizer.variables()) == 4
    with af.GradientTape() as tape:
        loss = af.reduce_sum(w * w)
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    assert len(optimizer.variables()) == 4, "eager steps and traced ones share what the optimizer keeps"


def test_variables_are_made_in_the_first_call_only_f119() -> None:
    class Dense:
        def __init__(self) -> None:
            self.w: Any = None

        @af.function
        def __call__(self, x: Any) -> Any:
            if self.w is None:
                self.w = af.Variable(af.ones([3, 2]) * 2.0)
            return af.matmul(x, self.w)

    first, second = Dense(), Dense()
    assert first.__call__(af.ones([1, 3])).numpy().tolist() == [[6.0, 6.0]]
    first.w.assign(af.zeros([3, 2]))
    assert first.__call__(af.ones([1, 3])).numpy().tolist() == [[0.0, 0.0]]
    assert second.__call__(af.ones([1, 3])).numpy().tolist() == [[6.0, 6.0]]

    @af.function
    def always(x: Any) -> Any:
        return af.Variable(1.0) * x

    always(af.constant(1.0))
    with pytest.raises(ValueError, match="non-first call"):
        always(af.constant([1.0]))


def test_an_input_signature_fixes_the_trace_f119() -> None:
    @af.function(input_signature=[af.TensorSpec([None, 2], af.float32)])
    def f(x: Any) -> Any:
        return af.reduce_sum(x, 1)

    assert f([[1, 2]]).numpy().tolist() == [3.0]
    assert f(af.ones([3, 2])).numpy().tolist() == [2.0, 2.0, 2.0]
    assert f.trace_count == 1
    with pytest.raises(ValueError, match="incompatible with input_signature"):
        f(af.ones([3]))
    with pytest.raises(TypeError, match="incompatible with input_signature"):
        f(af.constant([[1, 2]]))
    with pytest.raises(TypeError, match="can't be called so"):
        f()


@pytest.mark.parametrize("option", ["reduce_retracing", "experimental_relax_shapes"])
def test_calls_that_differ_in_sizes_share_a_trace_if_asked(option: str) -> None:
    shapes: list[Any] = []

    @af.function(**{option: True})
    def f(batch: dict[str, Any], scale: float) -> Any:
        shapes.append(batch["x"].static_shape)
        return af.reduce_sum(batch["x"] * batch["w"] * scale, axis=0)

    def check(rows: int, columns: int) -> None:
        x = np.random.default_rng(rows * 10 + columns).normal(size=(rows, columns)).astype(np.float32)
        w = np.full(columns, 2.0, np.float32)
        with af.GradientTape() as tape:
            tensor = af.constant(x)
            tape.watch(tensor)
            total = f({"x": tensor, "w": w}, 3.0)
        np.testing.assert_allclose(total.numpy(), (x * 6.0).sum(0), rtol=1e-5)
        np.testing.assert_allclose(tape.gradient(total, tensor).numpy(), np.full_like(x, 6.0))

    for rows in (4, 3, 4, 9, 1, 4):
        check(rows, 5)
    assert shapes == [(4, 5), (None, 5)], "the first sizes keep their own trace"
    for columns in (6, 7, 8):
        check(4, columns)
    assert shapes[2:] == [(None, None)]
    assert f.trace_count == 3


@pytest.mark.filterwarnings("ignore:f was traced")
def test_other_ranks_types_and_values_of_python_share_no_trace() -> None:
    @af.function(reduce_retracing=True, static_argnames=["axis"])
    def f(x: Any, axis: int) -> Any:
        return af.reduce_max(x, axis=axis)

    arguments = [
        (shape, dtype, axis) for shape in ((2, 3), (2, 3, 4)) for dtype in (np.int32, np.float32) for axis in (0, 1)
    ]
    for shape, dtype, axis in arguments:
        assert f(np.ones(shape, dtype), axis).shape == np.ones(shape).max(axis).shape
    assert f.trace_count == len(arguments)
    for shape, dtype, axis in 3 * arguments:
        for rows in (5, 6):
            assert f(np.ones((rows, *shape[1:]), dtype), axis).shape == np.ones((rows, *shape[1:])).max(axis).shape
    assert f.trace_count == 2 * len(arguments)


@pytest.mark.parametrize("shape", [(None, None), (None, 2), (3, None), None])
def test_a_concrete_function_takes_all_that_its_specification_takes(shape: Any) -> None:
    f = af.function(lambda x: x + x, reduce_retracing=True)
    for rows in (1, 2):
        f(np.ones((rows, 2), np.float32))
    concrete = f.get_concrete_function(af.TensorSpec(shape, af.float32))
    value = np.ones([size or 3 for size in shape or (1, 3)], np.float32)
    np.testing.assert_array_equal(concrete(value).numpy(), value + value)


@pytest.mark.parametrize(("shape", "traces"), [((None, 2), [1, 2, 2]), ((None, None), [1, 1, 1]), ((3, 2), [2, 3, 3])])
def test_a_trace_for_a_specification_serves_all_calls_that_it_fits(shape: Any, traces: list[int]) -> None:
    f = af.function(lambda x: x + x, reduce_retracing=True)
    f.get_concrete_function(af.TensorSpec(shape, af.float32))
    for sizes, count in zip([(4, 2), (4, 5), (1, 7)], traces, strict=True):
        value = np.ones(sizes, np.float32)
        np.testing.assert_array_equal(f(value).numpy(), value + value)
        assert f.trace_count == count, (shape, sizes)


async def test_a_trace_with_open_sizes_is_awaited_and_freed() -> None:
    f = af.function(lambda x: x + x, reduce_retracing=True)
    for rows in (1, 2, 3):
        assert (await f.run(np.ones(rows, np.float32))).shape == (rows,)
    assert f.trace_count == 2
    kept = weakref.ref(f)
    del f
    gc.collect()
    assert kept() is None


def test_a_concrete_function() -> None:
    @af.function
    def f(x: Any) -> Any:
        return x + 1.0

    concrete = f.get_concrete_function(af.TensorSpec([None], af.float32))
    assert concrete(af.constant([1.0, 2.0])).numpy().tolist() == [2.0, 3.0]
    assert [t.dtype for t in concrete.inputs] == [af.float32]
    assert concrete.outputs[0].static_shape == (None,)
    with pytest.raises(TypeError, match="takes 1 tensors"):
        concrete()


def test_a_warning_names_the_argument_that_causes_traces_f119() -> None:
    @af.function
    def f(x: Any, rate: Any) -> Any:
        return x * rate

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for size in range(1, 9):
            f(af.ones([size]), 0.5)
    assert [w.category for w in caught] == [af.RetracingWarning]
    assert "the argument 'x' was float32 (5,), and is float32 (6,)" in str(caught[0].message)


def test_traces_are_bounded_and_free_what_they_held() -> None:
    @af.function
    def f(x: Any) -> Any:
        return x + 1.0

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for size in range(1, 80):
            f.get_concrete_function(af.TensorSpec([size], af.float32))
    assert len(f._traces) == 64
    held = weakref.ref(f.get_concrete_function(af.TensorSpec([79], af.float32)).graph)
    del f
    gc.collect()
    assert held() is None


def test_a_function_does_not_keep_its_object() -> None:
    class Model:
        @af.function
        def double(self, x: Any) -> Any:
            return x * 2.0

    model = Model()
    assert float(model.double(2.0)) == 4.0
    held = weakref.ref(model)
    del model
    gc.collect()
    assert held() is None


def test_errors_name_the_line_in_the_function() -> None:
    @af.function
    def f(x: Any) -> Any:
        return af.check_numerics(x, "bad") * 2.0

    with pytest.raises(af.errors.InvalidArgumentError, match="test_function"):
        f(np.float32(np.nan))
    with pytest.raises(TypeError, match="can't be called so"):
        f()


def test_in_another_function_and_in_a_graph_its_nodes_are_theirs() -> None:
    inner = af.function(lambda x: x * 2.0)
    outer = af.function(lambda x: inner(x) + 1.0)
    assert float(outer(3.0)) == 7.0
    with af.Graph().as_default() as graph:
        y = inner(af.constant(3.0))
    with af.blocking.Session(graph=graph) as session:
        assert session.run(y) == 6.0


def test_a_short_call_in_a_coroutine_needs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    f = af.function(lambda x: x * x)
    """On a busy machine a call may seem long, and then it has a thread; most have none."""
    f(1.0)
    on_threads: list[object] = []
    on_helper = LoopDriver._perform_on_helper

    def counted(driver: LoopDriver, call: Any) -> None:
        on_threads.append(call)
        on_helper(driver, call)

    monkeypatch.setattr(LoopDriver, "_perform_on_helper", counted)

    async def main() -> None:
        assert [float(f(float(n))) for n in range(100)] == [float(n * n) for n in range(100)]

    anyio.run(main)
    assert len(on_threads) < 50


def test_threads_call_one_function() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    f = af.function(lambda x: af.reduce_sum(af.matmul(x, x)))
    x = af.ones([20, 20])
    found: list[float] = []
    threads = [threading.Thread(target=lambda: found.extend(float(f(x)) for _ in range(20))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(before)
    assert found == [8000.0] * 80


def test_a_function_can_be_awaited_f119() -> None:
    w = af.Variable(2.0)

    @af.function
    def f(x: Any) -> Any:
        w.assign_add(1.0)
        return x * w

    async def main() -> None:
        assert float(await f.run(3.0)) == 9.0
        assert float(f(3.0)) == 12.0, "a plain call works in a coroutine too"

        @af.function
        def stuck() -> Any:
            return af.py_func(waits, [], af.float32)

        async def waits() -> Any:
            await anyio.sleep_forever()

        with anyio.move_on_after(0.05) as scope:
            await stuck.run()
        assert scope.cancelled_caught

    anyio.run(main)
    assert float(w) == 4.0
