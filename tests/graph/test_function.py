"""Functions: a named part of a graph, called several times, with gradients, stored and loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import blocking
from actorflow.base.registry import plugins
from actorflow.graph.analysis.inline import inline
from actorflow.graph.control_flow.cond import cond
from actorflow.graph.control_flow.function_body import table
from actorflow.graph.control_flow.functional import map_fn
from actorflow.graph.control_flow.while_loop import while_loop
from actorflow.graph.graph import Graph
from actorflow.graph.node import TensorId


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with af.Graph().as_default() as made:
        yield made


def values(fetches: Any, feeds: Any = None, graph: Graph | None = None, **options: Any) -> Any:
    graph = graph or af.get_default_graph()
    with graph.as_default():
        ready = af.global_variables_initializer()
    with blocking.Session(graph=graph, **options) as session:
        session.run(ready)
        return session.run(fetches, feeds)


def weighted() -> tuple[Any, Any]:
    """A function of two parameters that uses a variable, and the variable."""
    w = af.Variable([2.0, 3.0], name="w")

    @af.Defun(af.float32, af.float32)
    def weigh(x: Any, y: Any) -> Any:
        return af.reduce_sum(x * y * w), x + y

    return weigh, w


def plain(w: Any) -> Callable[[Any, Any], Any]:
    return lambda x, y: (af.reduce_sum(x * y * w), x + y)


# ---- values and gradients


def thrice(f: Any, a: Any, b: Any) -> Any:
    s, t = f(a, b)
    u, v = f(t, a)
    _, z = f(t, v)
    return s * u + af.reduce_sum(z * z)


def test_f124_three_calls_are_the_inlined_graph(graph: Graph) -> None:
    weigh, w = weighted()
    a, b = af.placeholder(af.float32, [2]), af.constant([3.0, 4.0])
    called, written = thrice(weigh, a, b), thrice(plain(w), a, b)
    assert sum(node.op == "Call" for node in graph.nodes.values()) == 3
    assert sum(node.op == "_Return" for node in graph.nodes.values()) == 1, "the body is there once"
    first = [af.gradients(y, [a, w]) for y in (called, written)]
    second = [af.gradients(af.reduce_sum(af.square(g[0])), [a, w]) for g in first]
    one, other = values([[called, *first[0], *second[0]], [written, *first[1], *second[1]]], {a: [1.0, 2.0]})
    assert one[0] == other[0]
    for mine, wanted in zip(one, other):
        np.testing.assert_allclose(mine, wanted, rtol=1e-5)


def test_f124_functions_survive_storing(graph: Graph) -> None:
    weigh, _ = weighted()
    a = af.placeholder(af.float32, [2], name="a")
    thrice(weigh, a, af.constant([3.0, 4.0]))
    before = af.identity(thrice(weigh, a, a), name="result")
    init = af.global_variables_initializer()
    slope = af.gradients(before, a)[0]
    wanted, wanted_slope = values([before, slope], {a: [1.0, 2.0]})
    loaded = Graph.from_bytes(graph.to_bytes())
    with loaded.as_default():
        result, again = loaded.get_tensor_by_name("result:0"), loaded.get_tensor_by_name("a:0")
        slope = af.gradients(result, again)[0]
        with blocking.Session(graph=loaded) as session:
            session.run(init.name)
            found, found_slope = session.run([result, slope], {again: [1.0, 2.0]})
    assert found == wanted
    np.testing.assert_array_equal(found_slope, wanted_slope)


def test_f124_gradients_of_a_function_stored_without_them(graph: Graph) -> None:
    """The gradient function is made of the nodes, not of the Python function."""
    weigh, _ = weighted()
    a = af.placeholder(af.float32, [2], name="a")
    init, result = af.global_variables_initializer(), thrice(weigh, a, a)
    loaded = Graph.from_bytes(graph.to_bytes())
    wanted = values(af.gradients(result, a)[0], {a: [1.0, 2.0]})
    with loaded.as_default():
        slope = af.gradients(loaded.get_tensor_by_name(result.name), loaded.get_tensor_by_name("a:0"))[0]
        with blocking.Session(graph=loaded) as session:
            session.run(init.name)
            np.testing.assert_array_equal(session.run(slope, {"a:0": [1.0, 2.0]}), wanted)


def test_nested_functions() -> None:
    @af.Defun(af.float32)
    def square(x: Any) -> Any:
        return x * x

    @af.Defun(af.float32)
    def fourth(x: Any) -> Any:
        return square(square(x))

    x = af.placeholder(af.float32, [])
    y = fourth(x) + square(x)
    slope = af.gradients(y, x)[0]
    curve = af.gradients(slope, x)[0]
    assert values([y, slope, curve], {x: 3}) == [90, 114, 110]


def test_branches_and_loops_in_a_body() -> None:
    def body(x: Any, n: Any) -> Any:
        grown = while_loop(lambda i, _: i < n, lambda i, v: (i + 1, v * x), (0, x))[1]
        return cond(grown > 10, lambda: grown * 2, lambda: x * x * x)

    power = af.Defun(af.float32, af.int32)(body)
    x, n = af.placeholder(af.float32, []), af.placeholder(af.int32, [])
    pairs = []
    for f in (power, body):
        y = f(x, n) + f(x * 2, n)
        slope = af.gradients(y, x)[0]
        pairs.append([y, slope, af.gradients(slope, x)[0]])
    for feeds in ({x: 2, n: 3}, {x: 1.5, n: 1}, {x: 1, n: 0}):
        one, other = values(pairs, feeds)
        np.testing.assert_allclose(one, other, rtol=1e-5)
    assert values(pairs[0][:2], {x: 2, n: 3}) == [2 * 2**4 + 2 * 4**4, 2 * 4 * 2**3 + 2 * 2 * 4 * 4**3]


def test_calls_in_loops_and_branches() -> None:
    def step(x: Any, y: Any) -> Any:
        return af.sin(x) * y + 1

    called = af.Defun(af.float32, af.float32)(step)
    x = af.placeholder(af.float32, [3])

    def build(f: Any) -> Any:
        looped = while_loop(lambda i, _: i < 4, lambda i, v: (i + 1, f(v, x)), (0, x))[1]
        mapped = map_fn(lambda row: cond(row > 0, lambda: f(row, looped[0]), lambda: row * row), x)
        total = af.reduce_sum(looped * mapped)
        slope = af.gradients(total, x)[0]
        return [total, slope, af.gradients(af.reduce_sum(slope * slope), x)[0]]

    one, other = values([build(called), build(step)], {x: [0.5, -0.3, 1.2]})
    for mine, wanted in zip(one, other):
        np.testing.assert_allclose(mine, wanted, rtol=1e-4)


def test_a_call_in_a_branch_that_is_not_taken_does_not_run() -> None:
    count = af.Variable(0)

    @af.Defun()
    def bump() -> Any:
        return count.assign_add(1)

    taken = af.placeholder(af.bool, [])
    y = cond(taken, bump, lambda: af.constant(-1))
    ready = af.global_variables_initializer()
    with blocking.Session(graph=af.get_default_graph()) as session:
        session.run(ready)
        assert session.run(y, {taken: False}) == -1 and session.run(count) == 0
        assert session.run(y, {taken: True}) == 1


def test_a_body_without_parameters_runs_in_each_iteration() -> None:
    count = af.Variable(0)

    @af.Defun()
    def bump() -> Any:
        return count.assign_add(1)

    last = while_loop(lambda i: i < 5, lambda i: i + 0 * bump() + 1, [0])
    ready = af.global_variables_initializer()
    with blocking.Session(graph=af.get_default_graph()) as session:
        session.run(ready)
        assert session.run(last) == 5 and session.run(count) == 5


def test_loops_with_functions_that_have_loops() -> None:
    def inner(x: Any) -> Any:
        return while_loop(lambda i, _: i < 2, lambda i, v: (i + 1, af.sin(v) * x), (0, x))[1]

    called = af.Defun((af.float32, []))(inner)
    x = af.placeholder(af.float32, [])

    def build(f: Any) -> Any:
        y = while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, f(v) + 1), (0, x))[1]
        return [y, af.gradients(y, x)[0]]

    one, other = values([build(called), build(inner)], {x: 0.7})
    np.testing.assert_allclose(one, other, rtol=1e-5)


def test_variables_made_in_a_body_are_made_outside_once() -> None:
    @af.Defun(af.float32)
    def dense(x: Any) -> Any:
        kernel = af.get_variable("kernel", [3, 2], initializer=af.ones_initializer())
        return af.matmul(x, kernel)

    x = af.ones([4, 3])
    with af.variable_scope("layer"):
        y = dense(x) + dense(2 * x)
    (kernel,) = af.global_variables()
    assert kernel.op.name == "layer/kernel" and y.shape.as_list() == [4, 2]
    found, slope = values([y, af.gradients(y, kernel)[0]])
    assert (found == 9).all() and (slope == 12).all()


def test_a_recurrent_network_in_a_function() -> None:
    inputs = af.constant(np.linspace(-1, 1, 12, dtype=np.float32).reshape(2, 3, 2))
    cell = af.nn.rnn_cell.GRUCell(4)

    def body(x: Any) -> Any:
        return af.nn.dynamic_rnn(cell, x, dtype=af.float32)[0]

    outside = body(inputs)
    inside = af.Defun((af.float32, [None, None, 2]))(body)(inputs)
    assert inside.shape.as_list() == [None, None, 4]
    xs = [inputs, *af.global_variables()]
    one, other = ([y, *af.gradients(af.reduce_sum(y * y), xs)] for y in (outside, inside))
    for mine, wanted in zip(*values([one, other])):
        np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)


def test_a_gradient_uses_the_numbers_that_the_call_drew(seed: int) -> None:
    af.set_random_seed(seed)

    @af.Defun(af.float32)
    def noisy(x: Any) -> Any:
        return x * af.random_uniform(af.shape(x))

    x = af.ones([50])
    one, other = noisy(x), noisy(x)
    found, slope, another = values([one, af.gradients(one, x)[0], other])
    np.testing.assert_array_equal(found, slope)
    assert (found != another).any(), "each call draws its own"


def test_gradients_taken_twice() -> None:
    @af.Defun(af.float32)
    def cube(x: Any) -> Any:
        return x * x * x

    x = af.placeholder(af.float32, [])
    y = cube(x)
    found = values([af.gradients(y, x)[0], af.gradients(y, x, grad_ys=af.constant(2.0))[0]], {x: 2})
    assert found == [12, 24]


def test_unused_parameters_and_outputs() -> None:
    @af.Defun(af.float32, af.float32, af.int32)
    def odd(x: Any, y: Any, n: Any) -> Any:
        return x * 2, n + 1, x

    x, y = af.constant(3.0), af.constant(4.0)
    double, n, same = odd(x, y, 5)
    assert af.gradients(double, y) == [None]
    assert values([double, n, same, af.gradients([double, same], x)[0]]) == [6, 6, 3, 3]


def test_python_gradient() -> None:
    @af.Defun(af.float32, af.float32, python_grad_func=lambda call, dy: (dy * 10, call.inputs[0] * dy))
    def product(x: Any, y: Any) -> Any:
        return x * y

    x, y = af.constant(3.0), af.constant(4.0)
    z = product(x, y)
    assert values([z, *af.gradients(z, [x, y])]) == [12, 10, 3]


def test_gradient_by_another_function() -> None:
    @af.Defun(af.float32, af.float32)
    def slope(x: Any, dy: Any) -> Any:
        return 100 * x * dy

    @af.Defun(af.float32, grad_func=slope)
    def square(x: Any) -> Any:
        return x * x

    x = af.constant(3.0)
    assert values(af.gradients(square(x), x)) == [300]


def test_a_python_gradient_is_not_stored(graph: Graph) -> None:
    @af.Defun(af.float32, python_grad_func=lambda call, dy: dy)
    def same(x: Any) -> Any:
        return x * 1

    y = same(af.constant(1.0, name="x"))
    loaded = Graph.from_bytes(graph.to_bytes())
    with pytest.raises(LookupError, match="Python function"):
        af.gradients(loaded.get_tensor_by_name(y.name), loaded.get_tensor_by_name("x:0"))


# ---- calls in a plan


def test_only_what_is_needed_of_a_body_runs() -> None:
    @af.Defun(af.float32)
    def both(x: Any) -> Any:
        return x + 1, af.check_numerics(x / 0, "not needed")

    one, two = both(af.placeholder_with_default(1.0, []))
    assert values(one) == 2
    with pytest.raises(af.errors.InvalidArgumentError, match="not needed"):
        values(two)


def test_outputs_of_a_call_may_be_fed() -> None:
    @af.Defun(af.float32)
    def more(x: Any) -> Any:
        return x + 1

    y = more(af.constant(1.0))
    assert values([y, y * 2], {y: 10}) == [10, 20]


async def test_a_step_in_two_parts_through_one_call() -> None:
    @af.Defun(af.float32, af.float32)
    def both(x: Any, y: Any) -> Any:
        return x + 1, y + 2

    a, b = af.placeholder(af.float32, []), af.placeholder(af.float32, [])
    early, late = both(a, b)
    async with af.Session(graph=af.get_default_graph()) as session:
        handle = await session.partial_run_setup([early, late], [a, b])
        assert await session.partial_run(handle, early, {a: 1}) == 2
        assert await session.partial_run(handle, late, {b: 1}) == 3


def test_a_large_graph_of_calls() -> None:
    """Its plan is made on a thread."""

    @af.Defun(af.float32)
    def more(x: Any) -> Any:
        return x * 1 + 1

    y = af.constant(0.0)
    for _ in range(200):
        y = more(y)
    feed = y.graph.get_tensor_by_name("Const:0")
    assert len(y.graph) > 200
    assert values(y, {feed: 5.0}) == 205
    assert values(y) == 200


@pytest.mark.parametrize("what", ["dead branch", "merged"])
def test_a_dead_output_is_dead(what: str) -> None:
    @af.Defun(af.float32, af.bool)
    def choose(x: Any, which: Any) -> Any:
        return cond(which, lambda: x * 2, lambda: x * 3), af.constant(7.0) + x

    which = af.placeholder(af.bool, [])
    found = cond(which, lambda: sum(choose(2.0, which)), lambda: choose(3.0, which)[0])
    assert values(found, {which: what == "merged"}) == (13 if what == "merged" else 9)


def test_effects_run_with_the_call() -> None:
    total = af.Variable(0.0)

    @af.Defun(af.float32)
    def add(x: Any) -> Any:
        total.assign_add(x)
        return x * 2

    @af.Defun(af.float32)
    def silent(x: Any) -> None:
        total.assign_add(x)

    first, second = add(3.0), silent(5.0)
    assert isinstance(second, af.Operation)
    ready = af.global_variables_initializer()
    with blocking.Session(graph=af.get_default_graph()) as session:
        session.run(ready)
        assert session.run(first) == 6 and session.run(total) == 3
        session.run(second)
        assert session.run(total) == 8


def test_a_call_waits_for_control_dependencies() -> None:
    total = af.Variable(1.0)

    @af.Defun()
    def read() -> Any:
        return total.read_value() * 1

    with af.control_dependencies([total.assign_add(10.0)]):
        after = read()
    with af.control_dependencies([after.op]):
        last = total.assign_add(100.0)
    assert values([after, last]) == [11, 111]


def test_inputs_wait_for_control_dependencies() -> None:
    total = af.Variable(1.0)

    @af.Defun(af.float32)
    def add(x: Any) -> Any:
        return total.assign_add(x)

    with af.control_dependencies([total.assign(10.0)]):
        after = add(1.0)
    assert values(after) == 11


@pytest.mark.parametrize("coalesce", [True, False])
def test_a_body_goes_where_the_call_is(coalesce: bool) -> None:
    @af.Defun(af.float32)
    def more(x: Any) -> Any:
        return af.sin(x) + 1

    x = af.placeholder(af.float32, [])
    made = []
    for number in range(2):
        with af.device(f"/device:CPU:{number}"):
            made.append(more(x))
    with blocking.Session(
        graph=af.get_default_graph(), devices={"CPU": 2}, options=af.PlanOptions(coalesce=coalesce)
    ) as session:
        trace = af.Trace()
        one, two = session.run(made, {x: 1}, trace=trace)
    assert one == two
    nodes, _ = inline(af.get_default_graph().nodes)
    assert {n.device for n in nodes.values() if n.op == "Sin" and "Called" in type(n.where).__name__} == {
        "/device:CPU:0",
        "/device:CPU:1",
    }


def test_the_canonical_form_of_a_plan(graph: Graph) -> None:
    @af.Defun(af.float32)
    def more(x: Any) -> Any:
        return af.sin(x) + 1.0

    y = more(more(af.placeholder(af.float32, [], name="x"), name="first"), name="second")
    af.identity(y, name="out")
    made, fetches = inline(graph.nodes, (y.tensor_id,))
    assert fetches == (TensorId("second/add", 0),)
    names = ["first/Sin", "first/add", "second/Sin", "second/add", "first", "second", "out"]
    assert [str(made[name]) for name in names] == [
        "first/Sin = Sin(x)",
        "first/add = Add(first/Sin, more/add/y)",
        "second/Sin = Sin(first/add)",
        "second/add = Add(second/Sin, more/add/y)",
        "first = IdentityN(first/add)",
        "second = IdentityN(second/add)",
        "out = Identity(second/add)",
    ]


def test_shapes_of_a_call_are_those_of_its_arguments() -> None:
    @af.Defun(af.float32, af.float32)
    def product(x: Any, y: Any) -> Any:
        return af.matmul(x, y), af.reduce_sum(x, 0)

    for rows in (2, 5):
        z, total = product(af.ones([rows, 3]), af.ones([3, 7]))
        assert z.shape.as_list() == [rows, 7] and total.shape.as_list() == [3]
    unknown, _ = product(af.placeholder(af.float32, [None, 3]), af.ones([3, 7]))
    assert unknown.shape.as_list() == [None, 7]


def test_a_function_is_traced_once_for_a_graph(graph: Graph) -> None:
    calls = []

    @af.Defun(af.float32)
    def more(x: Any) -> Any:
        calls.append(af.get_default_graph())
        return x + 1

    more(1.0)
    more(2.0)
    assert calls == [graph]
    with af.Graph().as_default() as other:
        more(3.0)
    assert calls == [graph, other]


def test_types_may_be_decided_by_calls() -> None:
    @af.Defun()
    def double(x: Any) -> Any:
        return x + x

    found = values([double(2.0), double(3), double([1.5])])
    assert [f.dtype for f in found] == [np.float32, np.int32, np.float32]
    assert len({key for key in table(af.get_default_graph()) if isinstance(key, str)}) == 2


def test_functions_of_one_name_and_a_given_name(graph: Graph) -> None:
    names = []
    for _ in range(2):

        @af.Defun(af.float32, func_name="mine")
        def more(x: Any) -> Any:
            return x + 1

        assert more.name == "mine" and more.declared_input_types == [af.float32]
        names.append(more(1.0).op.attrs["function"])
    assert names[0] == "mine" and names[1].startswith("mine_")


def test_names_that_nodes_can_not_have() -> None:
    private = af.Defun(af.float32)(lambda _x: _x * 2)
    assert private.name == "lambda"
    assert values(private(2.0)) == 4
    assert values(af.Defun(af.float32, func_name="_a b")(lambda x: x)(3.0)) == 3


def test_captured_inputs(graph: Graph) -> None:
    weigh, _ = weighted()
    assert weigh.captured_inputs(graph) == []
    weigh([1.0, 1.0], [1.0, 1.0])
    assert [t.op.type for t in weigh.captured_inputs(graph)] == ["ReadVariableOp"]


# ---- mistakes


def more(x: Any) -> Any:
    return x + 1


@pytest.mark.parametrize(
    ("error", "match", "build"),
    [
        (ValueError, "callable", lambda: af.Defun(af.float32)(3)),  # type: ignore[arg-type]
        (ValueError, "defaults", lambda: af.Defun(af.float32)(lambda x=1: x)),
        (ValueError, "1 arguments, but 2 types", lambda: af.Defun(af.float32, af.float32)(more)),
        (ValueError, "twice", lambda: af.Defun(grad_func=af.Defun()(more), python_grad_func=more)),
        (ValueError, "1 arguments, but 2 were", lambda: af.Defun(af.float32)(more)(1.0, 2.0)),
        (TypeError, "is float32.*int32", lambda: af.Defun(af.float32)(more)(af.constant(1))),
        (ValueError, r"shape \(2,\)", lambda: af.Defun((af.float32, [2]))(more)(af.zeros([3]))),
        (ValueError, "None among", lambda: af.Defun(af.float32)(lambda x: (x, None))(1.0)),
        (TypeError, "known by its calls", lambda: af.Defun()(more).add_to_graph(af.Graph())),
    ],
)
def test_bad_input(error: type[Exception], match: str, build: Callable[[], Any]) -> None:
    with pytest.raises(error, match=match):
        build()


def test_recursion_is_refused(graph: Graph) -> None:
    @af.Defun(af.float32)
    def endless(x: Any) -> Any:
        return endless(x) + 1

    with pytest.raises(ValueError, match="endless calls itself"):
        endless(1.0)

    @af.Defun(af.float32)
    def ping(x: Any) -> Any:
        return pong(x)

    @af.Defun(af.float32)
    def pong(x: Any) -> Any:
        return ping(x)

    with pytest.raises(ValueError, match="ping calls itself"):
        ping(1.0)


def test_shapes_that_do_not_fit_name_the_body_and_the_call() -> None:
    @af.Defun(af.float32)
    def square(x: Any) -> Any:
        return af.matmul(x, x)  # the body

    with pytest.raises(ValueError, match="the body") as caught:
        square(af.ones([2, 3]))
    assert f"in a call of square at {__file__}" in caught.value.__notes__[0]


def test_errors_of_a_run_name_the_body_and_the_call() -> None:
    @af.Defun(af.float32)
    def check(x: Any) -> Any:
        return af.check_numerics(x, "no number")  # the body

    y = check(af.placeholder_with_default(np.float32("nan"), []), name="outer")
    with pytest.raises(af.errors.InvalidArgumentError, match="no number") as caught:
        values(y)
    text = str(caught.value)
    assert "node outer/CheckNumerics" in text and "# the body" in text
    assert f", called at {__file__}" in text


def test_the_body_has_no_values_of_its_own(graph: Graph) -> None:
    f = af.Defun(af.float32)(more)
    f(1.0)
    inside = next(op for op in graph.get_operations() if op.type == "Add" and op.name.startswith("more/"))
    with pytest.raises(af.errors.InvalidArgumentError, match="function more"):
        values(inside.outputs[0])
    with pytest.raises(ValueError, match="inside of the function more"):
        inside.outputs[0] + 1


def test_a_function_can_not_wait_for_what_is_outside() -> None:
    before = af.no_op()

    @af.Defun(af.float32)
    def waiting(x: Any) -> Any:
        with af.control_dependencies([before]):
            return af.identity(x)

    with pytest.raises(ValueError, match="outside of the function waiting"):
        waiting(1.0)


def test_a_gradient_that_would_draw_again_is_refused() -> None:
    @af.Defun(af.float32)
    def noisy(x: Any) -> Any:
        return x * af.random_uniform([])

    start = af.placeholder(af.float32, [])
    y = while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, noisy(v)), (0, start))[1]
    with pytest.raises(NotImplementedError, match="another result"):
        af.gradients(y, start)


def test_kernels_say_that_bodies_do_not_run() -> None:
    plugins.load_kernels()
    from actorflow.kernels.flow.control import inside

    with pytest.raises(af.errors.InvalidArgumentError, match="body of the function f"):
        inside(np, function="f")
