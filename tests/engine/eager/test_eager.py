"""Ops that run at once: tensors that have values, variables that are objects, and what is refused."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref

import anyio
import anyio.lowlevel
import numpy as np
import pytest

import actorflow as af
from actorflow.blocking import Session


@pytest.fixture(autouse=True)
def _eager() -> object:
    with af.eager():
        yield


def test_an_op_gives_a_value_f119() -> None:
    x = af.constant([1.0, 2.0])
    y = x * 3.0 + x
    np.testing.assert_array_equal(y.numpy(), [4.0, 8.0])
    assert int(af.add(1, 2)) == 3


def test_tensors_are_values_of_python_f119() -> None:
    x = af.constant([[1.5, 2.0], [3.0, 4.0]])
    assert [float(v) for v in x[0]] == [1.5, 2.0]
    assert len(x) == 2
    assert [row.numpy().tolist() for row in x] == [[1.5, 2.0], [3.0, 4.0]]
    assert np.asarray(x).tolist() == [[1.5, 2.0], [3.0, 4.0]]
    assert np.from_dlpack(x).tolist() == [[1.5, 2.0], [3.0, 4.0]]
    assert [10, 20, 30][af.constant(1)] == 20
    assert complex(af.constant(2.0)) == 2 + 0j
    assert round(float(af.constant(1.26)), 1) == 1.3
    assert f"{af.constant(1.26):.1f}" == "1.3"
    assert repr(af.constant(3)) == "<actorflow.Tensor: shape=(), dtype=int32, numpy=np.int32(3)>"
    assert str(af.constant(3)) == "actorflow.Tensor(3, shape=(), dtype=int32)"
    assert af.constant("text").numpy() == b"text"


def test_values_decide_branches_and_loops_of_python_f119() -> None:
    x = af.constant(10.0)
    while x > 1.0:
        x = x / 2.0
    assert float(x) == 0.625
    assert not af.constant(False)


def test_what_has_no_such_value_says_so() -> None:
    with pytest.raises(TypeError, match="no len"):
        len(af.constant(1.0))
    with pytest.raises(TypeError, match="can't be iterated"):
        iter(af.constant(1.0))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(af.constant([True, False]))
    with pytest.raises(TypeError):
        [1, 2][af.constant(1.0)]


def test_results_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        af.ones([2]).numpy()[0] = 5.0


def test_tensors_are_copied_and_pickled() -> None:
    x = af.constant([1.0, 2.0])
    assert copy.deepcopy(x) is x
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)).numpy(), [1.0, 2.0])


def test_tensors_are_told_apart_by_identity() -> None:
    x, y = af.constant(1.0), af.constant(1.0)
    assert {x: 1}[x] == 1
    assert x != y


@pytest.mark.parametrize(
    ("build", "error"),
    [
        (lambda: af.matmul(af.ones([2, 3]), af.ones([2, 3])), ValueError),
        (lambda: af.constant(1.0) + af.constant(1), TypeError),
        (lambda: af.ones([2]) + af.ones([3]), ValueError),
        (lambda: af.reshape(af.ones([3]), [2]), af.errors.InvalidArgumentError),
        (lambda: af.gather(af.ones([3]), 7), af.errors.InvalidArgumentError),
        (lambda: af.constant(1) // af.constant(0), af.errors.InvalidArgumentError),
    ],
)
def test_mistakes_raise_at_the_users_line(build: object, error: type[Exception]) -> None:
    for _ in range(2):  # what was refused is not remembered as right
        with pytest.raises(error, match="test_eager"):
            build()  # type: ignore[operator]


def test_shapes_that_were_right_do_not_make_others_right() -> None:
    af.ones([2, 3]) + af.ones([2, 3])
    with pytest.raises(ValueError, match="test_eager"):
        af.ones([2, 3]) + af.ones([3, 2])


def test_infinities_are_values() -> None:
    with np.errstate(all="raise"):
        assert float(af.constant(1.0) / af.constant(0.0)) == np.inf


def test_variables_are_objects_f119() -> None:
    v = af.Variable([1.0, 2.0], name="v")
    assert isinstance(v, af.Variable)
    before = v.numpy()
    v.assign_add([1.0, 1.0])
    v.assign(v * 2.0)
    v[0:1].assign([9.0])
    assert v.numpy().tolist() == [9.0, 6.0]
    assert before.tolist() == [1.0, 2.0], "a value that was read does not change"
    assert v.name == "v:0"
    assert float(af.Variable(2.0) * 3.0) == 6.0


def test_a_variable_is_free_when_nobody_holds_it_f119() -> None:
    v = af.Variable(np.zeros(1000, np.float32))
    v.assign_add(np.ones(1000, np.float32))
    held = weakref.ref(v._state)  # type: ignore[attr-defined]
    del v
    gc.collect()
    assert held() is None


def test_variables_of_one_name_are_apart() -> None:
    first, second = af.Variable(1.0, name="v"), af.Variable(2.0, name="v")
    first.assign_add(10.0)
    assert (float(first), float(second)) == (11.0, 2.0)


def test_control_flow_runs_the_functions_of_python() -> None:
    calls = []

    def taken(which: str, value: float) -> af.Tensor:
        calls.append(which)
        return af.constant(value)

    assert float(af.cond(af.constant(True), lambda: taken("yes", 1.0), lambda: taken("no", 2.0))) == 1.0
    assert calls == ["yes"]
    assert int(af.while_loop(lambda i: i < 5, lambda i: i + 1, [0])) == 5
    assert int(af.while_loop(lambda i: i < 5, lambda i: i + 1, [0], maximum_iterations=3)) == 3
    assert af.map_fn(lambda x: x * x, af.constant([1.0, 2.0, 3.0])).numpy().tolist() == [1.0, 4.0, 9.0]
    assert int(af.switch_case(af.constant(1), [lambda: af.constant(10), lambda: af.constant(20)])) == 20
    assert af.py_func(lambda a: a + 1, [af.constant([1.0])], af.float32).numpy().tolist() == [2.0]


def test_a_seed_repeats_the_numbers() -> None:
    drawn = []
    for _ in range(2):
        af.set_random_seed(3)
        drawn.append([af.random_normal([2]).numpy().tolist() for _ in range(2)])
    af.set_random_seed(None)
    assert drawn[0] == drawn[1]
    assert drawn[0][0] != drawn[0][1]


def test_what_belongs_to_graphs_is_refused_f119() -> None:
    with pytest.raises(RuntimeError, match="placeholder"):
        af.placeholder(af.float32)
    with pytest.raises(RuntimeError, match="GradientTape"):
        af.gradients(af.constant(1.0), [af.constant(2.0)])
    with pytest.raises(RuntimeError, match="Session"):
        Session()
    with pytest.raises(RuntimeError, match="not supported when eager"):
        af.FIFOQueue(3, [af.float32]).dequeue()


def test_a_graph_that_is_entered_is_a_graph_f119() -> None:
    value = af.constant(2.0)
    graph = af.Graph()
    with graph.as_default():
        assert not af.executing_eagerly()
        x = af.placeholder(af.float32)
        y = x + 1.0
        with pytest.raises(RuntimeError, match="Attempting to capture an EagerTensor"):
            value + 1.0
        with pytest.raises(RuntimeError, match="Attempting to capture an EagerTensor"):
            x + value
    assert af.executing_eagerly()
    with pytest.raises((TypeError, ValueError), match="graph"):
        value + y
    with Session(graph=graph) as session:
        assert session.run(y, {x: 2.0}) == 3.0


def test_scopes_belong_to_their_thread() -> None:
    seen = []
    thread = threading.Thread(target=lambda: seen.append(af.executing_eagerly()))
    thread.start()
    thread.join()
    assert seen == [False]


def test_the_switch_turns_on_and_off_f119() -> None:
    seen = []

    def program() -> None:
        af.enable_eager_execution()
        try:
            seen.append(float(af.constant(1.0) + 1.0))
            seen.append(af.executing_eagerly())
        finally:
            af.disable_eager_execution()
        seen.append(af.executing_eagerly())

    thread = threading.Thread(target=program)
    thread.start()
    thread.join()
    assert seen == [2.0, True, False]


def test_memory_stays_where_it_is() -> None:
    """A thousand ops of ever new shapes leave no more objects behind than a hundred."""
    from actorflow.engine.eager.graph import GRAPH

    for size in range(1, 3000):
        af.ones([size % 700]) + 1.0
    assert len(GRAPH._prepared) <= 4096
    assert len(af.add.prepared) <= 1024
    assert len(GRAPH.nodes) == 0


def test_optimizers_apply_gradients_at_once() -> None:
    v = af.Variable([1.0, 2.0])
    af.train.GradientDescentOptimizer(0.5).apply_gradients([(af.constant([1.0, 2.0]), v)])
    assert v.numpy().tolist() == [0.5, 1.0]


def test_large_ops_can_run_beside_the_event_loop_f119() -> None:
    started, release = threading.Event(), threading.Event()

    def slow(x: af.Tensor) -> af.Tensor:
        started.set()
        release.wait()
        return x * w

    w = af.Variable(3.0)

    async def main() -> None:
        async with af.eager(threads=1) as scope:
            with af.GradientTape() as tape:
                async with anyio.create_task_group() as group:
                    found: list[af.Tensor] = []

                    async def compute() -> None:
                        found.append(await scope.run(slow, af.constant(2.0)))

                    group.start_soon(compute)
                    while not started.is_set():
                        await anyio.lowlevel.checkpoint()
                    release.set()  # the loop was free while the function ran
            assert float(found[0]) == 6.0
            assert float(tape.gradient(found[0], w)) == 2.0
            with pytest.raises(ValueError, match="inner sizes") as caught:
                await scope.run(af.matmul, af.ones([2, 3]), af.ones([2, 3]))
            assert "test_eager.py" in caught.value.__notes__[0]

    anyio.run(main)
    with pytest.raises(ValueError, match="positive"):
        af.eager(threads=0)


def test_a_function_of_python_gets_tensors_that_have_values() -> None:
    def double(x: af.Tensor) -> af.Tensor:
        return x * 2.0 if float(x) > 0.0 else x

    with af.eager():
        x = af.constant(3.0)
        with af.GradientTape() as tape:
            tape.watch(x)
            y = af.py_function(double, [x], af.float32)
        assert float(y) == 6.0 and float(tape.gradient(y, x)) == 2.0
        pairs = af.data.Dataset.from_tensor_slices([1.0, -1.0]).map(
            lambda x: tuple(af.py_function(lambda x: (double(x), str(float(x))), [x], [af.float32, af.string]))
        )
        assert [(float(a), b.numpy()) for a, b in pairs] == [(2.0, b"1.0"), (-1.0, b"-1.0")]
    with pytest.raises(ValueError, match="callable"):
        af.py_function(3, [], af.float32)


def test_the_global_step_of_a_program() -> None:
    with af.eager():
        step = af.train.get_or_create_global_step()
        assert af.train.get_global_step() is step
        before = int(step)
        w = af.Variable(1.0)
        with af.GradientTape() as tape:
            loss = w * w
        af.train.GradientDescentOptimizer(0.1).apply_gradients([(tape.gradient(loss, w), w)], global_step=step)
        assert int(step) == before + 1
