"""Graphs: tensors and their types, names and scopes, what a node remembers, serialisation, the race lint."""

from __future__ import annotations

import asyncio
import gc
import inspect
import math
import re
import warnings
import zlib
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from probes import Probe, log, probe, target, two

import actorflow as af
from actorflow.base import dtypes
from actorflow.base.shapes import Shape
from actorflow.errors import Where
from actorflow.graph import default_graph, elements
from actorflow.graph.codec import FORMAT, decode_nodes, encode_nodes
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.node import Node, TensorId

__all__ = ["probe"]


@pytest.fixture
def graph() -> Any:
    """A fresh graph that is the default one in the test."""
    made = af.Graph()
    with made.as_default():
        yield made


def here(offset: int = 0) -> Where:
    """The caller's line."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return Where(frame.f_back.f_code.co_filename, frame.f_back.f_lineno + offset)


def controls(element: Any) -> list[str]:
    op = element if isinstance(element, af.Operation) else element.op
    return [c.name for c in op.control_inputs]


# ---- nodes, tensors, types


async def test_f01_nothing_runs_before_the_first_run(graph: af.Graph, probe: Probe) -> None:
    a = log(af.constant(2.0), tag="a")
    b = log(af.constant(3.0), tag="b")
    c = log(a * b, tag="c")
    assert not probe.ran
    async with af.Session(graph=graph) as session:
        assert not probe.ran
        assert await session.run(c) == 6.0
    assert probe.ran == {"a": 1, "b": 1, "c": 1}


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (2, 3), (1, 2, 1, 2, 1, 2, 1, 2)])
async def test_f02_any_rank_and_size(graph: af.Graph, shape: tuple[int, ...]) -> None:
    value = np.arange(math.prod(shape), dtype=np.float64).reshape(shape)
    tensor = af.constant(value)
    assert (tensor.dtype, tensor.static_shape) == (af.float64, shape)
    assert tensor.shape.as_list() == list(shape) and tensor.get_shape().ndims == len(shape)
    async with af.Session(graph=graph) as session:
        found = await session.run(tensor + tensor)
    assert found.shape == shape and found.dtype == np.float64
    np.testing.assert_array_equal(found, 2 * value)


def test_f02_types_and_shapes_are_known_before_a_run(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [None, 3])
    y = af.matmul(x, af.ones([3, 5]))
    assert (y.dtype, y.static_shape) == (af.float32, (None, 5))
    assert af.placeholder(af.int8).static_shape is None
    assert (af.constant(1).dtype, af.constant(1.0).dtype, af.constant(True).dtype) == (af.int32, af.float32, af.bool)
    assert (af.constant(1j).dtype, af.constant(b"x").dtype) == (af.complex128, af.string)
    assert af.cast(x, af.complex64).dtype is af.complex64
    assert af.equal(x, x).dtype is af.bool


def test_f02_types_that_differ_raise_where_they_meet(graph: af.Graph) -> None:
    i, f = af.constant(1), af.constant(1.0)
    with pytest.raises(TypeError, match="int32") as caught:
        i + f
    assert str(here(-1)) in str(caught.value) and "float32" in str(caught.value)
    assert len(graph) == 2


VALUES: dict[str, list[Any]] = {
    "int": [0, 1, -1],
    "uint": [0, 1, 2],
    "float": [0.0, -0.0, 1.5, np.inf, -np.inf, np.nan],
    "complex": [0.0, 1 - 2j, complex(np.nan, np.inf)],
    "bool": [True, False],
}


def example(dtype: Any, rank: int = 1) -> Any:
    """Values of an element type with its extremes, of rank 0, 1 or 2, or with no element (rank -1)."""
    if dtype is af.string:
        items = [b"", b"\x00\xff", b"\x00" * 3, bytes(range(256)), "grüße".encode(), b"x" * 70_000]
        array = np.empty(len(items), object)
        array[:] = items
    else:
        kind = next(k for k in VALUES if dtype.name.removeprefix("b").startswith(k) or dtype.name.startswith(k))
        values = list(VALUES[kind])
        if dtype.is_integer:
            values = [v for v in (*values, dtype.min, dtype.max) if dtype.min <= v <= dtype.max]
        array = np.array(values, dtype.numpy_dtype)
    return {0: array[1:2].reshape(()), 1: array, 2: array[:2].reshape(2, 1), -1: array[:0].reshape(0, 3)}[rank]


def same_bits(a: Any, b: Any) -> bool:
    a, b = (np.array(v, object) if isinstance(v, bytes) else np.asarray(v) for v in (a, b))
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return list(a.flat) == list(b.flat) if a.dtype.hasobject else a.tobytes() == b.tobytes()


@pytest.mark.parametrize("rank", [0, 1, 2, -1])
@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
async def test_f03_each_type_comes_back_bit_for_bit(graph: af.Graph, dtype: Any, rank: int) -> None:
    """As a constant, fed, stored in a variable, and over a Send and a Recv to another device."""
    value = example(dtype, rank)
    constant = af.constant(value)
    assert constant.dtype is dtype and constant.static_shape == value.shape
    fed = af.placeholder(dtype)
    variable = af.Variable(constant)
    with af.device("/device:CPU:1"):
        far = [af.identity(constant), af.identity(fed), af.identity(variable)]
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        await session.run(variable.initializer)
        for found in await session.run([constant, fed, variable, *far], {fed: value}):
            assert same_bits(value, found), f"{found!r} is not {value!r}"
            assert isinstance(found, (np.ndarray, np.generic, bytes))
            assert not isinstance(found, np.ndarray) or not found.flags.writeable


async def test_f03_strings_of_any_length(graph: af.Graph) -> None:
    x = af.placeholder(af.string)
    async with af.Session(graph=graph) as session:
        assert await session.run(x, {x: b"\x00\xff"}) == b"\x00\xff"
        assert await session.run(x, {x: ""}) == b""
        assert (await session.run(x, {x: [["a", b"b\x00"]]})).tolist() == [[b"a", b"b\x00"]]


# ---- names


def test_f05_names(graph: af.Graph) -> None:
    first = af.constant(42.0, name="answer")
    assert (first.op.name, first.name) == ("answer", "answer:0")
    assert graph.get_tensor_by_name("answer:0") is first and graph.get_operation_by_name("answer") is first.op
    names = [af.constant(1.0, name=name).op.name for name in ("answer", "answer", "answer_1", "Answer", "answer_3")]
    assert names == ["answer_1", "answer_2", "answer_1_1", "Answer_3", "answer_3_1"]
    assert [t.name for t in two(first, tag="", name="both")] == ["both:0", "both:1"]
    assert str(graph.nodes["both"]) == "both = TestTwo(answer)"


def test_f05_names_without_a_name(graph: af.Graph) -> None:
    assert [af.no_op().name, af.no_op().name, (af.constant(1) + af.constant(2)).op.name] == ["NoOp", "NoOp_1", "add"]


@pytest.mark.parametrize("name", ["_x", "-x", "/x", "a b", "é", "a:0", "^a", "x\n"])
def test_f05_bad_names(graph: af.Graph, name: str) -> None:
    with pytest.raises(ValueError, match="no name for a node"):
        af.constant(1, name=name)
    assert len(graph) == 0


def test_unique_name_can_only_look(graph: af.Graph) -> None:
    assert graph.unique_name("x", mark_as_used=False) == "x"
    assert [graph.unique_name("x"), graph.unique_name("x"), graph.unique_name("x_1")] == ["x", "x_1", "x_1_1"]
    with af.name_scope("s"):
        assert graph.unique_name("x") == "s/x"


def test_name_scopes(graph: af.Graph) -> None:
    with af.name_scope("s") as outer:
        assert (outer, af.no_op(name="x").name) == ("s/", "s/x")
        with af.name_scope("t") as inner:
            assert (inner, af.no_op(name="x").name) == ("s/t/", "s/t/x")
        with af.name_scope("t") as again:
            assert (again, af.no_op(name="x").name) == ("s/t_1/", "s/t_1/x")
        with af.name_scope(inner):
            assert af.no_op(name="x").name == "s/t/x_1"
        for root in (None, ""):
            with af.name_scope(root) as full:
                assert full == "" and graph.get_name_scope() == ""
                assert af.no_op(name="r").name in ("r", "r_1")
        assert graph.get_name_scope() == "s"
    with af.name_scope("s"):
        assert graph.get_name_scope() == "s_1"
    with af.name_scope(None, "standing"):
        assert af.no_op(name="x").name == "standing/x"
    assert af.no_op(name="s/x").name == "s/x_1"
    assert af.no_op(name="s_1").name == "s_1_1"


@pytest.mark.parametrize(("name", "inside"), [("_x", True), ("-x", True), ("a b", False), ("é", False)])
def test_names_of_scopes(graph: af.Graph, name: str, inside: bool) -> None:
    with pytest.raises(ValueError, match="is not a valid scope name"):
        with af.name_scope(name):
            pass
    with af.name_scope("outer"):
        if inside:
            with af.name_scope(name):
                assert af.no_op(name="y").name == f"outer/{name}/y"
        else:
            with pytest.raises(ValueError, match="is not a valid scope name"):
                with af.name_scope(name):
                    pass
    assert graph.get_name_scope() == ""


def test_an_absolute_name_is_taken_once(graph: af.Graph) -> None:
    assert af.no_op(name="a/b/").name == "a/b"
    with pytest.raises(ValueError, match="has a node 'a/b' already"):
        af.no_op(name="a/b/")


def test_looking_names_up(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, name="images")
    both = two(x, tag="", name="both")
    line = here(-1)
    assert graph.as_graph_element("images:0") is x and graph.as_graph_element("images") is x.op
    assert graph.as_graph_element(x) is x and graph.as_graph_element(both[1]) is both[1]
    with pytest.raises(KeyError, match="Similar names: images") as caught:
        graph.get_operation_by_name("image")
    assert str(caught.value).startswith("The graph has no operation 'image'.")  # not the repr of it
    with pytest.raises(KeyError, match="both:0, both:1") as caught:
        graph.get_tensor_by_name("both:2")
    assert str(line) in str(caught.value)
    with pytest.raises(ValueError, match="such as 'images:0'"):
        graph.get_tensor_by_name("images")
    with pytest.raises(TypeError, match="of type int"):
        graph.as_graph_element(3)
    with af.Graph().as_default():
        other = af.constant(1.0)
    with pytest.raises(ValueError, match="another graph") as caught_value:
        graph.as_graph_element(other)
    assert str(other.where) in str(caught_value.value)


# ---- operators and attributes

OPERATORS: dict[str, tuple[Callable[[Any, Any], Any], str, Any]] = {
    "+": (lambda a, b: a + b, "Add", 7.5),
    "-": (lambda a, b: a - b, "Sub", -1.5),
    "*": (lambda a, b: a * b, "Mul", 13.5),
    "/": (lambda a, b: a / b, "RealDiv", np.float32(3 / 4.5)),
    "//": (lambda a, b: a // b, "FloorDiv", 0.0),
    "%": (lambda a, b: a % b, "FloorMod", 3.0),
    "**": (lambda a, b: a**b, "Pow", np.float32(3**4.5)),
    "<": (lambda a, b: a < b, "Less", True),
    "<=": (lambda a, b: a <= b, "LessEqual", True),
    ">": (lambda a, b: a > b, "Greater", False),
    ">=": (lambda a, b: a >= b, "GreaterEqual", False),
    "-x": (lambda a, b: -a, "Neg", -3.0),
    "abs": (lambda a, b: abs(a), "Abs", 3.0),
    "1+": (lambda a, b: 1 + a, "Add", 4.0),
    "1-": (lambda a, b: 1 - a, "Sub", -2.0),
    "2*": (lambda a, b: 2 * a, "Mul", 6.0),
    "1/": (lambda a, b: 1 / a, "RealDiv", np.float32(1 / 3)),
    "7//": (lambda a, b: 7 // a, "FloorDiv", 2.0),
    "7%": (lambda a, b: 7 % a, "FloorMod", 1.0),
    "2**": (lambda a, b: 2**a, "Pow", 8.0),
    "numpy+": (lambda a, b: np.float32(1) + a, "Add", 4.0),
    "array*": (lambda a, b: np.float32([1, 2]) * a, "Mul", [3.0, 6.0]),
}


@pytest.mark.parametrize("name", OPERATORS)
async def test_f06_operators_build_nodes(graph: af.Graph, name: str) -> None:
    function, op_type, expected = OPERATORS[name]
    a, b = af.placeholder(af.float32), af.placeholder(af.float32)
    result = function(a, b)
    assert (type(result), result.op.type) == (af.Tensor, op_type)
    async with af.Session(graph=graph) as session:
        found = await session.run(result, {a: 3, b: 4.5})
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert np.shape(found) == np.shape(expected)


async def test_f06_logical_operators_and_matmul(graph: af.Graph) -> None:
    p, q = af.constant([True, True, False]), af.constant([True, False, False])
    results = [p & q, p | q, p ^ q, ~p, True & q]
    assert [r.dtype for r in results] == [af.bool] * 5
    m = af.constant([[1.0, 2.0], [3.0, 4.0]])
    async with af.Session(graph=graph) as session:
        found = await session.run(results)
        product = await session.run(m @ m)
    expected = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    np.testing.assert_array_equal(found, np.array(expected, bool))
    np.testing.assert_array_equal(product, [[7, 10], [15, 22]])


def test_f06_equality_is_identity(graph: af.Graph) -> None:
    a, b = af.constant(1), af.constant(1)
    assert a == a and a != b and len({a, b, a}) == 2
    assert hash(graph.get_tensor_by_name(a.name)) == hash(a)


def test_tensors_are_not_python_values(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [2], name="x")
    with pytest.raises(TypeError, match=r"x:0 has no truth value.*af.cond"):
        bool(x)
    with pytest.raises(TypeError, match=r"x:0 has no len.*af.shape"):
        len(x)
    with pytest.raises(TypeError, match=r"x:0 is symbolic.*session.run"):
        np.asarray(x)
    with pytest.raises(TypeError, match=r"x_1:0 can't be iterated over.*af.map_fn"):
        0.5 in af.placeholder(af.float32, [None], name="x")  # noqa: B015
    assert [t.static_shape for t in x] == [(), ()]
    with pytest.raises(TypeError, match="first dimension is not known"):
        iter(af.placeholder(af.float32))
    assert repr(x) == "<actorflow.Tensor 'x:0' shape=(2,) dtype=float32>"


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "int": int,
    "complex": complex,
    "round": round,
    "digits": lambda x: round(x, 2),
    "floor": math.floor,
    "range": range,
    "index": lambda x: [1, 2][x],
    "sqrt": math.sqrt,
    "format": "{:.2f}".format,
}


@pytest.mark.parametrize("ask", NUMBERS.values(), ids=list(NUMBERS))
@pytest.mark.parametrize("kind", ["tensor", "variable"])
def test_numbers_of_python_are_refused_by_name(graph: af.Graph, ask: Callable[[Any], Any], kind: str) -> None:
    x = af.placeholder(af.int32, [], name="x") if kind == "tensor" else af.Variable(1, name="x")
    with pytest.raises(TypeError, match=rf"The {kind} x\S* has no number for .*session.run\("):
        ask(x)


@pytest.mark.parametrize("dtype", [af.int32, af.float64, af.complex64], ids=str)
async def test_f08_one_op_for_many_types(graph: af.Graph, dtype: Any) -> None:
    x = af.constant(np.array([1, 2, 3], dtype.numpy_dtype))
    total = af.add_n([x, x * x, x])
    assert total.op.type == "AddN" and total.dtype is dtype and len(total.op.inputs) == 3
    async with af.Session(graph=graph) as session:
        found = await session.run(total)
    assert found.dtype == dtype.numpy_dtype
    np.testing.assert_array_equal(found, [3, 8, 15])


def test_f08_a_wrong_type_is_rejected_as_the_graph_is_built(graph: af.Graph) -> None:
    words = af.constant([b"a"])
    with pytest.raises(TypeError, match=r"string, but it takes: .*float32"):
        af.add_n([words, words])
    with pytest.raises(TypeError, match="has type float64, but the other inputs have int32"):
        af.add_n([af.constant(1), af.constant(1.0, af.float64)])
    with pytest.raises(TypeError, match=r"float32.*but it takes: .*bool"):
        af.logical_and(af.constant(1.0), True)


def test_f08_attributes(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [2, 3])
    stacked = af.stack([x, x, x], axis=1)
    assert stacked.op.get_attr("axis") == 1 and stacked.static_shape == (2, 3, 3)
    with pytest.raises(ValueError, match=r"stack \(Pack\) has no attribute 'axes'; it has: \['N', 'axis'\]"):
        stacked.op.get_attr("axes")
    with pytest.raises(TypeError):
        stacked.op.attrs["axis"] = 2  # type: ignore[index]


# ---- sources


async def test_f12_a_constant_holds_its_value(graph: af.Graph) -> None:
    source = np.array([1.0, 2.0])
    x = af.constant(source)
    source[:] = 0
    assert x.op.type == "Const" and x.op.inputs == ()
    async with af.Session(graph=graph) as session:
        first, second = await session.run(x), await session.run(x)
        with pytest.raises(ValueError):
            first[0] = 5
        assert first.tolist() == second.tolist() == (await session.run(x)).tolist() == [1.0, 2.0]


def test_f12_constants_of_a_shape(graph: af.Graph) -> None:
    assert af.constant(7, shape=[2, 3]).static_shape == (2, 3)
    assert graph.nodes["Const"].attrs["value"].tolist() == [[7, 7, 7], [7, 7, 7]]
    assert af.constant([1, 2, 3, 4], shape=[2, 2]).static_shape == (2, 2)
    with pytest.raises(ValueError, match=r"Too many elements provided. Needed at most 2, but received 3"):
        af.constant([1, 2, 3], shape=[2])


async def test_f13_a_placeholder_takes_any_shape_that_fits(graph: af.Graph) -> None:
    a, b = af.placeholder(af.float32), af.placeholder(af.float32)
    adder = a + b
    async with af.Session(graph=graph) as session:
        assert await session.run(adder, {a: 3, b: 4.5}) == 7.5
        assert (await session.run(adder, {a: [1, 3], b: [2, 4]})).tolist() == [3.0, 7.0]
        with pytest.raises(af.errors.InvalidArgumentError, match="does not feed it"):
            await session.run(adder, {a: 3})
        assert await session.run(adder, {a: 3, b: 4.5}) == 7.5


async def test_f24_what_is_not_fetched_is_not_run(graph: af.Graph, probe: Probe) -> None:
    effect = target(tag="effect")
    log(af.constant(1.0), tag="other")
    wanted = log(af.constant(2.0), tag="wanted")
    async with af.Session(graph=graph) as session:
        await session.run(wanted)
        await session.run([])
        assert probe.ran == {"wanted": 1}
        assert await session.run(effect) is None
        assert probe.ran == {"wanted": 1, "effect": 1}


# ---- control dependencies, devices, colocation, containers


def test_control_dependencies_nest_as_a_union(graph: af.Graph) -> None:
    a, b = af.constant(1.0, name="a"), af.constant(2.0, name="b")
    with af.control_dependencies([a, b.op]):
        assert controls(af.no_op()) == ["a", "b"]
        with af.control_dependencies([b, a]):
            assert controls(af.no_op()) == ["a", "b"]
        with af.control_dependencies([]):
            assert controls(af.no_op()) == ["a", "b"]
    assert controls(af.no_op()) == []


def test_control_dependencies_none_forgets_the_outer_ones(graph: af.Graph) -> None:
    a, b = af.constant(1.0, name="a"), af.constant(2.0, name="b")
    with af.control_dependencies([a]):
        with af.control_dependencies(None):
            assert controls(af.no_op()) == []
            with af.control_dependencies([b]):
                assert controls(af.no_op()) == ["b"]
        assert controls(af.no_op()) == ["a"]


def test_control_dependencies_leave_out_what_is_ordered_already(graph: af.Graph) -> None:
    a, b = af.constant(1.0, name="a"), af.constant(2.0, name="b")
    before = af.identity(a, name="before")
    with af.control_dependencies([a]):
        x = af.identity(a, name="x")  # its data input is a
        assert controls(x) == []
        y = af.identity(b, name="y")
        assert controls(y) == ["a"]
        assert controls(af.identity(y)) == []  # y was made inside, and waits for a
        assert controls(af.identity(before)) == ["a"]
        with af.control_dependencies([b]):
            assert controls(af.identity(y)) == ["b"]


def test_control_dependencies_touch_only_new_nodes(graph: af.Graph) -> None:
    a, x = af.constant(1.0, name="a"), af.no_op(name="x")
    with af.control_dependencies([a]):
        pass
    assert controls(x) == []
    before = graph.version
    x._add_control_input(a.op)
    x._add_control_input(a.op)
    assert controls(x) == ["a"] and graph.version == before + 1
    with af.Graph().as_default():
        far = af.no_op()
    with pytest.raises(ValueError, match="different graphs"):
        x.add_control_input(far)
    with pytest.raises(ValueError, match="another graph"):
        with af.control_dependencies([far]):
            pass


async def test_f14_a_control_edge_orders(graph: af.Graph, probe: Probe) -> None:
    first = target(tag="first", name="z")
    with af.control_dependencies([first]):
        second = target(tag="second", name="a")
    with af.control_dependencies([second]):
        third = log(af.constant(1.0), tag="third")
    async with af.Session(graph=graph) as session:
        for _ in range(20):
            probe.order.clear()
            await session.run(third)
            assert probe.order == ["first", "second", "third"]


def test_device_scopes(graph: af.Graph) -> None:
    assert af.no_op().device == ""
    with af.device("/job:ps"):
        assert af.no_op().device == "/job:ps"
        with af.device("/cpu:1"):
            assert af.no_op().device == "/job:ps/device:CPU:1"
            with af.device("/job:worker/task:2/gpu:*"):
                assert af.no_op().device == "/job:worker/task:2/device:GPU:*"
        with af.device(None):
            assert af.no_op().device == ""
            with af.device("/device:SIM:0"):
                assert af.no_op().device == "/device:SIM:0"
        with af.device(DeviceSpec(kind="GPU")):
            assert af.no_op().device == "/job:ps/device:GPU:*"
        with af.device(""):
            assert af.no_op().device == "/job:ps"


def test_device_functions(graph: af.Graph) -> None:
    seen = []

    def choose(op: af.Operation) -> str | None:
        seen.append(op.type)
        return "/device:CPU:1" if op.type == "Const" else None

    with af.device("/job:w"), af.device(choose):
        assert af.constant(1).device == "/job:w/device:CPU:1"
        assert af.no_op().device == "/job:w"
        with af.device("/cpu:0"):
            assert af.constant(1).device == "/job:w/device:CPU:0"
    assert seen == ["Const", "NoOp", "Const"]


@pytest.mark.parametrize(("bad", "error"), [("cpu:0", ValueError), ("/job", ValueError), (3, TypeError)])
def test_bad_devices(graph: af.Graph, bad: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        with af.device(bad):
            pass


def test_colocate_with(graph: af.Graph) -> None:
    with af.device("/cpu:1"):
        x = af.constant(1.0, name="x")
        variable = af.Variable(1.0, name="v")
    y = af.constant(1.0, name="y")
    with af.device("/cpu:0"), af.colocate_with(x):
        z = af.no_op(name="z")
        assert (z.device, z.node.colocate) == ("/device:CPU:1", ("x",))
        with af.colocate_with(y):
            assert af.no_op().node.colocate == ("y", "x")
        with af.colocate_with(y, ignore_existing=True):
            assert af.no_op().node.colocate == ("y",)
    assert z.colocation_groups() == ["loc:@x"] and x.op.colocation_groups() == ["loc:@x"]
    with af.colocate_with(variable):
        assert af.no_op().node.colocate == ("v",)  # the variable, not a copy of its value


async def test_f45_colocated_nodes_share_a_device(graph: af.Graph) -> None:
    with af.device("/cpu:1"):
        x = af.constant(1.0)
    with af.colocate_with(x):
        y = af.constant(2.0) * 3.0
    z = af.constant(4.0)
    async with af.Session(graph=graph, devices={"CPU": 2}) as session:
        assert await session.run([x, y, z]) == [1.0, 6.0, 4.0]
        assert session.placement(y) == session.placement(x) != session.placement(z)


def test_containers(graph: af.Graph) -> None:
    with af.container("outer") as name:
        assert name == "outer"
        with af.container("inner"):
            assert af.Variable(1.0).op.get_attr("container") == "inner"
        assert af.Variable(1.0).op.get_attr("container") == "outer"
    assert af.Variable(1.0).op.get_attr("container") == ""


def test_collections(graph: af.Graph) -> None:
    a, b = af.constant(1.0, name="tower_0/a"), af.constant(1.0, name="tower_1/b")
    for value in (a, b, 3):
        graph.add_to_collection("losses", value)
    assert graph.get_collection("losses") == [a, b, 3]
    assert graph.get_collection("losses", scope="tower_1") == [b]
    assert graph.get_collection("nothing") == []
    graph.get_collection("losses").append(4)  # a copy
    graph.get_collection_ref("losses").append(5)
    assert graph.get_collection("losses")[2:] == [3, 5]


def test_the_default_graph(graph: af.Graph) -> None:
    assert af.get_default_graph() is graph
    other = af.Graph()
    with other.as_default() as entered:
        assert entered is other and af.get_default_graph() is other
        with graph.as_default():
            assert af.constant(1).graph is graph
        with pytest.raises(RuntimeError, match="can't be called inside"):
            af.reset_default_graph()
    assert af.get_default_graph() is graph


def test_reset_default_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(default_graph, "_process_default", af.Graph())
    af.constant(1)
    before = af.get_default_graph()
    assert len(before) == 1
    af.reset_default_graph()
    assert af.get_default_graph() is not before and len(af.get_default_graph()) == 0


async def test_scopes_of_interleaved_coroutines_stay_apart(seed: int) -> None:
    """Coroutines that build side by side, switching at random places, see only their own scopes."""
    shared = af.Graph()
    rng = np.random.default_rng(seed)

    async def breathe() -> None:
        for _ in range(int(rng.integers(3))):
            await asyncio.sleep(0)

    async def build(index: int) -> None:
        graph = shared if index % 2 else af.Graph()
        with graph.as_default():
            await breathe()
            gate = af.no_op(name=f"gate{index}")
            with af.name_scope(f"s{index}"), af.device(f"/cpu:{index}"), af.container(f"c{index}"):
                await breathe()
                with af.control_dependencies([gate]):
                    await breathe()
                    x = af.constant(float(index), name="x")
                    await breathe()
                    with af.variable_scope(f"v{index}"):
                        await breathe()
                        v = af.get_variable("w", initializer=0.0)
                await breathe()
                y = af.no_op(name="y")
                assert af.get_default_graph() is graph and graph.get_name_scope() == f"s{index}"
            await breathe()
            assert graph.get_name_scope() == "" and af.no_op().device == ""
        assert (x.op.name, x.device, controls(x)) == (f"s{index}/x", f"/device:CPU:{index}", [gate.name])
        assert (y.name, controls(y)) == (f"s{index}/y", [])
        assert (v.op.name, v.op.get_attr("container"), v.graph) == (f"v{index}/w", f"c{index}", graph)

    async with asyncio.TaskGroup() as tasks:
        for index in range(20):
            tasks.create_task(build(index))


async def test_a_task_takes_the_scopes_of_its_birth(graph: af.Graph) -> None:
    async def name() -> str:
        return af.no_op(name="x").name

    with af.name_scope("s"):
        task = asyncio.create_task(name())
    assert await task == "s/x"
    assert await name() == "x"


def test_scopes_end_with_their_graph() -> None:
    """A graph that takes the place of another in memory does not take its scopes too."""
    seen = set()
    for i in range(15):
        graph = af.Graph()
        context = graph.name_scope(f"s{i}")
        context.__enter__()
        seen.add(id(graph))
        del graph, context  # never left
        gc.collect()
        with af.Graph().as_default():
            assert af.no_op(name="x").name == "x"


def test_a_scope_ends_when_its_block_raises(graph: af.Graph) -> None:
    a = af.constant(1)
    with pytest.raises(ZeroDivisionError):
        with af.name_scope("s"), af.device("/cpu:0"), af.control_dependencies([a]), af.colocate_with(a):
            raise ZeroDivisionError
    node = af.no_op(name="x").node
    assert (node.name, node.device, node.controls, node.colocate) == ("x", "", (), ())


# ---- growth


def test_f21_a_graph_only_grows(graph: af.Graph) -> None:
    versions = [graph.version]
    x = af.placeholder(af.float32, [None, None], name="x")
    versions.append(graph.version)
    x.set_shape([2, None])
    versions.append(graph.version)
    x.set_shape([None, None])  # nothing new
    assert graph.version == versions[-1]
    x.set_shape([2, 3])
    versions.append(graph.version)
    assert versions == sorted(set(versions)) and x.static_shape == (2, 3)
    with pytest.raises(ValueError, match=r"\(2, 3\) and \(4, 3\) are not compatible") as caught:
        x.set_shape([4, 3])
    assert "node x (Placeholder)" in str(caught.value) and "x = af.placeholder" in str(caught.value)
    with pytest.raises(ValueError):
        x.set_shape([2, 3, 1])
    with pytest.raises(TypeError):
        graph.nodes["y"] = graph.nodes["x"]  # type: ignore[index]


def test_finalize(graph: af.Graph) -> None:
    x = af.placeholder(af.float32)
    graph.finalize()
    assert graph.finalized
    for change in (
        lambda: af.constant(1),
        lambda: x.op.add_control_input(x.op),
        lambda: graph.extend_from_bytes(af.Graph().to_bytes()),
        lambda: graph.add_node(Node("n", "NoOp")),
    ):
        with pytest.raises(RuntimeError, match="finalized"):
            change()
    assert len(graph) == 1


async def test_a_finalized_graph_runs(graph: af.Graph) -> None:
    x = af.Variable(2.0)
    init, y = af.global_variables_initializer(), x * 3.0
    graph.finalize()
    async with af.Session(graph=graph) as session:
        await session.run(init)
        assert await session.run(y) == 6.0


async def test_growth_after_the_first_run_warns_once(graph: af.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "_GROWTH_WARNING", 5)
    x = af.constant(1.0)
    for _ in range(20):
        af.identity(x)  # before the first run: no warning
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        async with af.Session(graph=graph) as session:
            await session.run(x)
            for _ in range(20):
                af.identity(x)
                line = here(-1)
            for _ in range(4):
                af.identity(x)
    assert [w.category for w in caught] == [af.GraphGrowthWarning]
    text = str(caught[0].message)
    assert str(line) in text and "5 nodes" in text and "finalize" in text
    assert caught[0].filename == __file__


def test_nodes_by_line(graph: af.Graph) -> None:
    for _ in range(3):
        af.no_op()
    many = here(-1)
    af.no_op()
    assert graph.nodes_by_line() == [(many, 3), (here(-1), 1)]


# ---- where


def helper() -> af.Tensor:
    return af.square(af.constant(3.0))


HELPER = Where(__file__, helper.__code__.co_firstlineno + 1)


def test_where_is_the_line_that_calls_actorflow(graph: af.Graph) -> None:
    x = af.constant(1.0)
    assert x.where == x.op.where == here(-1) and x.where.source() == "x = af.constant(1.0)"
    y = helper()
    assert y.where == HELPER
    z = [af.identity(v) for v in (x, y)]
    assert {t.where for t in z} == {here(-1)}
    sums = x + y
    assert sums.where == here(-1)
    v = af.Variable(x, name="v")
    assert {n.where for name, n in graph.nodes.items() if name.startswith("v")} == {here(-1)}
    loss = af.nn.l2_loss(v)
    assert loss.where == here(-1)


def test_where_of_gradients(graph: af.Graph) -> None:
    x = af.placeholder(af.float32)
    y = af.reduce_sum(af.tanh(x) * x)
    before = set(graph.nodes)
    (dx,) = af.gradients(y, [x])
    line = here(-1)
    made = [node for name, node in graph.nodes.items() if name not in before]
    assert dx.where == line and {node.where for node in made} == {line}
    assert {node.origin for node in made if node.origin} <= before
    assert any(node.origin == "Tanh" for node in made)
    train = af.train.GradientDescentOptimizer(0.1).minimize(af.square(af.Variable(1.0)))
    assert train.where == here(-1)


# ---- serialisation


def everything() -> af.Graph:
    """A graph with each kind of attribute that there is, and each part of a record."""
    graph = af.Graph()
    with graph.as_default():
        for dtype in dtypes.ALL:
            for rank in (0, 1, 2, -1):
                af.constant(example(dtype, rank))
        af.constant(np.arange(12.0).reshape(3, 4).T)
        x = af.placeholder(af.float32, [None, 3], name="x")
        af.placeholder(af.string)
        with af.device("/job:w/task:1/gpu:0"), af.container("c"), af.name_scope("s"):
            v = af.Variable([1.0, 2.0, 3.0], name="v")
        with af.control_dependencies([v.initializer]), af.colocate_with(v):
            y = af.reduce_sum(x * v, axis=1, keep_dims=True)
        af.gradients(y, [x])
        x[:, ::2]
        two(x, tag="é")
        af.random_uniform([2], seed=7)
        af.concat([x, x], 0)
        af.train.AdamOptimizer(0.01).minimize(af.reduce_mean(y))
        af.matmul(x, x, transpose_b=True)
        af.Print(x, [x, y], message='quo"te\n')
    return graph


def content(node: Node) -> dict[str, Any]:
    """A record with its arrays as something that compares."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.shape, value.dtype, list(value.flat) if value.dtype.hasobject else value.tobytes()
        return [type(value), value]

    fields = {name: getattr(node, name) for name in Node.__slots__}
    return fields | {"attrs": {name: plain(value) for name, value in node.attrs.items()}}


