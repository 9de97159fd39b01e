"""Variables: references, snapshots, atomic updates, and how programs share them by name."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from running import Run, interpreted, start

import actorflow as af
from actorflow import errors
from actorflow.graph.graph import Graph
from actorflow.graph.ops.state import assign as state_api
from actorflow.graph.ops.state import scatter as state_sparse
from actorflow.graph.ops.state import variable as state

__all__ = ["start"]

Start = Callable[[Graph], Run]


@pytest.fixture
def graph() -> Iterator[Graph]:
    made = Graph()
    with made.as_default():
        yield made


# ---- four kinds of operators on variables


def test_f18_a_reference_where_a_value_is_wanted_is_read(graph: Graph) -> None:
    v = af.Variable([1.0, 2.0], name="v")
    assert v.handle.dtype is af.float32.ref and v.dtype is af.float32
    assert v.value().dtype is af.float32
    assert af.add(v.handle, 1.0).op.inputs[0] is v.value()
    with graph.control_dependencies([v.initializer]):
        assert af.add(graph.get_tensor_by_name("v:0"), 1.0).op.inputs[0].op.control_inputs == [v.initializer]
    with pytest.raises(TypeError, match="takes a variable"):
        state.read_variable(af.constant(1.0))
    with pytest.raises(TypeError, match="takes a variable"):
        state_api.assign(v + 1.0, [1.0, 2.0])


def test_f18_assignf_gives_nothing_and_its_family_the_value(graph: Graph, start: Start) -> None:
    v = af.Variable([1.0, 2.0])
    targets = [
        v.assign([3.0, 3.0], read_value=False),
        v.assign_add([1.0, 1.0], read_value=False),
        v.assign_sub([2.0, 2.0], read_value=False),
    ]
    given = [v.assign([5.0, 5.0]), v.assign_add([1.0, 1.0]), v.assign_sub([2.0, 2.0])]
    assert all(isinstance(t, af.Operation) and t.outputs == () for t in targets)
    run = start(graph)
    run(v.initializer)
    for target, expected in zip(targets, ([3, 3], [4, 4], [2, 2])):
        assert run(target) is None
        np.testing.assert_array_equal(run(v), expected)
    for tensor, expected in zip(given, ([5, 5], [6, 6], [4, 4])):
        np.testing.assert_array_equal(run(tensor), expected)


def test_f28_a_variable_outlives_runs(graph: Graph, start: Start) -> None:
    v = af.Variable(1, name="v")
    add = v.assign_add(2)
    run = start(graph)
    run(v.initializer)
    assert [run(add), run(add), run(v)] == [3, 5, 5]


def test_f29_uninitialised(graph: Graph, start: Start) -> None:
    v, w = af.Variable([0.3], name="v"), af.Variable([-0.3], name="w")
    read, add, check = v + 0.0, w.assign_add([1.0]), af.is_variable_initialized(v)
    missing, both = af.report_uninitialized_variables(), af.assert_variables_initialized()
    run = start(graph)
    with pytest.raises(errors.FailedPreconditionError, match="uninitialized value v: the variable has no value yet"):
        run(read)
    with pytest.raises(errors.FailedPreconditionError, match="w: the variable has no value yet"):
        run(add)
    assert not run(check)
    assert run(missing).tolist() == [b"v", b"w"]
    with pytest.raises(errors.FailedPreconditionError):
        run(both)
    run(v.initializer)
    assert run(check)
    assert run(missing).tolist() == [b"w"]
    run(af.global_variables_initializer())
    assert run(missing).tolist() == [] and run(both) is None
    np.testing.assert_allclose(run([v, w]), [[0.3], [-0.3]], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "complex64"])
def test_f30_assign_and_add(graph: Graph, start: Start, dtype: str) -> None:
    v = af.Variable(np.arange(6).reshape(2, 3).astype(dtype))
    delta = np.full((2, 3), 2, dtype)
    add, sub, set_ = v.assign_add(delta), v.assign_sub(delta * 2), v.assign(delta)
    run = start(graph)
    run(v.initializer)
    base = np.arange(6).reshape(2, 3)
    for tensor, expected in ((add, base + 2), (sub, base - 2), (set_, delta)):
        value = run(tensor)
        np.testing.assert_array_equal(value, expected)
        assert value.dtype == np.dtype(dtype)


def test_f31_updates_lose_nothing(graph: Graph, start: Start) -> None:
    v = af.Variable(0, name="v")
    adds = [v.assign_add(n, read_value=False) for n in range(100)]
    run = start(graph)
    run(v.initializer)
    for _ in range(10):
        run(adds)
    assert run(v) == 10 * sum(range(100))


def test_f32_additions_commute_and_products_do_not(graph: Graph, start: Start) -> None:
    v = af.Variable(1.0)
    adds = [v.assign_add(float(n), read_value=False) for n in (1, 2, 4)]
    double = state.assign_mul_target(v, 2.0)
    run = start(graph)
    for order in itertools.permutations(adds):
        run(v.initializer)
        for operation in order:
            run(operation)
        assert run(v) == 8.0
    found = set()
    for order in itertools.permutations([adds[0], double]):
        run(v.initializer)
        for operation in order:
            run(operation)
        found.add(float(run(v)))
    assert found == {3.0, 4.0}


def test_both_forms_of_multiplication(graph: Graph, start: Start) -> None:
    v = af.Variable([2, 3])
    given, target = state.assign_mul_value(v, [10, 10]), state.assign_mul_target(v, [2, 0])
    run = start(graph)
    run(v.initializer)
    assert run(given).tolist() == [20, 30]
    assert run(target) is None and run(v).tolist() == [40, 0]


def test_f33_a_read_after_a_write(graph: Graph, start: Start) -> None:
    v = af.Variable([1.0, 2.0], name="v")
    with graph.control_dependencies([v.assign([7.0, 8.0], read_value=False)]):
        after, used, by_value = v.read_value(), v + 0.0, v.value()
    run = start(graph)
    run(v.initializer)
    for value in run([after, used, by_value]):
        np.testing.assert_array_equal(value, [7.0, 8.0])


def test_a_read_is_a_snapshot(graph: Graph, start: Start) -> None:
    v = af.Variable([1.0, 2.0])
    before = v.read_value()
    with graph.control_dependencies([before]):
        write = v.assign_add([10.0, 10.0], read_value=False)
    with graph.control_dependencies([write]):
        late = before * 1.0
    run = start(graph)
    run(v.initializer)
    value, again = run([before, late])
    run(v.assign([0.0, 0.0], read_value=False))
    for array in (value, again):
        np.testing.assert_array_equal(array, [1.0, 2.0])


def test_uses_share_one_read_outside_control_dependencies(graph: Graph) -> None:
    v = af.Variable([1.0], name="v")
    w = v * v + v

    def reads() -> list[str]:
        return [n.name for n in graph.nodes.values() if n.op == "ReadVariableOp"]

    assert reads() == ["v/read"]
    with graph.control_dependencies([w]), graph.name_scope("late"):
        first, second = v + 1.0, v + 2.0
    assert reads() == ["v/read", "late/add/read", "late/add_1/read"]
    assert first.op.inputs[0].op.control_inputs == second.op.inputs[0].op.control_inputs == [w.op]


# ---- the object


def test_names_shapes_and_collections(graph: Graph) -> None:
    a = af.Variable(af.zeros([2, 3]), name="a")
    b = af.Variable(1, trainable=False, name="a")
    c = af.Variable(2.0, collections=[af.GraphKeys.LOCAL_VARIABLES], name="x/c")
    assert [v.name for v in (a, b, c)] == ["a:0", "a_1:0", "x/c:0"]
    assert [n for n in graph.nodes if n.startswith("a_1")] == ["a_1/initial_value", "a_1", "a_1/Assign", "a_1/read"]
    assert a.shape.as_list() == [2, 3] and b.shape.as_list() == [] and a.get_shape() == a.shape
    assert af.global_variables() == af.all_variables() == [a, b]
    assert af.trainable_variables() == [a, c] and af.local_variables() == [c]
    assert af.global_variables("a_") == [b]
    assert a.op.type == "VariableV2" and a.graph is graph and a.device == "" and a.initial_value.op.name == "zeros"
    assert repr(a) == "<actorflow.Variable 'a:0' shape=(2, 3) dtype=float32>"
    af.add_to_collection("mine", a)
    assert af.get_collection("mine") == [a] and af.get_collection_ref("mine") == [a]


def test_where_its_state_lives(graph: Graph) -> None:
    with graph.container("box"), graph.device("/job:ps"):
        v = af.Variable(1.0)
    assert v.op.get_attr("container") == "box" and v.device == "/job:ps"


def test_initial_values(graph: Graph, start: Start) -> None:
    made = af.Variable(lambda: af.ones([2]), name="made")
    typed = af.Variable([1, 2], dtype=af.float64)
    with graph.control_dependencies([af.no_op()]):
        free = af.Variable(3.0)
    assert made.initial_value.op.name == "made/Initializer/ones"
    assert free.initializer.control_inputs == [] and free.op.control_inputs == []
    run = start(graph)
    run(af.global_variables_initializer())
    assert run(typed).dtype == np.float64 and run(made).tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="initial_value must be specified"):
        af.Variable()
    with pytest.raises(ValueError, match="initial_value must have a shape specified"):
        af.Variable(af.placeholder(af.float32))
    with pytest.raises(ValueError, match=r"has shape \(2,\), but expected_shape is \(3,\)"):
        af.Variable([1.0, 2.0], expected_shape=[3])


def test_a_variable_may_change_its_shape_if_it_says_so(graph: Graph, start: Start) -> None:
    fed = af.placeholder(af.float32)
    v = af.Variable(fed, validate_shape=False)
    assert v.shape.ndims is None
    run = start(graph)
    for value in ([1.0], [[1.0, 2.0]]):
        run(v.initializer, {fed: value})
        np.testing.assert_array_equal(run(v), value)
    fixed = af.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match=r"Shapes \[2\] and \[3\] are incompatible"):
        fixed.assign([1.0, 2.0, 3.0])


def test_initial_values_of_other_variables(graph: Graph, start: Start) -> None:
    v = af.Variable(af.random_uniform([3]), name="v")
    w = af.Variable(af.exp(v * 2.0) + v, name="w")
    u = af.Variable(w.initialized_value() - 1.0, name="u")
    run = start(graph)
    run([u.initializer])  # v and w have no value: the initial ones are taken
    with pytest.raises(errors.FailedPreconditionError):
        run(w)
    run(af.global_variables_initializer())
    a, b, c = run([v, w, u])
    np.testing.assert_allclose(b, np.exp(a * 2) + a, rtol=1e-6)
    np.testing.assert_allclose(c, b - 1, rtol=1e-6)
    run(v.assign([0.0, 0.0, 0.0]))
    run(w.initializer)
    np.testing.assert_array_equal(run(w), [1.0, 1.0, 1.0])  # v had a value, which is taken


def test_it_is_a_tensor_where_one_is_wanted(graph: Graph, start: Start) -> None:
    v = af.Variable([[1.0, 2.0], [3.0, 4.0]])
    results = [
        v + 1.0,
        1.0 - v,
        v @ v,
        v[0],
        -v,
        np.ones((2, 2), np.float32) * v,
        af.convert_to_tensor(v),
        af.stack([v, v])[1],
    ]
    run = start(graph)
    run(v.initializer)
    m = np.array([[1.0, 2.0], [3.0, 4.0]])
    for value, expected in zip(run(results), (m + 1, 1 - m, m @ m, m[0], -m, m, m, m)):
        np.testing.assert_array_equal(value, expected)
    with pytest.raises(TypeError, match="is not iterable"):
        list(v)
    with pytest.raises(TypeError, match="has no truth value"):
        bool(v)
    with pytest.raises(TypeError, match="symbolic"):
        np.asarray(v)
    with pytest.raises(TypeError, match=r"has no len\(\)"):
        len(v)


def test_copies_of_a_read_on_another_device(graph: Graph, start: Start) -> None:
    v = af.Variable([1.0], caching_device="/device:CPU:0", name="v")
    assert v.value().op.name == "v/cached" and v.value().device == "/device:CPU:0"
    run = start(graph)
    run(v.initializer)
    assert run(v + 1.0).tolist() == [2.0]
    assert run(af.gradients(v * 3.0, v)[0]).tolist() == [3.0]


# ---- rows


def test_scatter(graph: Graph, start: Start) -> None:
    v = af.Variable(np.arange(6.0, dtype=np.float32).reshape(3, 2))
    twice = af.IndexedSlices(af.constant([[1.0, 1.0], [2.0, 3.0]]), af.constant([1, 1]))
    made = [
        (v.scatter_add(twice), [[0, 1], [5, 7], [4, 5]]),
        (v.scatter_sub(twice), [[0, 1], [2, 3], [4, 5]]),
        (v.scatter_update(twice), [[0, 1], [2, 3], [4, 5]]),
        (state_api.scatter_update(v, [2, 0], [[9.0, 9.0], [8.0, 8.0]]), [[8, 8], [2, 3], [9, 9]]),
        (state_api.scatter_add(v, [[0], [2]], 1.0), [[9, 9], [2, 3], [10, 10]]),
        (state_api.scatter_sub(v, 1, [2.0, 3.0]), [[9, 9], [0, 0], [10, 10]]),
        (state_sparse.scatter_add_target(v, np.zeros(0, np.int32), np.zeros((0, 2), np.float32)), None),
    ]
    run = start(graph)
    run(v.initializer)
    for element, expected in made:
        value = run(element)
        if expected is not None:
            np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(run(v), [[9, 9], [0, 0], [10, 10]])


@pytest.mark.parametrize("target", ["update", "add", "sub"])
def test_scatter_targets(graph: Graph, start: Start, target: str) -> None:
    v = af.Variable([10, 20, 30])
    operation = getattr(state_sparse, f"scatter_{target}_target")(v, af.constant([0, 2, 0], af.int64), [1, 2, 3])
    run = start(graph)
    run(v.initializer)
    assert run(operation) is None
    assert run(v).tolist() == {"update": [3, 20, 2], "add": [14, 20, 32], "sub": [6, 20, 28]}[target]


def test_scatter_mistakes(graph: Graph, start: Start) -> None:
    v = af.Variable([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(ValueError, match=r"have the shape \[2,2\], but the values have \[3,2\]"):
        state_api.scatter_add(v, [0, 1], np.zeros((3, 2), np.float32))
    with pytest.raises(ValueError, match="has no rows"):
        state_api.scatter_add(af.Variable(1.0), [0], [1.0])
    with pytest.raises(TypeError, match="not IndexedSlices"):
        v.scatter_add(af.constant([1.0]))
    index, rows = af.placeholder(af.int32), af.placeholder(af.float32)
    add = state_api.scatter_add(v, index, rows)
    run = start(graph)
    run(v.initializer)
    for wrong in ([0, 2], [-1, 0]):
        with pytest.raises(errors.InvalidArgumentError, match=r"indices\[\d\] = -?\d is not in \[0, 2\)"):
            run(add, {index: wrong, rows: np.ones((2, 2))})
    with pytest.raises(errors.InvalidArgumentError, match="but the values have"):
        run(add, {index: [0], rows: np.ones((2, 2))})
    np.testing.assert_array_equal(run(v), [[1, 2], [3, 4]])  # nothing was changed


def test_count_up_to(graph: Graph, start: Start) -> None:
    v = af.Variable(1, name="v")
    count = v.count_up_to(3)
    run = start(graph)
    run(v.initializer)
    assert [run(count), run(count)] == [1, 2]
    with pytest.raises(errors.OutOfRangeError, match="Reached limit of 3"):
        run(count)
    assert run(v) == 3
    with pytest.raises(TypeError):
        state_api.count_up_to(af.Variable(1.0), 3)


def test_functions_over_variables(graph: Graph, start: Start) -> None:
    v = af.Variable(1.0)
    run = start(graph)
    run(v.initializer)
    assert run(state_api.assign(v, 5.0)) == 5.0
    assert run(state_api.assign_add(v.handle, 1.0)) == 6.0
    assert run(state_api.assign_sub(v, 4.0)) == 2.0
    assert state_api.assign(v, 1.0, name="mine").op.name == "mine"


def test_load() -> None:
    graph = Graph()
    with graph.as_default():
        v = af.Variable([1.0, 2.0])
    with af.blocking.Session(graph=graph) as session:
        nodes = len(graph)
        v.load([3.0, 4.0], session)
        assert session.run(v).tolist() == [3.0, 4.0] and len(graph) == nodes


# ---- get_variable


def test_get_variable_makes_or_takes(graph: Graph) -> None:
    with af.variable_scope("a") as scope:
        v = af.get_variable("v", [1])
        assert v.name == "a/v:0" and scope.name == "a" and scope.original_name_scope == "a/"
        with pytest.raises(
            ValueError, match=r"Variable a/v already exists, disallowed(.|\n)*defined at: .*test_variables"
        ):
            af.get_variable("v", [1])
    with af.variable_scope("a", reuse=True):
        assert af.get_variable("v") is v and af.get_variable("v", [1]) is v
        with pytest.raises(
            ValueError, match=r"Variable a/w does not exist, or was not created with tf.get_variable\(\)"
        ):
            af.get_variable("w", [1])
        with pytest.raises(
            ValueError, match=r"Trying to share variable a/v, but specified shape \(3,\) and found shape \(1,\)"
        ):
            af.get_variable("v", [3])
        with pytest.raises(ValueError, match="specified dtype int32 and found dtype float32"):
            af.get_variable("v", [1], af.int32)
    with af.variable_scope("a", reuse=af.AUTO_REUSE):
        assert af.get_variable("v", [1]) is v
        assert af.get_variable("w", [1]) is af.get_variable("w", [1])


def test_reuse_is_inherited(graph: Graph) -> None:
    with af.variable_scope("a", reuse=True), af.variable_scope("b", reuse=False) as b:
        assert b.reuse is True and b.name == "a/b"
    with af.variable_scope("r", reuse=af.AUTO_REUSE):
        with af.variable_scope("b", reuse=False) as b:
            assert b.reuse is af.AUTO_REUSE
        with af.variable_scope("b", reuse=True) as b:
            assert b.reuse is True
    with af.variable_scope("c") as c:
        af.get_variable("v", [1])
        c.reuse_variables()
        af.get_variable("v", [1])
    with af.variable_scope(c, reuse=None) as again:
        assert again.reuse is True  # as the scope was when it was left
    af.get_variable("top", [1])
    af.get_variable_scope().reuse_variables()
    assert af.get_variable("top") is af.get_variable("top", [1])


def test_scopes_and_names(graph: Graph) -> None:
    with af.variable_scope("a"):
        with af.variable_scope("b") as b:
            assert af.get_variable("v", [1]).name == "a/b/v:0" and af.constant(1.0).name == "a/b/Const:0"
        for expected in ("a/d", "a/d_1"):
            with af.variable_scope(None, "d") as d:
                assert d.name == expected and af.constant(1.0).name == f"{expected}/Const:0"
    with af.variable_scope("a"), af.variable_scope(None, "d") as d:
        assert d.name == "a/d" and af.constant(1.0).name == "a_1/d/Const:0"
    with af.variable_scope("z"), af.variable_scope(b, reuse=True) as again:
        assert (again.name, again.original_name_scope) == ("a/b", "a/b/")
        assert af.constant(1.0).name == "z/b/Const:0" and af.get_variable("v").name == "a/b/v:0"
        with af.variable_scope("q") as q:
            assert (q.name, q.reuse, q.original_name_scope) == ("a/b/q", True, "z/b/q/")
    with af.variable_scope("plain", auxiliary_name_scope=False):
        assert af.get_variable("v", [1]).name == "plain/v:0" and af.constant(1.0).name == "Const:0"
    with graph.name_scope("names"):
        assert af.get_variable("outside", [1]).name == "outside:0"
    assert [v.name for v in b.global_variables()] == ["a/b/v:0"] == [v.name for v in b.trainable_variables()]


def test_scope_defaults(graph: Graph, start: Start) -> None:
    def getter(get: Any, name: str, **kwargs: Any) -> Any:
        return get(name=f"{name}_custom", **kwargs)

    with af.variable_scope(
        "s",
        initializer=af.constant_initializer(3.0),
        regularizer=lambda v: af.reduce_sum(af.square(v)),
        dtype=af.float64,
        custom_getter=getter,
    ):
        v = af.get_variable("v", [2])
        with af.variable_scope("t", custom_getter=lambda get, **kw: get(**{**kw, "trainable": False})):
            w = af.get_variable("w", [1], initializer=af.zeros_initializer, regularizer=lambda v: None)
    assert v.name == "s/v_custom:0" and v.dtype is af.float64
    assert w.name == "s/t/w_custom:0" and not w.trainable
    (loss,) = af.get_collection(af.GraphKeys.REGULARIZATION_LOSSES)
    assert loss.op.name.startswith("s/v_custom/Regularizer/")
    run = start(graph)
    run(af.global_variables_initializer())
    assert run(loss) == 18.0 and run(w).tolist() == [0.0]


def test_get_variable_mistakes(graph: Graph) -> None:
    for arguments, error, message in (
        ({}, ValueError, "Variable c did not get an initializer, so its `shape` argument must be specified"),
        (
            {"shape": [None, 2]},
            ValueError,
            r"Shape of a new variable \(c\) must be fully defined, but instead was \(\?, 2\)",
        ),
        ({"shape": [2], "initializer": af.constant([1.0, 2.0])}, ValueError, "do not specify shape"),
        ({"shape": [2], "dtype": af.complex64}, ValueError, "An initializer for variable c of complex64 is required"),
        (
            {"initializer": [1, 2], "dtype": af.float32},
            ValueError,
            "Initializer type 'int32' and explicit dtype 'float32'",
        ),
    ):
        with pytest.raises(error, match=message):
            af.get_variable("c", **arguments)
    for arguments, error, message in (
        ((3,), TypeError, "name_or_scope must be a string or VariableScope"),
        ((None,), TypeError, "If default_name is None then name_or_scope is required"),
        ((None, "d"), ValueError, "reuse=True cannot be used without a name_or_scope"),
    ):
        with pytest.raises(error, match=message), af.variable_scope(*arguments, reuse=True):
            pass
    with (
        pytest.raises(ValueError, match="reuse parameter must be True or False or None"),
        af.variable_scope("x", reuse="y"),
    ):
        pass


def test_what_get_variable_makes(graph: Graph, start: Start) -> None:
    values = {
        "a": af.get_variable("a", initializer=lambda: af.ones([2])),
        "b": af.get_variable("b", initializer=[1, 2]),
        "c": af.get_variable("c", [2], af.bool),
        "d": af.get_variable("d", [1], af.string),
        "e": af.get_variable("e", [2], initializer=lambda shape, dtype: af.zeros(shape, dtype), trainable=False),
        "f": af.get_local_variable("f", [1], initializer=af.ones_initializer()),
    }
    assert values["b"].dtype is af.int32
    assert af.local_variables() == [values["f"]] and values["f"] not in af.global_variables()
    assert values["e"] not in af.trainable_variables() and values["f"] not in af.trainable_variables()
    run = start(graph)
    run([af.global_variables_initializer(), af.local_variables_initializer()])
    found = [v.tolist() for v in run(list(values.values()))]
    assert found == [[1.0, 1.0], [1, 2], [False, False], [b""], [0.0, 0.0], [1.0]]


def test_scopes_of_coroutines_do_not_mix(graph: Graph) -> None:
    async def build(name: str) -> list[str]:
        names = []
        with af.variable_scope(name):
            for i in range(3):
                names.append(af.get_variable(f"v{i}", [1]).name)
                await asyncio.sleep(0)
        return names

    async def both() -> list[list[str]]:
        return list(await asyncio.gather(build("a"), build("b")))

    found = contextvars.copy_context().run(asyncio.run, both())
    assert found == [["a/v0:0", "a/v1:0", "a/v2:0"], ["b/v0:0", "b/v1:0", "b/v2:0"]]


# ---- initializers


def drawn(initializer: Any, shape: tuple[int, ...], dtype: Any = None) -> Any:
    graph = Graph()
    with graph.as_default():
        return interpreted(graph)(initializer(shape) if dtype is None else initializer(shape, dtype))


@pytest.mark.parametrize(
    ("initializer", "deviation", "bound"),
    [
        (af.random_uniform_initializer(-2.0, 2.0, seed=1), 4 / 12**0.5, 2.0),
        (af.random_normal_initializer(stddev=0.5, seed=1), 0.5, None),
        (af.truncated_normal_initializer(stddev=1.0, seed=1), 0.8796, 2.0),
        (af.uniform_unit_scaling_initializer(seed=1), (1 / 100) ** 0.5, (3 / 100) ** 0.5),
        (af.variance_scaling_initializer(seed=1), (1 / 100) ** 0.5, None),
        (af.variance_scaling_initializer(2.0, "fan_out", "untruncated_normal", seed=1), (2 / 200) ** 0.5, None),
        (af.variance_scaling_initializer(1.0, "fan_out", "uniform", seed=1), (1 / 200) ** 0.5, (3 / 200) ** 0.5),
        (af.glorot_uniform_initializer(seed=1), (2 / 300) ** 0.5, (6 / 300) ** 0.5),
        (af.glorot_normal_initializer(seed=1), (2 / 300) ** 0.5, None),
    ],
)
def test_random_initializers(initializer: Any, deviation: float, bound: float | None) -> None:
    value = drawn(initializer, (100, 200))
    assert value.shape == (100, 200) and value.dtype == np.float32
    assert abs(float(value.std()) / deviation - 1) < 0.03 and abs(float(value.mean())) < 0.03 * deviation
    assert bound is None or 0.97 * bound < float(np.abs(value).max()) <= bound * 1.0001


def test_fixed_initializers() -> None:
    from actorflow.graph.variables.initializers import fans, he_normal, lecun_uniform

    assert drawn(af.zeros_initializer(), (2,), af.int64).dtype == np.int64
    assert drawn(af.ones_initializer(), (2,), af.bool).tolist() == [True, True]
    assert drawn(af.constant_initializer([1.0, 2.0]), (2, 2)).tolist() == [[1, 2], [2, 2]]
    assert drawn(af.identity_initializer(3.0), (2, 3)).tolist() == [[3, 0, 0], [0, 3, 0]]
    for shape in ((4, 4), (6, 3), (3, 6), (2, 3, 4)):
        q = drawn(af.orthogonal_initializer(2.0, seed=3), shape).reshape(-1, shape[-1]) / 2
        small = q @ q.T if q.shape[0] < q.shape[1] else q.T @ q
        np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-6)
    assert [fans(s) for s in ((), (5,), (3, 4), (2, 3, 4, 5))] == [(1, 1), (5, 5), (3, 4), (24, 30)]
    assert he_normal().scale == 2.0 and lecun_uniform().distribution == "uniform"
    for wrong, message in (
        (lambda: af.variance_scaling_initializer(0.0), "`scale` must be positive float"),
        (lambda: af.variance_scaling_initializer(mode="in"), "Invalid `mode`"),
        (lambda: af.variance_scaling_initializer(distribution="odd"), "Invalid `distribution`"),
        (lambda: drawn(af.identity_initializer(), (2,)), "2D matrices"),
        (lambda: drawn(af.orthogonal_initializer(), (2,)), "at least two-dimensional"),
        (lambda: drawn(af.constant_initializer([1.0, 2.0]), (1,)), "Needed at most 1, but received 2"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()
    with pytest.raises(TypeError, match="Invalid type for initial value"):
        af.constant_initializer("abc" if False else object())