def test_round_trip_of_a_graph() -> None:
    graph = everything()
    again = af.Graph.from_bytes(graph.to_bytes())
    assert list(again.nodes) == list(graph.nodes) and str(again) == str(graph)
    for name, node in graph.nodes.items():
        assert content(again.nodes[name]) == content(node)
    assert again.to_bytes() == graph.to_bytes()


ATTRIBUTES: list[Any] = [
    None,
    True,
    0,
    -(2**63),
    2**64 - 1,
    0.1,
    -0.0,
    math.inf,
    "",
    "ü\x00",
    b"\xff\x00",
    1 - 2j,
    (),
    (1, (2.5, (None, "x")), b"y"),
    af.bfloat16,
    af.float32.ref,
    (af.int8, af.string),
    np.array(3, np.int16),
    np.zeros((0, 4), np.float16),
    np.array([b"", b"\x00"], object),
]


@pytest.mark.parametrize("value", ATTRIBUTES, ids=repr)
def test_round_trip_of_an_attribute(value: Any) -> None:
    node = Node("n", "NoOp", attrs={"a": value})
    (again,) = decode_nodes(encode_nodes([node]))
    assert content(again) == content(node)
    if isinstance(value, np.ndarray):
        assert not again.attrs["a"].flags.writeable
    if isinstance(value, float):
        assert math.copysign(1, again.attrs["a"]) == math.copysign(1, value)


@pytest.mark.parametrize("value", [object(), {1, 2}, [1], 2**64, lambda: 1, {"a": 1}], ids=lambda v: type(v).__name__)
def test_an_attribute_without_a_spelling_names_its_node(value: Any) -> None:
    with pytest.raises(TypeError, match=r"Node n \(NoOp\), made at here.py:3, can't be serialised"):
        encode_nodes([Node("n", "NoOp", attrs={"a": value}, where=Where("here.py", 3))])


def test_paths_need_not_be_text(graph: af.Graph) -> None:
    node = Node("n", "NoOp", where=Where(b"/caf\xe9.py".decode(errors="surrogateescape"), 3))
    assert decode_nodes(encode_nodes([node])) == [node]


def test_f21_only_what_was_added_is_sent(graph: af.Graph) -> None:
    x = af.constant(np.zeros(10_000), name="x")
    whole = graph.to_bytes()
    copy = af.Graph.from_bytes(whole)
    count = len(graph)
    y = af.identity(x, name="y")
    added = graph.to_bytes(since=count)
    assert len(added) < 500 < len(whole)
    operations = copy.extend_from_bytes(added)
    assert [op.name for op in operations] == ["y"] and list(copy.nodes) == list(graph.nodes)
    assert copy.get_tensor_by_name(y.name).op.inputs[0] is copy.get_tensor_by_name("x:0")
    assert copy.consumers(TensorId("x", 0)) == operations
    with pytest.raises(ValueError, match="names already: y"):
        copy.extend_from_bytes(added)
    with pytest.raises(ValueError, match="refers to x:0, which is not there"):
        af.Graph.from_bytes(added)


async def test_a_graph_from_bytes_runs() -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [3], name="x")
        v = af.Variable([1.0, 2.0, 3.0], name="v")
        af.identity(af.gradients(af.reduce_sum(x * v * v), [v])[0], name="y")
    again = af.Graph.from_bytes(graph.to_bytes())
    async with af.Session(graph=again) as session:
        await session.run("v/Assign")
        assert (await session.run("y:0", {"x:0": [1, 1, 2]})).tolist() == [2.0, 4.0, 12.0]
    with again.as_default():
        assert af.constant(1, name="x").name == "x_1:0"


def records(*nodes: Node) -> bytes:
    return encode_nodes(nodes)


DAMAGE: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "no msgpack": lambda: b"\xc1",
    "text": lambda: b"hello",
    "cut short": lambda: everything().to_bytes()[:-7],
    "more behind it": lambda: everything().to_bytes() + b"\x00",
    "another format": lambda: encode_nodes([]).replace(bytes([0x93, FORMAT]), bytes([0x93, FORMAT + 1]), 1),
    "a missing input": lambda: records(
        Node("a", "Identity", (TensorId("b", 0),), dtypes=(af.float32,), shapes=(None,))
    ),
    "a missing control input": lambda: records(Node("a", "NoOp", controls=("b",))),
    "a port too high": lambda: records(
        Node("b", "NoOp"), Node("a", "Identity", (TensorId("b", 0),), dtypes=(af.float32,), shapes=(None,))
    ),
    "a negative port": lambda: records(Node("a", "Identity", (TensorId("a", -1),), dtypes=(af.int8,), shapes=(None,))),
    "two of one name": lambda: records(Node("a", "NoOp"), Node("a", "NoOp")),
    "no name": lambda: records(Node("", "NoOp")),
    "an unknown op": lambda: records(Node("a", "Explode")),
    "a missing attribute": lambda: records(
        Node("a", "Placeholder", attrs={"shape": ()}, dtypes=(af.int8,), shapes=((),))
    ),
    "another attribute": lambda: records(Node("a", "NoOp", attrs={"b": 1})),
    "too few inputs": lambda: records(Node("a", "Add", dtypes=(af.float32,), shapes=((),))),
    "a negative size": lambda: records(
        Node("a", "Placeholder", attrs={"dtype": af.int8, "shape": ()}, dtypes=(af.int8,), shapes=((-1,),))
    ),
    "a bad device": lambda: records(Node("a", "NoOp", device="somewhere")),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_graphs_raise(kind: str, graph: af.Graph) -> None:
    with pytest.raises(ValueError) as caught:
        graph.extend_from_bytes(DAMAGE[kind]())
    assert len(graph) == 0, "a part of it was taken"
    assert len(str(caught.value).splitlines()) <= 25


def test_each_flipped_bit_raises() -> None:
    good = everything().to_bytes()
    for at in range(0, 8 * len(good), 37):
        data = bytearray(good)
        data[at // 8] ^= 1 << at % 8
        with pytest.raises(ValueError):
            af.Graph.from_bytes(bytes(data))


def test_damaged_content_raises_or_gives_a_sound_graph(seed: int) -> None:
    """For all content under a right checksum, there is a ValueError or a graph that is whole in itself."""
    rng = np.random.default_rng(seed)
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [None, 3], name="x")
        with af.device("/cpu:0"):
            two(af.concat([x, af.constant([[1.0, 2.0, 3.0]])], 0), tag="t")
        af.constant([b"a", b"bc"])
        af.transpose(af.cast(x, af.complex64), (1, 0))
    good = msgpack.unpackb(graph.to_bytes())[2]
    raised = 0
    for trial in range(3000):
        data = bytearray(good)
        for _ in range(int(rng.integers(1, 4))):
            at = int(rng.integers(len(data)))
            match int(rng.integers(4)):
                case 0:
                    data[at] ^= 1 << int(rng.integers(8))
                case 1:
                    data[at] = int(rng.integers(256))
                case 2:
                    del data[at : at + int(rng.integers(1, 9))]
                case 3:
                    data[at:at] = rng.bytes(int(rng.integers(1, 5)))
        try:
            found = af.Graph.from_bytes(msgpack.packb([FORMAT, zlib.crc32(data), bytes(data)]))
        except ValueError:
            raised += 1
            continue
        except Exception as error:
            pytest.fail(f"trial {trial}: {type(error).__name__}: {error}; {bytes(data)!r}")
        assert af.Graph.from_bytes(found.to_bytes()).to_bytes() == found.to_bytes()
        for op in found.get_operations():
            assert all(t.graph is found for t in (*op.inputs, *op.outputs)) and repr(op)
            assert [c.name for c in op.control_inputs] == list(op.node.controls)
    assert raised > 1000


@given(st.binary(max_size=200))
def test_noise_raises(data: bytes) -> None:
    with pytest.raises(ValueError):
        af.Graph.from_bytes(data)


# ---- the race lint


def test_lint_names_both_lines(graph: af.Graph) -> None:
    v = af.Variable(1.0, name="v")
    up = v.assign_add(1.0)
    up_line = here(-1)
    read = v * 2.0
    read_line = here(-1)
    (race,) = graph.lint()
    assert (race.variable, race.kind, set(race.lines)) == ("v", "read/write", {up_line, read_line})
    assert str(up_line) in str(race) and str(read_line) in str(race) and "control_dependencies" in str(race)
    assert {race.first.op, race.second.op} == {"ReadVariableOp", up.op.type} and read.op.name in str(race)
    v.assign(3.0)
    kinds = sorted(r.kind for r in graph.lint())
    assert kinds == ["read/write", "read/write", "write/write"]


def test_lint_is_silent_where_an_order_is_given(graph: af.Graph) -> None:
    v = af.Variable(1.0)
    with af.control_dependencies([v.assign(2.0)]):
        after = v.read_value()
        with af.control_dependencies([after]):
            v.assign(3.0)
    assert graph.lint() == []


def test_f32_lint_lets_updates_that_commute_be(graph: af.Graph) -> None:
    v = af.Variable([1.0, 2.0])
    updates = []
    for _ in range(3):
        updates += [v.assign_add([1.0, 1.0]).op, v.assign_sub([1.0, 1.0], read_value=False)]
        updates.append(af.scatter_add(v, [0], 1.0).op)
    updates = [af.group(*updates)]
    assert graph.lint() == graph.lint(updates) == []
    updates.append(v.assign([0.0, 0.0]))
    assert len(graph.lint()) == len(graph.lint(updates)) == 9


def test_lint_knows_training(graph: af.Graph) -> None:
    w = af.Variable(np.ones((3, 1), np.float32))
    x = af.placeholder(af.float32, [None, 3])
    loss = af.reduce_mean(af.square(af.matmul(x, w)))
    af.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=af.train.get_or_create_global_step())
    af.global_variables_initializer()
    assert graph.lint() == [], "\n".join(map(str, graph.lint()))


def test_lint_of_two_variables(graph: af.Graph) -> None:
    a, b = af.Variable(1.0, name="a"), af.Variable(2.0, name="b")
    a.assign(b)
    b.assign(a)
    assert {r.variable for r in graph.lint()} == {"a", "b"}


# ---- error texts


def test_errors_have_at_most_25_lines(graph: af.Graph) -> None:
    parts = [af.placeholder(af.float32, [2, i], name=f"part{i}") for i in range(100)]
    line = here(1)
    with pytest.raises(ValueError) as caught:
        af.concat(parts, 0, name="joined")
    text = str(caught.value).splitlines()
    assert len(text) <= 25 and "... and 97 inputs more" in str(caught.value)
    assert "node joined (ConcatV2)" in text[1] and re.search(rf"made at .*:{line.line + 1}$", text[2]), text[:4]
    assert text[3].strip() == 'af.concat(parts, 0, name="joined")'


@pytest.mark.parametrize("shape", [None, (None,), (2, None), (2, 3)])
def test_shapes(shape: Shape) -> None:
    known = af.TensorShape(shape)
    assert known == af.TensorShape(known) and hash(known) == hash(af.TensorShape(shape))
    assert known.is_fully_defined() == (shape == (2, 3)) and known.ndims == (None if shape is None else len(shape))
    assert known.merge_with(None) == known and known.is_compatible_with(known)
    assert known.num_elements() == (6 if shape == (2, 3) else None)
